"""Agents whose model is a service: a scripted one over real HTTP, through langchain-openai."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from abi.agents.turn import Event, TurnResult
from abi.errors import ToolFailed

from .conftest import BASE, DIRECT, FL, PILOT, House
from .openai_server import Step, calls, drips, fails, hangs, raw, says

Start = Callable[..., House]
BOI, SEA = BASE + "BOI", BASE + "SEA"


def test_the_model_calls_a_tool_and_answers_from_its_rows(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("Seattle and Portland."))
    turn = there.ask()
    assert (turn.answer, turn.grounded) == ("Seattle and Portland.", True)
    assert turn.tool_calls[0]["arguments"]["origin"] == BOI
    assert [r["name"] for r in turn.tool_calls[0]["rows"]] == ["Seattle-Tacoma Intl", "Portland Intl"]
    assert {c["iri"] for c in turn.citations} >= {BOI, SEA}
    offered = [t["function"]["name"] for t in there.server.requests[0]["tools"]]
    assert offered == ["find_direct_routes", "flights_between", "query_graph"]
    told = there.sent()[-1]
    assert told["role"] == "tool"
    assert json.loads(told["content"])["row_count"] == 2


def test_unknown_tools_wrong_arguments_and_no_json_are_told_and_the_thread_stays_usable(house: Start) -> None:
    there = house(
        calls("fly_me"),
        calls("find_direct_routes", _raw='{"origin": '),
        calls("find_direct_routes", _raw="[not json"),
        calls("find_direct_routes", origin="BOX"),
        calls("find_direct_routes", origin="BOI", speed=3),
        says("I give up."),
        says("Still here."),
    )
    turn = there.ask()
    assert (turn.answer, turn.grounded) == ("I give up.", False)
    told = [m["content"] for m in there.sent() if m["role"] == "tool"]
    assert told[0].startswith("There is no tool 'fly_me' here. Available tools: find_direct_routes,")
    assert "origin" in told[1]
    assert told[2] == "The arguments of find_direct_routes are no JSON object: [not json"
    assert "'BOX'" in told[3]
    assert "speed" in told[4]
    assert there.ask("and now?").answer == "Still here."


def test_a_raising_tool_is_told(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("It is broken."))

    def broken(name: str, arguments: dict[str, Any]) -> None:
        raise RuntimeError("no fuel {left}")

    there.services.run_hook = broken
    assert there.ask().answer == "It is broken."
    assert there.sent()[-1]["content"] == "The tool find_direct_routes failed: no fuel {left}"


def test_a_tool_that_takes_too_long_is_given_up(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("It is slow."), tool_seconds=0.2)
    ended = threading.Event()
    there.services.run_hook = lambda name, arguments: ended.wait(5) and None
    assert there.ask().answer == "It is slow."
    ended.set()
    assert there.sent()[-1]["content"].startswith("The tool find_direct_routes took longer than 0.2 s")


def test_a_large_result_is_cut_with_a_note(house: Start) -> None:
    there = house(calls("query_graph", query="SELECT ?a ?b ?c { ?a ?p ?b . ?c ?q ?d }"), says("Many."), tool_rows=150)
    turn = there.ask()
    assert turn.tool_calls[0]["truncated"] is False or turn.tool_calls[0]["row_count"] == 150
    told = json.loads(there.sent()[-1]["content"])
    assert told["shown_rows"] == len(told["rows"]) < told["row_count"]
    assert "ask more narrowly" in told["note"]
    assert len(there.sent()[-1]["content"]) <= 8200


def test_steps_end_a_turn(house: Start) -> None:
    there = house(lambda body: calls("find_direct_routes", origin="BOI"), agent_steps=6)
    turn = there.ask()
    assert turn.answer == "I stopped after 6 steps without an answer."
    assert len(there.server.requests) == 3


def test_tokens_end_a_turn(house: Start) -> None:
    step = calls("find_direct_routes", origin="BOI")
    step.usage = (900, 200)
    there = house(lambda body: step, agent_tokens=2000)
    assert there.ask().answer == "I stopped after 2,200 tokens of the model without an answer."


def test_time_ends_a_turn(house: Start) -> None:
    there = house(hangs(), agent_seconds=0.4)
    began = time.monotonic()
    assert there.ask().answer == "I stopped after 0.4 seconds without an answer."
    assert time.monotonic() - began < 20  # the model would answer after 30


def test_a_model_that_hangs_is_not_waited_for(house: Start) -> None:
    there = house(hangs(), says("Back."), entry={"seconds": 0.3})
    turn = there.ask()
    assert turn.answer.startswith("The model house failed: ")
    assert turn.grounded is False
    assert there.ask().answer == "Back."


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_service_is_tried_again(house: Start, status: int) -> None:
    there = house(fails(status, retry_after_ms="10"), says("At last."), entry={"retries": 1})
    assert there.ask().answer == "At last."


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_failing_service_ends_the_turn_with_words(house: Start, status: int) -> None:
    there = house(fails(status, "quota {x} used up"), says("Later."))
    turn = there.ask()
    assert turn.answer.startswith("The model house failed: ")
    assert "quota {x} used up" in turn.answer
    assert there.ask().answer == "Later."
    roles = [m["role"] for m in there.sent()]
    assert roles == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    "body",
    [b"<html>busy</html>", b"data: {not json\n\n", b"", b'{"choices": []}'],
    ids=["html", "sse", "empty", "none"],
)
def test_a_reply_that_is_none(house: Start, body: bytes) -> None:
    there = house(raw(body), says("Fine."))
    assert there.ask().answer.startswith("The model house failed: ")
    assert there.ask().answer == "Fine."


def test_where_a_model_fails_the_next_is_asked(house: Start) -> None:
    there = house(fails(500), says("From the second."), entry={"fallback": ["openai:nokey", "second"]})
    events = list(there.runtime.agent("pilot").stream("Where to?", "t"))
    assert [e.data for e in events if isinstance(e, Event) and e.type == "call_model"] == [
        "house",
        "openai:nokey",
        "second",
    ]
    turn = events[-1]
    assert isinstance(turn, TurnResult)
    assert (turn.answer, turn.model) == ("From the second.", "second")
    assert there.server.requests[-1]["model"] == "second"


def test_the_last_fallback_may_be_offline(house: Start) -> None:
    there = house(fails(500), model_fallback=["offline:grounded"])
    turn = there.ask("Direct flights from BOI")
    assert turn.grounded is True
    assert turn.model == "offline:grounded"
    assert turn.tool_calls[0]["tool"] == "find_direct_routes"


def test_all_failures_are_told(house: Start) -> None:
    there = house(fails(500), fails(429), model_fallback=["second"])
    answer = there.ask().answer
    assert "The model house failed" in answer
    assert "The model second failed" in answer


def test_events_in_order_with_tokens(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("Seattle, and Portland.\nBoth direct."))
    events = [e for e in there.runtime.agent("pilot").stream("Where to?", "t") if isinstance(e, Event)]
    kinds = [e.type for e in events]
    assert [k for k in kinds if k != "token"] == [
        *("call_model", "tool_usage", "tool_response", "call_model", "ai_message", "message", "message", "done")
    ]
    assert "".join(e.data for e in events if e.type == "token") == "Seattle, and Portland.\nBoth direct."
    assert kinds.index("token") > kinds.index("tool_response")
    assert kinds.count("token") > 2


def test_tokens_come_while_the_model_writes(house: Start) -> None:
    there = house(drips("one two three four five", 0.1))
    stream = there.runtime.agent("pilot").stream("Count.", "t")
    first = next(e for e in stream if isinstance(e, Event) and e.type == "token")
    assert first.data == "one "
    rest = list(stream)
    assert isinstance(rest[-1], TurnResult)
    assert rest[-1].answer == "one two three four five"


def test_thoughts_are_no_part_of_the_answer(house: Start) -> None:
    there = house(says("<think>Let me see. 1 < 2.</think>\n\nIt is Seattle."))
    events = list(there.runtime.agent("pilot").stream("Where to?", "t"))
    assert isinstance(events[-1], TurnResult)
    assert events[-1].answer == "It is Seattle."
    assert "".join(e.data for e in events[:-1] if isinstance(e, Event) and e.type == "token") == "It is Seattle."


def test_stopping_breaks_the_models_call_off(house: Start) -> None:
    there = house(drips("word " * 300, 0.05), says("Again."))
    stop = threading.Event()
    result: TurnResult | None = None
    for item in there.runtime.agent("pilot").stream("Talk.", "t", stop=stop):
        if isinstance(item, TurnResult):
            result = item
        elif item.type == "token":
            stop.set()
    assert result is not None
    assert result.stopped
    assert result.answer.startswith("word")
    assert result.answer.endswith("[stopped]")
    assert there.server.broken_off.wait(5), "the service goes on writing"
    assert there.ask("once more").answer == "Again."


def test_closing_the_stream_stops_the_model(house: Start) -> None:
    there = house(drips("word " * 300, 0.05), says("Again."))
    stream = there.runtime.agent("pilot").stream("Talk.", "t")
    next(e for e in stream if isinstance(e, Event) and e.type == "token")
    stream.close()  # type: ignore[attr-defined]
    assert there.server.broken_off.wait(5)
    assert there.ask("once more").answer == "Again."


def test_stopping_gives_a_tool_up(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("Again."))
    stop, release = threading.Event(), threading.Event()

    def wait(name: str, arguments: dict[str, Any]) -> None:
        stop.set()
        release.wait(60)

    there.services.run_hook = wait
    began = time.monotonic()
    *_, result = there.runtime.agent("pilot").stream("Where to?", "t", stop=stop)
    release.set()
    assert time.monotonic() - began < 30
    assert isinstance(result, TurnResult)
    assert (result.answer, result.stopped) == ("Stopped.", True)
    assert there.ask("once more").answer == "Again."


def test_a_cancelled_task_stops_the_model(house: Start) -> None:
    there = house(drips("word " * 300, 0.05))

    async def go() -> None:
        heard = asyncio.Event()

        async def listen() -> None:
            async for item in there.runtime.agent("pilot").astream("Talk.", "t"):
                if isinstance(item, Event) and item.type == "token":
                    heard.set()

        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert there.server.broken_off.wait(5)


def test_the_oldest_turns_leave_where_the_context_is_small(house: Start) -> None:
    there = house(lambda body: says("ok " * 150), entry={"context_window": 1500})
    for number in range(12):
        there.ask(f"Question {number}: " + "blah " * 40)
    sent = there.sent()
    assert sent[0]["role"] == "system"
    assert sent[1]["role"] == "user"
    assert sum(len(m["content"]) for m in sent) < 1500 * 3.5
    assert sent[-1]["content"].startswith("Question 11")
    assert 2 < len(sent) < 24


def test_a_written_query_is_answered_with_its_entities(house: Start) -> None:
    query = "SELECT ?a ?name WHERE { ?a a fl:Airport ; rdfs:label ?name } ORDER BY ?name LIMIT 2"
    there = house(calls("query_graph", query=query), says("Two of them."))
    turn = there.ask()
    assert turn.grounded is True
    call = turn.tool_calls[0]
    assert (call["tool"], call["row_count"], call["query"]) == ("query_graph", 2, query)
    assert turn.citations[0] == {"iri": BOI, "label": "Boise Air Terminal"}
    description = there.server.requests[0]["tools"][-1]["function"]["description"]
    assert "- fl:Airport" in description
    assert "fl:from" in description


def test_a_faulty_query_is_explained_and_mended(house: Start) -> None:
    there = house(
        calls("query_graph", query="SELECT ?a WHERE { ?a a fl:Airprt }"),
        calls("query_graph", query="SELECT ?a WHERE { ?a nope:x ?b }"),
        calls("query_graph", query="```sparql\nASK { fl:Airport a owl:Class }\n```"),
        says("Yes."),
    )
    turn = there.ask()
    told = [m["content"] for m in there.sent() if m["role"] == "tool"]
    assert told[0].startswith("line 1, column 24: fl:Airprt is not in the graph; near: fl:Airport")
    assert told[0].endswith("Tries left: 2.")
    assert "Nobody has declared the prefix nope:." in told[1]
    assert f"fl: <{FL}>" in told[1]
    assert json.loads(told[2])["result"] is True
    assert (turn.answer, turn.grounded) == ("Yes.", True)


def test_a_query_that_does_not_parse_is_told_where(house: Start) -> None:
    there = house(calls("query_graph", query="SELECT ?a WHERE {\n ?a ?b }"), says("No."))
    there.ask()
    told = there.sent()[-1]["content"]
    assert "line 2" in told or "2:" in told
    assert "Known prefixes:" in told


@pytest.mark.parametrize(
    "query",
    ["SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "DELETE WHERE { ?s ?p ?o }", "LOAD <http://x.org/>"],
)
def test_a_written_query_is_guarded(house: Start, query: str) -> None:
    there = house(calls("query_graph", query=query), says("No."))
    before = there.services.store.version()
    assert there.ask().grounded is False
    assert "Tries left: 2." in there.sent()[-1]["content"]
    assert there.services.store.version() == before


def test_queries_are_tried_again_twice_at_most(house: Start) -> None:
    there = house(*[calls("query_graph", query="SELECT") for _ in range(3)], says("I cannot."), says("x"))
    assert there.ask().answer == "I cannot."
    offered = [[t["function"]["name"] for t in r["tools"]] for r in there.server.requests]
    assert ["query_graph" in names for names in offered] == [True, True, True, False]
    assert there.sent()[-1]["content"].endswith("Answer without this tool now.")


def test_common_prefixes_are_added(house: Start) -> None:
    there = house(calls("query_graph", query="SELECT ?s { ?s a fl:Airport MINUS { ?s foaf:name ?n } }"), says("x"))
    there.ask()
    assert (
        "http://xmlns.com/foaf/0.1/name" not in there.sent()[-1]["content"]
        or "not in the graph" in (there.sent()[-1]["content"])
    )
    assert "Nobody has declared" not in there.sent()[-1]["content"]


def test_what_a_tool_gives_directly_is_the_answer(house: Start) -> None:
    there = house(calls("quick_routes", origin="BOI"))
    there.services.put(DIRECT.model_copy(update={"name": "quick_routes", "annotations": {"return_direct": "true"}}))
    there.services.put(PILOT.model_copy(update={"tools": ["quick_routes"]}))
    turn = there.ask()
    assert turn.answer.startswith("2 airports can be reached directly from Boise Air Terminal: ")
    assert turn.grounded is True
    assert len(there.server.requests) == 1


def test_a_tool_that_fails_is_not_given_directly(house: Start) -> None:
    there = house(calls("quick_routes", origin="BOX"), says("There is none."))
    there.services.put(DIRECT.model_copy(update={"name": "quick_routes", "annotations": {"return_direct": "true"}}))
    there.services.put(PILOT.model_copy(update={"tools": ["quick_routes"]}))
    assert there.ask().answer == "There is none."


def test_queries_can_be_switched_off(house: Start) -> None:
    there = house(says("x"), agent_queries=False)
    there.ask()
    assert [t["function"]["name"] for t in there.server.requests[0]["tools"]] == [
        "find_direct_routes",
        "flights_between",
    ]


def test_fifty_threads_at_once_never_see_each_others_word(house: Start) -> None:
    """Each thread tells its word, and later asks for it; the service says what it finds in the messages it gets."""

    def recall(body: dict[str, Any]) -> Step:
        said = [m["content"] for m in body["messages"] if m["role"] == "user"]
        words = [w for t in said for w in t.split() if w.startswith("word-")]
        return says(f"I know: {' '.join(words)}.")

    there = house(recall)
    answers: dict[int, str] = {}

    def talk(n: int) -> None:
        agent = there.runtime.agent("pilot")
        agent.invoke(f"My secret is word-{n}", f"thread-{n}")
        answers[n] = agent.invoke("What is my secret?", f"thread-{n}").answer

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: f"I know: word-{n}." for n in range(50)}


def test_a_tool_of_the_catalog_that_fails_is_told_in_its_own_words(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"), says("x"))

    def refuse(name: str, arguments: dict[str, Any]) -> None:
        raise ToolFailed("The mill is closed.", hint="Come tomorrow.")

    there.services.run_hook = refuse
    there.ask()
    assert there.sent()[-1]["content"] == "The mill is closed. Come tomorrow."
