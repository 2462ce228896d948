from __future__ import annotations

import pytest

from abi.agents.definition import Definitions
from abi.errors import NotFound
from abi.records.record import AgentSpecification, Intent, JinjaPrompt, SystemPrompt, ToolSelector

from .conftest import SmallServices, intent


def read(services: SmallServices) -> Definitions:
    return Definitions(services, services.version())


def test_an_agent_is_read_with_what_it_refers_to(services: SmallServices) -> None:
    agent = read(services).agent("route_finder")
    assert agent.system_prompt == "Answer from the rows only."
    assert sorted(t.name for t in agent.tools) == ["find_direct_routes", "flights_between"]
    assert agent.phrases == {
        "find_direct_routes": ("direct flights from an airport",),
        "flights_between": ("number of flights between two airports",),
    }
    assert (agent.thresholds.match, agent.thresholds.neighbor, agent.thresholds.direct) == (0.85, 0.05, 0.90)
    assert agent.missing == ()


def test_intents_have_their_own_iri(services: SmallServices) -> None:
    (thanks,) = [i for i in read(services).agent("route_finder").intents if i.type == "raw"]
    assert thanks.iri == "https://example.org/small/agent/route_finder/intent/thanks"
    assert thanks.target == "You are welcome."
    assert services.store.query(f"ASK {{ <{thanks.iri}> a abi:Intent }}").boolean


@pytest.mark.parametrize(
    "name", ["route_finder", "Route_Finder", "agent/route_finder", "https://example.org/small/agent/route_finder"]
)
def test_names_of_an_agent(services: SmallServices, name: str) -> None:
    assert read(services).agent(name).name == "route_finder"


def test_what_is_not_there_is_told(services: SmallServices) -> None:
    services.put(
        AgentSpecification(
            name="broken",
            description="Refers to nothing.",
            system_prompt=SystemPrompt(prompt="no_prompt"),
            tools=["no_tool", "find_direct_routes"],
            agents=["no_agent"],
            uses_intents=["no_intent"],
        )
    )
    agent = read(services).agent("broken")
    assert [t.name for t in agent.tools] == ["find_direct_routes"]
    assert set(agent.missing) == {"prompt/no_prompt", "tool/no_tool", "agent/no_agent", "intent/no_intent"}
    with pytest.raises(NotFound, match="no agent 'nobody'") as raised:
        read(services).agent("nobody")
    assert "route_finder" in raised.value.hint


def test_agents_among_the_tools_are_sub_agents(services: SmallServices) -> None:
    services.put(AgentSpecification(name="boss", description="Boss.", tools=["route_finder", "airports_in"]))
    boss = read(services).agent("boss")
    assert boss.agents == ("route_finder",)
    assert [t.name for t in boss.tools] == ["airports_in"]


def test_free_standing_intents_are_used(services: SmallServices) -> None:
    free = Intent(name="bye", description="Bye.", values=["goodbye"], type="raw", target="Goodbye.", scope="all")
    services.put(free)
    services.put(AgentSpecification(name="polite", description="Polite.", uses_intents=["bye"]))
    (found,) = read(services).agent("polite").intents
    assert (found.phrases, found.target, found.scope) == (("goodbye",), "Goodbye.", "all")


def test_a_prompt_brings_the_tools_that_it_names(services: SmallServices) -> None:
    services.put(JinjaPrompt(name="p", description="P.", text="Use tools.", tools=[ToolSelector(name="airports_in")]))
    services.put(AgentSpecification(name="a", description="A.", system_prompt=SystemPrompt(prompt="p")))
    assert [t.name for t in read(services).agent("a").tools] == ["airports_in"]


def test_a_search_that_fails_leaves_the_tools_that_are_named(services: SmallServices) -> None:
    selectors = [ToolSelector(name="airports_in"), ToolSelector(query="routes")]
    services.put(JinjaPrompt(name="p", description="P.", text="Use tools.", tools=selectors))
    services.put(AgentSpecification(name="a", description="A.", system_prompt=SystemPrompt(prompt="p")))
    services.embedder = None
    assert [t.name for t in read(services).agent("a").tools] == ["airports_in"]


def test_the_way_down_is_the_shortest_and_cycles_end(services: SmallServices) -> None:
    services.put(AgentSpecification(name="a", description="A.", agents=["b", "travel"]))
    services.put(AgentSpecification(name="b", description="B.", agents=["a"]))
    definitions = read(services)
    assert definitions.path_to("a", lambda n: n == "route_finder") == ["a", "travel", "route_finder"]
    assert definitions.path_to("a", lambda n: n == "nobody") is None
    assert [d.name for d in definitions.below("a")] == ["a", "b", "travel", "airport_guide", "route_finder"]


def test_only_intents_of_scope_all_reach_the_root(services: SmallServices) -> None:
    services.put(
        AgentSpecification(
            name="quiet",
            description="Quiet.",
            intents=[
                intent("a", ["said everywhere"], "raw", "yes", "quiet", "all"),
                intent("b", ["said at home"], "raw", "yes", "quiet", "direct"),
            ],
        )
    )
    (to_quiet,) = [i for i in read(services).agent("Abi").intents if i.target == "quiet"]
    assert "said everywhere" in to_quiet.phrases
    assert "said at home" not in to_quiet.phrases
