"""Why a message went where it went: a sentence for each decision, in the result and in the trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from abi.agents.agent import AgentRuntime
from abi.agents.intents import Candidate, Thresholds, decide
from abi.agents.reasons import of_filter, of_mapping
from abi.graph.traces import TraceStore
from abi.records.record import AgentSpecification

from .conftest import BASE, ScriptedModel, SmallServices, calling, intent

Script = Callable[..., ScriptedModel]


def several(*scores: float) -> list[Candidate]:
    return [Candidate(f"phrase {n}", f"intent {n}", f"target {n}", "tool", score) for n, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ((), "one has no intent that could be followed."),
        ((0.8499,), "No intent of one is above 0.85: the nearest is `phrase 0` (0.8499)."),
        ((0.95, 0.5), "`phrase 0` (0.95) reaches 0.9 alone; the next is `phrase 1` (0.5)."),
        ((0.95,), "`phrase 0` (0.95) reaches 0.9 alone; no other is near."),
        ((0.87,), "`phrase 0` (0.87) is above 0.85, but below 0.9: it is looked at again."),
        ((0.95, 0.95), "2 intents lie closer than 0.05: `phrase 0` (0.95), `phrase 1` (0.95)."),
    ],
)
def test_what_the_thresholds_made_of_the_scores(scores: tuple[float, ...], said: str) -> None:
    known = several(*scores)
    assert of_mapping("one", known, decide(known, Thresholds()), Thresholds()) == said


def test_what_a_filter_left() -> None:
    before = several(0.9, 0.9, 0.9)
    assert of_filter("The model", before, before) == "The model kept all of them."
    assert of_filter("The model", before, before[:2]) == "The model kept `phrase 0`, `phrase 1`."
    assert of_filter("The model", before, []) == "The model kept none."
    assert of_filter("The model", before[:1], before[:1]) == "The model kept it."


def boss(*intents: tuple[str, str, str]) -> AgentSpecification:
    made = [intent(f"i{n}", [phrase], kind, target, "boss") for n, (phrase, kind, target) in enumerate(intents)]
    return AgentSpecification(
        name="boss", description="Boss.", model="test:script", agents=["route_finder"], intents=made,
        tools=["find_direct_routes", "flights_between"],
    )  # fmt: skip


def test_each_way_of_a_turn_says_why(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(
        boss(
            ("good bye then", "raw", "Bye."),
            ("direct flights", "tool", "find_direct_routes"),
            ("look up routes", "agent", "route_finder"),
            ("show the flights", "tool", "flights_between"),
            ("show the flights", "tool", "find_direct_routes"),
        )
    )
    scripted(calling("find_direct_routes", origin=BASE + "BOI"), "Two.", "What?", "All.")

    def why(text: str, thread: str) -> str:
        return str(runtime.agent("boss").invoke(text, thread).routing["reason"])

    assert why("good bye then", "raw").endswith("`good bye then` has a reply of its own.")
    assert why("direct flights", "tool").endswith("`direct flights` leads to the tool find_direct_routes.")
    assert "is above 0.85: the nearest is" in (none := why("sing me a song of the sea", "none"))
    assert none.endswith("The chat model of boss is asked.")
    assert "leads to the agent route_finder." in why("look up routes", "agent")
    assert "route_finder holds the conversation." in why("thank you", "agent")
    assert why("@route_finder thank you", "mention").startswith("The message names @route_finder.")
    assert "2 intents lie closer than 0.05" in (choice := why("show the flights", "choice"))
    assert choice.endswith("2 agents or tools are left: the person chooses.")
    assert why("7", "choice").endswith("The answer chooses none of the 2 that were offered.")
    assert why("1", "choice").startswith("The person chose ")


def test_the_reason_is_in_the_trace(services: SmallServices, runtime: AgentRuntime) -> None:
    services.trace_store = TraceStore(None, services.settings)
    turn = runtime.agent("route_finder").invoke("thank you", "t")
    assert turn.routing["reason"]
    assert services.trace_store.turn(turn.turn)["routing"]["reason"] == turn.routing["reason"]
    rows = services.trace_store.query("SELECT ?why { ?routing a abi:Routing ; abi:routingReason ?why }")
    assert rows.python() == [{"why": turn.routing["reason"]}]
