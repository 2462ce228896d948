"""What a client is offered: a tool for each agent and each tool of the graph, and a few of abi's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from abi.exchange.mcp_lists import NEEDS_APPROVAL
from abi.mcp.routes import Caller, Routes, document

__all__ = ["Offer", "OfferedTool", "Offers"]

_KEPT = 64
"""Callers whose offers are remembered."""
_LONGEST = 128
_AGENT_RESULT = {
    "type": "object",
    "required": ["answer", "thread_id"],
    "properties": {
        "answer": {"type": "string"},
        "agent": {"type": "string", "description": "Who answered."},
        "thread_id": {"type": "string", "description": "Give it again to go on with this conversation."},
        "grounded": {"type": ["boolean", "null"], "description": "Whether all of it comes from rows of the graph."},
        "needs": {"type": ["object", "null"], "description": "What is asked back: a missing argument, or choices."},
        "tool_calls": {"type": "array", "items": {"type": "object"}},
        "citations": {"type": "array", "items": {"type": "object"}},
        "routing": {"type": "object"},
        "turn": {"type": "string", "description": "The IRI of the turn's trace."},
    },
}
_ROWS = {"type": "array", "items": {"type": "object"}}
_OWN: list[dict[str, Any]] = [
    {
        "name": "abi_search",
        "title": "Search the graph",
        "description": "Finds records (tools, prompts, agents, intents) and entities by words and by meaning, "
        "best first. Use it to learn the IRI of a thing from its name.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "query": {"type": "string", "maxLength": 4000},
                "kind": {
                    "type": "string",
                    "enum": ["tools", "prompts", "agents", "intents", "records", "entities"],
                },
                "annotations": {"type": "string", "description": 'A predicate: key = "value" AND NOT a = "b".'},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5},
            },
        },
        "outputSchema": {"type": "object", "required": ["results"], "properties": {"results": _ROWS}},
    },
    {
        "name": "abi_sparql",
        "title": "Ask by SPARQL",
        "description": "Runs a SPARQL 1.1 query (SELECT, ASK, CONSTRUCT, DESCRIBE) over the whole graph, read-only. "
        "The workspace's prefixes are declared already. Ask for no more rows than you need.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "maxLength": 100000},
                "limit": {"type": "integer", "minimum": 1, "maximum": 5000, "default": 100},
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Rows to leave out."},
                "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds."},
            },
        },
        "outputSchema": {
            "type": "object",
            "required": ["truncated"],
            "properties": {
                "columns": {"type": "array", "items": {"type": "string"}},
                "rows": _ROWS,
                "boolean": {"type": "boolean"},
                "turtle": {"type": "string"},
                "truncated": {"type": "boolean"},
            },
        },
    },
    {
        "name": "abi_update",
        "title": "Change the graph",
        "description": "Changes the graph by SPARQL 1.1 Update. What is wrong with the change is told, and nothing is "
        "written then. A person is asked before anything is written.",
        "inputSchema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["update"],
            "properties": {"update": {"type": "string", "maxLength": 1000000}},
        },
        "outputSchema": {
            "type": "object",
            "required": ["added", "removed"],
            "properties": {"added": {"type": "integer"}, "removed": {"type": "integer"}},
        },
        "writes": True,
    },
]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    kind: Literal["agent", "tool", "own"]
    target: str
    """The agent's or the tool's own name."""
    listed: dict[str, Any]
    """As `tools/list` shows it."""
    writes: bool = False
    """A person has to agree to each call. Of an agent: it may propose changes."""


@dataclass(frozen=True, slots=True)
class Offer:
    tools: dict[str, OfferedTool]
    """By the name that clients see."""
    prompts: dict[str, dict[str, Any]]


@dataclass
class Offers:
    """The offer for each caller, read anew when the graph has moved."""

    routes: Routes
    _made: dict[tuple[str | None, str], tuple[int, Offer]] = field(default_factory=dict)

    async def of(self, caller: Caller) -> Offer:
        """Raises Refused, NetworkError."""
        key = (caller.authorization, caller.role)
        version = await self.routes.version()
        made = self._made.get(key)
        if made is not None and made[0] == version:
            return made[1]
        lists = await document(self.routes, caller, "GET", "/export", accept="*/*", format="mcp")
        agents = (await document(self.routes, caller, "GET", "/agents"))["agents"]
        offer = _offer(lists, agents, caller)
        if len(self._made) >= _KEPT:
            self._made.clear()
        self._made[key] = version, offer
        return offer


def _offer(lists: Any, agents: list[dict[str, Any]], caller: Caller) -> Offer:
    if isinstance(lists, str):
        import json

        lists = json.loads(lists)
    offered: dict[str, OfferedTool] = {}
    for own in _OWN:
        writes = own.get("writes", False)
        if not writes or caller.may_write:
            listed = {name: value for name, value in own.items() if name != "writes"}
            listed["annotations"] = _hints(reads=not writes, destroys=writes, same=True, world=False)
            offered[own["name"]] = OfferedTool("own", own["name"], listed, writes)
    listed_tools = {tool["name"]: tool for tool in lists["tools"]}
    for agent in agents:
        writes = bool(agent["may_write"]) and caller.may_write
        used = [listed_tools.get(name, {}).get("annotations", {}) for name in agent["tools"]]
        reads = not writes and all(hints.get("readOnlyHint", False) for hints in used)
        listed = {
            "title": f"Ask {agent['name']}",
            "description": agent["description"] or f"Asks the agent {agent['name']}.",
            "inputSchema": {
                "type": "object",
                "additionalProperties": False,
                "required": ["message"],
                "properties": {
                    "message": {"type": "string", "maxLength": 32000, "description": "What is said to the agent."},
                    "thread_id": {
                        "type": "string",
                        "description": "The conversation to go on with; left out: the one of this session.",
                    },
                },
            },
            "outputSchema": _AGENT_RESULT,
            "annotations": _hints(reads=reads, destroys=not reads, same=False, world=True),
        }
        name = _free(f"ask_{agent['name']}", offered)
        offered[name] = OfferedTool("agent", agent["name"], {"name": name, **listed}, writes)
    for tool in lists["tools"]:
        name = _free(tool["name"], offered)
        writes = bool(tool.get("_meta", {}).get(NEEDS_APPROVAL, False))
        offered[name] = OfferedTool("tool", tool["name"], {**tool, "name": name}, writes)
    return Offer(offered, {prompt["name"]: prompt for prompt in lists["prompts"]})


def _hints(*, reads: bool, destroys: bool, same: bool, world: bool) -> dict[str, bool]:
    return {"readOnlyHint": reads, "destructiveHint": destroys, "idempotentHint": same, "openWorldHint": world}


def _free(name: str, taken: dict[str, OfferedTool]) -> str:
    """A name that clients take, and that nothing else has: no record stands in for one of abi's own tools."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_LONGEST] or "tool"
    number = 1
    free = plain
    while free in taken:
        number += 1
        free = f"{plain[: _LONGEST - 4]}_{number}"
    return free
