"""`abi load`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session
from abi.findings import exit_code

__all__ = ["EXAMPLES", "load"]

EXAMPLES = ("abi load airports.ttl", "abi load dump.nq", "abi load people.nt --graph https://example.org/people")


def load(
    ctx: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Turtle, TriG, N-Triples, N-Quads, JSON-LD, RDF/XML, N3.")
    ],
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="The graph to put it in; default: one for each file.")
    ] = None,
) -> int:
    """Load RDF files into the graph, through the gate.

    All files are read and validated before anything is written.
    """
    session: Session = ctx.obj
    with session.workspace() as workspace:
        report = workspace.load(session.paths(files), graph=graph)
    code = exit_code(report.findings)
    if session.as_json:
        session.output.document(report.document())
        return code
    session.output.findings(report.findings)
    if code:
        session.output.note("Nothing was written; the graph is as it was.", "red")
    else:
        where = report.graph or "the graphs that the files name"
        session.output.text(f"{plural(report.triples, 'triple')} into {where}")
    return code
