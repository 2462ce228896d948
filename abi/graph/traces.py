"""What happened in conversations, as triples: one named graph a thread, in a store of its own beside the graph.

A turn is written in the background, so that its answer does not wait: the write lock of the store is taken for the
moment of a turn, and let go. Where another process holds it for more than five seconds, a warning says that this turn
left no trace; its answer stays.
"""

from __future__ import annotations

import atexit
import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyoxigraph as ox

from abi import terms
from abi.errors import NotFound, StoreError, StoreLocked, StoreMissing
from abi.graph.names import encode, record_iri
from abi.graph.oxigraph import OxigraphStore

if TYPE_CHECKING:
    from abi.graph.rows import Rows
    from abi.settings import Settings

__all__ = ["TraceStore", "TracedTurn", "thread_iri", "turn_quads"]

_log = logging.getLogger("abi")
_WAIT_SECONDS = 5.0
_HOLD_SECONDS = 1.0
"""So long the lock is kept at most while turns keep coming; then others get their chance."""
_LINGER_SECONDS = 0.2


class TracedTurn(Protocol):
    """What a trace is made of. Times are aware; `details` holds candidates with the IRIs of their intents."""

    @property
    def thread_id(self) -> str: ...
    @property
    def turn(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def agent(self) -> str: ...
    @property
    def agent_iri(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def grounded(self) -> bool | None: ...
    @property
    def needs(self) -> dict[str, Any] | None: ...
    @property
    def tool_calls(self) -> list[dict[str, Any]]: ...
    @property
    def citations(self) -> list[dict[str, str]]: ...
    @property
    def routing(self) -> dict[str, Any]: ...
    @property
    def started(self) -> datetime: ...
    @property
    def ended(self) -> datetime: ...
    @property
    def model(self) -> str: ...
    @property
    def graph_version(self) -> int: ...
    @property
    def details(self) -> dict[str, Any]: ...


def thread_iri(base: str, thread_id: str) -> str:
    """The conversation, and the graph that holds its turns."""
    return f"{base}thread/{encode(thread_id)}"


def turn_quads(turn: TracedTurn, base: str, owner: str | None = None) -> list[ox.Quad]:
    """A turn as triples, self-contained: what it cites comes with its label."""
    conversation = thread_iri(base, turn.thread_id)
    graph, quads = ox.NamedNode(conversation), []

    def put(subject: str, predicate: str, value: Any, *, iri: bool = False) -> None:
        if value is not None and value != "":
            quads.append(ox.Quad(ox.NamedNode(subject), ox.NamedNode(predicate), _term(value, iri), graph))

    def thing(subject: str, cls: str, label: str) -> None:
        put(subject, terms.RDF_TYPE, cls, iri=True)
        put(subject, terms.RDF_TYPE, terms.OWL_NAMED_INDIVIDUAL, iri=True)
        put(subject, terms.RDFS_LABEL, label)

    named = f"turn {turn.number} of {turn.thread_id}"
    thing(conversation, terms.CONVERSATION, f"conversation {turn.thread_id}")
    put(conversation, terms.THREAD_ID, turn.thread_id)
    put(conversation, terms.OWNER, owner)
    thing(turn.turn, terms.TURN, named)
    put(turn.turn, terms.IN_CONVERSATION, conversation, iri=True)
    put(turn.turn, terms.POSITION, turn.number)
    put(turn.turn, terms.STARTED_AT, turn.started)
    put(turn.turn, terms.ENDED_AT, turn.ended)
    put(turn.turn, terms.HANDLED_BY, turn.agent_iri, iri=True)
    put(turn.agent_iri, terms.RDFS_LABEL, turn.agent)
    put(turn.turn, terms.ANSWER, turn.answer)
    put(turn.turn, terms.GROUNDED, turn.grounded)
    put(turn.turn, terms.CHAT_MODEL, turn.model)
    put(turn.turn, terms.GRAPH_VERSION, turn.graph_version)
    if turn.needs:
        put(turn.turn, terms.NEEDS, json.dumps(turn.needs, ensure_ascii=False, sort_keys=True))
    for role, text in (("human", turn.message), ("ai", turn.answer)):
        message = f"{turn.turn}/message/{role}"
        thing(message, terms.MESSAGE, f"{role} message of {named}")
        put(message, terms.MESSAGE_TEXT, text)
        put(message, terms.MESSAGE_ROLE, role)
        put(turn.turn, terms.HAS_MESSAGE, message, iri=True)
    _put_routing(turn, base, named, put, thing)
    for number, call in enumerate(turn.tool_calls, start=1):
        _put_call(turn, base, number, call, named, put, thing)
    for cited in turn.citations:
        put(turn.turn, terms.CITES, cited["iri"], iri=True)
        put(cited["iri"], terms.RDFS_LABEL, cited["label"])
    return quads


Put = Callable[..., None]


def _put_routing(turn: TracedTurn, base: str, named: str, put: Put, thing: Put) -> None:
    routing = f"{turn.turn}/routing"
    thing(routing, terms.ROUTING, f"routing of {named}")
    put(turn.turn, terms.HAS_ROUTING, routing, iri=True)
    put(routing, terms.ROUTING_STEP, turn.routing["step"])
    chosen = turn.routing.get("chosen")
    if chosen:
        iri = turn.details.get("chosen_iri") or record_iri(base, "tool", str(chosen))
        put(routing, terms.CHOSEN, iri, iri=True)
        put(iri, terms.RDFS_LABEL, str(chosen))
    for number, candidate in enumerate(turn.details.get("candidates", []), start=1):
        node = f"{routing}/candidate/{number}"
        thing(node, terms.ROUTING_CANDIDATE, f"candidate {number} of {named}")
        put(routing, terms.HAS_CANDIDATE, node, iri=True)
        put(node, terms.POSITION, number)
        put(node, terms.SCORE, float(candidate["score"]))
        put(node, terms.MATCHED_PHRASE, candidate["intent"])
        put(node, terms.NAME, candidate["target"])
        if candidate.get("iri"):
            put(node, terms.CANDIDATE_INTENT, candidate["iri"], iri=True)


def _put_call(
    turn: TracedTurn, base: str, number: int, call: Mapping[str, Any], named: str, put: Put, thing: Put
) -> None:
    node, tool = f"{turn.turn}/call/{number}", record_iri(base, "tool", str(call["tool"]))
    thing(node, terms.TOOL_CALL, f"call {number} of {named}")
    put(turn.turn, terms.HAS_TOOL_CALL, node, iri=True)
    put(node, terms.POSITION, number)
    put(node, terms.CALLS_TOOL, tool, iri=True)
    put(tool, terms.RDFS_LABEL, call["tool"])
    put(node, terms.CALL_ARGUMENTS, json.dumps(call.get("arguments") or {}, ensure_ascii=False, default=str))
    put(node, terms.BOUND_QUERY, call.get("query"))
    put(node, terms.ROW_COUNT, call.get("row_count"))
    put(node, terms.TRUNCATED, bool(call.get("truncated")))
    put(node, terms.SECONDS, float(call.get("seconds") or 0.0))
    put(node, terms.ERROR_MESSAGE, call.get("error"))
    if call.get("result") is not None:
        put(node, terms.RESULT_TEXT, json.dumps(call["result"], ensure_ascii=False, default=str)[:10_000])


class TraceStore:
    """The traces of a workspace. `path` is the store's folder; None keeps them in memory."""

    def __init__(self, path: Path | None, settings: Settings, *, wait_seconds: float = _WAIT_SECONDS) -> None:
        self.path = path
        self._settings = settings
        self._wait = wait_seconds
        self._memory = OxigraphStore.memory(prefixes=settings.all_prefixes()) if path is None else None
        self._waiting: queue.Queue[list[ox.Quad] | None] = queue.Queue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()
        self._pruned = 0.0
        self._closed = False

    def write(self, turn: TracedTurn, owner: str | None = None) -> None:
        """Keep a turn. Returns at once; the writing follows, and a failure of it is a warning in the log."""
        quads = turn_quads(turn, self._settings.base_iri, owner)
        if self._memory is not None:
            self._memory.apply([], quads)
            return
        with self._lock:
            if self._closed:
                raise StoreError("the trace store is closed")
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="abi-traces", daemon=True)
                self._worker.start()
                atexit.register(self.close)
            self._waiting.put(quads)

    def flush(self) -> None:
        """Wait until all turns so far are written, or given up."""
        if self._worker is not None:
            self._waiting.join()

    def close(self) -> None:
        """Write what waits, and let go of the store."""
        with self._lock:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            self._waiting.put(None)
            worker.join()
            atexit.unregister(self.close)

    def query(self, text: str, **limits: Any) -> Rows:
        """Ask the traces. The text is trusted: what comes from outside goes through the guard first."""
        with self._reading() as store:
            return store.query(text, **limits)

    def turn(self, iri: str) -> dict[str, Any]:
        """A turn whole, from its triples: the chat document, the message and the times. Raises NotFound.

        `iri` may be short: `thread/ID/turn/N`.
        """
        if ":" not in iri.split("/")[0]:
            iri = self._settings.base_iri + iri
        with self._reading() as store:
            about = list(store.match(ox.NamedNode(iri)))
            graphs = {q.graph_name for q in about if q.predicate.value == terms.IN_CONVERSATION}
            if not graphs:
                raise NotFound(f"There is no turn <{iri}>.", hint="Turns are named like thread/ID/turn/1.")
            (graph,) = list(graphs)[:1]
            assert isinstance(graph, ox.NamedNode)
            return _document(iri, _properties(store.quads(graph.value)))

    def quads(self, iri: str) -> list[ox.Quad]:
        """All triples of a turn or of a thread's turns: what stands in the graph under this IRI, and cited labels."""
        with self._reading() as store:
            return [q for q in store.quads(iri.split("/turn/")[0]) if _iri(q).startswith(iri)]

    @contextmanager
    def _reading(self) -> Iterator[OxigraphStore]:
        if self._memory is not None:
            yield self._memory
            return
        self.flush()
        assert self.path is not None
        try:
            store = OxigraphStore.open(self.path, read_only=True, prefixes=self._settings.all_prefixes())
        except StoreMissing:
            store = OxigraphStore.memory(prefixes=self._settings.all_prefixes())
        try:
            yield store
        finally:
            store.close()

    def _work(self) -> None:
        """Write turns as they come: open, write all that wait, close."""
        ended = False
        while not ended:
            taken = [self._waiting.get()]
            try:
                ended = self._write_all(taken)
            except StoreError as error:
                lost = sum(t is not None for t in taken)
                ended = None in taken
                _log.warning("%d turn(s) left no trace: %s %s", lost, error.message, error.hint)
            except Exception:  # a thread that dies would keep every later turn waiting
                ended = None in taken
                _log.exception("A turn left no trace.")
            for _ in taken:
                self._waiting.task_done()

    def _write_all(self, taken: list[list[ox.Quad] | None]) -> bool:
        """Write `taken` and what comes while the store is open, adding it to `taken`. True when told to end."""
        if taken[0] is None:
            return True
        store = self._open()
        try:
            until = time.monotonic() + _HOLD_SECONDS
            item: list[ox.Quad] | None = taken[0]
            while item is not None:
                store.apply([], item)
                if time.monotonic() > until:
                    return False
                try:
                    item = self._waiting.get(timeout=_LINGER_SECONDS)
                except queue.Empty:
                    self._prune(store)
                    return False
                taken.append(item)
            return True
        finally:
            store.close()

    def _open(self) -> OxigraphStore:
        assert self.path is not None
        until = time.monotonic() + self._wait
        while True:
            try:
                return OxigraphStore.open(self.path, create=True, prefixes=self._settings.all_prefixes())
            except StoreLocked:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def _prune(self, store: OxigraphStore) -> None:
        """Let go of turns older than `trace_days`, once a day."""
        if time.monotonic() - self._pruned < 86_400 and self._pruned:
            return
        self._pruned = time.monotonic()
        prune(store, datetime.now(UTC) - timedelta(days=self._settings.trace_days))


def prune(store: OxigraphStore, before: datetime) -> int:
    """Remove the turns that ended before a time, and conversations that are left without any. Gives how many turns."""
    cutoff = _term(before, False)
    old = store.query(
        f"SELECT ?t ?g {{ GRAPH ?g {{ ?t a <{terms.TURN}> ; <{terms.ENDED_AT}> ?e . FILTER(?e < {cutoff}) }} }}"
    )
    removed: list[ox.Quad] = []
    gone: dict[str, set[str]] = {}
    for row in old:
        gone.setdefault(row["g"].value, set()).add(row["t"].value)
    for graph, turns in gone.items():
        every = list(store.quads(graph))
        left = {_iri(q) for q in every if q.object == ox.NamedNode(terms.TURN)} - turns
        if not left:
            removed += every
            continue
        removed += [q for q in every if _turn_of(_iri(q)) in turns]
    if removed:
        store.apply(removed, [])
    return len(old)


def _iri(quad: ox.Quad) -> str:
    return str(getattr(quad.subject, "value", ""))


def _turn_of(iri: str) -> str:
    head, found, rest = iri.partition("/turn/")
    return f"{head}{found}{rest.split('/')[0]}" if found else ""


def _term(value: Any, iri: bool) -> ox.NamedNode | ox.Literal:
    if iri:
        return ox.NamedNode(value)
    if isinstance(value, bool):
        return ox.Literal("true" if value else "false", datatype=ox.NamedNode(terms.XSD_BOOLEAN))
    if isinstance(value, int):
        return ox.Literal(str(value), datatype=ox.NamedNode(terms.XSD_INTEGER))
    if isinstance(value, float):
        return ox.Literal(value)
    if isinstance(value, datetime):
        time_ = value.astimezone(UTC)
        fraction = f".{time_.microsecond // 1000:03}".rstrip("0").rstrip(".")
        text = f"{time_:%Y-%m-%dT%H:%M:%S}{fraction}Z"
        return ox.Literal(text, datatype=ox.NamedNode(terms.XSD_DATE_TIME))
    # lone surrogates, which a message may hold, cannot be stored
    return ox.Literal(str(value).encode("utf-8", "replace").decode())


Properties = dict[str, dict[str, list[str]]]


def _properties(quads: Iterator[ox.Quad]) -> Properties:
    """Subject, then property, to the values as text."""
    found: Properties = {}
    for quad in quads:
        value = getattr(quad.object, "value", "")
        found.setdefault(getattr(quad.subject, "value", ""), {}).setdefault(quad.predicate.value, []).append(value)
    return found


def _document(iri: str, every: Properties) -> dict[str, Any]:
    own = every[iri]

    def one(of: Mapping[str, Sequence[str]], predicate: str) -> str:
        return next(iter(of.get(predicate, ())), "")

    def parts(of: Mapping[str, Sequence[str]], predicate: str) -> list[dict[str, list[str]]]:
        found = [every.get(node, {}) for node in of.get(predicate, ())]
        return sorted(found, key=lambda p: int(one(p, terms.POSITION) or 0))

    def label(node: str) -> str:
        return one(every.get(node, {}), terms.RDFS_LABEL) or node

    routing = every.get(one(own, terms.HAS_ROUTING), {})
    needs, grounded = one(own, terms.NEEDS), one(own, terms.GROUNDED)
    message = next((m for m in parts(own, terms.HAS_MESSAGE) if one(m, terms.MESSAGE_ROLE) == "human"), {})
    chosen = one(routing, terms.CHOSEN)
    return {
        "thread_id": one(every.get(one(own, terms.IN_CONVERSATION), {}), terms.THREAD_ID),
        "turn": iri,
        "agent": label(one(own, terms.HANDLED_BY)),
        "message": one(message, terms.MESSAGE_TEXT),
        "answer": one(own, terms.ANSWER),
        "grounded": {"true": True, "false": False}.get(grounded),
        "needs": json.loads(needs) if needs else None,
        "tool_calls": [
            {
                "tool": label(one(c, terms.CALLS_TOOL)),
                "arguments": json.loads(one(c, terms.CALL_ARGUMENTS) or "{}"),
                "query": one(c, terms.BOUND_QUERY) or None,
                "row_count": int(one(c, terms.ROW_COUNT)) if one(c, terms.ROW_COUNT) else None,
                "truncated": one(c, terms.TRUNCATED) == "true",
                "seconds": float(one(c, terms.SECONDS) or 0),
                **({"error": one(c, terms.ERROR_MESSAGE)} if one(c, terms.ERROR_MESSAGE) else {}),
            }
            for c in parts(own, terms.HAS_TOOL_CALL)
        ],
        "citations": [{"iri": c, "label": label(c)} for c in sorted(own.get(terms.CITES, ()))],
        "routing": {
            "step": one(routing, terms.ROUTING_STEP),
            "candidates": [
                {
                    "intent": one(c, terms.MATCHED_PHRASE),
                    "target": one(c, terms.NAME),
                    "score": float(one(c, terms.SCORE) or 0),
                }
                for c in parts(routing, terms.HAS_CANDIDATE)
            ],
            "chosen": label(chosen) if chosen else None,
        },
        "model": one(own, terms.CHAT_MODEL),
        "graph_version": int(one(own, terms.GRAPH_VERSION) or 0),
        "started": one(own, terms.STARTED_AT),
        "ended": one(own, terms.ENDED_AT),
    }
