"""Agents made in Python, without a workspace: each test bears the name of the rule that it shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langgraph.checkpoint.memory import InMemorySaver

from abi import Agent, AgentConfiguration, AgentSharedState, ChatModel, Intent, IntentAgent, IntentScope, IntentType
from abi.agents.turn import Event
from abi.errors import UsageError


class Script(BaseChatModel):
    """Says its lines in order, the last one again and again, and keeps what it was sent and offered."""

    lines: list[Any]
    seen: list[list[BaseMessage]] = []
    offered: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        self.offered.extend(tools)
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(messages)
        line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        message = AIMessage(line) if isinstance(line, str) else AIMessage("", tool_calls=[line])
        return ChatResult(generations=[ChatGeneration(message=message)])


def script(*lines: Any) -> Script:
    return Script(lines=list(lines), seen=[], offered=[])


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": f"call-{name}"}


@pytest.fixture(autouse=True)
def _no_postgres(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("POSTGRES_URL", raising=False)
    yield


def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


def test_a_function_is_a_tool() -> None:
    agent = Agent(name="sums", chat_model=script(call("double", number=21), "It is 42."), tools=[double])
    result = agent.invoke("twice 21?")
    assert (result.answer, result.agent) == ("It is 42.", "sums")
    assert [(c["tool"], c["result"]) for c in result.tool_calls] == [("double", 42)]


def test_a_raw_intent_is_the_reply_and_the_turn_ends() -> None:
    model = script("never said")
    thanks = Intent("thank you very much", IntentType.RAW, "You are welcome.")
    result = IntentAgent(name="polite", chat_model=model, intents=[thanks]).invoke("thank you very much")
    assert (result.answer, result.routing["step"]) == ("You are welcome.", "raw")
    assert model.seen == []


def test_an_agent_intent_routes_to_the_sub_agent_without_the_model() -> None:
    model = script("never said")
    weather = Agent(name="weather", description="Tells the weather.", chat_model=script("It rains."))
    intents = [Intent("what is the weather like", IntentType.AGENT, "weather")]
    root = IntentAgent(name="root", chat_model=model, agents=[weather], intents=intents)
    result = root.invoke("what is the weather like")
    assert (result.agent, result.answer) == ("weather", "It rains.")
    assert model.seen == []


def test_agent_and_tool_intents_are_always_direct() -> None:
    for kind in (IntentType.AGENT, IntentType.TOOL):
        assert Intent("x", kind, "y", IntentScope.ALL).intent_scope is IntentScope.DIRECT
    assert Intent("x", IntentType.RAW, "y").intent_scope is IntentScope.ALL


@pytest.mark.parametrize("given", ["tools", "agents"])
def test_agents_in_tools_or_agents_become_transfer_to(given: str) -> None:
    weather = Agent(name="weather man", description="Tells the weather.", chat_model=script("It rains."))
    model = script(call("transfer_to_weather_man"))
    root = Agent(name="root", chat_model=model, **{given: [weather]})  # type: ignore[arg-type]
    assert root.invoke("how is the weather?").agent == "weather_man"
    assert [(t.name, t.description) for t in model.offered if t.name.startswith("transfer")] == [
        ("transfer_to_weather_man", "Tells the weather.")
    ]
    assert root.invoke("and tomorrow?").agent == "weather_man", "the conversation stays there"
    assert len(model.seen) == 1


def test_retains_active_turn_releases_the_conversation() -> None:
    class Weather(Agent):
        @classmethod
        def retains_active_turn(cls, text: str) -> bool:
            if "broken" in text:
                raise ValueError("broken")
            return "weather" in text

    weather = Weather(name="weather", description="Tells the weather.", chat_model=script("It rains."))
    root = Agent(name="root", chat_model=script(call("transfer_to_weather"), "Root here."), agents=[weather])
    assert root.invoke("the weather?").agent == "weather"
    assert root.invoke("a broken hook").agent == "weather", "a hook that fails keeps the turn"
    assert root.invoke("something else").agent == "root"


def test_request_help_tells_the_supervisor_the_reason() -> None:
    lost = script(call("request_help", reason="I know no tides."))
    sub = Agent(name="sub", chat_model=lost, state=AgentSharedState(supervisor_agent="root"))
    model = script(call("transfer_to_sub"), "I take over.")
    result = Agent(name="root", chat_model=model, agents=[sub]).invoke("when is high tide?")
    assert (result.agent, result.answer) == ("root", "I take over.")
    assert any("I know no tides." in str(m.content) for m in model.seen[-1])
    assert "transfer_to" not in result.answer


def test_a_sequential_supervisor_gets_control_back() -> None:
    class Chief(Agent):
        sequential_supervisor = True

    first, second = (Agent(name=n, chat_model=script(f"{n} is done.")) for n in ("first", "second"))
    model = script(call("transfer_to_first"), call("transfer_to_second"), "Both are done.")
    result = Chief(name="chief", chat_model=model, agents=[first, second]).invoke("do both")
    assert result.agent == "chief"
    assert "Both are done." in result.answer


def test_hooks_and_callbacks_are_told_and_may_fail() -> None:
    told: list[tuple[str, ...]] = []

    class Listening(Agent):
        name = "listening"

        def on_human_message(self, message: str) -> None:
            told.append(("human", message))
            raise ValueError("a hook that fails")

        def on_ai_message(self, message: str, agent_name: str) -> None:
            told.append(("ai", message, agent_name))

    configuration = AgentConfiguration(
        on_tool_usage=lambda name: told.append(("usage", name)),
        on_tool_response=lambda text: told.append(("response", text)),
    )
    model = script(call("double", number=2), "Four.")
    Listening(chat_model=model, tools=[double], configuration=configuration).invoke("2?")
    assert [t[0] for t in told] == ["human", "usage", "response", "ai"]
    assert told[-1] == ("ai", "Four.", "listening")


def test_new_gives_each_its_own_conversation_and_duplicate_keeps_the_class() -> None:
    class Mine(IntentAgent):
        name = "mine"
        system_prompt = "You are mine."

    one, two = Mine.New(), Mine.New(AgentSharedState(thread_id="t"), AgentConfiguration(system_prompt="Other."))
    assert (one.system_prompt, two.system_prompt) == ("You are mine.", "Other.")
    assert one.state.thread_id != two.state.thread_id == "t"
    copied = two.duplicate()
    assert type(copied) is Mine
    assert copied.state.thread_id not in ("t", None)


def test_a_duplicate_with_a_sub_agent_that_two_agents_share_runs() -> None:
    shared = Agent(name="shared", chat_model=script("Shared."))
    left, right = (Agent(name=n, agents=[shared]) for n in ("left", "right"))
    root = Agent(name="root", chat_model=script("Yes."), agents=[left, right]).duplicate()
    assert [a.name for a in root.team()] == ["root", "left", "right", "shared"]
    assert root.team()[3] is not shared
    assert root.invoke("hello").answer == "Yes."


def test_without_a_model_the_offline_one_answers() -> None:
    result = Agent(name="one", tools=[double]).invoke("hello there")
    assert (result.model, bool(result.answer)) == ("offline:grounded", True)


def test_nothing_that_is_given_is_shared_or_changed() -> None:
    tools, state, configuration = [double], AgentSharedState(thread_id="t"), AgentConfiguration()
    one = Agent(name="one", tools=tools, state=state, configuration=configuration)
    two = Agent(name="two", tools=tools, state=state, configuration=configuration)
    one.state.thread_id = "other"
    assert (state.thread_id, two.state.thread_id, tools) == ("t", "t", [double])
    assert one.configuration is not two.configuration


def test_memory_that_is_given_is_used() -> None:
    memory = InMemorySaver()
    Agent(name="one", chat_model=script("Noted."), memory=memory).invoke("the word is swordfish", "t")
    model = script("Yes.")
    Agent(name="one", chat_model=model, memory=memory).invoke("do you know it?", "t")
    assert any("swordfish" in str(m.content) for m in model.seen[-1])


def test_threads_never_meet() -> None:
    model = script("Noted.")
    agent = Agent(name="one", chat_model=model)
    jobs = [threading.Thread(target=agent.invoke, args=(f"my word is w{n}w", f"t{n}")) for n in range(8)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len(model.seen) == 8
    for messages in model.seen:
        assert sum(f"w{n}w" in str(m.content) for n in range(8) for m in messages) == 1


def test_stream_gives_events_in_order_and_the_result_last() -> None:
    agent = Agent(name="sums", chat_model=script(call("double", number=1), "Two."), tools=[double])
    *events, result = agent.stream("1?")
    types = [e.type for e in events if isinstance(e, Event) and e.type != "token"]
    assert types == ["call_model", "tool_usage", "tool_response", "call_model", "ai_message", "message", "done"]
    assert result.answer == "Two."  # type: ignore[union-attr]


def test_build_graph_gives_the_builder_to_the_patcher() -> None:
    nodes: list[str] = []
    agent = Agent(name="one", chat_model=script("Yes."))
    agent.build_graph(lambda graph: nodes.extend(graph.nodes))
    assert agent.invoke("hello").answer == "Yes."
    assert {"begin", "map_intents", "call_model", "call_tools"} <= set(nodes)


def test_a_chat_model_with_its_id_and_provider_is_taken() -> None:
    model = ChatModel(model_id="x", provider="mine", context_window=1000, model=script("Yes."))
    assert Agent(name="one", chat_model=model).invoke("hello").answer == "Yes."


def test_two_agents_of_one_name_are_refused() -> None:
    below = Agent(name="mid", agents=[Agent(name="same")])
    with pytest.raises(UsageError, match="same"):
        Agent(name="top", agents=[Agent(name="same"), below]).invoke("hello")


def test_as_tools_is_a_hand_over() -> None:
    (tool,) = Agent(name="weather man", description="Tells the weather.").as_tools()
    assert (tool.name, tool.description) == ("transfer_to_weather_man", "Tells the weather.")
