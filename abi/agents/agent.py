"""Agents that can be talked to: one state machine, compiled once, that runs every agent on every thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict, cast
from urllib.parse import quote
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from abi.agents import answering, approval, calling, intent_agent
from abi.agents.crew import Crew, TurnContext
from abi.agents.definition import ROOT, AgentDefinition, Definitions
from abi.agents.hooks import told
from abi.agents.intents import PhraseVectors
from abi.agents.memory import Memory, open_memory
from abi.agents.mentions import Mentions
from abi.agents.models import ModelRegistry
from abi.agents.thread_locks import held
from abi.agents.threads import Threads, thread_key
from abi.agents.turn import Event, TurnResult, TurnState
from abi.errors import Busy, StoreError, UsageError
from abi.texts import need_whole

if TYPE_CHECKING:
    from typing import Unpack

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from abi.agents.services import Services

__all__ = ["Agent", "AgentRuntime", "Patcher", "TurnOptions"]

Patcher = Callable[["StateGraph[TurnState, TurnContext, TurnState, TurnState]"], object]
"""Changes the turn's LangGraph before it is compiled."""

_MESSAGE_CHARACTERS = 32_000


def build_graph() -> StateGraph[TurnState, TurnContext, TurnState, TurnState]:
    """The turn as a LangGraph, before it is compiled."""
    graph = StateGraph(TurnState, context_schema=TurnContext)
    graph.add_node("begin", intent_agent.begin, destinations=("map_intents", "route", "call_model", "finish"))
    graph.add_node("map_intents", intent_agent.map_intents, destinations=("filter_intents", "route", "call_model"))
    graph.add_node("filter_intents", intent_agent.filter_intents, destinations=("check_entities", "route"))
    graph.add_node("check_entities", intent_agent.check_entities, destinations=("route",))
    graph.add_node("route", intent_agent.route, destinations=("map_intents", "call_model", "finish"))
    graph.add_node(
        "call_model", answering.call_model, destinations=("call_tools", "call_model", "map_intents", "finish")
    )
    graph.add_node("propose", approval.propose, destinations=("approve", "call_tools"))
    graph.add_node("approve", approval.approve, destinations=("call_tools",))
    graph.add_node("call_tools", calling.call_tools, destinations=("call_model", "propose", "map_intents", "finish"))
    graph.add_node("finish", answering.finish)
    graph.add_edge(START, "begin")
    return graph


def _patched(patcher: Patcher | None) -> StateGraph[TurnState, TurnContext, TurnState, TurnState]:
    graph = build_graph()
    if patcher is not None:
        patcher(graph)
    return graph


class TurnOptions(TypedDict, total=False):
    """What may be said with a message; see `AgentRuntime.turn`."""

    model: str | None
    principal: str | None
    may_write: bool
    stop: threading.Event | None


class AgentRuntime:
    """All agents of a workspace. Safe to use from many threads; agents are built again when the graph has moved."""

    def __init__(self, services: Services, *, memory: Memory | None = None, patcher: Patcher | None = None) -> None:
        self.services = services
        self.vectors = PhraseVectors(lambda: services.embedder)
        self.mentions = Mentions(lambda: services.linker, services.version)
        self.models = ModelRegistry(services, self.vectors, self.mentions)
        self.memory = memory or open_memory(services.memory_path, services.memory_url)
        self.threads = Threads(self.memory)
        self._graph: CompiledStateGraph[TurnState, TurnContext, TurnState, TurnState] = _patched(patcher).compile(
            checkpointer=self.memory.saver
        )
        self._crew: Crew | None = None
        self._lock = threading.RLock()

    def agent(self, name: str | None = None) -> Agent:
        """The agent of that name; the root agent where none is named. Raises NotFound."""
        definition = self.crew().definitions.agent(name or ROOT)
        return Agent(self, definition.name)

    def agents(self) -> list[AgentDefinition]:
        """Definitions of all agents, by name; the root agent first."""
        definitions = self.crew().definitions
        names = [ROOT, *(n for n in definitions.names if n != ROOT)]
        return [definitions.agent(n) for n in names]

    def crew(self) -> Crew:
        """The agents of the graph as it is now."""
        version = self.services.version()
        with self._lock:
            if self._crew is None or self._crew.definitions.version != version:
                self._crew = Crew(self.services, Definitions(self.services, version), self.vectors)
            return self._crew

    def close(self) -> None:
        self.models.close()
        self.memory.close()

    def turn(
        self,
        agent: str,
        text: str,
        thread_id: str | None,
        *,
        model: str | None = None,
        principal: str | None = None,
        may_write: bool = False,
        stop: threading.Event | None = None,
        listened: bool = True,
    ) -> Iterator[Event | TurnResult]:
        """Run one turn: events as they happen, the result last. Turns of one thread follow each other.

        `principal` is who speaks, and whose the thread is; others never meet it. `may_write`: they may change the
        graph; agents that may too then propose changes, which the answer to the proposal approves. Once `stop` is set,
        or the iterator is closed, the model and the tools are given up; the thread stays usable.

        Raises StoreError where conversations can no longer be kept: the turn is lost, and the thread goes on from the
        one before; Busy where another turn of the thread, of this process or another, does not end.
        """
        if not text.strip():
            raise UsageError("The message is empty.")
        if len(text) > _MESSAGE_CHARACTERS:
            raise UsageError(f"The message is longer than {_MESSAGE_CHARACTERS} characters.")
        need_whole("The thread's name", thread_id)
        thread_id = thread_id or uuid4().hex
        key = thread_key(principal, thread_id)
        stop = stop or threading.Event()
        settings = self.services.settings
        config: RunnableConfig = {
            "configurable": {"thread_id": key},
            "recursion_limit": settings.agent_steps * 6 + 20,
        }
        with self._held(key, stop):
            started = datetime.now(UTC)
            crew = self.crew()
            root = crew.definitions.agent(agent).name
            until = time.monotonic() + settings.agent_seconds
            context = TurnContext(
                self.services, crew, self.models, self.mentions, root, model, may_write, stop.is_set, until
            )
            told(crew.definitions.agent(root).hooks.get("on_human_message"), text)
            state: dict[str, Any] = {}
            chunks = self._graph.stream(
                self._input(text, config, crew),
                config,
                context=context,
                stream_mode=["custom", "values"] if listened or crew.definitions.listens else ["values"],
                durability=crew.definitions.agent(root).durability or settings.durability,
            )
            try:
                with self._kept():
                    for mode, chunk in chunks:
                        if mode == "custom":
                            event = Event(**cast(dict[str, Any], chunk))
                            if event.type == "ai_message":
                                hooks = crew.definitions.agent(event.agent).hooks
                                told(hooks.get("on_ai_message"), event.data, event.agent)
                            yield event
                        else:
                            state = cast(dict[str, Any], chunk) if "turn" in chunk else state
            except GeneratorExit:  # nobody listens any more: the step that runs is told before it is waited for
                stop.set()
                raise
            result = self._result(thread_id, key, text, state, crew, started)
            with self._kept():
                self.memory.drop_older(key, result.number)
        if self.services.trace_store is not None:
            self.services.trace_store.write(result, principal)
        for line in result.answer.splitlines():
            yield Event("message", result.agent, line)
        yield Event("done", result.agent, "[DONE]")
        yield result

    def awaits_approval(self, thread_id: str, principal: str | None = None) -> bool:
        """Whether the last answer of a thread proposed a change that nobody has said yes or no to."""
        config: RunnableConfig = {"configurable": {"thread_id": thread_key(principal, thread_id)}}
        with self._kept():
            return self._graph.get_state(config).next == ("approve",)

    @contextlib.contextmanager
    def _held(self, key: str, stop: threading.Event) -> Iterator[None]:
        """Hold a thread for a turn, against all that keep conversations in the same place."""
        with contextlib.ExitStack() as stack:
            with self._kept():
                free = stack.enter_context(
                    held(self.memory.locks, key, stopped=stop.is_set, seconds=self.services.settings.agent_seconds)
                )
            if not free:
                raise Busy("Stopped, before the turn of this conversation that runs elsewhere had ended.")
            yield

    def _input(self, text: str, config: RunnableConfig, crew: Crew) -> Any:
        """A message; where the thread waits for an approval, the answer to it."""
        if crew.definitions.may_write:
            with self._kept():
                # To read a whole state costs as much as all the rest of a short turn.
                interrupted = self.memory.interrupted(config["configurable"]["thread_id"])
                waiting = self._graph.get_state(config).next if interrupted else ()
            if waiting == ("approve",):
                return Command(resume=text)
        return {"messages": [HumanMessage(text)]}

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """Says in words where what keeps the conversations is lost."""
        try:
            yield
        except self.memory.lost as error:
            raise StoreError(
                f"The conversation could not be kept: {' '.join(str(error).split())[:300]}",
                hint="The thread is as it was before this message; send it again.",
            ) from error

    def _result(
        self, thread_id: str, key: str, text: str, state: dict[str, Any], crew: Crew, started: datetime
    ) -> TurnResult:
        turn, name = state["turn"], state["path"][-1]
        base = self.services.settings.base_iri
        definition = crew.definitions.agent(name)
        trail = list(dict.fromkeys(turn["trail"]))
        candidates = sorted(turn["candidates"], key=lambda c: -c["score"])
        shown = [{k: c[k] for k in ("intent", "target", "type", "score")} for c in candidates]
        needs = turn["needs"]
        if needs is not None:
            needs = {k: v for k, v in needs.items() if k in ("argument", "tool", "choices", "approval")}
        answer = "\n\n".join(a for a in dict.fromkeys(turn["answers"]) if a) or "There is no answer."
        return TurnResult(
            thread_id=thread_id,
            turn=f"{base}thread/{quote(key, safe='')}/turn/{state['count']}",
            number=state["count"],
            agent=name,
            message=text,
            answer=answer,
            grounded=turn["grounded"],
            needs=needs,
            tool_calls=[_public(c) for c in turn["calls"]],
            citations=turn["citations"],
            routing={
                "step": _step(trail),
                "reason": " ".join(dict.fromkeys(turn.get("why", ()))),
                "candidates": shown,
                "chosen": turn["chosen"],
                "trail": trail,
            },
            started=started,
            ended=datetime.now(UTC),
            model=turn["model"],
            agent_iri=definition.iri,
            graph_version=crew.definitions.version,
            stopped=turn.get("stopped", False),
            details={"candidates": candidates, "chosen_iri": _chosen_iri(turn["chosen"], candidates, crew, base)},
        )


class Agent:
    """One agent of the graph. Holds nothing but its name: each call meets the graph as it is then.

    `options` of its verbs are those of `AgentRuntime.turn`: `model`, `principal`, `may_write`, `stop`.
    """

    def __init__(self, runtime: AgentRuntime, name: str) -> None:
        self._runtime = runtime
        self.name = name

    @property
    def definition(self) -> AgentDefinition:
        return self._runtime.crew().definitions.agent(self.name)

    def invoke(self, text: str, thread_id: str | None = None, **options: Unpack[TurnOptions]) -> TurnResult:
        """Answer one message. Without `thread_id` a new thread begins; the result names it."""
        for item in self._runtime.turn(self.name, text, thread_id, listened=False, **options):
            if isinstance(item, TurnResult):
                return item
        raise AssertionError("a turn always gives a result")  # pragma: no cover

    async def ainvoke(self, text: str, thread_id: str | None = None, **options: Unpack[TurnOptions]) -> TurnResult:
        async for item in self.astream(text, thread_id, **options):
            if isinstance(item, TurnResult):
                return item
        raise AssertionError("a turn always gives a result")  # pragma: no cover

    def stream(
        self, text: str, thread_id: str | None = None, **options: Unpack[TurnOptions]
    ) -> Iterator[Event | TurnResult]:
        """Events of a turn as they happen, then its TurnResult."""
        return self._runtime.turn(self.name, text, thread_id, **options)

    async def astream(
        self, text: str, thread_id: str | None = None, **options: Unpack[TurnOptions]
    ) -> AsyncIterator[Event | TurnResult]:
        """As `stream`. A turn that nobody listens to any more is stopped."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event | TurnResult | BaseException | None] = asyncio.Queue()
        stop = options.get("stop") or threading.Event()
        options["stop"] = stop

        def put(item: Event | TurnResult | BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and its listeners with it
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def pump() -> None:
            last: BaseException | None = None
            try:
                for item in self.stream(text, thread_id, **options):
                    put(item)
            except Exception as error:
                last = error
            put(last)

        work = asyncio.ensure_future(asyncio.to_thread(pump))
        try:
            while True:
                item = await queue.get()
                if item is None or isinstance(item, BaseException):
                    break
                yield item
        except (asyncio.CancelledError, GeneratorExit):
            stop.set()
            raise
        await work
        if item is not None:
            raise item


def _chosen_iri(chosen: str | None, candidates: list[dict[str, Any]], crew: Crew, base: str) -> str | None:
    """The IRI of what was chosen: an agent, the intent of a reply, else the tool of that name."""
    if chosen is None:
        return None
    if crew.definitions.find(chosen) == chosen:
        return crew.definitions.agent(chosen).iri
    raw = next((c["iri"] for c in candidates if c["type"] == "raw" and c["name"] == chosen and c["iri"]), None)
    return raw or f"{base}tool/{quote(chosen, safe='')}"


def _step(trail: list[str]) -> str:
    """The step that decided, out of all that were taken: the last one, but how a tool was found rather than that."""
    for step in reversed(trail):
        if step == "tool" and len(trail) > 1:
            continue
        if step != "unmapped":
            return step
    return "none"


def _public(call: dict[str, Any]) -> dict[str, Any]:
    keys = ("tool", "arguments", "query", "rows", "row_count", "truncated", "seconds")
    shown = {k: call.get(k) for k in keys}
    for extra in ("result", "error"):
        if call.get(extra) is not None and call.get("rows") is None:
            shown[extra] = call[extra]
    return shown
