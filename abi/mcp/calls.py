"""Calls of tools: what is asked of which route, and what the client gets to see of it.

What goes wrong is a result that says so, with what to do about it: a model can mend its call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abi.errors import AbiError
from abi.mcp.consent import agreed, can_ask, visible
from abi.mcp.offer import Offer, OfferedTool
from abi.mcp.routes import Caller, Refused, Reply, Routes, document, opened
from abi.patterns import bounded
from abi.tools.whole_value import whole_validator

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, InputRequiredResult

__all__ = ["Calls"]

_RESULTS = "application/sparql-results+json, text/turtle;q=0.9"
_TOLD = {"tool_usage": "calls a tool", "call_model": "asks a model", "agent_routing": "chooses an agent"}


class Calls:
    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def call(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams, caller: Caller, offer: Offer
    ) -> CallToolResult | InputRequiredResult:
        tool = offer.tools.get(params.name)
        if tool is None:
            return _failed("not_found", f"There is no tool {params.name!r}.", _near(params.name, offer))
        arguments = params.arguments or {}
        try:
            if tool.kind == "agent":
                return await self._ask(context, params, caller, tool, arguments)
            if tool.kind == "own":
                own: CallToolResult | InputRequiredResult = await _OWN[tool.target](
                    self, context, params, caller, arguments
                )
                return own
            return await self._run(context, params, caller, tool, arguments)
        except Refused as error:
            return _failed(error.code, error.message, error.hint, error.details)
        except AbiError as error:
            return _failed(error.code, error.message, error.hint, error.details)

    async def _run(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        caller: Caller,
        tool: OfferedTool,
        arguments: dict[str, Any],
    ) -> CallToolResult | InputRequiredResult:
        if tool.writes:
            shown = json.dumps(arguments, ensure_ascii=False)
            question = f"Call the tool {tool.target!r}, which changes something? It is given:\n\n{shown}"
            stopped = await _stopped(context, params, caller, question)
            if stopped is not None:
                return stopped
        told = await document(self._routes, caller, "POST", f"/tools/{quote(tool.target, safe='')}", arguments)
        wrong = _against(told, tool.listed["outputSchema"])
        if wrong:
            return _failed("tool_failed", f"The tool gave something else than it declares: {wrong}", "")
        return _done(told)

    async def _ask(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        caller: Caller,
        tool: OfferedTool,
        arguments: dict[str, Any],
    ) -> CallToolResult | InputRequiredResult:
        message = arguments.get("message")
        if not isinstance(message, str) or not message.strip():
            return _failed("argument", "The argument `message` is missing.", "Say in it what you want of the agent.")
        thread_id = arguments.get("thread_id") or (caller.session and f"{caller.session}-{tool.target}")
        write = tool.writes and can_ask(context)
        path = f"/agents/{quote(tool.target, safe='')}/stream-completion"
        waiting = _waiting(params.request_state)
        if waiting is None:
            said = {"prompt": message, "thread_id": thread_id, "write": write}
            told = await self._turn(context, caller, path, said)
        else:
            told = waiting
        needs = told.get("needs") or {}
        if "approval" not in needs or not write:
            return _done(told, told["answer"])
        state = json.dumps({k: told[k] for k in ("thread_id", "answer", "needs")}, sort_keys=True)
        decision = await agreed(context, params, visible(told["answer"]), state)
        if not isinstance(decision, bool):
            return decision
        decided = await self._turn(context, caller, path, {"thread_id": told["thread_id"], "approve": decision})
        return _done(decided, decided["answer"])

    async def _turn(
        self, context: ServerRequestContext[Any, Any], caller: Caller, path: str, said: dict[str, Any]
    ) -> dict[str, Any]:
        """A turn's document; what happens on the way is told as progress."""
        steps = 0
        result: dict[str, Any] | None = None
        async with opened(self._routes, caller, "POST", path, said, accept="text/event-stream") as reply:
            async for name, data in _events(reply):
                if name == "error":
                    raise Refused(json.loads(data)["error"])
                if name == "result":
                    result = json.loads(data)
                elif name in _TOLD:
                    steps += 1
                    await context.session.report_progress(steps, None, f"{_TOLD[name]}: {data[:200]}")
        if result is None:
            raise Refused({"code": "error", "message": "The turn was ended.", "hint": "Try it again."})
        return result

    async def _search(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        caller: Caller,
        arguments: dict[str, Any],
    ) -> CallToolResult:
        return _done(await document(self._routes, caller, "POST", "/catalog/find", arguments))

    async def _sparql(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        caller: Caller,
        arguments: dict[str, Any],
    ) -> CallToolResult:
        query, limit, offset = arguments.get("query"), arguments.get("limit", 100), arguments.get("offset", 0)
        if not isinstance(query, str):
            return _failed("argument", "The argument `query` is missing.", "It is a SPARQL query.")
        if not (isinstance(limit, int) and 0 < limit <= 5_000 and isinstance(offset, int) and offset >= 0):
            return _failed("argument", "`limit` is 1 to 5000, `offset` 0 or more.", "Ask for a part of the rows.")
        timeout = {"timeout": arguments["timeout"]} if "timeout" in arguments else {}
        sent: dict[str, Any] = {"accept": _RESULTS, "media": "application/sparql-query", **timeout}
        async with opened(self._routes, caller, "POST", "/sparql", query, **sent) as reply:
            body = await reply.body()
            cut = reply.headers.get("x-abi-truncated") == "true"
        if "json" not in reply.headers.get("content-type", ""):
            text = body.decode()
            size = limit * 200
            return _done({"turtle": text[:size], "truncated": cut or len(text) > size})
        told = json.loads(body)
        if "boolean" in told:
            return _done({"boolean": told["boolean"], "truncated": False})
        found = told["results"]["bindings"]
        rows = [{name: value["value"] for name, value in row.items()} for row in found[offset : offset + limit]]
        shown = {"columns": told["head"]["vars"], "rows": rows, "truncated": cut or len(found) > offset + limit}
        return _done(shown)

    async def _update(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        caller: Caller,
        arguments: dict[str, Any],
    ) -> CallToolResult | InputRequiredResult:
        update = arguments.get("update")
        if not isinstance(update, str):
            return _failed("argument", "The argument `update` is missing.", "It is a SPARQL update.")
        tried = await document(self._routes, caller, "POST", "/change", {"update": update, "dry_run": True})
        counts = f"{_count(tried['added'])} triples added, {_count(tried['removed'])} removed"
        stopped = await _stopped(context, params, caller, f"Change the graph ({counts})?\n\n{update}")
        if stopped is not None:
            return stopped
        done = await document(self._routes, caller, "POST", "/change", {"update": update})
        return _done({**done, "added": _count(done["added"]), "removed": _count(done["removed"])})


_OWN: dict[str, Any] = {"abi_search": Calls._search, "abi_sparql": Calls._sparql, "abi_update": Calls._update}


async def _stopped(
    context: ServerRequestContext[Any, Any], params: CallToolRequestParams, caller: Caller, question: str
) -> CallToolResult | InputRequiredResult | None:
    """What the call ends with where it may not change anything; None where it may."""
    if not caller.may_write:
        return _failed("denied", "This changes something, and needs a key with the role writer.", "")
    if not can_ask(context):
        return _failed(
            "denied", "This changes something, and this client cannot ask a person first.", "Use `abi` for it."
        )
    state = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
    decision = await agreed(context, params, visible(question), state)
    if decision is True:
        return None
    if decision is False:
        return _failed("denied", "The person who was asked said no.", "Do not try it again in another way.")
    return decision


def _waiting(state: str | None) -> dict[str, Any] | None:
    """The turn that waits for an answer, as it was before the client asked a person."""
    if state is None:
        return None
    try:
        told: dict[str, Any] = json.loads(state)
    except ValueError:
        return None
    return told if "thread_id" in told else None


def _count(changed: Any) -> int:
    return changed if isinstance(changed, int) else len(changed)


def _done(told: dict[str, Any], text: str | None = None) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    plain = json.dumps(told, ensure_ascii=False) if text is None else text
    return CallToolResult(content=[TextContent(type="text", text=plain)], structured_content=told)


def _failed(code: str, message: str, hint: str, details: dict[str, Any] | None = None) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    text = f"{message} {hint}".strip()
    if details:
        text += "\n" + json.dumps(details, ensure_ascii=False, default=str)
    return CallToolResult(content=[TextContent(type="text", text=f"{code}: {text}")], is_error=True)


def _against(told: Any, schema: dict[str, Any]) -> str:
    """What in a result is not as its tool declares; empty where all is."""
    from jsonschema.exceptions import SchemaError, best_match

    try:
        with bounded():
            fault = best_match(whole_validator(schema).iter_errors(told))
    except (SchemaError, RecursionError, AbiError) as error:
        return str(error)[:300]
    return "" if fault is None else f"{fault.json_path}: {fault.message[:300]}"


def _near(name: str, offer: Offer) -> str:
    from rapidfuzz import process

    near = [match[0] for match in process.extract(name, list(offer.tools), limit=3, score_cutoff=60)]
    return f"Did you mean {', '.join(near)}?" if near else "tools/list tells which there are."


async def _events(reply: Reply) -> AsyncIterator[tuple[str, str]]:
    """Server-sent events as (name, data)."""
    rest = b""
    async for chunk in reply.chunks:
        *whole, rest = (rest + chunk).split(b"\n\n")
        for event in whole:
            name, data = "", list[str]()
            for line in event.decode().split("\n"):
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    data.append(value)
            if name:
                yield name, "\n".join(data)
