"""`abi intents`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.session import Session
from abi.errors import UsageError

__all__ = ["EXAMPLES", "intents"]

EXAMPLES = (
    "abi intents derive",
    "abi intents derive --graph https://example.org/flights/graph/airports",
    "abi intents derive --json",
)


def intents(
    ctx: typer.Context,
    action: Annotated[
        str, typer.Argument(metavar="derive", help="derive: make intents and tools.", autocompletion=lambda: ["derive"])
    ],
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="Only from what this named graph holds; default: all.")
    ] = None,
) -> None:
    """Derive intents and tools from what the graph holds.

    Intents and SPARQL templates are triples in a graph of their own, and KnowledgeGraphAgent has them. Made again when
    files are indexed or loaded later, where schema or data have moved.
    """
    session: Session = ctx.obj
    if action != "derive":
        raise UsageError(f"{action!r} is nothing that can be done with intents.", hint="Write `abi intents derive`.")
    with session.workspace() as workspace:
        report = workspace.derive(graph)
    if session.as_json:
        session.output.document(report.document())
        return
    done = "Derived" if report.written else "Nothing has moved; there are"
    session.output.note(f"{done} {report.tools} tools and {report.intents} intents in {report.graph}.")
