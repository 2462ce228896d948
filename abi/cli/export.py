"""`abi export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.options import AtVersion
from abi.cli.session import Session
from abi.errors import Unreadable, UsageError

__all__ = ["EXAMPLES", "export"]

EXAMPLES = (
    "abi export > graph.trig",
    "abi export --graph https://example.org/people --format turtle",
    "abi export --source agents/guide.ttl",
    "abi export -o catalog.jsonld",
    "abi export --format openapi -o openapi.json",
    "abi export --format mcp --annotations 'domain = \"travel\"'",
    "abi export --format agentc-tools -o .agent-catalog/tools.json",
)


def export(
    ctx: typer.Context,
    graph: Annotated[str | None, typer.Option("--graph", metavar="IRI", help="Only this graph.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="PATH", help="Only this source's graph; written back to the file without -o."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="turtle, trig, ntriples, nquads, jsonld or rdfxml; of the catalog: openapi, mcp, openai-tools, "
            "agentc-tools, agentc-prompts.",
        ),
    ] = None,
    annotations: Annotated[
        str | None,
        typer.Option("--annotations", metavar="P", help="Only records that this predicate holds for, of the catalog."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; - is stdout.")
    ] = None,
    version: AtVersion = None,
) -> None:
    """Write out the graph, or the catalog for another program.

    The graph comes in any RDF syntax, the catalog in one of the formats of other programs.
    openapi: a document with an operation for each tool, as abi serve answers it. mcp: what tools/list and prompts/list
    give. openai-tools: the tools of chat completions. agentc-tools, agentc-prompts: Agent Catalog's tools.json and
    prompts.json. Each tool comes with the schema of its arguments.

    Without --format the ending of FILE decides. `--source PATH` alone writes edits made in the graph back to the
    file they belong to, in abi's own order and without the comments that stood there; not where the file was changed
    as well.
    """
    session: Session = ctx.obj
    if graph and source:
        raise UsageError("--graph and --source do not go together.")
    if source and version and out is None:
        raise UsageError("A version is not written back to a file.", hint="Say where to: -o FILE, or -o - for stdout.")
    catalog = _is_catalog(format)
    if catalog and (graph or source):
        raise UsageError(f"{format} is of the whole catalog: neither --graph nor --source goes with it.")
    if annotations and not catalog:
        raise UsageError("--annotations chooses records, for openapi, mcp, openai-tools and agentc-*.")
    with session.workspace(read_only=True, version=version) as workspace:
        target = _target(session, out, source, workspace.root)
        if catalog and format is not None:
            exported = workspace.export_catalog(format, annotations=annotations)
            session.output.findings(exported.findings)
            _give(session, target, exported.data)
            return
        if source and out is None and not workspace.has_edits_to_write(source):
            if session.as_json:
                session.output.document({"path": str(target), "bytes": 0})
            else:
                session.output.note(f"{source} is as its graph: nothing was written.")
            return
        if format is None:
            format = target.suffix.lstrip(".") if target else ("jsonld" if session.as_json else None)
        data = workspace.export(graph=graph, source=source, format=format)
    _give(session, target, data)


def _is_catalog(format: str | None) -> bool:
    if format is None:
        return False
    from abi.exchange.formats import CATALOG_FORMATS

    return format in CATALOG_FORMATS


def _give(session: Session, target: Path | None, data: bytes) -> None:
    if target is None:
        session.output.verbatim(data)
        return
    _replace(target, data)
    if session.as_json:
        session.output.document({"path": str(target), "bytes": len(data)})
    else:
        session.output.note(f"wrote {target} ({len(data):,} bytes)")


def _target(session: Session, out: str | None, source: str | None, root: Path) -> Path | None:
    if out == "-" or (out is None and source is None):
        return None
    return Path(out).absolute() if out is not None else root / str(source)


def _replace(path: Path, data: bytes) -> None:
    """Old or new, never half: written beside and then moved over. A device or a pipe stays what it is."""
    if path.exists() and not path.is_file() and not path.is_dir():
        try:
            with path.open("wb") as out:
                out.write(data)
        except OSError as error:
            raise Unreadable(f"{path} cannot be written: {error.strerror}.") from error
        return
    # What a link leads to is replaced, not the link.
    path = path.resolve()
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise Unreadable(f"{path} cannot be written: {error.strerror}.") from error
