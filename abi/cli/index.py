"""`abi index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session
from abi.errors import AbiError, UsageError
from abi.findings import exit_code

if TYPE_CHECKING:
    from abi.graph.indexing import IndexReport

__all__ = ["EXAMPLES", "index"]

EXAMPLES = ("abi index", "abi index tools/ --dry-run", "abi index agents/guide.ttl --restore", "abi index --watch")


def index(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Files or folders; default: all sources.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would change; write nothing.")] = False,
    restore: Annotated[
        bool, typer.Option("--restore", help="Read files again whose graph was edited since; the edits are lost.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on: index whenever a source changes.")] = False,
) -> int:
    """Bring the graph up to date with the files.

    Everything is validated first; then each changed file's graph is replaced in one update. Where anything is
    wrong nothing is written. Graphs that were edited since are left and reported.
    """
    session: Session = ctx.obj
    chosen = session.paths(paths)

    def once() -> int:
        with session.workspace() as workspace:
            report = workspace.index(chosen, dry_run=dry_run, restore=restore, progress=session.output.progress)
        _tell(session, report, stream=watch, dry_run=dry_run)
        return exit_code(report.findings)

    if not watch:
        return once()
    if dry_run:
        raise UsageError("--watch and --dry-run do not go together.")
    from abi.cli.watch import changes

    for _ in changes(session.root()):
        try:
            once()
        except AbiError as error:  # a fault in a file is mended and saved again; the watch goes on
            session.output.error(error)
    return 0


def _tell(session: Session, report: IndexReport, *, stream: bool, dry_run: bool) -> None:
    output = session.output
    if session.as_json:
        (output.document_line if stream else output.document)(report.document())
        return
    output.findings(report.findings)
    if exit_code(report.findings):
        output.note("Nothing was written; the graph is as it was.", "red")
        return
    changes = f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed, "
    changes += f"{report.unchanged:,} unchanged"
    output.text(f"{'Would be: ' if dry_run else ''}{changes}")
    output.text(
        f"{plural(report.records, 'record')}, {plural(report.triples, 'triple')}, "
        f"version {report.version} ({report.seconds:.2f} s)"
    )
    for path in report.edited:
        output.note(f"{path}: edited in the graph since, so left as it is (--restore reads the file again)", "yellow")
