"""`abi trust`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "trust"]

EXAMPLES = ("abi trust", "abi trust path/to/cloned-workspace")


def trust(
    ctx: typer.Context,
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The workspace; default: this one.")] = None,
) -> None:
    """Let this workspace's Python run.

    Until somebody trusts a workspace, its Python functions are read but never run, and no secret that it names is
    given to it: with abi.yaml and a tool it could send any file anywhere. Look at its .py files and abi.yaml first.
    """
    from abi.workspace import Workspace

    session: Session = ctx.obj
    root = session.root(directory)
    with Workspace.open(root, read_only=True) as workspace:
        workspace.trust()
    if session.as_json:
        session.output.document({"trusted": str(root)})
    else:
        session.output.text(f"{root} is trusted: its Python functions may run, and its secrets are given to it.")
