"""A turn of an agent: routing step by step, tools that fail, events, threads that do not mix."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage

from abi.agents.agent import AgentRuntime
from abi.agents.turn import Event, TurnResult
from abi.errors import ArgumentError, NotFound, ToolFailed, UsageError
from abi.graph.store import BUMP_VERSION
from abi.graph.traces import TraceStore
from abi.records.record import AgentSpecification

from .conftest import BASE, ScriptedModel, SmallServices, calling, intent

Script = Callable[..., ScriptedModel]


def specification(**more: Any) -> AgentSpecification:
    given = {
        "name": "one",
        "description": "One.",
        "model": "test:script",
        "tools": ["find_direct_routes", "flights_between", "airports_in"],
    }
    return AgentSpecification(**{**given, **more})


def test_a_raw_intent_replies_exactly_and_ends_the_turn(runtime: AgentRuntime) -> None:
    turn = runtime.agent("route_finder").invoke("thank you", "t")
    assert turn.answer == "You are welcome."
    assert turn.grounded is None
    assert turn.tool_calls == []
    assert turn.routing["step"] == "raw"
    assert turn.routing["candidates"][0]["type"] == "raw"


def test_a_tool_intent_goes_into_the_system_prompt_and_the_model_calls_it(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(specification(intents=[intent("a", ["direct flights"], "tool", "find_direct_routes", "one")]))
    model = scripted(calling("find_direct_routes", origin=BASE + "BOI"), "There are two.")
    turn = runtime.agent("one").invoke("direct flights", "t")
    assert "tool to call: `find_direct_routes`" in str(model.seen[0][0].content)
    assert turn.answer == "There are two."
    assert turn.grounded is True
    assert turn.routing["step"] == "direct"
    result = model.seen[1][-1]
    assert isinstance(result, ToolMessage)
    assert json.loads(str(result.content))["row_count"] == 2


def test_no_intent_the_model_answers_and_without_rows_it_is_not_grounded(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(specification(intents=[intent("a", ["direct flights"], "tool", "find_direct_routes", "one")]))
    scripted("I think so.")
    turn = runtime.agent("one").invoke("what is the meaning of life", "t")
    assert (turn.answer, turn.grounded, turn.routing["step"]) == ("I think so.", False, "model")


def two_tools(**more: Any) -> AgentSpecification:
    phrase = ["flights of an airport"]
    intents = [
        intent("a", phrase, "tool", "find_direct_routes", "one"),
        intent("b", phrase, "tool", "flights_between", "one"),
    ]
    return specification(intents=intents, **more)


def keep_all(messages: Any) -> AIMessage:
    return calling("FilterIntents", bool_list=[True, True])


@pytest.mark.parametrize("answer", ["1", "the first", "find_direct_routes", "Find direct routes"])
def test_choosing_a_tool_calls_it_with_the_original_request(
    services: SmallServices, runtime: AgentRuntime, scripted: Script, answer: str
) -> None:
    services.put(two_tools())
    model = scripted(keep_all, calling("find_direct_routes", origin=BASE + "BOI"), "Two.")
    one = runtime.agent("one")
    asked = one.invoke("flights of an airport", "t")
    assert asked.answer.startswith("I found multiple intents that could handle your request:\n\n1. **find_direct_")
    assert asked.needs == {
        "choices": [{"number": 1, "label": "find_direct_routes"}, {"number": 2, "label": "flights_between"}]
    }
    assert (asked.grounded, asked.routing["step"]) == (None, "choice")
    turn = one.invoke(answer, "t")
    assert model.seen[1][-1].content == "flights of an airport"
    assert "tool to call: `find_direct_routes`" in str(model.seen[1][0].content)
    assert turn.tool_calls[0]["tool"] == "find_direct_routes"


def test_a_choice_out_of_range_asks_again(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(two_tools())
    scripted(keep_all)
    one = runtime.agent("one")
    one.invoke("flights of an airport", "t")
    again = one.invoke("9", "t")
    assert again.answer.startswith("There is no such choice: choose a number from 1 to 2.")
    assert again.needs is not None


def test_another_request_after_a_choice_is_routed_anew(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(two_tools())
    scripted(keep_all, "Something else.")
    one = runtime.agent("one")
    one.invoke("flights of an airport", "t")
    assert one.invoke("tell me about something else entirely", "t").answer == "Something else."


def test_the_filter_leaves_one_and_that_is_followed(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(two_tools())
    model = scripted(calling("FilterIntents", bool_list=[False, True]), "ok")
    turn = runtime.agent("one").invoke("flights of an airport", "t")
    assert turn.routing["step"] == "filtered"
    assert "`flights_between`" in str(model.seen[1][0].content)


@pytest.mark.parametrize(
    "judgement", ["no call", calling("FilterIntents", bool_list=[True]), calling("FilterIntents"), OSError("down")]
)
def test_a_filter_that_fails_keeps_all_and_goes_on_to_the_entity_check(
    services: SmallServices, runtime: AgentRuntime, scripted: Script, judgement: Any
) -> None:
    services.put(two_tools())
    scripted(judgement)
    turn = runtime.agent("one").invoke("flights of an airport", "t")
    assert turn.routing["trail"] == ["entity_check", "choice"]


def test_the_entity_check_keeps_an_intent_only_if_the_message_names_its_entity(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    intents = [
        intent("a", ["phone number of the office of John Doe"], "raw", "555-0100", "one"),
        intent("b", ["phone number of the office in Boise"], "raw", "555-0200", "one"),
    ]
    services.put(specification(intents=intents, threshold=0.3, direct_intent_score=1.0, threshold_neighbor=0.9))
    one = runtime.agent("one")
    scripted("no judgement", "I do not know.")
    leak = one.invoke("phone number of the office", "t")
    assert leak.answer == "I do not know."
    scripted("no judgement")
    named = one.invoke("phone number of the office of John Doe please", "u")
    assert (named.answer, named.routing["step"]) == ("555-0100", "raw")
    scripted("no judgement")
    assert one.invoke("give me the phone number of the Boise office", "v").answer == "555-0200"


def test_without_an_embedder_mapping_is_skipped(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    class Broken:
        name, dimensions = "broken", 3

        def embed(self, texts: Any) -> Any:
            raise OSError("unreachable")

    services.embedder = Broken()
    services.put(two_tools())
    scripted("The model answers.")
    turn = runtime.agent("one").invoke("flights of an airport", "t")
    assert turn.answer == "The model answers."
    assert turn.routing["step"] == "model"


def test_an_unknown_tool_is_told_to_the_model_with_those_that_there_are(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(specification())
    model = scripted(calling("nonsense"), "Sorry.")
    turn = runtime.agent("one").invoke("hello there", "t")
    told = str(model.seen[1][-1].content)
    assert "no tool 'nonsense'" in told
    assert "airports_in, find_direct_routes, flights_between" in told
    assert turn.answer == "Sorry."


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ToolFailed("The tool raised KeyError.", hint="Look at its code."), "The tool raised KeyError."),
        (ArgumentError("origin is missing"), "origin is missing"),
        (RuntimeError("boom {braces}"), "boom {braces}"),
    ],
)
def test_a_raising_tool_leaves_the_thread_usable(
    services: SmallServices, runtime: AgentRuntime, scripted: Script, error: Exception, told: str
) -> None:
    def fail(name: str, arguments: dict[str, Any]) -> None:
        raise error

    services.put(specification())
    services.run_hook = fail
    model = scripted(calling("find_direct_routes", origin="BOI"), "It failed.", "Still here.")
    one = runtime.agent("one")
    turn = one.invoke("flights?", "t")
    assert told in str(model.seen[1][-1].content)
    assert model.seen[1][-1].status == "error"  # type: ignore[attr-defined]
    assert turn.tool_calls[0]["error"]
    assert turn.grounded is False
    assert one.invoke("and now?", "t").answer == "Still here."


def test_wrong_arguments_are_told_to_the_model(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(specification())
    model = scripted(calling("find_direct_routes", limit="many"), "ok")
    runtime.agent("one").invoke("flights?", "t")
    told = str(model.seen[1][-1].content)
    assert "origin" in told
    assert "limit" in told


def test_an_ambiguous_argument_of_a_tool_is_asked_about_by_the_offline_model(
    services: SmallServices, runtime: AgentRuntime
) -> None:
    def fail(name: str, arguments: dict[str, Any]) -> None:
        if arguments.get("origin") == BASE + "BOI":
            options = [
                {"iri": BASE + "SEA", "label": "Seattle-Tacoma Intl"},
                {"iri": BASE + "PDX", "label": "Portland"},
            ]
            fault = {"argument": "origin", "code": "ambiguous", "message": "two", "candidates": options}
            raise ArgumentError("origin can mean 2 things", details={"faults": [fault]})

    services.run_hook = fail
    routes = runtime.agent("route_finder")
    asked = routes.invoke("direct flights from BOI", "t")
    assert asked.needs is not None
    assert [c["label"] for c in asked.needs["choices"]] == ["Seattle-Tacoma Intl", "Portland"]
    assert routes.invoke("2", "t").tool_calls[0]["arguments"]["origin"] == BASE + "PDX"


def test_a_failing_model_ends_the_turn_with_words_and_the_thread_goes_on(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(specification())
    scripted(OSError("connection refused"), "Back.")
    one = runtime.agent("one")
    turn = one.invoke("hello?", "t")
    assert turn.answer == "The model test:script failed: connection refused"
    assert turn.grounded is False
    assert one.invoke("hello?", "t").answer == "Back."


def test_steps_are_limited(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(specification())
    scripted(*[calling("airports_in", place=BASE + "idaho") for _ in range(30)])
    turn = runtime.agent("one").invoke("go on for ever", "t")
    assert turn.answer == "I stopped after 12 steps without an answer."
    assert len(turn.tool_calls) <= 12


def test_a_changed_triple_changes_the_next_answer(services: SmallServices, runtime: AgentRuntime) -> None:
    routes = runtime.agent("route_finder")
    assert routes.invoke("thank you", "t").answer == "You are welcome."
    graph = f"{BASE}source/agent/route_finder"
    services.store.update(
        f"WITH <{graph}> DELETE {{ ?i abi:reply ?r }} INSERT {{ ?i abi:reply 'My pleasure.' }} "
        f"WHERE {{ ?i abi:reply ?r }} ; {BUMP_VERSION}"
    )
    assert routes.invoke("thank you", "t").answer == "My pleasure."


def test_the_graph_is_compiled_once_and_agents_once_a_version(services: SmallServices, runtime: AgentRuntime) -> None:
    routes = runtime.agent("route_finder")
    routes.invoke("thank you", "t")
    crew = runtime.crew()
    member = crew.member("route_finder")
    routes.invoke("thank you", "u")
    assert runtime.crew() is crew
    assert crew.member("route_finder") is member


def test_events_come_in_their_order(runtime: AgentRuntime) -> None:
    *events, result = list(runtime.agent("travel").stream("Direct flights from BOI", "t"))
    assert isinstance(result, TurnResult)
    assert all(isinstance(e, Event) for e in events)
    types = [e.type for e in events if isinstance(e, Event)]
    assert types == [
        "agent_routing", "call_model", "tool_usage", "tool_response", "call_model", "ai_message", "message", "done",
    ]  # fmt: skip
    assert events[0].data == "route_finder"  # type: ignore[union-attr]
    assert events[2].data == "find_direct_routes"  # type: ignore[union-attr]
    assert events[-1].data == "[DONE]"  # type: ignore[union-attr]


def test_one_message_event_a_line(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(specification())
    scripted("one\ntwo\n\nthree")
    events = [e for e in runtime.agent("one").stream("hi", "t") if isinstance(e, Event)]
    assert [e.data for e in events if e.type == "message"] == ["one", "two", "", "three"]


def test_async_gives_the_same(runtime: AgentRuntime) -> None:
    async def go() -> tuple[TurnResult, list[Any]]:
        routes = runtime.agent("route_finder")
        answer = await routes.ainvoke("Direct flights from BOI", "t")
        return answer, [e async for e in routes.astream("Direct flights from BOI", "u")]

    answer, events = asyncio.run(go())
    assert isinstance(events[-1], TurnResult)
    assert events[-1].answer == answer.answer


def test_an_error_of_a_stream_arrives(runtime: AgentRuntime) -> None:
    async def go() -> None:
        async for _ in runtime.agent("route_finder").astream("  "):
            pass

    with pytest.raises(UsageError):
        asyncio.run(go())


def test_a_stream_that_is_left_early_leaves_the_thread_usable(runtime: AgentRuntime) -> None:
    routes = runtime.agent("route_finder")
    stream = routes.stream("Direct flights from BOI", "t")
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert routes.invoke("How many flights from BOI to SEA?", "t").tool_calls[0]["tool"] == "flights_between"


def test_a_turn_leaves_its_trace(services: SmallServices, runtime: AgentRuntime) -> None:
    services.trace_store = TraceStore(None, services.settings)
    turn = runtime.agent("route_finder").invoke("Direct flights from BOI", "t")
    kept = services.trace_store.turn(turn.turn)
    assert kept["answer"] == turn.answer
    assert kept["tool_calls"][0]["query"] == turn.tool_calls[0]["query"]
    assert kept["routing"]["step"] == turn.routing["step"]
    assert kept["routing"]["chosen"] == "find_direct_routes"
    assert [c["score"] for c in kept["routing"]["candidates"]] == [c["score"] for c in turn.routing["candidates"]]
    assert {c["label"] for c in kept["citations"]} >= {"Boise Air Terminal"}


def test_a_trace_names_whom_the_request_was_handed_to(services: SmallServices, runtime: AgentRuntime) -> None:
    services.trace_store = TraceStore(None, services.settings)
    turn = runtime.agent("travel").invoke("@route_finder", "t")
    rows = services.trace_store.query("SELECT ?chosen WHERE { ?r abi:chosen ?chosen }")
    assert [r["chosen"].value for r in rows] == [f"{BASE}agent/route_finder"]
    assert turn.agent_iri == f"{BASE}agent/route_finder"


def test_threads_do_not_mix(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    """Fifty threads at once, each with a word of its own, of which no other hears."""
    services.put(specification())

    def echo(messages: Any) -> AIMessage:
        return AIMessage(" ".join(str(m.content) for m in messages if not isinstance(m, SystemMessage)))

    scripted(*[echo for _ in range(100)])
    one, heard = runtime.agent("one"), {}

    def talk(number: int) -> None:
        one.invoke(f"secret{number:02}", f"thread{number}")
        heard[number] = one.invoke("what was it?", f"thread{number}").answer

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 50
    for number, text in heard.items():
        assert {w for w in text.split() if w.startswith("secret")} == {f"secret{number:02}"}


def test_turns_are_numbered_and_named(runtime: AgentRuntime) -> None:
    routes = runtime.agent("route_finder")
    first = routes.invoke("thank you", "a b")
    assert first.turn == f"{BASE}thread/a%20b/turn/1"
    assert routes.invoke("thank you", "a b").turn.endswith("/turn/2")
    assert routes.invoke("thank you").thread_id != routes.invoke("thank you").thread_id


@pytest.mark.parametrize("text", ["", "  \n", "x" * 32_001])
def test_messages_that_are_none(runtime: AgentRuntime, text: str) -> None:
    with pytest.raises(UsageError):
        runtime.agent("route_finder").invoke(text, "t")


@pytest.mark.parametrize(
    "text", ["?", "\x00", "\ud800", "🙂" * 50, "'; DROP", "{{ 7*7 }}", "from to from to", "1 2 3 4"]
)
def test_any_message_gets_an_answer(runtime: AgentRuntime, text: str) -> None:
    turn = runtime.agent("travel").invoke(text, "t")
    assert turn.answer
    assert turn.grounded in (None, False)


def test_an_agent_that_is_not_there(runtime: AgentRuntime) -> None:
    with pytest.raises(NotFound, match="no agent 'nobody'"):
        runtime.agent("nobody")
