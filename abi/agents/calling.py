"""The tools' step of a turn: what the model called is run, within limits, and told to it; agents hand over."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import ValidationError

from abi.agents.approval import undecided
from abi.agents.asking_models import short
from abi.agents.crew import TurnContext
from abi.agents.definition import MAX_DEPTH
from abi.agents.ending import ended_by_tool, out_of_time, say_and_end, stopped
from abi.agents.handoff import REQUEST_HELP, HandoffTool
from abi.agents.langchain_tools import CONTENT_CHARACTERS, content_of, wrong_arguments
from abi.agents.model_loop import OutOfTime, Stopped
from abi.agents.query_graph import QUERY_GRAPH, QUERY_TRIES
from abi.agents.reasons import because
from abi.agents.turn import TurnState, text_of
from abi.agents.update_graph import UpdateGraphTool, writing
from abi.errors import AbiError, ToolFailed

if TYPE_CHECKING:
    from abi.tools.runner import ToolResult

__all__ = ["call_tools"]

_log = logging.getLogger("abi")
_LOOK = 0.05
Step = Command[str]


def call_tools(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Run the tools that the model called, in order. A failure is told to the model; the thread stays usable."""
    context, turn, path = runtime.context, dict(state["turn"]), state["path"]
    call_message = state["messages"][-1]
    assert isinstance(call_message, AIMessage)
    member = context.crew.member(path[-1])
    changes = writing(member.tools)
    offered = {n: t for n, t in member.tools.items() if n not in changes or context.may_write or turn.get("decisions")}
    waiting = undecided(call_message, turn, changes)
    if waiting is not None and waiting["name"] in offered:
        return Command(update={"turn": turn}, goto="propose")
    moves: list[tuple[Any, Any]] = []
    messages: list[Any] = []
    kept_calls: list[Any] = []
    direct: list[Any] = []
    for call in call_message.tool_calls:
        tool = offered.get(call["name"])
        if isinstance(tool, HandoffTool) or (call["name"] == REQUEST_HELP and len(path) > 1):
            moves.append((call, tool))
            continue
        kept_calls.append(call)
        turn["steps"] += 1
        runtime.stream_writer({"type": "tool_usage", "agent": path[-1], "data": call["name"]})
        try:
            message, document, citations = _run(tool, call, offered, context, turn.get("decisions", {}))
        except Stopped:
            return stopped("", turn, path, messages)
        except OutOfTime:
            return out_of_time(context, turn, path, messages)
        if call["name"] == QUERY_GRAPH and message.status == "error":
            turn["query_faults"] = turn.get("query_faults", 0) + 1
            left = QUERY_TRIES - turn["query_faults"]
            message.content = f"{message.content} {f'Tries left: {left}.' if left else 'Answer without this tool now.'}"
        runtime.stream_writer(
            {"type": "tool_response", "agent": path[-1], "data": text_of(message)[:CONTENT_CHARACTERS]}
        )
        messages.append(message)
        direct.append(getattr(tool, "return_direct", False) and message.status != "error")
        if document is not None:
            turn["calls"] = [*turn["calls"], document]
            known = {c["iri"] for c in turn["citations"]}
            turn["citations"] = [*turn["citations"], *(c for c in citations if c["iri"] not in known)]
            turn["chosen"] = call["name"]
    update: list[AnyMessage | RemoveMessage] = list(messages)
    if moves:  # hand-overs are the machine's business: nothing of them stays in the conversation
        if kept_calls:
            update.insert(0, call_message.model_copy(update={"tool_calls": kept_calls}))
        else:
            update = [RemoveMessage(id=str(call_message.id))]
        return _move(moves, update, turn, path, runtime)
    if direct and all(direct):
        return ended_by_tool(messages, turn, path)
    return Command(update={"messages": update, "turn": turn}, goto="call_model")


def _move(
    moves: list[tuple[Any, BaseTool | None]],
    update: list[AnyMessage | RemoveMessage],
    turn: dict[str, Any],
    path: list[str],
    runtime: Runtime[TurnContext],
) -> Step:
    """Hand over to the first agent that was called, the others in line behind it; or back to the supervisor."""
    targets = [tool.target for _, tool in moves if isinstance(tool, HandoffTool)]
    limit = runtime.context.services.settings.agent_steps
    turn["moves"] += 1
    if turn["moves"] > limit or len(path) >= MAX_DEPTH:
        said = f"I stopped: the request was handed over {turn['moves']} times, {' > '.join(path)}, without an answer."
        return say_and_end(said, turn, path, grounded=False, before=update)
    turn["injected"] = []
    if targets:
        first, *rest = targets
        turn["queue"] = [*rest, *turn["queue"]]
        turn["chosen"] = first
        because(turn, f"{path[-1]} hands the request over to {first}.")
        # an agent that is already on the way is gone back to, not entered a second time
        path_to = path[: path.index(first) + 1] if first in path else [*path, first]
        runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": first})
        return Command(update={"messages": update, "turn": turn, "path": path_to}, goto="map_intents")
    call, _ = moves[0]
    turn["helped"] = [*turn["helped"], path[-1]]
    turn["reason"] = str(call["args"].get("reason", ""))
    because(turn, f"{path[-1]} gave the request back to {path[-2]}: {turn['reason'] or 'no reason given'}.")
    runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": path[-2]})
    return Command(update={"messages": update, "turn": turn, "path": path[:-1]}, goto="call_model")


def _run(
    tool: BaseTool | None,
    call: Any,
    tools: dict[str, BaseTool],
    context: TurnContext,
    decisions: dict[str, dict[str, str]],
) -> tuple[ToolMessage, dict[str, Any] | None, list[dict[str, str]]]:
    """The message that tells the model of a call, the call's document, the entities that it cites."""
    name, arguments, call_id = call["name"], dict(call["args"]), call["id"] or call["name"]
    if tool is None or name == REQUEST_HELP:
        there = ", ".join(n for n in tools if n != REQUEST_HELP)
        text = f"There is no tool {name!r} here. Available tools: {there}."
        return ToolMessage(text, tool_call_id=call_id, name=name, status="error", artifact={"error": {}}), None, []
    started = datetime.now(UTC)
    try:
        if "_malformed" in arguments:
            given = str(arguments.pop("_malformed"))[:200]
            raise ToolFailed(f"The arguments of {name} are no JSON object: {given}")
        own = getattr(tool, "call", None)
        if isinstance(tool, UpdateGraphTool):
            decision = decisions[call["id"]]
            if "refused" in decision:
                raise ToolFailed(decision["refused"])
            arguments = {"update": decision["exact"]}
            found = tool.call(decision["exact"])  # waited for: a write is made whole or not at all
            return _told(call_id, name, found)
        if own is None:
            result = run_within(lambda: tool.invoke(arguments), name, context)
            document = _document(name, arguments, result, (datetime.now(UTC) - started).total_seconds())
            return _message(call_id, name, document, [], None), document, []
        found = run_within(lambda: own(arguments), name, context)
    except AbiError as error:
        text = f"{error.message} {error.hint}".strip()
        artifact = error.document()
    except (Stopped, OutOfTime):
        raise
    except ValidationError as error:
        text, artifact = wrong_arguments(error), {"error": {"code": "arguments"}}
    except Exception as error:  # a tool may raise anything; the model is told and the thread goes on
        _log.warning("The tool %s failed: %s", name, error, exc_info=True)
        text, artifact = f"The tool {name} failed: {short(error)}", {"error": {"code": "tool_failed"}}
    else:
        return _told(call_id, name, found)
    failed = _document(name, arguments, None, (datetime.now(UTC) - started).total_seconds())
    failed["error"] = text
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", artifact=artifact), failed, []


def _told(
    call_id: str, name: str, found: ToolResult
) -> tuple[ToolMessage, dict[str, Any] | None, list[dict[str, str]]]:
    document = _called(found)
    citations = [{"iri": iri, "label": label} for iri, label in found.citations]
    return _message(call_id, name, document, citations, found.answer), document, citations


def run_within(function: Callable[[], Any], name: str, context: TurnContext) -> Any:
    """What the function gives, in a thread of its own that is not waited for longer than a tool may take.

    Raises what it raises, ToolFailed over its time, Stopped, and OutOfTime where the whole turn has no time left.
    """
    outcome: list[Any] = []
    copied = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.extend((copied.run(function), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=work, name=f"abi-tool-{name}", daemon=True)
    seconds = context.services.settings.tool_seconds
    until = time.monotonic() + seconds
    thread.start()
    while True:
        thread.join(_LOOK)
        if not thread.is_alive():
            break
        if context.stopped():
            raise Stopped
        if time.monotonic() > context.until:
            raise OutOfTime
        if time.monotonic() > until:
            raise ToolFailed(f"The tool {name} took longer than {seconds:g} s and was given up.")
    value, error = outcome
    if error is not None:
        raise error
    return value


def _message(
    call_id: str, name: str, document: dict[str, Any], citations: list[dict[str, str]], answer: str | None
) -> ToolMessage:
    artifact = {"document": document, "citations": citations, "answer": answer}
    return ToolMessage(content_of(document), tool_call_id=call_id, name=name, artifact=artifact)


def _called(result: ToolResult) -> dict[str, Any]:
    """A call in the shape of the chat document: rows where the tool gave rows, else its result."""
    whole = result.document()
    rows = whole["result"] if result.rows is not None and isinstance(whole["result"], list) else None
    kept = ("tool", "arguments", "query", "row_count", "truncated", "seconds")
    return {**{k: whole[k] for k in kept}, "rows": rows, "result": None if rows is not None else whole["result"]}


def _document(name: str, arguments: dict[str, Any], result: Any, seconds: float) -> dict[str, Any]:
    """A call in the shape of the chat document, where no ToolResult gave one."""
    return {
        "tool": name,
        "arguments": arguments,
        "query": None,
        "rows": None,
        "result": result,
        "row_count": None,
        "truncated": False,
        "seconds": round(seconds, 4),
    }
