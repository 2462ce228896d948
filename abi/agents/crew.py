"""What one version of the graph makes of each agent: its intents as vectors, its model with the tools bound to it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from langchain_core.tools import BaseTool

from abi.agents.cards import ToolCard, card_of_record
from abi.agents.definition import AgentDefinition, Definitions
from abi.agents.handoff import REQUEST_HELP, HandoffTool, HelpTool, handoff_tool
from abi.agents.intents import IntentIndex, PhraseVectors
from abi.agents.langchain_tools import catalog_tool
from abi.agents.propose_turtle import ProposeTurtleTool
from abi.agents.query_graph import QUERY_GRAPH, QueryGraphTool
from abi.agents.run_pipeline import pipeline_tool
from abi.agents.scale import Calibration
from abi.agents.update_graph import PROPOSE_TURTLE, UPDATE_GRAPH, UpdateGraphTool

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import Runnable

    from abi.agents.mentions import Mentions
    from abi.agents.models import ModelRegistry
    from abi.agents.services import Services
    from abi.records.record import PythonFunction

__all__ = ["Crew", "Member", "TurnContext"]


@dataclass
class Member:
    """One agent, ready to take turns."""

    definition: AgentDefinition
    index: IntentIndex
    tools: dict[str, BaseTool]
    _bound: dict[tuple[int, tuple[str, ...]], tuple[BaseChatModel, Runnable[Any, Any]]] = field(default_factory=dict)

    def bound(self, model: BaseChatModel, without: frozenset[str]) -> Runnable[Any, Any]:
        """The model with this agent's tools, but for those in `without`. A model that takes no tools stays bare."""
        offered = tuple(n for n in self.tools if n not in without)
        kept = self._bound.get((id(model), offered))
        if kept is None or kept[0] is not model:
            kept = (model, self._bind(model, [self.tools[n] for n in offered]))
            self._bound[id(model), offered] = kept
        return kept[1]

    def _bind(self, model: BaseChatModel, tools: list[BaseTool]) -> Runnable[Any, Any]:
        try:
            return model.bind_tools(tools) if tools else model
        except NotImplementedError:
            return model


class Crew:
    """All agents of one version of the graph. Shared by every thread; nothing in it belongs to a conversation."""

    def __init__(self, services: Services, definitions: Definitions, vectors: PhraseVectors) -> None:
        self.definitions = definitions
        self._services = services
        self._vectors = vectors
        self._members: dict[str, Member] = {}
        self._lock = threading.RLock()
        self._query = QueryGraphTool(services=services)
        self._calibration = Calibration.of(services)

    def member(self, name: str) -> Member:
        """Raises NotFound where the graph has no such agent."""
        with self._lock:
            own = self.definitions.find(name) or name
            if own not in self._members:
                definition = self.definitions.agent(own)
                index = IntentIndex(definition.intents, self._vectors, self._calibration)
                self._members[own] = Member(definition, index, self._tools(definition))
            return self._members[own]

    def _tools(self, definition: AgentDefinition) -> dict[str, BaseTool]:
        tools: dict[str, BaseTool] = {}
        for record in definition.tools:
            if getattr(record, "form", None) != "pipeline":
                tools[record.name] = catalog_tool(record, self._services.run, definition.phrases.get(record.name, ()))
            elif definition.may_write:
                tools[record.name] = pipeline_tool(cast("PythonFunction", record), self._services)
        for name in definition.agents:
            tool = handoff_tool(name, self.definitions.agent(name).description, self._leaves(name), self._drafts(name))
            tools.setdefault(tool.name, tool)
        if self._services.settings.agent_queries:
            tools.setdefault(QUERY_GRAPH, self._query)
        if definition.may_write and definition.drafts:
            tools.setdefault(PROPOSE_TURTLE, ProposeTurtleTool(services=self._services))
        elif definition.may_write:
            tools.setdefault(UPDATE_GRAPH, UpdateGraphTool(services=self._services))
        tools[REQUEST_HELP] = HelpTool()
        return tools

    def _leaves(self, name: str) -> tuple[ToolCard, ...]:
        return tuple(
            card_of_record(record, below.phrases.get(record.name, ()))
            for below in self.definitions.below(name)
            for record in below.tools
            if getattr(record, "form", None) != "pipeline"
        )

    def _drafts(self, name: str) -> bool:
        return any(below.drafts for below in self.definitions.below(name))

    def handoffs(self, name: str) -> dict[str, str]:
        """Name of the hand-over tool to the agent that it leads to."""
        return {n: t.target for n, t in self.member(name).tools.items() if isinstance(t, HandoffTool)}


@dataclass(frozen=True)
class TurnContext:
    """What the steps of a turn are given: one version of the graph, from the turn's beginning to its end."""

    services: Services
    crew: Crew
    models: ModelRegistry
    mentions: Mentions
    root: str
    model: str | None = None
    """A model asked for this turn only; else the agent's own, else the workspace's."""
    may_write: bool = False
    """Whether the person who speaks may change the graph."""
    stopped: Callable[[], bool] = lambda: False
    """Whether the person has stopped the turn."""
    until: float = math.inf
    """The end of the turn's time, by `time.monotonic`."""

    def reply(self, model: Runnable[Any, Any], messages: list[AnyMessage]) -> Any:
        """One reply of a model, given up where the turn is stopped or has no time left."""
        return self.models.loop.stream(model, messages, stopped=self.stopped, until=self.until, said=lambda piece: None)

    def model_name(self, definition: AgentDefinition) -> str:
        return self.model or definition.model or self.services.settings.model
