"""The second half of a turn: the model answers or calls tools, agents hand over, and the turn ends."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command

from abi.agents.crew import TurnContext
from abi.agents.definition import MAX_DEPTH
from abi.agents.handoff import REQUEST_HELP, HandoffTool
from abi.agents.langchain_tools import CONTENT_CHARACTERS, CatalogTool, content_of
from abi.agents.turn import TurnState, paired, text_of, this_turn
from abi.errors import AbiError

if TYPE_CHECKING:
    from abi.tools.runner import ToolResult

__all__ = ["call_model", "call_tools", "finish"]

_log = logging.getLogger("abi")
_HISTORY = 200
"""Messages of a thread that a turn reads and the checkpoint keeps; the traces hold all of them."""
Step = Command[str]


def call_model(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """One call of the agent's model, with its tools, the conversation and what the routing found."""
    context, turn, path = runtime.context, dict(state["turn"]), state["path"]
    member = context.crew.member(path[-1])
    limit = context.services.settings.agent_steps
    if turn["steps"] >= limit:
        return _end(f"I stopped after {limit} steps without an answer.", turn, path, grounded=False)
    turn["steps"] += 1
    if not turn["injected"] and not turn["calls"]:
        turn["trail"] = [*turn["trail"], "model"]
    name = context.model_name(member.definition)
    turn["model"] = name
    runtime.stream_writer({"type": "call_model", "agent": path[-1], "data": name})
    try:
        model = context.models.get(name)
        without = _withheld(context, path, turn)
        reply = member.bound(model, without).invoke(_view(state, context, turn))
    except AbiError as error:
        return _end(
            f"The model {name} cannot be used: {error.message} {error.hint}".strip(), turn, path, grounded=False
        )
    except Exception as error:  # any provider's own errors; the thread has to stay usable
        _log.warning("The model %s failed: %s", name, error, exc_info=True)
        return _end(f"The model {name} failed: {_short(error)}", turn, path, grounded=False)
    if not isinstance(reply, AIMessage):
        reply = AIMessage(content=text_of(reply))
    reply.name = path[-1]
    if reply.tool_calls:
        return Command(update={"messages": [reply], "turn": turn}, goto="call_tools")
    turn["needs"] = reply.additional_kwargs.get("needs")
    known = reply.additional_kwargs.get("grounded", ...)
    turn["grounded"] = bool(_successful(turn)) if known is ... else known
    if reply.additional_kwargs.get("unanswered"):
        turn["trail"] = [*[s for s in turn["trail"] if s != "model"], "none"]
    return _ended(reply, turn, path, runtime)


def call_tools(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Run the tools that the model called, in order. A failure is told to the model; the thread stays usable."""
    context, turn, path = runtime.context, dict(state["turn"]), state["path"]
    call_message = state["messages"][-1]
    assert isinstance(call_message, AIMessage)
    member = context.crew.member(path[-1])
    moves, messages, kept_calls = [], [], []
    for call in call_message.tool_calls:
        tool = member.tools.get(call["name"])
        if isinstance(tool, HandoffTool) or (call["name"] == REQUEST_HELP and len(path) > 1):
            moves.append((call, tool))
            continue
        kept_calls.append(call)
        turn["steps"] += 1
        runtime.stream_writer({"type": "tool_usage", "agent": path[-1], "data": call["name"]})
        message, document, citations = _run(tool, call, member.tools)
        runtime.stream_writer(
            {"type": "tool_response", "agent": path[-1], "data": text_of(message)[:CONTENT_CHARACTERS]}
        )
        messages.append(message)
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
    return Command(update={"messages": update, "turn": turn}, goto="call_model")


def finish(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Make the thread small again: results leave the messages, and the oldest messages leave the thread."""
    turn = dict(state["turn"])
    changed: list[AnyMessage | RemoveMessage] = []
    for message in this_turn(state["messages"]):
        if isinstance(message, ToolMessage) and message.artifact is not None:
            changed.append(message.model_copy(update={"artifact": None}))
        elif isinstance(message, AIMessage) and not message.tool_calls:
            turn["answers"] = [*turn["answers"], text_of(message)]
            runtime.stream_writer(
                {"type": "ai_message", "agent": message.name or state["path"][-1], "data": text_of(message)}
            )
    messages = state["messages"]
    if len(messages) > _HISTORY:
        cut = len(messages) - _HISTORY
        while cut < len(messages) - 1 and not isinstance(messages[cut], HumanMessage):
            cut += 1
        changed += [RemoveMessage(id=str(m.id)) for m in messages[:cut]]
    return Command(update={"messages": changed, "turn": turn, "count": state.get("count", 0) + 1}, goto=END)


def _ended(reply: AIMessage, turn: dict[str, Any], path: list[str], runtime: Runtime[TurnContext]) -> Step:
    """After an agent's last word: the next agent in line, a supervisor that wants control back, or the end."""
    update: dict[str, Any] = {"messages": [reply] if text_of(reply) else []}
    if turn["needs"] is None and len(path) > 1:
        supervisor = runtime.context.crew.member(path[-2]).definition
        if turn["queue"]:
            following, *turn["queue"] = turn["queue"]
            turn["moves"] += 1
            runtime.stream_writer({"type": "agent_routing", "agent": path[-2], "data": following})
            return Command(update={**update, "turn": turn, "path": [*path[:-1], following]}, goto="map_intents")
        if supervisor.sequential_supervisor or not text_of(reply):
            turn["injected"] = []
            turn["helped"] = [*turn["helped"], path[-1]]
            runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": path[-2]})
            return Command(update={**update, "turn": turn, "path": path[:-1]}, goto="call_model")
    return Command(update={**update, "turn": turn, "path": path}, goto="finish")


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
        ended = _end(said, turn, path, grounded=False)
        assert isinstance(ended.update, dict)
        return Command(update={**ended.update, "messages": [*update, *ended.update["messages"]]}, goto="finish")
    turn["injected"] = []
    if targets:
        first, *rest = targets
        turn["queue"] = [*rest, *turn["queue"]]
        turn["chosen"] = first
        # an agent that is already on the way is gone back to, not entered a second time
        path_to = path[: path.index(first) + 1] if first in path else [*path, first]
        runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": first})
        return Command(update={"messages": update, "turn": turn, "path": path_to}, goto="map_intents")
    call, _ = moves[0]
    turn["helped"] = [*turn["helped"], path[-1]]
    turn["reason"] = str(call["args"].get("reason", ""))
    runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": path[-2]})
    return Command(update={"messages": update, "turn": turn, "path": path[:-1]}, goto="call_model")


def _run(
    tool: BaseTool | None, call: Any, tools: dict[str, BaseTool]
) -> tuple[ToolMessage, dict[str, Any] | None, list[dict[str, str]]]:
    """The message that tells the model of a call, the call's document, the entities that it cites."""
    name, arguments, call_id = call["name"], dict(call["args"]), call["id"] or call["name"]
    if tool is None or name == REQUEST_HELP:
        there = ", ".join(n for n in tools if n != REQUEST_HELP)
        text = f"There is no tool {name!r} here. Available tools: {there}."
        return ToolMessage(text, tool_call_id=call_id, name=name, status="error", artifact={"error": {}}), None, []
    started = datetime.now(UTC)
    try:
        if not isinstance(tool, CatalogTool):
            result = tool.invoke(arguments)
            document = _document(name, arguments, result, (datetime.now(UTC) - started).total_seconds())
            return _message(call_id, name, document, [], None), document, []
        found = tool.call(arguments)
    except AbiError as error:
        text = f"{error.message} {error.hint}".strip()
        artifact = error.document()
    except Exception as error:  # a tool may raise anything; the model is told and the thread goes on
        _log.warning("The tool %s failed: %s", name, error, exc_info=True)
        text, artifact = f"The tool {name} failed: {_short(error)}", {"error": {"code": "tool_failed"}}
    else:
        document = _called(found)
        citations = [{"iri": iri, "label": label} for iri, label in found.citations]
        return _message(call_id, name, document, citations, found.answer), document, citations
    failed = _document(name, arguments, None, (datetime.now(UTC) - started).total_seconds())
    failed["error"] = text
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error", artifact=artifact), failed, []


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


def _view(state: TurnState, context: TurnContext, turn: dict[str, Any]) -> list[AnyMessage]:
    """What the model is shown: the system prompt with the intents found, and the conversation."""
    path = state["path"]
    definition = context.crew.member(path[-1]).definition
    parts = [definition.system_prompt, f"CURRENT_DATE: The current date is {datetime.now(UTC):%Y-%m-%d}"]
    if turn["injected"]:
        lines = "\n".join(
            f"- Mapped intent: `{c['intent']}`, "
            + ("tool to call" if c["type"] == "tool" else c["type"])
            + f": `{c['target']}`"
            for c in turn["injected"]
        )
        parts.append(f"<intents_rules>Follow the mapped intents.\n<intents>\n{lines}\n</intents>\n</intents_rules>")
    if turn["reason"] or turn["helped"]:
        helped = ", ".join(turn["helped"])
        parts.append(f"These agents gave the request back: {helped}. Reason: {turn['reason'] or 'done'}")
    # what those who gave the request back can be asked is still told where nobody answers
    others = [t.description for name in turn["helped"] for t in context.crew.definitions.agent(name).tools]
    extra = {"intents": turn["injected"], "agent": path[-1], "others": others}
    messages = list(state["messages"])
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            if text_of(messages[index]) != turn["request"]:
                messages[index] = messages[index].model_copy(update={"content": turn["request"]})
            break
    return [SystemMessage("\n\n".join(parts), additional_kwargs=extra), *paired(messages[-_HISTORY:])]


def _withheld(context: TurnContext, path: list[str], turn: dict[str, Any]) -> frozenset[str]:
    """Tools that are not offered now: help without a supervisor, and agents that gave this request back."""
    handoffs = context.crew.handoffs(path[-1])
    without = {tool for tool, agent in handoffs.items() if agent in turn["helped"]}
    if len(path) == 1:
        without.add(REQUEST_HELP)
    return frozenset(without)


def _end(text: str, turn: dict[str, Any], path: list[str], *, grounded: bool | None) -> Step:
    turn["grounded"] = grounded
    message = AIMessage(content=text, name=path[-1], additional_kwargs={"grounded": grounded})
    return Command(update={"messages": [message], "turn": turn, "path": path}, goto="finish")


def _successful(turn: dict[str, Any]) -> list[dict[str, Any]]:
    return [c for c in turn["calls"] if "error" not in c]


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "..."
