"""A turn as triples, and back: the message, its routing, the tool calls, what is cited, the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import pyoxigraph as ox

from abi import terms
from abi.graph.names import encode, record_iri

__all__ = ["TracedTurn", "term_of", "thread_iri", "turn_document", "turn_quads"]


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
            quads.append(ox.Quad(ox.NamedNode(subject), ox.NamedNode(predicate), term_of(value, iri), graph))

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
    if turn.routing.get("reason"):
        put(routing, terms.ROUTING_REASON, turn.routing["reason"])
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


def term_of(value: Any, iri: bool) -> ox.NamedNode | ox.Literal:
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


def turn_document(iri: str, quads: Iterator[ox.Quad]) -> dict[str, Any]:
    """The chat document of a turn, with its message and times, from the triples of its thread."""
    every = _properties(quads)
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
            "reason": one(routing, terms.ROUTING_REASON),
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
