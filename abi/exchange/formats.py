"""The catalog in the formats of other programs, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from abi.errors import UsageError
from abi.exchange.agentc_export import CatalogState, agentc_catalog, written
from abi.exchange.mcp_lists import mcp_lists
from abi.exchange.openai_tools import openai_tools
from abi.exchange.openapi import openapi_document
from abi.findings import Finding
from abi.graph.mapping import Names, read_record
from abi.records.record import Record
from abi.records.working_tree import working_tree

if TYPE_CHECKING:
    from abi.graph.store import GraphStore
    from abi.graph.version_file import CatalogVersion
    from abi.search.embedder import Embedder, Vectors
    from abi.settings import Settings

__all__ = ["CATALOG_FORMATS", "CatalogExport", "Sources", "export_catalog"]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a catalog is exported from: a store, or a published `version` of it.

    `chosen` gives the IRIs of the records of a kind word (`tools`), `vectors` one vector for each text.
    """

    store: GraphStore
    settings: Settings
    root: Path
    version: CatalogVersion | None
    chosen: Callable[[str], Sequence[str]]
    embedder: Embedder
    vectors: Callable[[Sequence[str]], Vectors]

    def records(self, kind: str) -> list[Record]:
        names = Names(self.settings.base_iri, self.store)
        return [read_record(self.store, iri, names) for iri in self.chosen(kind)]

    def state(self) -> CatalogState:
        sources = tuple(self.settings.sources)
        if self.version is not None:
            v = self.version
            return CatalogState(v.time, v.commit, bool(v.dirty), v.version, sources)
        tree = working_tree(self.root)
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        commit, dirty = (tree.commit, bool(tree.changed)) if tree else (None, False)
        return CatalogState(time, commit, dirty, f"graph-{self.store.version()}", sources)


@dataclass(frozen=True, slots=True)
class CatalogExport:
    """A JSON document as bytes, and warnings for the records that it has no place for."""

    data: bytes
    findings: list[Finding] = field(default_factory=list)


def export_catalog(format: str, sources: Sources) -> CatalogExport:
    """The catalog in one of CATALOG_FORMATS. Raises UsageError for another one."""
    if format not in CATALOG_FORMATS:
        raise UsageError(f"{format!r} is no format of a catalog.", hint=f"Known are {', '.join(CATALOG_FORMATS)}.")
    return CATALOG_FORMATS[format](sources)


def _openapi(sources: Sources) -> CatalogExport:
    title, version = sources.root.name, sources.state().name
    return CatalogExport(_text(openapi_document(sources.records("tools"), title=title, version=version)))


def _mcp(sources: Sources) -> CatalogExport:
    return CatalogExport(_text(mcp_lists(sources.records("tools"), sources.records("prompts"))))


def _openai_tools(sources: Sources) -> CatalogExport:
    items, findings = openai_tools(sources.records("tools"))
    return CatalogExport(_text(items), findings)


def _agentc_tools(sources: Sources) -> CatalogExport:
    # The tools that every workspace has are of no use elsewhere.
    own = [t for t in sources.records("tools") if t.source is None or not t.source.path.startswith("abi:")]
    return _agentc(sources, own, "tool")


def _agentc_prompts(sources: Sources) -> CatalogExport:
    return _agentc(sources, sources.records("prompts"), "prompt")


def _agentc(sources: Sources, records: list[Record], kind: Literal["tool", "prompt"]) -> CatalogExport:
    vectors = sources.vectors([record.description for record in records])
    document, findings = agentc_catalog(records, kind, sources.state(), sources.root, sources.embedder, vectors)
    return CatalogExport(written(document), findings)


def _text(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


CATALOG_FORMATS: dict[str, Callable[[Sources], CatalogExport]] = {
    "agentc-prompts": _agentc_prompts,
    "agentc-tools": _agentc_tools,
    "mcp": _mcp,
    "openai-tools": _openai_tools,
    "openapi": _openapi,
}
