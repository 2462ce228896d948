"""Agents that use agents: mentions, hand-overs, help, stickiness, bounds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage, SystemMessage

from abi.agents.agent import AgentRuntime
from abi.agents.handoff import mention_of
from abi.records.agent import agent_name
from abi.records.record import AgentSpecification, SystemPrompt

from .conftest import TRAVEL, ScriptedModel, SmallServices, calling

Script = Callable[..., ScriptedModel]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@Beta hello", ("Beta", "hello")),
        ("@beta, hi there", ("beta", "hi there")),
        ("@Beta", ("Beta", "")),
        ("@Beta: what?", ("Beta", "what?")),
        ("hey @Beta", None),
        ("@", None),
        ("mail me@example.org", None),
    ],
)
def test_a_mention_stands_at_the_beginning(text: str, expected: tuple[str, str] | None) -> None:
    assert mention_of(text) == expected


def test_names_as_models_take_them() -> None:
    assert agent_name("My Agent::é") == "My_Agent_"


def scripted_agent(name: str, agents: list[str] = [], **more: object) -> AgentSpecification:  # noqa: B006
    return AgentSpecification(
        name=name,
        description=f"What {name} does.",
        system_prompt=SystemPrompt(text=f"You are {name}."),
        agents=agents,
        model="test:script",
        **more,  # type: ignore[arg-type]
    )


def test_a_mention_in_any_case_goes_to_the_sub_agent(runtime: AgentRuntime) -> None:
    turn = runtime.agent("travel").invoke("@Airport_Guide, which airports are in Idaho?", "t").document()
    assert turn["agent"] == "airport_guide"
    assert "Boise Air Terminal" in turn["answer"]
    assert "mention" in turn["routing"]["trail"]


def test_a_mention_alone_hands_over_and_says_so(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    turn = travel.invoke("@route_finder", "t")
    assert turn.answer == "You are talking to route_finder now. Finds routes between airports."
    assert turn.routing["step"] == "mention"
    assert travel.invoke("direct flights from BOI", "t").agent == "route_finder"


def test_an_unknown_mention_is_left_out_of_the_request(runtime: AgentRuntime) -> None:
    turn = runtime.agent("route_finder").invoke("@nobody direct flights from BOI", "t")
    assert turn.tool_calls[0]["tool"] == "find_direct_routes"


def test_an_agent_intent_hands_over_without_the_model_and_sticks(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    first = travel.invoke("Direct flights from BOI", "t")
    assert first.agent == "route_finder"
    assert {"direct", "agent"} <= set(first.routing["trail"])
    assert travel.invoke("and from SEA?", "t").agent == "route_finder"


def test_an_agent_that_cannot_answer_gives_the_request_back(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    travel.invoke("Direct flights from BOI", "t")
    turn = travel.invoke("In Washington, which airports are there, please?", "t")
    assert turn.agent == "airport_guide"
    assert [c["tool"] for c in turn.tool_calls] == ["airports_in"]
    assert "transfer" not in turn.answer
    assert "help" not in turn.answer


def test_when_nobody_can_the_root_refuses_for_all(runtime: AgentRuntime) -> None:
    turn = runtime.agent("travel").invoke("What is the weather in Boise?", "t")
    assert turn.grounded is False
    assert "without a stop" in turn.answer
    assert "located in a city" in turn.answer


def test_who_gave_the_request_back_is_told_of_in_the_refusal(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    travel.invoke("Direct flights from BOI", "t")
    turn = travel.invoke("What is the weather in Boise?", "t")
    assert (turn.agent, turn.grounded) == ("travel", False)
    assert "without a stop" in turn.answer


def test_the_model_hands_over_by_a_tool_described_as_the_sub_agent(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(scripted_agent("boss", ["worker"]))
    services.put(scripted_agent("worker"))
    model = scripted(calling("transfer_to_worker"), "worker's answer")
    turn = runtime.agent("boss").invoke("do it", "t")
    assert (turn.agent, turn.answer) == ("worker", "worker's answer")
    tool = runtime.crew().member("boss").tools["transfer_to_worker"]
    assert tool.description == "What worker does."
    assert isinstance(model.seen[1][0], SystemMessage)
    assert "You are worker." in str(model.seen[1][0].content)
    assert [m.content for m in model.seen[1][1:]] == ["do it"]  # nothing of the hand-over itself
    assert turn.tool_calls == []


def test_full_history_goes_along(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(scripted_agent("boss", ["worker"]))
    services.put(scripted_agent("worker"))
    model = scripted("boss says", calling("transfer_to_worker"), "worker says")
    boss = runtime.agent("boss")
    boss.invoke("first", "t")
    boss.invoke("second", "t")
    assert [m.content for m in model.seen[2][1:]] == ["first", "boss says", "second"]


def test_help_is_only_offered_under_a_supervisor_and_its_reason_arrives(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(scripted_agent("boss", ["worker"]))
    services.put(scripted_agent("worker"))
    model = scripted(calling("transfer_to_worker"), calling("request_help", reason="I cannot fly"), "boss answers")
    turn = runtime.agent("boss").invoke("do it", "t")
    assert (turn.agent, turn.answer) == ("boss", "boss answers")
    assert "I cannot fly" in str(model.seen[2][0].content)
    alone = scripted("alone")
    runtime.agent("worker").invoke("do it", "u")
    assert "request_help" not in alone.bound


def test_who_gave_a_request_back_is_not_offered_again_for_it(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(scripted_agent("boss", ["one", "two"]))
    services.put(scripted_agent("one"))
    services.put(scripted_agent("two"))
    bound: list[list[str]] = []

    def look(_: object) -> str:
        bound.append(list(model.bound))
        return "boss answers"

    model = scripted(calling("transfer_to_one"), calling("request_help", reason="no"), look)
    runtime.agent("boss").invoke("do it", "t")
    assert bound == [["transfer_to_two", "query_graph"]]


def test_several_hand_overs_in_one_step_are_taken_in_order(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(scripted_agent("boss", ["one", "two"]))
    services.put(scripted_agent("one"))
    services.put(scripted_agent("two"))
    both = AIMessage(
        "",
        tool_calls=[
            {"name": "transfer_to_one", "args": {}, "id": "1"},
            {"name": "transfer_to_two", "args": {}, "id": "2"},
        ],
    )
    scripted(both, "from one", "from two")
    turn = runtime.agent("boss").invoke("both of you", "t")
    assert turn.answer == "from one\n\nfrom two"


def test_a_sequential_supervisor_gets_control_back(
    services: SmallServices, runtime: AgentRuntime, scripted: Script
) -> None:
    services.put(scripted_agent("boss", ["one", "two"], sequential_supervisor=True))
    services.put(scripted_agent("one"))
    services.put(scripted_agent("two"))
    scripted(calling("transfer_to_one"), "from one", calling("transfer_to_two"), "from two", "done")
    turn = runtime.agent("boss").invoke("one after the other", "t")
    assert turn.answer == "from one\n\nfrom two\n\ndone"
    assert turn.agent == "boss"


def test_cycles_end(services: SmallServices, runtime: AgentRuntime, scripted: Script) -> None:
    services.put(scripted_agent("a", ["b"]))
    services.put(scripted_agent("b", ["a"]))
    scripted(*[calling("transfer_to_b"), calling("transfer_to_a")] * 30)
    turn = runtime.agent("a").invoke("ping", "t")
    assert turn.grounded is False
    assert turn.answer.startswith("I stopped")
    scripted("fine again")
    assert runtime.agent("a").invoke("still there?", "t").answer == "fine again"


def test_a_foreign_active_agent_is_ignored(runtime: AgentRuntime) -> None:
    runtime.agent("travel").invoke("Direct flights from BOI", "t")
    assert runtime.agent("airport_guide").invoke("Which airports are in Idaho?", "t").agent == "airport_guide"
    assert runtime.agent("travel").invoke("Which airports are in Maine?", "t").agent == "airport_guide"


def test_a_pattern_releases_the_active_agent(services: SmallServices, runtime: AgentRuntime) -> None:
    route_finder = services.records["route_finder"].model_copy(update={"releases_turn_on": r"\bbye\b"})
    services.put(route_finder)
    travel = runtime.agent("travel")
    travel.invoke("Direct flights from BOI", "t")
    assert travel.invoke("bye now", "t").agent == "travel"


def test_a_pattern_that_never_ends_is_given_up(
    services: SmallServices, runtime: AgentRuntime, caplog: pytest.LogCaptureFixture
) -> None:
    route_finder = services.records["route_finder"].model_copy(update={"releases_turn_on": "^(?!x)(a|a)*$"})
    services.put(route_finder)
    travel = runtime.agent("travel")
    travel.invoke("Direct flights from BOI", "t")
    travel.invoke("a" * 60 + "!", "t")
    assert "Whether route_finder keeps the conversation cannot be told" in caplog.text


def test_nested_agents_are_found_by_mention(services: SmallServices, runtime: AgentRuntime) -> None:
    services.put(scripted_agent("top", ["travel"]))
    turn = runtime.agent("top").invoke("@route_finder direct flights from BOI", "t")
    assert turn.agent == "route_finder"


def test_the_root_agent_stands_over_all_and_leaves_out_who_delegates_to_it(
    services: SmallServices, runtime: AgentRuntime
) -> None:
    services.put(scripted_agent("over_abi", delegates_to_abi=True))
    root = runtime.agent()
    assert root.name == "Abi"
    assert set(root.definition.agents) == {"airport_guide", "route_finder", "travel"}
    (to_routes,) = [i for i in root.definition.intents if i.target == "route_finder"]
    assert {"route_finder", "chat with route finder", "Finds routes between airports.", "thank you"} <= set(
        to_routes.phrases
    )
    assert "direct flights from an airport" not in to_routes.phrases  # direct intents stay with their agent


@pytest.mark.parametrize(
    ("text", "agent", "tool"),
    [
        ("How many flights from BOI to SEA?", "route_finder", "flights_between"),
        ("Which airports are in Idaho?", "airport_guide", "airports_in"),
    ],
)
def test_the_root_agent_finds_who_can_answer(runtime: AgentRuntime, text: str, agent: str, tool: str) -> None:
    turn = runtime.agent().invoke(text, "t")
    assert (turn.agent, [c["tool"] for c in turn.tool_calls]) == (agent, [tool])


def test_the_root_agent_leads_to_an_agent_by_its_name(runtime: AgentRuntime) -> None:
    assert runtime.agent().invoke("chat with airport guide", "t").agent in ("airport_guide", "Abi")
    assert TRAVEL.name in runtime.agent().definition.agents
