"""`abi init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "init"]

EXAMPLES = ("abi init", "abi init my-graph --base-iri https://example.org/mine/")


def init(
    ctx: typer.Context,
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Where; default: here.")] = None,
    base_iri: Annotated[
        str | None, typer.Option("--base-iri", metavar="IRI", help="IRI under which everything of it will live.")
    ] = None,
) -> None:
    """Make a new workspace.

    Writes abi.yaml and the folders for sources, and trusts the Python that will be written there. A file that
    exists already is left as it is.
    """
    from abi.workspace import Workspace

    session: Session = ctx.obj
    where = directory or session.directory or Path()
    report = Workspace.init(where, base_iri=base_iri)
    if session.as_json:
        session.output.document(report.document())
        return
    for path in report.created:
        session.output.text(path)
    session.output.note("Next: abi add sparql_query NAME, abi index, abi chat.", "dim")
