"""Agents as Python classes are read into what YAML gives, or not at all."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from abi.records.agent_class import read_agent_classes
from abi.records.class_syntax import ClassSyntax
from abi.records.python_types import Module
from abi.records.record import AgentSpecification

from .conftest import Read, places

HEAD = """\
from abi import Agent, AgentConfiguration, AgentSharedState, ChatModel, Intent, IntentAgent, IntentScope, IntentType
from abi import tool

@tool
def double(number: int) -> int:
    "Twice a number."
    return 2 * number

@tool(name="half_of")
def half(number: int) -> float:
    "Half of a number."
    return number / 2

class Guide(Agent):
    name = "guide"
    description = "Guides."

"""

ATTRIBUTES = """\
class Sums(IntentAgent):
    name = "sums"
    description: str = "Does sums."
    system_prompt = "You do " + "sums."
    sequential_supervisor = True
    delegates_to_abi = True
"""
NEW = '''\
PHRASE = "double a number"

class Sums(IntentAgent):
    """Does sums."""

    name: str = "sums"
    description = "Does sums."
    system_prompt = """
        You do sums.
    """.strip()

    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        """One of them."""
        if agent_configuration is None:
            agent_configuration = AgentConfiguration(system_prompt=cls.system_prompt)
        if not agent_shared_state:
            agent_shared_state = AgentSharedState(thread_id="0")
        own = [double]
        intents = [
            Intent(PHRASE, IntentType.TOOL, "double"),
            Intent("thanks", IntentType.RAW, "You are welcome."),
            Intent(intent_value="hello", intent_type="raw", intent_target="Hi.", intent_scope=IntentScope.DIRECT),
            Intent("show me around", IntentType.AGENT, "guide"),
        ]
        return cls(
            name=cls.name,
            description=cls.description,
            chat_model=ChatModel("gpt-5", "openai"),
            tools=own + [half, Guide.New().duplicate()],
            intents=intents,
            threshold=0.8,
            state=agent_shared_state,
            configuration=agent_configuration,
        )
'''
INIT = """\
class Sums(Agent):
    def __init__(self, state=None, **more):
        super().__init__("sums", "Does sums.", "offline:grounded", agents=[Guide()], state=state, memory=None, **more)
"""
INHERITED = """\
class Base(IntentAgent):
    system_prompt = "You do sums."
    threshold_of_all = 0.5

    def on_ai_message(self, message, agent_name):
        pass

class Sums(Base):
    description = "Does sums."

    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        return cls(threshold=cls.threshold_of_all, state=agent_shared_state, configuration=agent_configuration)
"""
FORMS: dict[str, tuple[str, str]] = {
    "attributes": (
        ATTRIBUTES,
        "{name: sums, description: Does sums., system_prompt: You do sums., sequential_supervisor: true,"
        " delegates_to_abi: true}",
    ),
    "new": (
        NEW,
        """
        name: sums
        description: Does sums.
        system_prompt: You do sums.
        tools: [double, half_of]
        agents: [guide]
        model: openai:gpt-5
        threshold: 0.8
        intents:
          - {values: [double a number], type: tool, target: double}
          - {values: [thanks], type: raw, target: You are welcome., scope: all}
          - {values: [hello], type: raw, target: Hi.}
          - {values: [show me around], type: agent, target: guide}
        """,
    ),
    "init": (INIT, "{name: sums, description: Does sums., agents: [guide], model: 'offline:grounded'}"),
    "inherited": (
        INHERITED,
        "{name: Sums, description: Does sums., system_prompt: You do sums., threshold: 0.5}",
    ),
}


def agents_of(result: Any) -> dict[str, AgentSpecification]:
    return {r.name: r for r in result.records if isinstance(r, AgentSpecification)}


def plain(agent: AgentSpecification) -> dict[str, Any]:
    """What an agent is, wherever it was read from."""
    dumped = agent.model_dump(exclude={"source", "class_name", "hooks"})
    for intent in dumped["intents"]:
        intent.pop("source")
    return dumped


@pytest.mark.parametrize("form", FORMS)
def test_a_class_is_the_agent_that_yaml_would_give(read: Read, form: str) -> None:
    python, header = FORMS[form]
    result = read(HEAD + python, "agents/sums.py")
    assert result.findings == []
    said = {"record_kind": "agent", **yaml.safe_load(header)}
    (there,) = read(yaml.safe_dump(said), "agents/sums.yaml").records
    assert isinstance(there, AgentSpecification)
    assert plain(agents_of(result)[there.name]) == plain(there)


def test_where_a_class_stands_and_what_listens_is_kept(read: Read) -> None:
    result = read(HEAD + INHERITED, "agents/sums.py")
    found = agents_of(result)
    assert set(found) == {"guide", "Sums"}  # what only others are made of is no agent
    sums = found["Sums"]
    assert (sums.class_name, sums.hooks) == ("Sums", ["on_ai_message"])
    assert sums.source is not None and (sums.source.path, sums.source.line) == ("agents/sums.py", 25)
    assert result.line(sums, "description") == 26 and result.line(sums, "threshold") == 30


DEFINED = "\n".join(
    [
        "GROWN = [double]",
        "GROWN = GROWN + [half]",
        "HELD = [*HELD]",
        "D0 = []",
        *(f"D{n} = [*D{n - 1}, *D{n - 1}]" for n in range(1, 41)),
        "ARGUMENTS = ['odd', 'Odd.']",
    ]
)
UNREAD: dict[str, tuple[str, str]] = {
    "a model that is made": ("chat_model=make_model()", "chat_model"),
    "a prompt that is put together": ("configuration=AgentConfiguration(system_prompt=f'{double}')", "system_prompt"),
    "a callback": ("configuration=AgentConfiguration(on_tool_usage=print)", "configuration"),
    "a function that is no tool": ("tools=[len]", "tools"),
    "a tool that is made": ("tools=[StructuredTool.from_function(double)]", "tools"),
    "a tool of what is installed": ("tools=[loads]", "tools"),
    "tools that are computed": ("tools=[t for t in (double,)]", "tools"),
    "an agent that is made": ("agents=[Agent('other', 'Is made.')]", "agents"),
    "an agent of what is installed": ("agents=[JSONDecoder]", "agents"),
    "an intent that is computed": ("intents=make()", "intents"),
    "an intent without an end": ("intents=[Intent('hello', IntentType.RAW)]", "intents"),
    "stars": ("**{'tools': [double]}", "New"),
    "a name that is no text": ("name=4", "name"),
    "a threshold out of range": ("threshold=7", "threshold"),
    "a threshold below all": ("threshold_neighbor=-0.1", "threshold_neighbor"),
    "a threshold beyond any number": (f"direct_intent_score={'9' * 400}", "direct_intent_score"),
    "a threshold in words": ("threshold='0.5'", "threshold"),
    "a threshold that is a flag": ("threshold=True", "threshold"),
    "a scope that there is not": ("intents=[Intent('hello', 'raw', 'Hi.', 'everywhere')]", "intents"),
    "a model of nobody": ("chat_model=ChatModel(model_id='gpt-5')", "chat_model"),
    "tools that grow": ("tools=GROWN", "tools"),
    "tools that hold themselves": ("tools=HELD", "tools"),
    "tools that double": ("tools=D40", "tools"),
    "arguments in a list": ("*ARGUMENTS", "New"),
}


@pytest.mark.parametrize("what", UNREAD)
def test_a_class_that_is_only_known_when_it_runs_stays_in_python(read: Read, what: str) -> None:
    given, field = UNREAD[what]
    text = f"""
{DEFINED}
from json import JSONDecoder, loads
class Odd(IntentAgent):
    description = "Odd."
    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        return cls({given})
"""
    result = read(HEAD + text, "agents/odd.py")
    line = 25 + DEFINED.count("\n")
    assert places(result) == {(line, f"Odd.{field}", "agent-class-unread")}
    assert {f.severity for f in result.findings} == {"warning"}
    assert set(agents_of(result)) == {"guide"}


def test_all_that_keeps_a_class_out_is_told_at_once(read: Read) -> None:
    text = """
class Odd(Agent):
    def build_graph(self, patcher=None):
        return None

    def __init__(self):
        super().__init__(chat_model=make_model(), tools=[len])
"""
    result = read(HEAD + text, "agents/odd.py")
    assert places(result) == {
        (19, "Odd.description", "agent-class-unread"),
        (20, "Odd.build_graph", "agent-class-unread"),
        (24, "Odd.chat_model", "agent-class-unread"),
        (24, "Odd.tools", "agent-class-unread"),
    }


@pytest.mark.parametrize("body", ["for x in y: pass", "print(1)", "return build(cls)", "raise ValueError"])
def test_a_new_that_does_more_than_make_the_agent_is_not_read(read: Read, body: str) -> None:
    text = f"class Odd(Agent):\n    description = 'Odd.'\n    @classmethod\n    def New(cls):\n        {body}\n"
    assert (21, "Odd.New", "agent-class-unread") in places(read(HEAD + text, "agents/odd.py"))


def test_what_a_caller_hands_on_is_not_of_the_class(read: Read) -> None:
    text = """
class Sums(Agent):
    description = "Does sums."
    @classmethod
    def New(cls, *given, **more):
        return cls(*given, **more)
"""
    result = read(HEAD + text, "agents/sums.py")
    assert result.findings == []
    assert agents_of(result)["Sums"].description == "Does sums."


@pytest.mark.parametrize("value", ["'yes'", "1", "flag()"])
def test_a_flag_is_true_or_false(read: Read, value: str) -> None:
    result = read(HEAD + f"class Odd(Agent):\n    description = 'Odd.'\n    delegates_to_abi = {value}\n", "a.py")
    assert places(result) == {(20, "Odd.delegates_to_abi", "agent-class-unread")}
    assert set(agents_of(result)) == {"guide"}


@pytest.mark.parametrize("value", ["4", "open('it').read()", "'half \\ud800'"])
def test_a_description_that_is_there_is_not_said_to_be_missing(read: Read, value: str) -> None:
    result = read(HEAD + f"class Odd(Agent):\n    description = {value}\n", "a.py")
    assert places(result) == {(19, "Odd.description", "agent-class-unread")}


def test_who_needs_an_agent_that_is_left_out_is_left_out_too(read: Read) -> None:
    text = """
class Chief(IntentAgent):
    description = "Over the middle."
    @classmethod
    def New(cls):
        return cls(agents=[Guide.New()], intents=[Intent("do it", IntentType.AGENT, "middle")])
class Middle(Agent):
    name = "middle"
    description = "Over one that is only known when it runs."
    @classmethod
    def New(cls):
        return cls(agents=[Odd.New()])
class Odd(Agent):
    description = "Odd."
    @classmethod
    def New(cls):
        return cls(tools=[len])
"""
    result = read(HEAD + text, "agents/team.py")
    assert places(result) == {
        (23, "Chief.intents", "agent-class-unread"),
        (29, "Middle.agents", "agent-class-unread"),
        (34, "Odd.tools", "agent-class-unread"),
    }
    assert set(agents_of(result)) == {"guide"}


def test_agents_in_a_circle_are_read(read: Read) -> None:
    text = """
class Left(Agent):
    description = "Left."
    @classmethod
    def New(cls):
        return cls(agents=[Right.New()])
class Right(Agent):
    description = "Right."
    @classmethod
    def New(cls):
        return cls(agents=[Left.New()])
"""
    result = read(HEAD + text, "agents/circle.py")
    assert result.findings == []
    assert {n: a.agents for n, a in agents_of(result).items() if a.agents} == {"Left": ["Right"], "Right": ["Left"]}


OTHERS = """
from abi import Agent, Workflow, tool
from sums import Sums

@tool(name="find_it")
def find(x: int) -> int:
    "Finds."
    return x

class Other(Agent):
    name = "distant"
    description = "Is elsewhere."
    @classmethod
    def New(cls):
        return cls(agents=[Sums.New()])

class Above(Agent):
    description = "Needs what is left out."
    @classmethod
    def New(cls):
        return cls(agents=[Odd.New()])

class Odd(Agent):
    description = "Odd."
    @classmethod
    def New(cls):
        return cls(chat_model=make_model())

def plain(x: int) -> int:
    return x
"""
SUMS = """
from others import Above, Other, find, plain
class Sums(Agent):
    description = "Does sums."
    @classmethod
    def New(cls):
        return cls(tools=[{tools}], agents=[{agents}])
"""


def test_tools_and_agents_of_files_beside_have_the_names_that_they_have_there(read: Read) -> None:
    text = HEAD + SUMS.format(tools="find", agents="Other.New()")
    read(text, "agents/sums.py")
    other = read(OTHERS, "agents/others.py")
    assert agents_of(other)["distant"].agents == ["Sums"]  # files may import each other
    result = read(text, "agents/sums.py")
    assert result.findings == []
    assert (agents_of(result)["Sums"].tools, agents_of(result)["Sums"].agents) == (["find_it"], ["distant"])


@pytest.mark.parametrize(
    ("tools", "agents", "said"),
    [
        ("plain", "", "the tool plain is not marked"),
        ("", "Above.New()", "the agent Above of others.py is none either"),
        ("", "missing.Other()", "one of its agents is only known when it runs"),
    ],
)
def test_what_is_none_in_the_file_beside_is_none_here(read: Read, tools: str, agents: str, said: str) -> None:
    read(OTHERS, "agents/others.py")
    result = read(HEAD + SUMS.format(tools=tools, agents=agents), "agents/sums.py")
    assert "Sums" not in agents_of(result)
    (finding,) = result.findings
    assert (finding.severity, finding.code) == ("warning", "agent-class-unread") and said in finding.message


@pytest.mark.parametrize("other", ["class Other(", "\x00", "x = 1\n", "import nothing\n"])
def test_a_file_beside_that_says_nothing_leaves_the_class_to_python(read: Read, other: str) -> None:
    read(other, "agents/others.py")
    result = read(HEAD + SUMS.format(tools="find", agents="Other.New()"), "agents/sums.py")
    assert "Sums" not in agents_of(result)
    assert {(f.severity, f.code) for f in result.findings} == {("warning", "agent-class-unread")}


def test_classes_of_others_are_no_agents(read: Read) -> None:
    text = "class Agent:\n    pass\n\nclass Mine(Agent):\n    description = 'No agent of abi.'\n"
    result = read(text, "lib/agents.py")
    assert (result.records, result.findings) == ([], [])


texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=30)


@given(name=texts, description=texts, prompt=texts)
def test_any_text_is_read_as_python_reads_it(name: str, description: str, prompt: str) -> None:
    values = {"name": name, "description": description, "system_prompt": prompt}
    body = "\n".join(f"    {key} = {value!r}" for key, value in values.items())
    (node,) = ast.parse(f"class Any(Agent):\n{body}\n").body
    assert isinstance(node, ast.ClassDef)
    syntax = ClassSyntax("Any", Module(), {"Any": node})
    assert {key: syntax.text(key) for key in values} == values and syntax.unread == []


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3), max_leaves=6))
def test_no_value_of_an_attribute_makes_the_reader_fail(read_any: Any, value: Any) -> None:
    for key in ("name", "description", "system_prompt", "sequential_supervisor", "threshold"):
        read_any(f"class Any(Agent):\n    {key} = {json.dumps(value)!s}\n".replace("null", "None"))


@pytest.fixture(scope="module")
def read_any(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from abi.records.python_marks import ModuleReader
    from abi.records.reader import ReadResult
    from abi.records.scan import SourceFile

    file = tmp_path_factory.mktemp("any") / "a.py"
    file.write_text("")

    def reads(text: str) -> None:
        reader = ModuleReader()
        reader.body(ast.parse("from abi import Agent\n" + text).body)
        read_agent_classes(reader.module, {}, ReadResult(SourceFile("a.py", file, 0, 0)))

    return reads
