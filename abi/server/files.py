"""Files and the graph over HTTP: the workspace's own files checked and indexed, files of the caller loaded, exports."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from email import policy
from email.parser import BytesParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from abi.errors import UsageError, WrongMedia
from abi.server.access import client_of, require
from abi.server.documents import FindingDocument, answered
from abi.server.negotiate import GRAPHS
from abi.server.service import service_of

if TYPE_CHECKING:
    from abi.graph.loads import LoadReport

__all__ = ["router"]

router = APIRouter(tags=["files and graph"])
_FILES = 200
_FINDINGS = 50
"""As many as a header can be asked to hold."""
_CATALOGS = ("agentc-prompts", "agentc-tools", "mcp", "openai-tools", "openapi")
_DOWNLOAD = {"Content-Disposition": "attachment", "Vary": "Accept"}


class Chosen(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"paths": ["tools/airports_in.rq"]}]})

    paths: list[str] = Field([], max_length=1_000, description="Relative to the workspace; none: all sources.")


class Indexing(Chosen):
    dry_run: bool = Field(False, description="Tell what would change; write nothing.")
    restore: bool = Field(False, description="Read files again whose graph was edited since; the edits are lost.")


class Checked(BaseModel):
    model_config = ConfigDict(extra="allow")

    conforms: bool
    records: list[dict[str, Any]]
    findings: list[FindingDocument]


class Indexed(BaseModel):
    model_config = ConfigDict(extra="allow")

    added: int
    changed: int
    removed: int
    unchanged: int
    edited: list[str]
    records: int
    triples: int
    version: int
    findings: list[FindingDocument]


class Loaded(BaseModel):
    model_config = ConfigDict(extra="allow")

    graph: str | None
    triples: int
    findings: list[FindingDocument]


@router.post("/check", summary="Check the files", responses={200: {"model": Checked}})
async def check(request: Request, chosen: Annotated[Chosen, Body(default_factory=Chosen)]) -> Response:
    """Reads and validates the workspace's files; writes nothing. All faults of all files."""
    service = service_of(request)
    paths = _inside(service.workspace.root, chosen.paths)
    return answered((await service.long_work(lambda: service.workspace.check(paths))).document())


@router.post("/index", summary="Index the files", responses={200: {"model": Indexed}})
async def index(request: Request, wanted: Annotated[Indexing, Body(default_factory=Indexing)]) -> Response:
    """Brings the graph up to date with the workspace's files; where any has a fault nothing is written. For writers."""
    require(request, "writer")
    service = service_of(request)
    paths = _inside(service.workspace.root, wanted.paths)
    report = await service.long_work(
        lambda: service.workspace.index(paths, dry_run=wanted.dry_run, restore=wanted.restore)
    )
    service.wrote(client_of(request))
    return answered({**report.document(), "written": report.written})


_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}


@router.post("/load", summary="Load RDF files", responses={200: {"model": Loaded}}, openapi_extra=_FORM)
async def load(
    request: Request,
    graph: Annotated[str | None, Query(max_length=2_000, description="Where to; else a graph for each file.")] = None,
) -> Response:
    """Files of the caller, in any RDF syntax by their names' endings, into the graph; all or none. For writers."""
    require(request, "writer")
    service = service_of(request)
    parts = _parts(request.headers.get("content-type", ""), await request.body())

    def work() -> LoadReport:
        with tempfile.TemporaryDirectory(prefix="abi-load-") as folder:
            names: dict[str, str] = {}
            for number, (name, data) in enumerate(parts):
                place = Path(folder, str(number), PurePosixPath(name.replace("\\", "/")).name or "file")
                place.parent.mkdir()
                place.write_bytes(data)
                names[str(place)] = name
            report = service.workspace.load(list(names), graph=graph, apart=True)
            report.findings = [replace(f, path=names.get(f.path, f.path)) for f in report.findings]
            return report

    report = await service.long_work(work)
    service.wrote(client_of(request))
    return answered(report.document())


@router.get("/export", summary="Export", response_class=Response)
async def export(
    request: Request,
    graph: Annotated[str | None, Query(max_length=2_000, description="Only this named graph.")] = None,
    source: Annotated[str | None, Query(max_length=1_000, description="Only the graph of this source file.")] = None,
    format: Annotated[
        str | None,
        Query(max_length=40, description=f"An RDF syntax; of the catalog: {', '.join(_CATALOGS)}. Else by Accept."),
    ] = None,
    annotations: Annotated[
        str | None, Query(max_length=4_000, description="Of the catalog: only records that this holds for.")
    ] = None,
    edited: Annotated[
        bool, Query(description="With a source: 204 where its graph says what its file does already.")
    ] = False,
) -> Response:
    """The graph in any RDF syntax, or the catalog in a format of other programs."""
    service = service_of(request)
    workspace = service.workspace
    if sum(given is not None for given in (graph, source)) > 1:
        raise UsageError("`graph` and `source` do not go together.")
    if format in _CATALOGS:
        if graph or source:
            raise UsageError(f"{format} is of the whole catalog: neither `graph` nor `source` goes with it.")
        name = str(format)
        exported = await service.long_work(lambda: workspace.export_catalog(name, annotations=annotations))
        findings = json.dumps([f.document() for f in exported.findings[:_FINDINGS]])
        return Response(exported.data, media_type="application/json", headers={**_DOWNLOAD, "X-Abi-Findings": findings})
    if annotations is not None:
        raise UsageError(f"`annotations` chooses records, for {', '.join(_CATALOGS)}.")
    if edited:
        if source is None:
            raise UsageError("`edited` is about a `source`.")
        path = source
        if not await service.long_work(lambda: workspace.has_edits_to_write(path)):
            return Response(status_code=204)
    if format is None and source is None:
        format = _asked(request.headers.get("accept"), graph)
    data = await service.long_work(lambda: workspace.export(graph=graph, source=source, format=format))
    return Response(data, media_type=_media(format, source, graph), headers=_DOWNLOAD)


def _asked(accept: str | None, graph: str | None) -> str:
    from abi.server.negotiate import choose

    offers = GRAPHS if graph is not None else tuple(m for m in GRAPHS if m.format in ("trig", "nquads", "jsonld"))
    # Of the whole graph TriG is what keeps its graphs apart.
    offers = offers if graph is not None else tuple(sorted(offers, key=lambda m: m.format != "trig"))
    return choose(accept, offers).format


def _media(format: str | None, source: str | None, graph: str | None) -> str:
    from abi.graph.formats import format_of

    name = format or (source and PurePosixPath(source).suffix) or ("turtle" if graph else "trig")
    found = format_of(name).name
    return next((m.header for m in GRAPHS if m.format == found), "application/octet-stream")


def _inside(root: Path, given: Sequence[str]) -> list[Path]:
    """Paths in the workspace. Raises UsageError for any other."""
    found = []
    for text in given:
        if "\x00" in text:
            raise UsageError("A path holds no zero.")
        path = Path(os.path.normpath(root / text))
        if not path.is_relative_to(root):
            raise UsageError(f"{text[:200]!r} is not in the workspace.", hint="Paths are relative to its folder.")
        found.append(path)
    return found


def _parts(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of the files of a form. Raises WrongMedia, UsageError."""
    if content_type.partition(";")[0].strip().lower() != "multipart/form-data":
        raise WrongMedia("Files are sent as a form.", hint="Send multipart/form-data, each file with its name.")
    # Only the header's own line goes before the body, so nothing in the type can add another.
    head = b"Content-Type: " + content_type.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace")
    message = BytesParser(policy=policy.HTTP).parsebytes(head + b"\r\n\r\n" + body)
    parts = list(message.iter_parts()) if message.is_multipart() else []
    if not parts or len(parts) > _FILES:
        raise UsageError(f"The form has no files that can be told apart, or more than {_FILES}.")
    found = []
    for part in parts:
        data, name = part.get_payload(decode=True), part.get_filename()
        if not isinstance(data, bytes) or not name or "\x00" in name:
            raise UsageError("Each part of the form is a file with its name.")
        found.append((name, data))
    return found
