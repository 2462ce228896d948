from __future__ import annotations

import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.records.agent import intent_name
from abi.records.record import AgentSpecification, Intent, SystemPrompt

from .conftest import Read, places

AGENT = """\
record_kind: agent
name: route_finder
description: Finds routes between airports.
system_prompt: {prompt: route_finding_prompt}
tools: [find_direct_routes, fl:other_tool]
agents: [airport_guide]
intents:
  - {values: [fly from one airport to another, direct flights], type: tool, target: find_direct_routes}
  - {values: [thank you], type: raw, target: You are welcome., scope: all}
  - values: thank you
    type: agent
    target: airport_guide
  - greeting
model: offline:grounded
threshold: 0.85
threshold_neighbor: 0.05
direct_intent_score: 0.90
may_write: true
releases_turn_on: "^(stop|bye)"
"""


def test_a_whole_agent(read: Read) -> None:
    result = read(AGENT, "agents/route_finder.yaml")
    assert result.findings == []
    (agent,) = result.records
    assert isinstance(agent, AgentSpecification)
    assert agent.system_prompt == SystemPrompt(prompt="route_finding_prompt")
    assert agent.tools == ["find_direct_routes", "https://example.org/fl#other_tool"]
    assert (agent.agents, agent.uses_intents, agent.model) == (["airport_guide"], ["greeting"], "offline:grounded")
    assert (agent.threshold, agent.threshold_neighbor, agent.direct_intent_score) == (0.85, 0.05, 0.9)
    assert (agent.may_write, agent.sequential_supervisor, agent.releases_turn_on) == (True, False, "^(stop|bye)")
    first, second, third = agent.intents
    assert (first.name, first.type, first.target) == ("fly_from_one_airport_to_another", "tool", "find_direct_routes")
    assert first.values == ["fly from one airport to another", "direct flights"]
    assert (first.agent, first.scope) == ("route_finder", "direct")
    assert (second.name, second.type, second.target, second.scope) == ("thank_you", "raw", "You are welcome.", "all")
    assert (third.name, third.values) == ("thank_you_2", ["thank you"])
    assert [i.source.line for i in agent.intents if i.source] == [8, 9, 10]
    assert result.line(agent, "tools.find_direct_routes") == 5


def test_a_system_prompt_may_be_the_text_itself(read: Read) -> None:
    result = read("record_kind: agent\nname: a\ndescription: b\nsystem_prompt: |\n  You are\n  kind.\n", "a.yaml")
    assert result.records[0].model_dump()["system_prompt"] == {"text": "You are\nkind.", "prompt": None}


def test_all_faults_of_an_agent(read: Read) -> None:
    text = """\
record_kind: agent
name: a
description: b
system_prompt: {text: x, prompt: y}
tools: [two words, zz:x, same, same, 3]
agents: {a: b}
intents:
  - {values: [x], type: tool, target: t, scope: all}
  - {values: [y], type: tol, target: t}
  - {type: raw, target: hi}
  - {values: [z], type: agent}
  - {values: [z], type: agent, target: b, scpe: direct}
  - {name: twice, values: [p], type: raw, target: q}
  - {name: twice, values: [r], type: raw, target: s}
  - 5
model: grounded
threshold: 1.5
may_write: yes
releases_turn_on: "("
treshold_neighbor: 0.1
"""
    result = read(text, "a.yml")
    assert places(result) == {
        (4, "system_prompt", "system-prompt-wrong"),
        (5, "tools.0", "name-invalid"),
        (5, "tools.1", "iri-unknown"),
        (5, "tools.3", "reference-twice"),
        (5, "tools.4", "type-wrong"),
        (6, "agents", "type-wrong"),
        (8, "intents.0.scope", "intent-scope"),
        (9, "intents.1.type", "value-unknown"),
        (10, "intents.2.values", "intent-values-missing"),
        (11, "intents.3.target", "intent-target-missing"),
        (12, "intents.4.scpe", "key-unknown"),
        (14, "intents.6.name", "name-duplicate"),
        (15, "intents.7", "type-wrong"),
        (16, "model", "model-wrong"),
        (17, "threshold", "value-range"),
        (18, "may_write", "type-wrong"),
        (19, "releases_turn_on", "pattern-syntax"),
        (20, "treshold_neighbor", "key-unknown"),
    }


def test_a_free_standing_intent(read: Read) -> None:
    text = "record_kind: intent\nname: greeting\nvalues: [hello, hi]\ntype: raw\ntarget: Hello!\nscope: all\n"
    result = read(text, "i.yaml")
    assert result.findings == []
    (intent,) = result.records
    assert isinstance(intent, Intent)
    assert (intent.agent, intent.description, intent.values, intent.scope) == (None, "hello", ["hello", "hi"], "all")


@pytest.mark.parametrize("missing", ["values", "type", "target", "name"])
def test_an_incomplete_intent_is_told(read: Read, missing: str) -> None:
    lines = {"name": "greeting", "values": "[hello]", "type": "raw", "target": "Hello!"}
    del lines[missing]
    result = read("record_kind: intent\n" + "".join(f"{k}: {v}\n" for k, v in lines.items()), "i.yaml")
    assert missing in {f.field for f in result.findings}
    assert result.records == []


@settings(max_examples=150)
@given(st.lists(st.text(max_size=80), max_size=6))
def test_made_names_are_identifiers_and_unique(phrases: list[str]) -> None:
    taken: set[str] = set()
    for n, phrase in enumerate(phrases):
        name = intent_name(phrase, taken, n)
        assert name.isidentifier() and not keyword.iskeyword(name) and name not in taken
        taken.add(name)
