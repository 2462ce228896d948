"""The second half of a turn: the model answers or calls tools, and the turn ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command

from abi.agents.asking_models import ModelsFailed, ask_model, is_offline
from abi.agents.crew import TurnContext
from abi.agents.ending import out_of_time, say_and_end, stopped
from abi.agents.handoff import REQUEST_HELP
from abi.agents.model_loop import OutOfTime, Stopped
from abi.agents.query_graph import QUERY_GRAPH, QUERY_TRIES, QueryGraphTool
from abi.agents.reasons import because
from abi.agents.turn import TurnState, paired, text_of, this_turn
from abi.agents.update_graph import UPDATE_GRAPH, writing

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["call_model", "finish"]

_HISTORY = 200
"""Messages of a thread that a turn reads and the checkpoint keeps; the traces hold all of them."""
_STUB = 600
"""Characters that stay of a result once the turn after it has ended."""
_CUT = " [cut: call the tool again to see all of it]"
Step = Command[str]


def call_model(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """One call of the agent's model, with its tools, the conversation and what the routing found."""
    context, turn, path = runtime.context, dict(state["turn"]), state["path"]
    member = context.crew.member(path[-1])
    settings = context.services.settings
    if turn["steps"] >= settings.agent_steps:
        text = f"I stopped after {settings.agent_steps} steps without an answer."
        return say_and_end(text, turn, path, grounded=False)
    if turn.get("tokens", 0) >= settings.agent_tokens:
        text = f"I stopped after {turn['tokens']:,} tokens of the model without an answer."
        return say_and_end(text, turn, path, grounded=False)
    turn["steps"] += 1
    if not turn["injected"] and not turn["calls"]:
        turn["trail"] = [*turn["trail"], "model"]
        because(turn, f"The chat model of {path[-1]} is asked.")
    name = context.model_name(member.definition)
    turn["model"] = name

    def tell(event: str, data: str) -> None:
        runtime.stream_writer({"type": event, "agent": path[-1], "data": data})

    def withheld(model: BaseChatModel) -> frozenset[str]:
        return _withheld(context, path, turn, model)

    try:
        reply, turn["model"] = ask_model(context, member, name, _view(state, context, turn), withheld, tell)
    except ModelsFailed as error:
        return say_and_end(str(error), turn, path, grounded=False)
    except Stopped as error:
        return stopped(error.text, turn, path)
    except OutOfTime:
        return out_of_time(context, turn, path)
    used = reply.usage_metadata["total_tokens"] if reply.usage_metadata else 0
    turn["tokens"] = turn.get("tokens", 0) + used
    reply.name = path[-1]
    if reply.tool_calls:
        return Command(update={"messages": [reply], "turn": turn}, goto="call_tools")
    turn["needs"] = reply.additional_kwargs.get("needs")
    known = reply.additional_kwargs.get("grounded", ...)
    turn["grounded"] = bool(_successful(turn)) if known is ... else known
    if reply.additional_kwargs.get("unanswered"):
        turn["trail"] = [*[s for s in turn["trail"] if s != "model"], "none"]
        because(turn, f"{path[-1]} has nothing that answers it.")
    return _ended(reply, turn, path, runtime)


def finish(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Make the thread small again: artifacts leave the messages, the rows of earlier turns leave but for their
    beginning, and the oldest messages leave the thread."""
    turn = dict(state["turn"])
    changed: list[AnyMessage | RemoveMessage] = []
    last = this_turn(state["messages"])
    for message in state["messages"][: len(state["messages"]) - len(last)]:
        if isinstance(message, ToolMessage) and len(text_of(message)) > _STUB + len(_CUT):
            changed.append(message.model_copy(update={"content": text_of(message)[:_STUB] + _CUT}))
    for message in last:
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
            because(turn, f"{following} is next in line.")
            runtime.stream_writer({"type": "agent_routing", "agent": path[-2], "data": following})
            return Command(update={**update, "turn": turn, "path": [*path[:-1], following]}, goto="map_intents")
        if supervisor.sequential_supervisor or not text_of(reply):
            turn["injected"] = []
            turn["helped"] = [*turn["helped"], path[-1]]
            because(turn, f"{path[-1]} has done its part: {path[-2]} goes on.")
            runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": path[-2]})
            return Command(update={**update, "turn": turn, "path": path[:-1]}, goto="call_model")
    return Command(update={**update, "turn": turn, "path": path}, goto="finish")


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
    extra = {"intents": turn["injected"], "agent": path[-1], "others": others, "drafts": definition.drafts}
    messages = list(state["messages"])
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            if text_of(messages[index]) != turn["request"]:
                messages[index] = messages[index].model_copy(update={"content": turn["request"]})
            break
    return [SystemMessage("\n\n".join(parts), additional_kwargs=extra), *paired(messages[-_HISTORY:])]


def _withheld(context: TurnContext, path: list[str], turn: dict[str, Any], model: BaseChatModel) -> frozenset[str]:
    """Tools that are not offered now: help without a supervisor, agents that gave this request back, and queries to a
    model that cannot write them or has failed to."""
    handoffs = context.crew.handoffs(path[-1])
    without = {tool for tool, agent in handoffs.items() if agent in turn["helped"]}
    if len(path) == 1:
        without.add(REQUEST_HELP)
    if not context.may_write:
        without |= writing(context.crew.member(path[-1]).tools)
    elif is_offline(model):
        without.add(UPDATE_GRAPH)
    query = context.crew.member(path[-1]).tools.get(QUERY_GRAPH)
    if isinstance(query, QueryGraphTool):
        if is_offline(model) or turn.get("query_faults", 0) >= QUERY_TRIES:
            without.add(QUERY_GRAPH)
        else:
            query.describe()
    return frozenset(without)


def _successful(turn: dict[str, Any]) -> list[dict[str, Any]]:
    return [c for c in turn["calls"] if "error" not in c]
