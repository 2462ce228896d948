"""`abi ls`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.find import KINDS
from abi.cli.session import Session

__all__ = ["EXAMPLES", "ls"]

EXAMPLES = ("abi ls", "abi ls tools", "abi ls agents --json")


def ls(
    ctx: typer.Context,
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"One of {', '.join(KINDS)}, or a record kind.",
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
) -> None:
    """List the records of the graph."""
    session: Session = ctx.obj
    with session.workspace(read_only=True) as workspace:
        document = workspace.ls(kind).document()
    if session.as_json:
        session.output.document(document)
        return
    session.output.table(
        ["kind", "name", "description", "source"],
        [[r["kind"], r["name"], r["description"], r["source"]] for r in document["records"]],
    )
