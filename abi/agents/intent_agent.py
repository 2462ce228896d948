"""The routing of a message: active agent and @mentions, intents, filter, entity check, and where it goes then.

Each step is a node of the one state machine in `abi.agents.agent`. It reads the state, writes the turn's working
values and says which step comes next.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from abi.agents.choice import ask_again, intents_question, pick
from abi.agents.crew import TurnContext
from abi.agents.definition import AgentDefinition, Definitions
from abi.agents.filtering import keep_by_entities, keep_by_model
from abi.agents.handoff import mention_of
from abi.agents.intents import TRACED, Candidate, decide
from abi.agents.reasons import because, of_filter, of_mapping
from abi.agents.turn import TurnState, is_question, last_request, new_turn
from abi.errors import AbiError, ArgumentError
from abi.patterns import compiled

__all__ = ["begin", "check_entities", "filter_intents", "map_intents", "route"]

_log = logging.getLogger("abi")
Step = Command[str]


def begin(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Who takes the message: the agent of a pending choice, of an @mention, or the one that holds the conversation."""
    context = runtime.context
    text, before = last_request(state["messages"])
    turn = new_turn(text)
    path = _restored(state.get("path") or [], context.root, context.crew.definitions)
    pending = (before.additional_kwargs.get("needs") or {}) if before is not None else {}
    turn["asked"] = pending.get("kind") == "argument"
    if pending.get("kind") == "choice" and pending.get("owner") in path:
        path = path[: path.index(pending["owner"]) + 1]
        chosen = _after_choice(pending, text, path, turn, runtime)
        if chosen is not None:
            return chosen
    mention = mention_of(text)
    if mention is not None:
        name, rest = mention
        way = context.crew.definitions.path_to(context.root, lambda n: n.casefold() == name.casefold())
        turn["request"] = rest
        if way is not None:
            turn["trail"].append("mention")
            turn["chosen"] = way[-1]
            because(turn, f"The message names @{way[-1]}.")
            if not rest:
                return _greeting(context.crew.definitions.agent(way[-1]), way, turn)
            return Command(update={"turn": turn, "path": way}, goto="map_intents")
        because(turn, f"No agent of {context.root} is named @{name}.")
        turn["request"] = rest or text
    if len(path) > 1:
        if _lets_go(context.crew.definitions.agent(path[-1]), text):
            because(turn, f"{path[-1]} let go of the conversation.")
            path = path[:1]
        else:
            turn["trail"].append("active")
            turn["chosen"] = path[-1]
            because(turn, f"{path[-1]} holds the conversation.")
    return Command(update={"turn": turn, "path": path}, goto="map_intents")


def map_intents(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """Score the agent's intents. No intent above the threshold, or no embedder: the model answers."""
    context, turn = runtime.context, dict(state["turn"])
    name = state["path"][-1]
    member = context.crew.member(name)
    # an answer to a question for an argument (`PDX`) is no request of its own, least of all in general terms
    general = "" if turn["asked"] or not len(member.index) else _general(context, turn["request"])
    try:
        candidates = member.index.map(turn["request"], general)
    except Exception as error:  # an embedder may be anywhere; the conversation goes on without it
        _log.warning("Intents of %s are not mapped: the embedder failed (%s).", name, error)
        turn["trail"] = [*turn["trail"], "unmapped"]
        because(turn, f"The intents of {name} could not be compared with the message: the embedder failed.")
        return Command(update={"turn": turn}, goto="call_model")
    turn["candidates"] = [*turn["candidates"], *(c.state() for c in candidates[:TRACED])]
    known = [c for c in candidates if _reachable(c, member.definition)]
    if turn["asked"] and not is_question(turn["request"]):
        known = [c for c in known if c.type == "raw"]
    decision = decide(known, member.definition.thresholds)
    while decision.step in ("direct", "single") and not _about_it(context, turn["request"], decision.kept[0]):
        turn["trail"] = [*turn["trail"], "entity_check"]
        because(turn, f"`{decision.kept[0].intent}` names something that the message does not name.")
        known = [c for c in known if c is not decision.kept[0]]
        decision = decide(known, member.definition.thresholds)
    because(turn, of_mapping(name, known, decision, member.definition.thresholds))
    if decision.step == "none":
        return Command(update={"turn": turn}, goto="call_model")
    turn["kept"] = [c.state() for c in decision.kept]
    if decision.step == "several":
        return Command(update={"turn": turn}, goto="filter_intents")
    turn["trail"] = [*turn["trail"], decision.step]
    return Command(update={"turn": turn}, goto="route")


def filter_intents(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """The chat model drops intents that do not fit. One left: it is routed. A filter that fails keeps all."""
    context, turn = runtime.context, dict(state["turn"])
    kept = [Candidate.of(c) for c in turn["kept"]]
    member = context.crew.member(state["path"][-1])
    try:
        model = context.models.get(context.model_name(member.definition))
        left = keep_by_model(model, turn["request"], kept, member.tools, context.reply)
        because(turn, of_filter("The chat model", kept, left))
    except Exception as error:  # a model that fails here may still answer later
        _log.warning("Intents are not filtered: the model failed (%s).", error)
        because(turn, "The chat model could not be asked which of them fit.")
        left = kept
    turn["kept"] = [c.state() for c in left]
    if len(left) == 1 and _about_it(context, turn["request"], left[0]):
        turn["trail"] = [*turn["trail"], "filtered"]
        return Command(update={"turn": turn}, goto="route")
    return Command(update={"turn": turn}, goto="check_entities")


def check_entities(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """An intent that names an entity stays only where the message names it too."""
    turn = dict(state["turn"])
    kept = [Candidate.of(c) for c in turn["kept"]]
    left = keep_by_entities(runtime.context.mentions, turn["request"], kept)
    turn["kept"] = [c.state() for c in left]
    turn["trail"] = [*turn["trail"], "entity_check"]
    if kept:
        because(turn, of_filter("The check of the entities that they name", kept, left))
    return Command(update={"turn": turn}, goto="route")


def route(state: TurnState, runtime: Runtime[TurnContext]) -> Step:
    """None left: the model. One: its reply, its agent or its tool. Several: the person chooses."""
    turn = dict(state["turn"])
    kept = [Candidate.of(c) for c in turn["kept"]]
    if not kept:
        return Command(update={"turn": turn}, goto="call_model")
    if len(kept) == 1:
        return follow(kept[0], turn, state["path"], runtime)
    choosable = [c for c in kept if c.type != "raw"]
    if len(choosable) < 2:
        turn["injected"] = turn["kept"]
        because(turn, "Several replies are left, and no choice of agents or tools: the chat model is told of all.")
        return Command(update={"turn": turn}, goto="call_model")
    choosable.sort(key=lambda c: (-c.score, c.target))
    turn["trail"] = [*turn["trail"], "choice"]
    because(turn, f"{len(choosable)} agents or tools are left: the person chooses.")
    turn["needs"] = {
        "kind": "choice",
        "owner": state["path"][-1],
        "request": turn["request"],
        "choices": [{"number": i, "label": c.target} for i, c in enumerate(choosable, start=1)],
        "intents": [c.state() for c in choosable],
    }
    question = intents_question([(c.target, c.intent, c.score) for c in choosable])
    return _say(question, turn, state["path"])


def follow(intent: Candidate, turn: dict[str, Any], path: list[str], runtime: Runtime[TurnContext]) -> Step:
    """Do what one intent says."""
    turn["chosen"] = intent.target if intent.type != "raw" else intent.name
    turn["kept"] = []
    if intent.type == "raw":
        turn["trail"] = [*turn["trail"], "raw"]
        because(turn, f"`{intent.intent}` has a reply of its own.")
        return _say(intent.target, turn, path)
    if intent.type == "agent":
        turn["trail"] = [*turn["trail"], "agent"]
        because(turn, f"`{intent.intent}` leads to the agent {intent.target}.")
        turn["moves"] += 1
        runtime.stream_writer({"type": "agent_routing", "agent": path[-1], "data": intent.target})
        return Command(update={"turn": turn, "path": [*path, intent.target]}, goto="map_intents")
    turn["trail"] = [*turn["trail"], "tool"]
    because(turn, f"`{intent.intent}` leads to the tool {intent.target}.")
    turn["injected"] = [intent.state()]
    return Command(update={"turn": turn, "path": path}, goto="call_model")


def _after_choice(
    pending: dict[str, Any], text: str, path: list[str], turn: dict[str, Any], runtime: Runtime[TurnContext]
) -> Step | None:
    """What an answer to a numbered choice leads to; None where the person speaks of something else."""
    options = [Candidate.of(c) for c in pending["intents"]]
    picked = pick(text, [c.target for c in options])
    if picked.out_of_range:
        turn["needs"] = pending
        turn["trail"] = ["choice"]
        because(turn, f"The answer chooses none of the {len(options)} that were offered.")
        question = intents_question([(c.target, c.intent, c.score) for c in options])
        return _say(ask_again(len(options), question), turn, path)
    if picked.index is None:
        return None
    turn["request"] = pending["request"]
    turn["trail"] = ["choice"]
    chosen = options[picked.index]
    because(turn, f"The person chose {chosen.target}, number {picked.index + 1} of {len(options)}.")
    turn["candidates"] = [c.state() for c in options]
    if chosen.type == "agent" and chosen.target not in runtime.context.crew.member(path[-1]).definition.agents:
        return None  # the graph has changed since the question
    return follow(chosen, turn, path, runtime)


def _restored(path: list[str], root: str, definitions: Definitions) -> list[str]:
    """The agents that hold the conversation, as far as they are under the agent that is asked now."""
    if not path or path == [root]:
        return [root]
    last = path[-1]
    if path[0] == root and all(
        definitions.find(a) == a and b in definitions.agent(a).agents for a, b in pairwise(path)
    ):
        return path
    return definitions.path_to(root, lambda n: n == last) or [root]


def _lets_go(definition: AgentDefinition, text: str) -> bool:
    if definition.retains is not None:
        try:
            return not definition.retains(text)
        except Exception as error:
            _log.warning("Whether %s keeps the conversation cannot be told: %s", definition.name, error)
            return False
    if not definition.releases_turn_on:
        return False
    try:
        return compiled(f"(?i){definition.releases_turn_on}").matches(text[:1000])
    except (ValueError, ArgumentError) as error:
        _log.warning("Whether %s keeps the conversation cannot be told: %s", definition.name, error)
        return False


def _reachable(candidate: Candidate, definition: AgentDefinition) -> bool:
    """An intent whose tool or sub-agent this agent does not have cannot be followed."""
    if candidate.type == "raw":
        return True
    if candidate.type == "agent":
        return candidate.target in definition.agents
    return any(t.name == candidate.target for t in definition.tools)


def _about_it(context: TurnContext, request: str, candidate: Candidate) -> bool:
    """Whether a reply may be given unseen: not one that names somebody or something that the message does not name.
    However near the phrases are, what is true of the one is no answer about the other."""
    if candidate.type != "raw":
        return True
    try:
        return bool(keep_by_entities(context.mentions, request, [candidate]))
    except AbiError as error:
        _log.warning("Entities are not looked up: %s", error)
        return True


def _general(context: TurnContext, request: str) -> str:
    try:
        return context.mentions.general(request)
    except AbiError as error:
        _log.warning("Entities are not looked up: %s", error)
        return request


def _greeting(definition: AgentDefinition, path: list[str], turn: dict[str, Any]) -> Step:
    text = f"You are talking to {definition.name} now."
    if definition.description:
        text += f" {definition.description}"
    return _say(text, turn, path)


def _say(text: str, turn: dict[str, Any], path: list[str]) -> Step:
    """End the turn with a text that no model wrote."""
    extra: dict[str, Any] = {"grounded": None}
    if turn["needs"] is not None:
        extra["needs"] = turn["needs"]
    message = AIMessage(content=text, name=path[-1], additional_kwargs=extra)
    return Command(update={"messages": [message], "turn": turn, "path": path}, goto="finish")
