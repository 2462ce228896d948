"""What the verbs give back: plain data, and its JSON document for every face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abi.agents.turn import TurnResult
    from abi.graph.catalog import Entry
    from abi.graph.oxigraph import OxigraphStore
    from abi.graph.traces import TraceStore
    from abi.search.find import Hit
    from abi.settings import Settings
    from abi.workspace import Workspace

__all__ = [
    "Check",
    "DemoReport",
    "DoctorReport",
    "FindReport",
    "LsReport",
    "ShowReport",
    "StatusReport",
    "VectorsReport",
    "show_entity",
    "show_record",
    "show_turn",
    "status",
]


@dataclass(frozen=True, slots=True)
class FindReport:
    hits: list[Hit]

    def document(self) -> dict[str, Any]:
        return {"results": [hit.document() for hit in self.hits]}


@dataclass(frozen=True, slots=True)
class LsReport:
    entries: list[Entry]

    def document(self) -> dict[str, Any]:
        return {"records": [entry.document() for entry in self.entries]}


@dataclass(frozen=True, slots=True)
class ShowReport:
    """One record or turn. `data` is its JSON document; `quads` its triples, for `turtle`."""

    data: dict[str, Any]
    quads: Sequence[Any]
    prefixes: dict[str, str]

    def document(self) -> dict[str, Any]:
        return self.data

    def turtle(self) -> str:
        from abi.graph.formats import serialize

        return serialize(self.quads, "turtle", self.prefixes).decode()


@dataclass(frozen=True, slots=True)
class StatusReport:
    records: dict[str, int]
    triples: int
    version: int
    edited: list[str]
    graphs: dict[str, int]
    store: str
    base_iri: str
    search_version: int
    search_index: str
    """`sound`, or what is wrong with its file."""
    trusted: bool
    calibration: str

    def document(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "triples": self.triples,
            "version": self.version,
            "edited": self.edited,
            "graphs": self.graphs,
            "store": self.store,
            "base_iri": self.base_iri,
            "search_version": self.search_version,
            "search_index": self.search_index,
            "trusted": self.trusted,
            "calibration": self.calibration,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that `abi doctor` looked at."""

    name: str
    ok: bool
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    checks: list[Check]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def document(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "checks": [{"name": c.name, "ok": c.ok, "message": c.message, "fix": c.fix} for c in self.checks],
        }


@dataclass(frozen=True, slots=True)
class DemoReport:
    workspace: str
    records: int
    triples: int
    turns: list[tuple[str, TurnResult]]

    def document(self) -> dict[str, Any]:
        return {
            "workspace": self.workspace,
            "records": self.records,
            "triples": self.triples,
            "turns": [{"message": question, **turn.document()} for question, turn in self.turns],
        }


@dataclass
class VectorsReport:
    """Each search whose vectors were filled: {name, model, texts, embedded}; `embedded` were not there before."""

    built: list[dict[str, Any]]

    def document(self) -> dict[str, Any]:
        return {"built": self.built}


def show_record(store: OxigraphStore, settings: Settings, name: str) -> ShowReport:
    """One record whole, with where it came from and who uses it. Raises NotFound, Invalid."""
    from abi.graph.catalog import Catalog
    from abi.graph.mapping import Names, read_record

    catalog = Catalog(store)
    entry = catalog.one(name)
    record = read_record(store, entry.iri, Names(settings.base_iri, store))
    fields = record.model_dump(mode="json", exclude={"source"}, exclude_none=True)
    data = {
        "name": entry.name,
        "kind": entry.kind,
        "iri": entry.iri,
        **fields,
        "source": entry.source,
        "used_by": [{"name": e.name, "kind": e.kind, "iri": e.iri} for e in catalog.used_by(entry.iri)],
    }
    return ShowReport(data, catalog.description(entry.iri), settings.all_prefixes())


def show_entity(store: OxigraphStore, settings: Settings, name: str) -> ShowReport:
    """Anything of the graph, by IRI, `prefix:name` or label. Raises NotFound, UsageError for a name of several."""
    from abi.graph.catalog import Catalog
    from abi.graph.entity_view import describe, find_entity

    prefixes = settings.all_prefixes()
    iri = find_entity(store, name, prefixes)
    return ShowReport(describe(store, iri, prefixes), Catalog(store).description(iri), prefixes)


def show_turn(traces: TraceStore, settings: Settings, name: str) -> ShowReport:
    """One turn of a conversation, as its trace has it. Raises NotFound.

    The thread's name may stand as it was given, or as it is in IRIs.
    """
    from urllib.parse import quote

    from abi.errors import NotFound

    text = name.removeprefix(settings.base_iri)
    thread, _, number = text.removeprefix("thread/").rpartition("/turn/")
    iri = settings.base_iri + text
    given = f"{settings.base_iri}thread/{quote(thread, safe='')}/turn/{quote(number, safe='')}"
    try:
        return ShowReport(traces.turn(given), traces.quads(given), settings.all_prefixes())
    except NotFound:
        return ShowReport(traces.turn(iri), traces.quads(iri), settings.all_prefixes())


def status(workspace: Workspace) -> StatusReport:
    """What the graph holds. Raises StoreMissing before the first index."""
    from abi.graph.catalog import Catalog
    from abi.tools.trust import is_trusted

    store = workspace.store
    catalog = Catalog(store)
    faults = workspace.search_index_faults()
    return StatusReport(
        records=catalog.counts(),
        triples=len(store),
        version=store.version(),
        edited=sorted(path for path, (_, _, edited) in catalog.sources().items() if edited),
        graphs=catalog.graph_sizes(),
        store=workspace.settings.store,
        base_iri=workspace.settings.base_iri,
        search_version=-1 if faults else workspace.search_version,
        search_index=f"damaged: {faults[0]}; `abi doctor` makes it anew" if faults else "sound",
        trusted=is_trusted(workspace.root),
        calibration=_calibration(workspace),
    )


def _calibration(workspace: Workspace) -> str:
    """What the scores of intents are read by, and which agents' learned heads no longer fit their intents."""
    from abi.agents.calibrate import stale_heads
    from abi.agents.scale import Calibration

    if workspace.settings.calibration == "raw":
        return "raw"
    report = Calibration(workspace.root / ".abi" / "calibration").report()
    if report is None:
        return "as it comes with abi; abi calibrate fits it to this workspace"
    heads = [name for name, agent in report["agents"].items() if agent["method"] == "head"]
    said = f"fitted to this workspace; heads: {', '.join(heads) or 'none'}"
    stale = stale_heads(workspace._services, report) if heads else []
    return f"{said}; out of date: {', '.join(stale)} (run abi calibrate)" if stale else said
