"""The tools of workflows, pipelines and integrations, read without running them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abi.records.record import PythonFunction
from abi.records.workflow_class import snake_case

from .conftest import Read, places

HEAD = """\
from typing import Annotated, ClassVar, Literal
from pydantic import Field
from abi import Integration, Pipeline, PipelineParameters, Workflow, WorkflowParameters, tool

class Page(WorkflowParameters):
    limit: int = Field(10, ge=1, le=100)

class Search(Page):
    _cache: dict = {}
    shared: ClassVar[int] = 1
    word: Annotated[str, Field(description="What to look for.")]
    order: Literal["up", "down"] = "up"

"""


def tools_of(read: Read, text: str) -> dict[str, PythonFunction]:
    result = read(HEAD + text, "tools/flows.py")
    assert result.findings == []
    return {r.name: r for r in result.records if isinstance(r, PythonFunction)}


@pytest.mark.parametrize("annotation", ["Search", '"Search"'])
def test_the_fields_of_a_model_are_the_parameters(read: Read, annotation: str) -> None:
    text = f"""
class FindWords(Workflow):
    "Finds words."
    def run(self, parameters: {annotation}) -> list[str]:
        pass
"""
    (found,) = tools_of(read, text).values()
    assert (found.name, found.description, found.function) == ("find_words", "Finds words.", "FindWords.run")
    assert (found.form, found.source.line if found.source else 0) == ("workflow", 17)
    limit, word, order = found.parameters
    assert (limit.name, limit.required, limit.default, limit.minimum, limit.maximum) == ("limit", False, 10, 1, 100)
    assert (word.name, word.required, word.description) == ("word", True, "What to look for.")
    assert (order.name, order.default, order.enum) == ("order", "up", ["up", "down"])
    assert found.output_schema == {"type": "array", "items": {"type": "string"}}


def test_parameters_may_stand_one_by_one(read: Read) -> None:
    text = """
class Add(Workflow):
    name = "add_up"
    description = "Adds."
    def run(self, a: int, b: int = 2):
        pass
"""
    found = tools_of(read, text)["add_up"]
    assert found.description == "Adds." and [(p.name, p.required) for p in found.parameters] == [
        ("a", True),
        ("b", False),
    ]


def test_a_pipeline_and_the_marked_methods_of_an_integration(read: Read) -> None:
    text = '''
class Load(Pipeline):
    "Loads."
    async def run(self):
        pass

class Base(Integration):
    @tool
    def ping(self):
        "Is it there?"

class Service(Base):
    @staticmethod
    @tool(name="service_status", description="How it is.")
    def status(verbose: bool = False) -> str:
        pass

    @tool
    async def get(self, key: str):
        """One thing.

        Args:
            key: its key
        """

    def close(self):
        pass
'''
    found = tools_of(read, text)
    assert (found["load"].form, found["load"].function, found["load"].is_async) == ("pipeline", "Load.run", True)
    assert (found["get"].function, found["get"].parameters[0].description) == ("Service.get", "its key")
    assert found["service_status"].function == "Service.status"
    assert [p.name for p in found["service_status"].parameters] == ["verbose"]
    assert {r.form for n, r in found.items() if n != "load"} == {"integration"}


def test_what_others_are_made_of_is_no_tool(read: Read) -> None:
    text = """
class Base(Workflow):
    description = "Counts."
    def count(self):
        return 1

class Counted(Base):
    def run(self):
        return self.count()
"""
    assert set(tools_of(read, text)) == {"counted"}


def test_faults_stand_where_they_are(read: Read) -> None:
    text = """
class Nameless(Workflow):
    name = "not a name"
    def run(self, *words):
        pass

class Other:
    @tool
    def get(self, key: str):
        "One thing."
"""
    result = read(HEAD + text, "tools/flows.py")
    assert places(result) == {
        (17, "name", "name-invalid"),
        (17, "description", "description-missing"),
        (17, "words", "parameter-variadic"),
        (22, "get", "tool-nested"),
    }
    assert result.records == []


TYPES = ["str", "int", "float", "bool", "list[str]", "dict[str, int]", "str | None", 'Literal["a", "b"]']
fields = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(TYPES)), max_size=5, unique_by=lambda f: f[0])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=fields)
def test_a_model_says_what_the_same_parameters_say(read: Read, fields: list[tuple[str, str]]) -> None:
    body = "\n".join(f"    {name}: {kind}" for name, kind in fields) or "    pass"
    plain = ", ".join(f"{name}: {kind}" for name, kind in fields)
    text = f"""
class Fields(WorkflowParameters):
{body}

class ByModel(Workflow):
    "Does it."
    def run(self, parameters: Fields):
        pass

class OneByOne(Workflow):
    "Does it."
    def run(self, *, {plain or "x: int = 1"}):
        pass
"""
    found = tools_of(read, text)
    if fields:
        assert found["by_model"].parameters == found["one_by_one"].parameters
        assert found["by_model"].input_schema == found["one_by_one"].input_schema
    else:
        assert found["by_model"].parameters == []


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("Load", "load"),
        ("CountFlights", "count_flights"),
        ("RDFLoader", "rdf_loader"),
        ("V2Load", "v2_load"),
        ("x", "x"),
    ],
)
def test_names_of_classes(name: str, snake: str) -> None:
    assert snake_case(name) == snake
