"""Agents as the graph defines them: tools, sub-agents, intents and prompt, resolved. Read anew when the graph moves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import quote

from abi.agents.intents import AgentIntent, Thresholds
from abi.errors import Invalid, NotFound
from abi.records.record import AgentSpecification, Intent, JinjaPrompt, RawPrompt, Record, StructuredPrompt
from abi.search.selectors import selected_tools, selector_text

if TYPE_CHECKING:
    from abi.agents.services import Services

__all__ = ["MAX_DEPTH", "ROOT", "AgentDefinition", "Definitions"]

_log = logging.getLogger("abi")

ROOT = "Abi"
"""The agent over all others; it answers where none is named."""

MAX_DEPTH = 8
"""Agents between the one that was asked and the one that answers, at most."""

Durability = Literal["exit", "async", "sync"]

_SMALL_TALK = (
    AgentIntent(
        "greeting", ("hello", "hi", "hi there", "good morning", "bonjour"), "raw", "Hello. What may I look up?"
    ),
    AgentIntent("thanks", ("thank you", "thanks", "thanks a lot", "merci"), "raw", "You are welcome."),
    AgentIntent(
        "name",
        ("who are you", "what is your name"),
        "raw",
        f"I am {ROOT}. I hand each question to the agent that can answer it from the graph.",
    ),
)
"""What the root agent says itself."""

_DEFAULT_PROMPT = (
    "You answer from the knowledge graph, by calling tools. State only what the tools' rows say, and name the "
    "entities they cite. If no tool fits, say that the graph does not hold it."
)


@dataclass(frozen=True)
class AgentDefinition:
    """One agent, ready to be run. `missing`: what it refers to and the graph does not hold."""

    name: str
    iri: str
    description: str
    system_prompt: str
    model: str | None = None
    tools: tuple[Record, ...] = ()
    agents: tuple[str, ...] = ()
    intents: tuple[AgentIntent, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)
    sequential_supervisor: bool = False
    delegates_to_abi: bool = False
    may_write: bool = False
    drafts: bool = False
    """Whether it proposes Turtle instead of updates (the annotation `proposes: turtle`)."""
    durability: Durability | None = None
    """When its conversations are saved (the annotation `durability`); None: as the setting says."""
    releases_turn_on: str | None = None
    retains: Callable[[str], bool] | None = field(default=None, compare=False)
    """Asked in Python whether the agent keeps the conversation for a message; one that fails keeps it."""
    hooks: Mapping[str, Callable[..., Any]] = field(default_factory=dict, compare=False)
    """Methods of the agent's Python class that are called as a turn goes on, by name."""
    missing: tuple[str, ...] = ()

    @cached_property
    def phrases(self) -> dict[str, tuple[str, ...]]:
        """Tool name to the phrases of this agent's intents that lead to it."""
        found: dict[str, tuple[str, ...]] = {}
        for intent in self.intents:
            if intent.type == "tool":
                found[intent.target] = found.get(intent.target, ()) + intent.phrases
        return found


class Definitions:
    """The agents of one version of the graph. Each is read when it is first asked for, and then kept."""

    def __init__(self, services: Services, version: int) -> None:
        from abi.graph.mapping import read_records
        from abi.graph.names import Names

        self.version = version
        self._services = services
        self._base = services.settings.base_iri
        self._lock = threading.RLock()
        self._made: dict[str, AgentDefinition] = {}
        self._tools: dict[str, Record | None] = {}
        self._specifications: dict[str, tuple[str, AgentSpecification]] = {}
        self._names = Names(self._base, services.store)
        for iri, record in read_records(services.store, "agent", names=self._names):
            if isinstance(record, AgentSpecification):
                self._specifications[record.name] = (iri, record)

    @property
    def names(self) -> list[str]:
        """Names of all agents in the graph, sorted; without the root agent that abi adds."""
        return sorted(self._specifications)

    @cached_property
    def may_write(self) -> bool:
        """Whether any agent may propose changes of the graph."""
        return any(record.may_write for _, record in self._specifications.values())

    @cached_property
    def listens(self) -> bool:
        """Whether any agent has methods that are called as a turn goes on."""
        return any(record.hooks for _, record in self._specifications.values())

    def find(self, name: str) -> str | None:
        """The agent's own name for a name in any case, a `agent/NAME` or an IRI; None where there is no such agent."""
        name = name.removeprefix("agent/")
        if name in self._specifications:
            return name
        for own, (iri, record) in self._specifications.items():
            if name.casefold() in (own.casefold(), (record.class_name or own).casefold()) or iri == name:
                return own
        return ROOT if name.casefold() in (ROOT.casefold(), "abiagent") else None

    def agent(self, name: str) -> AgentDefinition:
        """The definition of an agent. Raises NotFound, which names those that are there."""
        own = self.find(name)
        if own is None:
            there = ", ".join([*self.names[:20], ROOT])
            raise NotFound(f"There is no agent {name!r}.", hint=f"There are: {there}.")
        with self._lock:
            if own not in self._made:
                root = own == ROOT and own not in self._specifications
                self._made[own] = self._root() if root else self._read(own)
            return self._made[own]

    def path_to(self, root: str, accepts: Callable[[str], bool]) -> list[str] | None:
        """The shortest way from `root` down to an agent that `accepts`; names, root first. None where there is none."""
        ways, seen = [[root]], {root}
        while ways:
            below: list[list[str]] = []
            for way in ways:
                if accepts(way[-1]):
                    return way
                if len(way) > MAX_DEPTH:
                    continue
                for child in self.agent(way[-1]).agents:
                    if child not in seen:
                        seen.add(child)
                        below.append([*way, child])
            ways = below
        return None

    def below(self, name: str) -> Iterator[AgentDefinition]:
        """The agent and all those under it, each once, nearest first."""
        waiting, seen = [name], {name}
        while waiting:
            definition = self.agent(waiting.pop(0))
            yield definition
            new = [a for a in definition.agents if a not in seen]
            seen.update(new)
            waiting += new

    def _read(self, name: str) -> AgentDefinition:
        iri, record = self._specifications[name]
        missing: list[str] = []
        prompt, named_tools = self._prompt(record, missing)
        tools: dict[str, Record] = {}
        agents: list[str] = []
        for reference in [*record.tools, *named_tools]:
            tool = self._tool(reference)
            if tool is not None:
                tools.setdefault(tool.name, tool)
            elif (child := self._agent_name(reference)) is not None:
                agents.append(child)
            else:
                missing.append(f"tool/{_last(reference)}")
        for reference in record.agents:
            child = self._agent_name(reference)
            if child is not None:
                agents.append(child)
            else:
                missing.append(f"agent/{_last(reference)}")
        hooks: dict[str, Callable[..., Any]] = {
            hook: partial(self._services.call_hook, record, hook) for hook in record.hooks
        }
        intents = [_intent(i) for i in record.intents]
        for reference in record.uses_intents:
            free = self._record("intent", reference)
            if isinstance(free, Intent):
                intents.append(_intent(free))
            else:
                missing.append(f"intent/{_last(reference)}")
        return AgentDefinition(
            name=name,
            iri=iri,
            description=record.description,
            system_prompt=prompt,
            model=record.model,
            tools=tuple(tools.values()),
            agents=tuple(dict.fromkeys(a for a in agents if a != name)),
            intents=tuple(self._known(i, name) for i in intents),
            thresholds=Thresholds(record.threshold, record.threshold_neighbor, record.direct_intent_score),
            sequential_supervisor=record.sequential_supervisor,
            delegates_to_abi=record.delegates_to_abi,
            may_write=record.may_write,
            drafts=record.annotations.get("proposes") == "turtle",
            durability=_durability(record),
            releases_turn_on=record.releases_turn_on,
            retains=hooks.get("retains_active_turn"),
            hooks=hooks,
            missing=tuple(missing),
        )

    def _root(self) -> AgentDefinition:
        """Abi: over all agents but those that delegate to it; led to them by name, description and `all` intents."""
        children = [n for n in self.names if not self._specifications[n][1].delegates_to_abi]
        intents = []
        for child in children:
            definition = self.agent(child)
            spoken = child.replace("_", " ").replace("-", " ")
            phrases = [child, spoken, f"chat with {spoken}", f"use {spoken}", f"ask {spoken}", f"talk to {spoken}"]
            phrases.append(definition.description)
            phrases += [p for i in definition.intents if i.scope == "all" for p in i.phrases]
            unique = tuple(dict.fromkeys(p for p in phrases if p))
            intents.append(AgentIntent(f"to-{child}", unique, "agent", child, "direct"))
        intents += _SMALL_TALK
        listed = "\n".join(f"- {self.agent(c).name}: {self.agent(c).description}" for c in children)
        return AgentDefinition(
            name=ROOT,
            iri=f"{self._base}agent/{ROOT}",
            description="The root agent: hands each request to the agent that can answer it.",
            system_prompt=f"You hand each request to the agent that can answer it.\n\nAgents:\n{listed}",
            agents=tuple(children),
            intents=tuple(intents),
        )

    def _prompt(self, record: AgentSpecification, missing: list[str]) -> tuple[str, list[str]]:
        reference = record.system_prompt.prompt
        if reference is None:
            return record.system_prompt.text or _DEFAULT_PROMPT, []
        prompt = self._record("prompt", reference)
        if not isinstance(prompt, RawPrompt | JinjaPrompt | StructuredPrompt):
            missing.append(f"prompt/{_last(reference)}")
            return _DEFAULT_PROMPT, []
        try:
            selected = selected_tools(prompt.tools, self._services.find)
        except Exception as error:  # an embedder may be out of reach; the tools that are named are there all the same
            _log.warning("The tools that %s searches for are not looked up (%s).", prompt.name, error)
            return prompt.text, [s.name for s in prompt.tools if s.name]
        missing += [f"tool/{s.name}" if s.name else selector_text(s) for s in selected.unmatched]
        return prompt.text, selected.names

    def _agent_name(self, reference: str) -> str | None:
        own = self.find(_last(reference)) if "/" not in reference else None
        if own is None:
            own = next((n for n, (iri, _) in self._specifications.items() if iri == reference), None)
        return own if own in self._specifications else None

    def _known(self, intent: AgentIntent, agent: str) -> AgentIntent:
        """The intent with its target by name, as routing compares names, and its own IRI."""
        iri = intent.iri or f"{self._base}agent/{quote(agent, safe='')}/intent/{quote(intent.name, safe='')}"
        target = intent.target
        if intent.type == "agent":
            target = self._agent_name(target) or target
        elif intent.type == "tool":
            tool = self._tool(target)
            target = tool.name if tool is not None else target
        return AgentIntent(intent.name, intent.phrases, intent.type, target, intent.scope, iri)

    def _tool(self, reference: str) -> Record | None:
        with self._lock:
            if reference not in self._tools:
                self._tools[reference] = self._record("tool", reference)
            return self._tools[reference]

    def _record(self, family: str, reference: str) -> Record | None:
        """The record that a reference, a name or an IRI, stands for; None where there is none that can be read."""
        from abi.graph.mapping import read_record

        try:
            record = read_record(self._services.store, self._names.resolve(family, reference), self._names)
        except (NotFound, Invalid):
            return None
        return record if record.family == family else None


def _intent(record: Intent, iri: str = "") -> AgentIntent:
    return AgentIntent(record.name, tuple(record.values), record.type, record.target, record.scope, iri)


def _durability(record: AgentSpecification) -> Durability | None:
    given = record.annotations.get("durability")
    if given is not None and given not in get_args(Durability):
        _log.warning("The agent %s has a durability %r that is none of exit, async, sync.", record.name, given)
        return None
    return cast("Durability | None", given)


def _last(reference: str) -> str:
    return reference.rstrip("/").rsplit("/", 1)[-1].rsplit("#", 1)[-1] if ":" in reference else reference
