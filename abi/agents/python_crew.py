"""The machine under agents made in Python: the same turn, with objects in the place of a graph."""

from __future__ import annotations

import os
import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abi.agents.agent import AgentRuntime
from abi.agents.crew import Crew
from abi.agents.definition import AgentDefinition, Definitions
from abi.agents.intents import AgentIntent, Thresholds
from abi.agents.memory import Memory
from abi.agents.python_agent import Agent, IntentAgent, IntentType
from abi.errors import NotFound, Unsupported
from abi.records.agent import agent_name, intent_name
from abi.settings import Settings

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from abi.agents.agent import Patcher
    from abi.graph.store import GraphStore
    from abi.search.embedder import Embedder

__all__ = ["PythonRuntime"]

_BASE = "urn:abi:python/"
_PROMPT = "You are a helpful assistant. If no tool gives what was asked for, say that you do not know."


class _NoGraph:
    """Services of agents that have no workspace: an empty graph, nothing to link, secrets of the environment."""

    memory_path = None
    trace_store = None

    def __init__(self) -> None:
        self.settings = Settings(base_iri=_BASE, agent_queries=False)
        self.memory_url = os.environ.get("POSTGRES_URL") or None

    @cached_property
    def store(self) -> GraphStore:
        from abi.graph.oxigraph import OxigraphStore

        return OxigraphStore.memory()

    @cached_property
    def embedder(self) -> Embedder:
        from abi.search.embedder import get_embedder

        return get_embedder(self.settings.embedder, self.settings, self.secret)

    @property
    def linker(self) -> Any:
        return self

    def mentions(self, message: str) -> list[Any]:
        return []

    def version(self) -> int:
        return 1

    def secret(self, name: str) -> str:
        from abi.secrets import secret

        return secret(name, self.settings, Path.cwd())

    def query(self, text: str, **limits: Any) -> Any:
        return self.store.query(text)

    def update(self, text: str, *, dry_run: bool = False) -> Any:
        raise Unsupported("An agent without a workspace has no graph to change.")

    def run(self, name: str, /, **arguments: Any) -> Any:
        raise NotFound(f"There is no tool {name!r}: an agent without a workspace has no catalog.")

    def pipeline_update(self, record: Any, arguments: dict[str, Any]) -> str:
        raise Unsupported("An agent without a workspace has no graph to change.")

    def call_hook(self, record: Any, hook: str, *arguments: str) -> Any:
        raise Unsupported("The hooks of an agent without a workspace are its own.")

    def find(self, kind: str | None = None, query: str | None = None, **options: Any) -> list[Any]:
        return []


class _PythonDefinitions(Definitions):
    """Definitions of a team of Python agents; they never move."""

    def __init__(self, services: Any, team: list[Agent]) -> None:
        self.version = 1
        self._services = services
        self._base = _BASE
        self._lock = threading.RLock()
        self._specifications = {}
        self._made = {a.name: _definition(a) for a in team}

    @property
    def names(self) -> list[str]:
        return sorted(self._made)

    def find(self, name: str) -> str | None:
        wanted = agent_name(name.removeprefix("agent/")).casefold()
        return next((own for own in self._made if own.casefold() == wanted), None)


class _PythonCrew(Crew):
    def __init__(self, services: Any, team: list[Agent], vectors: Any) -> None:
        self._own: dict[str, tuple[Any, ...]] = {a.name: a.tools for a in team}
        super().__init__(services, _PythonDefinitions(services, team), vectors)

    def _tools(self, definition: AgentDefinition) -> dict[str, BaseTool]:
        tools: dict[str, BaseTool] = {}
        for tool in self._own[definition.name]:
            name = agent_name(tool.name)
            tools.setdefault(name, tool if name == tool.name else tool.model_copy(update={"name": name}))
        return {**super()._tools(definition), **tools}


class PythonRuntime(AgentRuntime):
    """Runs one agent made in Python, and those under it."""

    def __init__(self, agent: Agent, patcher: Patcher | None = None) -> None:
        services = _NoGraph()
        memory = None if agent.memory is None else Memory(agent.memory)
        super().__init__(services, memory=memory, patcher=patcher)
        team = agent.team()
        for member in team:
            if not isinstance(member.chat_model, str):
                self.models.register(f"python:{member.name}", member.chat_model)
        self._team = _PythonCrew(services, team, self.vectors)

    def crew(self) -> Crew:
        return self._team


def _definition(agent: Agent) -> AgentDefinition:
    intents: list[AgentIntent] = []
    for n, intent in enumerate(agent.intents):
        raw = intent.intent_type is IntentType.RAW
        target = str(intent.intent_target) if raw else agent_name(str(intent.intent_target))
        name = intent_name(intent.intent_value, {i.name for i in intents}, n)
        iri = f"{_BASE}agent/{quote(agent.name, safe='')}/intent/{quote(name, safe='')}"
        found = AgentIntent(
            name, (intent.intent_value,), intent.intent_type.value, target, intent.intent_scope.value, iri
        )
        intents.append(found)
    thresholds = Thresholds()
    if isinstance(agent, IntentAgent):
        thresholds = Thresholds(agent.threshold, agent.threshold_neighbor, agent.direct_intent_score)
    return AgentDefinition(
        name=agent.name,
        iri=f"{_BASE}agent/{quote(agent.name, safe='')}",
        description=agent.description,
        system_prompt=agent.system_prompt or _PROMPT,
        model=agent.chat_model if isinstance(agent.chat_model, str) else f"python:{agent.name}",
        agents=tuple(a.name for a in agent.agents),
        intents=tuple(intents),
        thresholds=thresholds,
        sequential_supervisor=agent.sequential_supervisor,
        delegates_to_abi=agent.delegates_to_abi,
        retains=agent.retains_active_turn,
    )
