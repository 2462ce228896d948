"""What a pipeline gives goes into the graph: its triples replace what the named graph of its own holds, if they conform
to the shapes; else nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abi.errors import Denied, ToolFailed
from abi.graph.rdf_source import Parser, parse_text
from abi.records.record import PythonFunction
from abi.settings import Settings
from abi.tools.linked_arguments import linked_arguments
from abi.tools.python_function import returned
from abi.tools.runner import RunContext

if TYPE_CHECKING:
    from abi.graph.named_graphs import GraphWritten

__all__ = ["pipeline_graph", "pipeline_turtle", "pipeline_update", "written"]


def pipeline_graph(name: str, settings: Settings) -> str:
    """The IRI of the graph that a pipeline writes."""
    return f"{settings.base_iri}pipeline/{quote(name, safe='')}"


def pipeline_turtle(record: PythonFunction, arguments: Mapping[str, Any], context: RunContext) -> str:
    """The triples that a pipeline gives, as Turtle. Raises as `python_function.returned`, and ToolFailed for anything
    else than triples."""
    result = returned(record, arguments, context)
    if not isinstance(result, str):
        message = f"The pipeline {record.name} gave {type(result).__name__}, and no triples."
        raise ToolFailed(message, hint="Let its run() give an rdflib.Graph, or Turtle as text.")
    return result


def written(record: PythonFunction, arguments: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    """Run a pipeline and write what it gives. Raises Denied where the caller may not write, as `pipeline_turtle`, and
    Invalid with what the gate finds."""
    if context.put_graph is None:
        message = f"{record.name} is a pipeline, which writes to the graph; here the graph may only be read."
        raise Denied(message, hint="Over HTTP it needs the role writer; a published version is never changed.")
    graph = pipeline_graph(record.name, context.settings)
    done: GraphWritten = context.put_graph(graph, pipeline_turtle(record, arguments, context).encode())
    return {"graph": graph, "added": done.added, "removed": done.removed, "version": done.version}


def pipeline_update(
    record: PythonFunction, raw_arguments: Mapping[str, Any], context: RunContext, parser: Parser, most: int
) -> str:
    """The update that would write what a pipeline gives, for somebody to read first.

    Raises ArgumentError, as `pipeline_turtle`, and ToolFailed for what is no Turtle, for blank nodes, which have no
    name to be approved by, and for more than `most` triples.
    """
    arguments, _ = linked_arguments(record, raw_arguments, context)
    graph = pipeline_graph(record.name, context.settings)
    turtle = pipeline_turtle(record, arguments, context)
    parsed = parse_text(turtle, "turtle", graph, path=record.name, settings=context.settings, base=graph, parser=parser)
    faults = [f"line {f.line}: {f.message}" for f in parsed.findings if f.severity == "error"]
    lines = [f"{q.subject} {q.predicate} {q.object} ." for q in parsed.quads]
    if any(str(term).startswith("_:") for q in parsed.quads for term in (q.subject, q.object)):
        faults.append("it has blank nodes; give each thing an IRI")
    if len(lines) > most:
        faults.append(f"it has {len(lines)} triples; {most} can be approved at once")
    if faults:
        raise ToolFailed(f"What the pipeline {record.name} gives cannot be proposed: {'; '.join(faults[:5])}.")
    return f"DROP SILENT GRAPH <{graph}> ;\nINSERT DATA {{ GRAPH <{graph}> {{ {' '.join(lines)} }} }}"
