"""`abi vectors`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from abi.cli.options import complete_names
from abi.cli.output import plural
from abi.cli.session import Session

__all__ = ["EXAMPLES", "vectors"]

EXAMPLES = ("abi vectors build", "abi vectors build search_for_relevant_products")


def vectors(
    ctx: typer.Context,
    action: Annotated[Literal["build"], typer.Argument(help="build: embed what has no vector yet.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Semantic searches; default: all.", autocompletion=complete_names),
    ] = None,
) -> None:
    """Fill the vectors that semantic searches look through.

    Each search names its model; `embedding_models` in abi.yaml says what stands in for one that is not here. Texts that
    have a vector already are not embedded again. Couchbase makes its own vectors.
    """
    session: Session = ctx.obj
    with session.workspace() as workspace:
        report = workspace.vectors_build(names or [])
    if session.as_json:
        session.output.document(report.document())
        return
    for built in report.built:
        session.output.text(
            f"{built['name']}: {plural(built['texts'], 'text')}, {built['embedded']:,} embedded now by {built['model']}"
        )
    if not report.built:
        session.output.note("There is no semantic search whose vectors abi keeps.", "dim")
