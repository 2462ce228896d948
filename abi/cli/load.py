"""`abi load`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session
from abi.errors import UsageError
from abi.findings import exit_code

__all__ = ["EXAMPLES", "load"]

EXAMPLES = (
    "abi load airports.ttl",
    "abi load dump.nq",
    "abi load people.nt --graph https://example.org/people",
    "abi load .agent-catalog/tools.json .agent-catalog/prompts.json",
)


def load(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Turtle, TriG, N-Triples, N-Quads, JSON-LD, RDF/XML, N3; or catalogs."),
    ],
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="IRI", help="The graph to put it in; default: one for each file.")
    ] = None,
) -> int:
    """Load RDF files into the graph, through the gate.

    All files are read and validated before anything is written.

    An Agent Catalog's tools.json or prompts.json (.json; JSON-LD ends in .jsonld) becomes files of the workspace, as
    they were when it was indexed, for abi index to read. A file that is there already is never overwritten.
    """
    session: Session = ctx.obj
    catalogs = [path.suffix.lower() == ".json" for path in files]
    if any(catalogs):
        if graph or not all(catalogs):
            raise UsageError("Catalogs of .json become files, not triples.", hint="Load them apart from RDF.")
        return _load_catalogs(session, files)
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


def _load_catalogs(session: Session, files: list[Path]) -> int:
    with session.workspace(here=True) as workspace:
        report = workspace.import_catalogs(session.paths(files))
    code = exit_code(report.findings)
    if session.as_json:
        session.output.document(report.document())
        return code
    session.output.findings(report.findings)
    if code:
        session.output.note("Nothing was written.", "red")
        return code
    for path in report.created:
        session.output.text(path)
    known = f", {plural(len(report.unchanged), 'file')} there already" if report.unchanged else ""
    session.output.note(
        f"{plural(report.records, 'record')} in {plural(len(report.created), 'new file')}{known}", "dim"
    )
    session.output.note("Next: abi check, abi index.", "dim")
    return code
