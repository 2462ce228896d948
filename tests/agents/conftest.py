"""A small graph of airports with everything real: store, linker, embedder, runners; only the model may be scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from abi import models
from abi.agents.agent import AgentRuntime
from abi.agents.turn import TurnResult
from abi.files import shipped
from abi.graph.gate import Gate
from abi.graph.mapping import Names, record_quads
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.graph.traces import TraceStore
from abi.graph.update import UpdateReport, apply_update
from abi.models import ModelEntry
from abi.records.record import AgentSpecification, Intent, Parameter, RawPrompt, Record, SparqlQuery, SystemPrompt
from abi.search.embedder import Embedder, get_embedder
from abi.search.find import find
from abi.search.index import SearchIndex
from abi.search.linker import Linker
from abi.secrets import secret
from abi.settings import Settings
from abi.tools.runner import RunContext, ToolResult, run

from .openai_server import OpenAIServer

BASE = "https://example.org/small/"
FL = BASE + "schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"

GRAPH = f"""
@prefix : <{BASE}> . @prefix fl: <{FL}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
fl:Airport a owl:Class ; rdfs:label "airport" .
fl:Heliport a owl:Class ; rdfs:subClassOf fl:Airport ; rdfs:label "heliport" .
fl:Place a owl:Class ; rdfs:label "place" .
fl:City a owl:Class ; rdfs:subClassOf fl:Place ; rdfs:label "city" .
fl:State a owl:Class ; rdfs:subClassOf fl:Place ; rdfs:label "state" .
:idaho a fl:State ; rdfs:label "Idaho" . :oregon a fl:State ; rdfs:label "Oregon" .
:maine a fl:State ; rdfs:label "Maine" . :washington a fl:State ; rdfs:label "Washington" .
:boise a fl:City ; rdfs:label "Boise" ; fl:state :idaho .
:seattle a fl:City ; rdfs:label "Seattle" ; fl:state :washington .
:portland-or a fl:City ; rdfs:label "Portland, Oregon" ; skos:altLabel "Portland" ; fl:state :oregon .
:portland-me a fl:City ; rdfs:label "Portland, Maine" ; skos:altLabel "Portland" ; fl:state :maine .
:BOI a fl:Airport ; rdfs:label "Boise Air Terminal" ; skos:notation "BOI" ; fl:city :boise .
:SEA a fl:Airport ; rdfs:label "Seattle-Tacoma Intl" ; skos:notation "SEA" ; fl:city :seattle .
:PDX a fl:Airport ; rdfs:label "Portland Intl" ; skos:notation "PDX" ; fl:city :portland-or .
:PWM a fl:Airport ; rdfs:label "Portland International Jetport" ; skos:notation "PWM" ; fl:city :portland-me .
:HEL a fl:Heliport ; rdfs:label "Harbor Heliport" ; skos:notation "HPX" ; fl:city :seattle .
:r1 fl:from :BOI ; fl:to :SEA ; fl:flights 1080 . :r2 fl:from :SEA ; fl:to :BOI ; fl:flights 1079 .
:r3 fl:from :BOI ; fl:to :PDX ; fl:flights 300 . :r4 fl:from :SEA ; fl:to :PDX ; fl:flights 2000 .
"""

DIRECT = SparqlQuery(
    name="find_direct_routes",
    description="Airports that can be reached from an airport without a stop.",
    query=(
        "SELECT ?airport ?name ?flights WHERE { ?r fl:from ?origin ; fl:to ?airport ; fl:flights ?flights . "
        "?airport rdfs:label ?name } ORDER BY DESC(?flights) LIMIT ?limit"
    ),
    parameters=[
        Parameter(name="origin", description="where the journey starts", value_class=FL + "Airport", examples=["BOI"]),
        Parameter(
            name="limit", datatype=XSD + "integer", required=False, default=50, minimum=1, maximum=1000, position=1
        ),
    ],
    answer="{{ row_count }} airports can be reached directly from {{ origin.label }}: "
    "{{ rows | map(attribute='name') | join(', ') }}.",
)
BETWEEN = SparqlQuery(
    name="flights_between",
    description="How many flights were flown from one airport to another.",
    query="SELECT ?flights WHERE { ?r fl:from ?origin ; fl:to ?destination ; fl:flights ?flights }",
    parameters=[
        Parameter(name="origin", description="where the flights started", value_class=FL + "Airport"),
        Parameter(name="destination", description="where they ended", value_class=FL + "Airport", position=1),
    ],
)
IN_STATE = SparqlQuery(
    name="airports_in",
    description="Which airports are located in a city or a state.",
    query="SELECT ?airport ?name WHERE { { ?airport fl:city ?place } UNION { ?airport fl:city/fl:state ?place } "
    "?airport rdfs:label ?name } ORDER BY ?name",
    parameters=[Parameter(name="place", description="the city or state", value_class=FL + "Place")],
)
PROMPT = RawPrompt(name="route_prompt", description="How routes are told.", text="Answer from the rows only.")


def intent(name: str, values: Sequence[str], type_: Any, target: str, agent: str, scope: Any = "direct") -> Intent:
    return Intent(name=name, description=name, values=list(values), type=type_, target=target, agent=agent, scope=scope)


ROUTES = AgentSpecification(
    name="route_finder",
    description="Finds routes between airports.",
    system_prompt=SystemPrompt(prompt="route_prompt"),
    tools=["find_direct_routes", "flights_between"],
    intents=[
        intent("direct", ["direct flights from an airport"], "tool", "find_direct_routes", "route_finder"),
        intent("between", ["number of flights between two airports"], "tool", "flights_between", "route_finder"),
        intent("thanks", ["thank you"], "raw", "You are welcome.", "route_finder", "all"),
    ],
)
GUIDE = AgentSpecification(
    name="airport_guide",
    description="Tells which airports there are in a state.",
    system_prompt=SystemPrompt(text="You tell about airports."),
    tools=["airports_in"],
    intents=[intent("in_state", ["which airports are in a state"], "tool", "airports_in", "airport_guide")],
)
TRAVEL = AgentSpecification(
    name="travel",
    description="Answers questions about airports and flights.",
    agents=["route_finder", "airport_guide"],
    intents=[
        intent("routes", ["direct flights from an airport", "find a route"], "agent", "route_finder", "travel"),
        intent("airports", ["which airports are in a state"], "agent", "airport_guide", "travel"),
    ],
)
RECORDS: list[Record] = [DIRECT, BETWEEN, IN_STATE, PROMPT, ROUTES, GUIDE, TRAVEL]


class SmallServices:
    """The services of a workspace over the small graph. `run_hook` may stand in front of the runners."""

    def __init__(self, embedder: Embedder, folder: Path | None = None, records: Sequence[Record] = RECORDS) -> None:
        self.settings = Settings(base_iri=BASE, prefixes={"fl": FL})
        self.store = OxigraphStore.memory(prefixes=self.settings.all_prefixes())
        self.store.inner.load(GRAPH.encode(), format=ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(BASE + "source/g"))
        self.names = Names(BASE, self.store)
        self.records: dict[str, Record] = {}
        for record in records:
            self.put(record)
        self.index = SearchIndex(None)
        self.index.rebuild(self.store.query, self.settings, self.store.version())
        self.linker: Any = Linker(self.index)
        self.embedder: Any = embedder
        self.memory_path = folder / "memory.sqlite" if folder else None
        self.memory_url: str | None = None
        self.trace_store: TraceStore | None = None
        self.run_hook: Callable[[str, dict[str, Any]], None] = lambda name, arguments: None
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def put(self, record: Record) -> None:
        """Write a record into the graph, in place of what had its name."""
        graph = f"{BASE}source/{record.family}/{record.name}"
        self.store.apply(list(self.store.quads(graph)), record_quads(record, graph, self.names))
        self.records[record.name] = record

    def version(self) -> int:
        return self.store.version()

    def secret(self, name: str) -> str:
        return secret(name, self.settings, Path("/"))

    def query(self, text: str, **limits: Any) -> Rows:
        return self.store.query(text)

    def update(self, text: str, *, dry_run: bool = False) -> UpdateReport:
        gate = Gate(self.store, [shipped("shapes")], base=BASE)
        return apply_update(self.store, gate, text, settings=self.settings, dry_run=dry_run)

    def find(self, kind: str | None = None, query: str | None = None, **options: Any) -> list[Any]:
        if self.index.version != self.store.version():
            self.index.rebuild(self.store.query, self.settings, self.store.version())
        return find(self.index, self.store.query, self.embedder, query, kind=kind, **options)

    def run(self, name: str, /, **arguments: Any) -> ToolResult:
        self.calls.append((name, arguments))
        self.run_hook(name, arguments)
        context = RunContext(
            query=lambda text, rows=None: self.store.query(text, max_rows=rows), settings=self.settings, root=Path("/")
        )
        return run(self.records[name], arguments, context)


class ScriptedModel(BaseChatModel):
    """Gives the replies of a script in turn: a message, an error to raise, or a function of the messages seen."""

    script: list[Any]
    seen: list[list[BaseMessage]] = []
    bound: list[str] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.bound[:] = [getattr(t, "name", getattr(t, "__name__", "")) for t in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        reply = self.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, str):
            reply = AIMessage(reply)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


@pytest.fixture(autouse=True)
def _no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return get_embedder("minilm")


@pytest.fixture
def services(embedder: Embedder) -> SmallServices:
    return SmallServices(embedder)


@pytest.fixture
def runtime(services: SmallServices) -> Iterator[AgentRuntime]:
    made = AgentRuntime(services)
    yield made
    made.close()


@pytest.fixture
def scripted(runtime: AgentRuntime) -> Callable[..., ScriptedModel]:
    """Registers a scripted model as `test:script` and gives it."""

    def make(*script: Any) -> ScriptedModel:
        model = ScriptedModel(script=list(script), seen=[], bound=[])
        runtime.models.register("test:script", model)
        return model

    return make


PILOT = AgentSpecification(
    name="pilot", description="Knows the routes.", tools=["find_direct_routes", "flights_between"]
)


class House:
    """A runtime whose default model is the scripted service."""

    def __init__(self, services: SmallServices, runtime: AgentRuntime, server: OpenAIServer) -> None:
        self.services, self.runtime, self.server = services, runtime, server

    def ask(self, text: str = "Where can I fly from BOI?", thread: str = "t") -> TurnResult:
        return self.runtime.agent("pilot").invoke(text, thread)

    def sent(self, number: int = -1) -> list[dict[str, Any]]:
        """The messages of one request."""
        messages: list[dict[str, Any]] = self.server.requests[number]["messages"]
        return messages


@pytest.fixture
def house(services: SmallServices, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., House]]:
    """Starts the service with a script and gives a runtime that uses it."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    opened: list[Any] = []

    def start(*script: Any, entry: dict[str, Any] | None = None, **settings: Any) -> House:
        server = OpenAIServer(script[0] if len(script) == 1 and callable(script[0]) else script).__enter__()
        given = {"seconds": 5.0, "retries": 0, **(entry or {})}
        services.settings = services.settings.model_copy(
            update={
                "model": "house",
                "models": {
                    "house": ModelEntry(model="openai:m", base_url=server.url, **given),
                    "second": ModelEntry(model="openai:second", base_url=server.url, retries=0),
                },
                **settings,
            }
        )
        services.put(PILOT)
        runtime = AgentRuntime(services)
        opened.append((runtime, server))
        return House(services, runtime, server)

    yield start
    for runtime, server in opened:
        runtime.close()
        server.__exit__()
