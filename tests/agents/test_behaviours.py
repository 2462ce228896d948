"""Behaviours that the agents of ABI are tested for, each by the name that it has there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abi.agents.agent import AgentRuntime
from abi.agents.turn import Event
from abi.errors import NotFound
from abi.records.record import AgentSpecification, SystemPrompt

from .conftest import BASE, House, ScriptedModel, SmallServices, calling, intent
from .openai_server import calls, fails, says

Script = Callable[..., ScriptedModel]
Start = Callable[..., House]


def agent(name: str, agents: list[str] | None = None, **more: Any) -> AgentSpecification:
    return AgentSpecification(
        name=name,
        description=f"What {name} does.",
        system_prompt=SystemPrompt(text=f"You are {name}."),
        agents=agents or [],
        model="test:script",
        **more,
    )


@pytest.fixture
def crew(services: SmallServices) -> SmallServices:
    """boss over mid over leaf, other over leaf, and lone."""
    for one in (
        agent("boss", ["mid"]),
        agent("mid", ["leaf"]),
        agent("leaf"),
        agent("other", ["leaf"]),
        agent("lone"),
    ):
        services.put(one)
    return services


def texts(model: ScriptedModel, number: int = -1) -> list[str]:
    """What the model was shown, without the system prompt."""
    return [str(m.content) for m in model.seen[number][1:]]


# Routing


def test_thread_left_by_another_agent(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    scripted("lone says", "boss says")
    runtime.agent("lone").invoke("one", "t")
    assert runtime.agent("boss").invoke("two", "t").agent == "boss"


def test_foreign_sub_agent_is_ignored(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    scripted(calling("transfer_to_mid"), "mid says", "lone says")
    assert runtime.agent("boss").invoke("one", "t").agent == "mid"
    assert runtime.agent("lone").invoke("two", "t").agent == "lone"


def test_foreign_supervisor_is_ignored(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    """A sub-agent that another supervisor handed to stays, under the one that is asked now, which gets its call."""
    scripted(calling("transfer_to_mid"), calling("transfer_to_leaf"), "leaf says")
    assert runtime.agent("boss").invoke("one", "t").agent == "leaf"
    model = scripted(calling("request_help", reason="not mine"), "other says")
    turn = runtime.agent("other").invoke("two", "t")
    assert (turn.agent, turn.answer) == ("other", "other says")
    assert "You are leaf." in str(model.seen[0][0].content)
    assert "not mine" in str(model.seen[1][0].content)


def test_handoff_continues(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    scripted(calling("transfer_to_mid"), "first", "second")
    runtime.agent("boss").invoke("one", "t")
    turn = runtime.agent("boss").invoke("two", "t")
    assert (turn.agent, turn.answer) == ("mid", "second")
    assert "active" in turn.routing["trail"]


def test_nested_handoff_via_an_intermediate(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    model = scripted(calling("transfer_to_mid"), calling("transfer_to_leaf"), "first", "second")
    assert runtime.agent("boss").invoke("one", "t").agent == "leaf"
    assert runtime.agent("boss").invoke("two", "t").agent == "leaf"
    assert "You are leaf." in str(model.seen[-1][0].content)


def test_return_after_another(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    model = scripted("boss says", "lone says", "boss again")
    runtime.agent("boss").invoke("one", "t")
    runtime.agent("lone").invoke("two", "t")
    assert runtime.agent("boss").invoke("three", "t").agent == "boss"
    assert texts(model) == ["one", "boss says", "two", "lone says", "three"]


def test_one_routing_event_for_each_move(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    scripted(calling("transfer_to_mid"), calling("transfer_to_leaf"), "leaf says")
    events = [e for e in runtime.agent("boss").stream("one", "t") if isinstance(e, Event)]
    moves = [(e.agent, e.data) for e in events if e.type == "agent_routing"]
    assert moves == [("boss", "mid"), ("mid", "leaf")]


def test_handoff_artefacts_are_stripped(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    model = scripted(calling("transfer_to_mid"), calling("request_help", reason="no"), "boss says", "boss again")
    runtime.agent("boss").invoke("one", "t")
    runtime.agent("boss").invoke("two", "t")
    assert texts(model) == ["one", "boss says", "two"]
    assert "transfer_to" not in str(runtime.threads.show("t"))


# Memory


def test_restart_keeps_memory_and_handoff(crew: SmallServices, tmp_path: Path) -> None:
    crew.memory_path = tmp_path / "memory.sqlite"
    script = [calling("transfer_to_mid"), "first", "second"]
    for number in (1, 2):
        runtime = AgentRuntime(crew)
        model = ScriptedModel(script=script, seen=[], bound=[])
        runtime.models.register("test:script", model)
        turn = runtime.agent("boss").invoke(f"turn {number}", "t")
        script = list(model.script)
        runtime.close()
        assert turn.agent == "mid"
    assert turn.answer == "second"
    assert texts(model) == ["turn 1", "first", "turn 2"]


def test_sub_agent_asked_directly_continues_the_thread(
    crew: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    model = scripted(calling("transfer_to_mid"), "mid says", "leaf says")
    runtime.agent("boss").invoke("one", "t")
    turn = runtime.agent("leaf").invoke("two", "t")
    assert (turn.agent, turn.number) == ("leaf", 2)
    assert texts(model) == ["one", "mid says", "two"]


def test_another_top_level_agent_takes_over(crew: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    model = scripted(calling("transfer_to_mid"), "mid says", "other says")
    runtime.agent("boss").invoke("one", "t")
    assert runtime.agent("other").invoke("two", "t").agent == "other"
    assert texts(model) == ["one", "mid says", "two"]
    assert "request_help" not in model.bound


# A turn


def test_sse_order(house: Start) -> None:
    """What ABI streams, in its order, with a hand-over in front."""
    there = house(calls("transfer_to_pilot"), calls("find_direct_routes", origin="BOI"), says("Seattle.\nPortland."))
    there.services.put(AgentSpecification(name="chief", description="Leads.", agents=["pilot"]))
    events = [e for e in there.runtime.agent("chief").stream("Where to?", "t") if isinstance(e, Event)]
    assert [(e.type, e.agent) for e in events if e.type != "token"] == [
        ("call_model", "chief"),
        ("agent_routing", "chief"),
        ("call_model", "pilot"),
        ("tool_usage", "pilot"),
        ("tool_response", "pilot"),
        ("call_model", "pilot"),
        ("ai_message", "pilot"),
        ("message", "pilot"),
        ("message", "pilot"),
        ("done", "pilot"),
    ]


def test_one_tool_response_per_call(house: Start) -> None:
    step = calls("find_direct_routes", origin="BOI")
    step.tool_calls *= 2
    there = house(step, says("Done."))
    events = [e.type for e in there.runtime.agent("pilot").stream("Where to?", "t") if isinstance(e, Event)]
    assert events.count("tool_usage") == events.count("tool_response") == 2


def test_unknown_tool(house: Start) -> None:
    there = house(calls("fly_me"), says("I cannot."))
    assert there.ask().answer == "I cannot."
    assert "There is no tool 'fly_me'" in there.sent()[-1]["content"]


def test_a_dead_worker_is_reported(runtime: AgentRuntime) -> None:
    """The thread that runs a turn for an asynchronous listener ends with an error: the listener gets it."""

    async def listen() -> list[Any]:
        return [item async for item in runtime.agent("travel").astream("x" * 40_000, "t")]

    with pytest.raises(Exception, match="longer than"):
        asyncio.run(asyncio.wait_for(listen(), 60))


def test_error_text_with_braces(house: Start) -> None:
    there = house(fails(500, 'boom {"a": {b} {0!r:%s} %(x)s'), says("Back."))
    answer = there.ask().answer
    assert 'boom {"a": {b} {0!r:%s} %(x)s' in answer
    assert there.ask("again").answer == "Back."


def test_a_friendly_error_is_one_line(house: Start) -> None:
    there = house(fails(500, "line one\nline two\n  Traceback"))
    turn = there.ask()
    assert "\n" not in turn.answer
    assert turn.answer.startswith("The model house failed:")
    assert turn.grounded is False


@pytest.mark.parametrize("given", ['{"origin": "BOI"', '"{\\"origin\\": \\"BOI\\"}"'])
def test_tool_arguments_are_coerced(house: Start, given: str) -> None:
    there = house(calls("find_direct_routes", _raw=given), says("Done."))
    assert there.ask().tool_calls[0]["arguments"]["origin"] == BASE + "BOI"


@pytest.mark.parametrize(
    "text",
    [
        'I look. <tool_call>\n{"name": "find_direct_routes", "arguments": {"origin": "BOI"}}\n</tool_call>',
        '[TOOL_CALLS] [{"name": "find_direct_routes", "arguments": {"origin": "BOI"}}]',
        '<function=find_direct_routes>{"origin": "BOI"}</function>',
    ],
)
def test_markup_is_promoted(house: Start, text: str) -> None:
    """A call that a model writes as text is made."""
    there = house(says(text), says("Seattle."))
    turn = there.ask()
    assert (turn.answer, turn.grounded) == ("Seattle.", True)
    assert turn.tool_calls[0]["arguments"]["origin"] == BASE + "BOI"
    assert there.sent()[-1]["role"] == "tool"


def test_markup_of_unknown_tools_is_text(house: Start) -> None:
    text = '<function=rm>{"path": "/"}</function>'
    turn = house(says(text)).ask()
    assert (turn.answer, turn.tool_calls) == (text, [])


def test_old_results_are_compacted(house: Start) -> None:
    """The rows of a turn are there whole for the turn after it; later a stub is left of them."""
    wide = calls("query_graph", query="SELECT * WHERE { ?s ?p ?o } LIMIT 200")
    there = house(wide, says("one"), says("two"), says("three"))
    for text in ("first", "second", "third"):
        there.ask(text)
    sizes = [len(m["content"]) for n in (1, 2, 3) for m in there.sent(n) if m["role"] == "tool"]
    assert sizes[0] == sizes[1] > 4000
    assert sizes[2] < 1200


def test_return_direct(house: Start) -> None:
    there = house(calls("find_direct_routes", origin="BOI"))
    record = there.services.records["find_direct_routes"]
    there.services.put(record.model_copy(update={"annotations": {"return_direct": "true"}}))
    assert there.ask().answer.startswith("2 airports can be reached directly")
    assert len(there.server.requests) == 1


# Intents


def test_raw_intent_replies_exactly(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(agent("bot", intents=[intent("ping", ["ping the bot"], "raw", "  Pong, *exactly*. ", "bot")]))
    scripted()
    assert runtime.agent("bot").invoke("ping the bot", "t").answer == "  Pong, *exactly*. "


def test_a_phone_number_does_not_leak(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    """The reply about one person is no answer to an unfinished question, nor to one about another."""
    phone = ["What is the professional phone number of John Doe?"]
    services.put(agent("bot", intents=[intent("phone", phone, "raw", "00 11 22 33 44 55", "bot")]))
    for text in ("Give me the professional phone number of", "What is the professional phone number of Jane Roe?"):
        model = scripted("Whose?", "Whose?")
        answer = runtime.agent("bot").invoke(text, text[:9]).answer
        assert "00 11" not in answer
        assert model.seen


def test_ambiguous_news_asks_for_a_choice(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(agent("herald"))
    services.put(agent("crier"))
    news = ["search for the latest news"]
    wanted = [intent(n, news, "agent", n, "bot") for n in ("herald", "crier")]
    services.put(agent("bot", ["herald", "crier"], intents=wanted))
    keep = calling("filter_intents", bool_list=[True, True])
    scripted(keep, "The crier cries.")
    asked = runtime.agent("bot").invoke("search for the latest news", "t")
    assert asked.answer.startswith("I found multiple intents that could handle your request:")
    assert "1. **crier** (confidence: " in asked.answer
    assert runtime.agent("bot").invoke("1", "t").agent == "crier"


def test_embeddings_down_leaves_the_model(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    class Down:
        name, dimensions = "down", 3

        def embed(self, texts: object) -> object:
            raise ConnectionError("no embedder")

        def similarity(self, cosine: object) -> object:
            return cosine

    services.embedder = Down()
    services.put(agent("bot", intents=[intent("ping", ["ping the bot"], "raw", "Pong.", "bot")]))
    scripted("The model says.")
    assert runtime.agent("bot").invoke("ping the bot", "t").answer == "The model says."


def test_abi_skips_a_supervisor_that_delegates_to_it(crew: SmallServices, runtime: AgentRuntime) -> None:
    crew.put(agent("over_abi", ["Abi"], delegates_to_abi=True))
    assert "over_abi" not in runtime.agent("Abi").definition.agents


def test_an_agent_that_is_not_there_names_those_that_are(runtime: AgentRuntime) -> None:
    with pytest.raises(NotFound, match="nobody") as raised:
        runtime.agent("nobody")
    assert "route_finder" in raised.value.hint


# Models that call no tools


def test_a_model_without_tools_says_what_the_rows_tell(house: Start) -> None:
    there = house(says("You can reach Seattle and Portland."), entry={"tools": False})
    turn = there.ask("Direct flights from BOI")
    assert (turn.answer, turn.grounded) == ("You can reach Seattle and Portland.", True)
    assert turn.tool_calls[0]["arguments"]["origin"] == BASE + "BOI"
    (request,) = there.server.requests
    assert "tools" not in request
    assert [m["role"] for m in request["messages"]] == ["system", "user"]
    assert "Seattle-Tacoma Intl" in request["messages"][1]["content"]


def test_a_model_without_tools_that_finds_nothing_is_not_grounded(house: Start) -> None:
    there = house(says("The graph does not hold the weather."), entry={"tools": False})
    turn = there.ask("What is the weather like?")
    assert (turn.grounded, turn.tool_calls) == (False, [])
    assert "Nothing was found" in there.sent()[0]["content"]


def test_a_model_without_tools_is_not_needed_for_a_question_back(house: Start) -> None:
    there = house(says("Three."), entry={"tools": False})
    asked = there.ask("Direct flights from Portland?")
    assert asked.needs is not None
    assert there.server.requests == []
    assert there.ask("the first").answer == "Three."
