"""`abi versions`."""

from __future__ import annotations

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "versions"]

EXAMPLES = ("abi versions", "abi versions --json")


def versions(ctx: typer.Context) -> None:
    """List the published versions, the newest first.

    `--version` of find, show, run and export, and `abi diff`, take the first digits of one, or `latest`.
    """
    session: Session = ctx.obj
    with session.workspace(read_only=True) as workspace:
        found = workspace.versions()[::-1]
    if session.as_json:
        session.output.document({"versions": [version.document() for version in found]})
    elif found:
        session.output.table(
            ["version", "time", "records", "commit", "dirty", "message"],
            [
                [
                    v.version,
                    f"{v.time[:19]}Z",
                    v.records,
                    (v.commit or "")[:12],
                    {True: "dirty", False: "", None: ""}[v.dirty],
                    v.message,
                ]
                for v in found
            ],
        )
    else:
        session.output.note("Nothing was published yet. `abi publish` makes the first version.", "dim")
