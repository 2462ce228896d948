"""`abi publish`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session

__all__ = ["EXAMPLES", "publish"]

EXAMPLES = (
    'abi publish -m "routes by state"',
    "abi publish --allow-dirty",
    "abi publish --json",
)


def publish(
    ctx: typer.Context,
    message: Annotated[str, typer.Option("-m", "--message", metavar="TEXT", help="What is new in it.")] = "",
    allow_dirty: Annotated[
        bool,
        typer.Option("--allow-dirty", help="Also where files differ from their commit or from the graph; it is noted."),
    ] = False,
) -> None:
    """Write what the graph holds as an immutable version.

    A version is one file in .abi/versions, named by its content: what is published twice is one version. It holds
    records, ontologies and data. Without git it is of no commit.
    """
    session: Session = ctx.obj
    with session.workspace() as workspace:
        report = workspace.publish(message, allow_dirty=allow_dirty)
    if session.as_json:
        session.output.document(report.document())
        return
    session.output.findings(report.findings)
    version = report.version
    if not report.published:
        session.output.text(version.version)
        when = f"{version.time[:19]}Z"
        session.output.note(f"Nothing is new: this content was published already, {when}. Nothing was written.", "dim")
        return
    session.output.text(version.version)
    of = f" of commit {version.commit[:12]}" if version.commit else ""
    dirty = ", dirty" if version.dirty else ""
    counted = f"{plural(version.records, 'record')}, {plural(version.triples, 'triple')}{of}{dirty}"
    session.output.note(f"{counted}; {report.path.stat().st_size:,} bytes in {report.path}", "dim")
