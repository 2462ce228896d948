from __future__ import annotations

import ast
import re
import string
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from abi.records.parameters import JSON, XSD
from abi.records.python_marks import marked_functions
from abi.records.record import PythonFunction

from .conftest import Read, places

FORMS = [
    "from abi import tool\n\n@tool",
    "from agentc import tool\n\n@tool",
    "from agentc.catalog import tool\n\n@tool()",
    "from agentc_core.tool import tool\n\n@tool()",
    "from agentc import tool as t\n\n@t",
    "import agentc\n\n@agentc.tool",
    "import agentc as ac\n\n@ac.tool()",
    "import agentc.catalog\n\n@agentc.catalog.tool",
    "from agentc import catalog\n\n@catalog.tool()",
    "import agentc_core.tool\n\n@agentc_core.tool.tool",
    "import agentc_core.tool as t\n\n@t.tool",
    "from agentc import *\n\n@tool",
    "import agentc\nmark = agentc.tool\n@mark",
    "try:\n    from agentc import tool\nexcept ImportError:\n    tool = None\n@tool",
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_import_and_of_the_decorator(read: Read, form: str) -> None:
    result = read(f'{form}\ndef add(a: int, b: int = 2) -> int:\n    """Adds."""\n    return a + b\n', "t.py")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, PythonFunction)
    assert (record.name, record.function, record.description) == ("add", "add", "Adds.")
    assert [(p.name, p.datatype, p.required, p.default) for p in record.parameters] == [
        ("a", XSD + "integer", True, None),
        ("b", XSD + "integer", False, 2),
    ]
    assert record.output_schema == {"type": "integer"}


@pytest.mark.parametrize(
    "text",
    [
        'from langchain_core.tools import tool\n@tool\ndef f():\n    "x"',
        'from agentc import tool\ntool = str\n@tool\ndef f():\n    "x"',
        'from agentc import tool\ndef tool(f): return f\n@tool\ndef f():\n    "x"',
        'from .agentc import tool\n@tool\ndef f():\n    "x"',
        'def f():\n    "x"',
        "",
    ],
)
def test_other_functions_are_no_tools(read: Read, text: str) -> None:
    result = read(text, "t.py")
    assert (result.records, result.findings) == ([], [])


TYPED = '''
from __future__ import annotations
import datetime as dt
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, List, Literal, NewType, Optional, TypedDict, Union
from pydantic import BaseModel, Field
from abi import tool
from elsewhere import Foreign

Code = NewType("Code", str)
Mode = Literal["fast", "slow"]
LIMIT = 7

class Colour(Enum):
    RED = "red"
    BLUE = "blue"

class Node(BaseModel):
    """A node."""
    model_config = {}
    name: str = Field(description="what it is called", min_length=1)
    weight: float = 1.0
    next: Optional[Node] = None

class Leaf(Node):
    colour: Colour = Colour.RED

@dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)

class Options(TypedDict, total=False):
    deep: bool

@tool
async def f(
    text: str, whole: int, real: float, yes: bool, money: Decimal, when: datetime, day: dt.date,
    words: list[str], table: dict[str, list[int]], maybe: str | None, either: Union[int, str], mode: Mode,
    code: Code, colour: Colour, limit: Annotated[int, Field(ge=1, lt=10, description="how many")],
    node: Node, leaf: "Leaf", point: Point, options: Options, foreign: Foreign, anything: Any,
    pair: tuple[int, str], many: tuple[int, ...], n: int = LIMIT, unknown: int = len("x"), *, key: str = "k",
) -> list[Node]:
    """Does much."""
'''


def test_types_become_datatypes_and_schemas(read: Read) -> None:
    result = read(TYPED, "t.py")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, PythonFunction)
    assert record.is_async
    types = {p.name: (p.datatype or "").replace(XSD, "").replace(JSON, "JSON") for p in record.parameters}
    assert types == {
        "text": "string",
        "whole": "integer",
        "real": "double",
        "yes": "boolean",
        "money": "decimal",
        "when": "dateTime",
        "day": "date",
        "words": "JSON",
        "table": "JSON",
        "maybe": "string",
        "either": "JSON",
        "mode": "string",
        "code": "string",
        "colour": "string",
        "limit": "integer",
        "node": "JSON",
        "leaf": "JSON",
        "point": "JSON",
        "options": "JSON",
        "foreign": "JSON",
        "anything": "JSON",
        "pair": "JSON",
        "many": "JSON",
        "n": "integer",
        "unknown": "integer",
        "key": "string",
    }
    by_name = {p.name: p for p in record.parameters}
    assert by_name["mode"].enum == ["fast", "slow"] and by_name["colour"].enum == ["red", "blue"]
    assert (by_name["limit"].minimum, by_name["limit"].maximum, by_name["limit"].description) == (1, 9, "how many")
    assert (by_name["n"].default, by_name["unknown"].default, by_name["unknown"].required) == (7, None, False)
    schema = record.input_schema
    assert "n" not in schema["required"] and "maybe" in schema["required"]
    assert schema["properties"]["table"]["additionalProperties"] == {"type": "array", "items": {"type": "integer"}}
    assert schema["properties"]["foreign"] == {} == schema["properties"]["anything"]
    node = schema["$defs"]["Node"]
    assert node["required"] == ["name"] and "model_config" not in node["properties"]
    assert node["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None}
    assert node["properties"]["name"] == {"type": "string", "description": "what it is called", "minLength": 1}
    assert set(schema["$defs"]["Leaf"]["properties"]) == {"name", "weight", "next", "colour"}
    assert schema["$defs"]["Point"]["required"] == ["x"]
    assert schema["$defs"]["Options"]["required"] == []
    assert record.output_schema == {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": node}}


def test_the_file_is_not_run(read: Read) -> None:
    read('raise SystemExit(1)\nfrom abi import tool\n@tool\ndef f():\n    "x"\n', "t.py")
    result = read('import nowhere\nfrom abi import tool\n@tool\ndef f():\n    "x"\n', "t.py")
    assert [r.name for r in result.records] == ["f"]
    assert "nowhere" not in sys.modules


def test_keywords_of_the_decorator(read: Read) -> None:
    text = (
        "from agentc import tool\nD = 'From a' ' constant.'\n"
        '@tool(name="other", description=D, annotations={"type": "sales"}, answer="{{ result }}")\ndef f(): pass\n'
    )
    result = read(text, "t.py")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, PythonFunction)
    assert (record.name, record.function, record.description) == ("other", "f", "From a constant.")
    assert (record.annotations, record.answer) == ({"type": "sales"}, "{{ result }}")


def test_all_faults_of_all_functions(read: Read) -> None:
    text = """\
from agentc import tool
@tool
def h(): pass
@tool(name="a b", description="d")
def g(x): pass
@tool(name=str(1), descripton="d", annotations={"k": True})
def f(*a: int, **k):
    "doc"
@tool("name", **{})
def e():
    "doc"
class C:
    @tool
    def m(self):
        "doc"
@tool(description=3)
def d(): pass
"""
    result = read(text, "t.py")
    assert places(result) == {
        (3, "description", "description-missing"),
        (4, "name", "name-invalid"),
        (5, "parameters.x", "parameter-untyped"),
        (6, "name", "decorator-literal"),
        (6, "descripton", "key-unknown"),
        (6, "annotations.k", "annotation-type"),
        (7, "a", "parameter-variadic"),
        (7, "k", "parameter-variadic"),
        (9, "", "decorator-argument"),
        (14, "m", "tool-nested"),
        (16, "description", "type-wrong"),
        (17, "description", "description-missing"),
    }
    assert result.records == []
    missing = next(f for f in result.findings if f.line == 3)
    assert f"{missing.message} {missing.fix}" == (
        "Description must be specified for tool h! Please give this tool a docstring."
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = 1\ndef f(:\n  pass", 2), ("if x:\nprint(1)", 2), ("x = '''", 1), ("(" * 500, 1), ("-" * 50_000 + "1", 1)],
)
def test_a_syntax_error_has_its_line(read: Read, text: str, line: int) -> None:
    result = read(text, "t.py")
    assert places(result) == {(line, "", "python-syntax")}


GOOGLE = """Does it.

    Args:
        a (int): The first,
            in two lines.
        b: The second.

    Returns:
        x"""
NUMPY = """Does it.

    Parameters
    ----------
    a : int
        The first,
        in two lines.
    b
        The second.

    Returns
    -------
    x"""
SPHINX = """Does it.

    :param a: The first, in two lines.
    :param int b: The second.
    :return: x"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_descriptions_of_arguments_come_from_the_docstring(read: Read, docstring: str) -> None:
    text = f'from abi import tool\n@tool\ndef f(a: int, b: int):\n    """{docstring}\n    """\n'
    (record,) = read(text, "t.py").records
    assert isinstance(record, PythonFunction)
    assert record.description == "Does it."
    assert [p.description for p in record.parameters] == ["The first, in two lines.", "The second."]
    assert record.input_schema["properties"]["b"]["description"] == "The second."


THINGS = """\
from __future__ import annotations
from typing import Annotated, Optional
import abi
from abi import Entity, Graph, tool
@tool
def f(a: Annotated[str, Entity("fl:Airport")], graph: Graph, b: Annotated[str, abi.Entity("ff:Airport")],
      c: Optional[Annotated[str, Entity(value_class="https://example.org/X")]] = None, g: "abi.Graph" = None):
    "x"
"""


def test_arguments_may_be_things_of_the_graph_and_the_graph_itself(read: Read) -> None:
    assert places(read(THINGS, "t.py")) == {(6, "parameters.b", "iri-unknown")}
    result = read(THINGS.replace("ff:", "fl:"), "t.py")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, PythonFunction)
    assert [(p.name, p.value_class, p.datatype, p.required, p.position) for p in record.parameters] == [
        ("a", "https://example.org/fl#Airport", None, True, 0),
        ("b", "https://example.org/fl#Airport", None, True, 1),
        ("c", "https://example.org/X", None, False, 2),
    ]
    assert record.input_schema["properties"]["a"]["x-class"] == "https://example.org/fl#Airport"


def test_very_long_branches_and_half_characters(read: Read) -> None:
    chain = "if a == 0: pass\n" + "".join(f"elif a == {n}: pass\n" for n in range(900))
    assert {f.code for f in read(chain, "t.py").findings} <= {"python-syntax"}
    text = 'from abi import tool\n@tool(description="\\ud800")\ndef f(a: str = "\\udfff", b: str = "\\0"): "x"\n'
    result = read(text, "t.py")
    assert places(result) == {(2, "description", "decorator-literal")}
    (record,) = read(text.replace('description="\\ud800"', ""), "t.py").records
    assert isinstance(record, PythonFunction)
    assert [(p.default, p.required) for p in record.parameters] == [(None, False), (None, False)]


def test_two_files_of_one_name_are_two_files(read: Read) -> None:
    text = 'from abi import tool\n@tool\ndef {}():\n    "x"\n'
    first, second = read(text.format("alpha"), "a/search.py"), read(text.format("beta"), "b/search.py")
    assert [r.name for r in [*first.records, *second.records]] == ["alpha", "beta"]


def test_marked_functions() -> None:
    assert marked_functions(b'from abi import tool\n@tool(name="x")\ndef f(): ...\ndef g(): ...') == {"f"}
    assert marked_functions(b"def f(:") == set()


SIMPLE = {"int": int, "str": str, "float": float, "bool": bool}
annotations = st.recursive(
    st.sampled_from(list(SIMPLE)),
    lambda inner: (
        st.builds("list[{}]".format, inner)
        | st.builds("dict[str, {}]".format, inner)
        | st.builds("{} | None".format, st.sampled_from(list(SIMPLE)))
        | st.builds("tuple[{}, ...]".format, inner)
    ),
    max_leaves=4,
)
names = st.text(string.ascii_lowercase + "_é", min_size=1, max_size=8).filter(str.isidentifier)


def _plain(schema: object) -> object:
    """pydantic's schema without what it adds to ours."""
    if isinstance(schema, dict):
        return {k: _plain(v) for k, v in schema.items() if k != "title"}
    return [_plain(v) for v in schema] if isinstance(schema, list) else schema


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(names.filter(lambda n: n not in ("tool", "f") and not n.startswith("if")), annotations, max_size=4)
)
def test_schemas_are_those_of_pydantic(read: Read, arguments: dict[str, str]) -> None:
    signature = ", ".join(f"{name}: {annotation}" for name, annotation in arguments.items())
    try:
        ast.parse(f"def f({signature}): ...")
    except SyntaxError:
        return  # a keyword
    result = read(f'from abi import tool\n@tool\ndef f({signature}):\n    "x"\n', "t.py")
    (record,) = result.records
    assert isinstance(record, PythonFunction)
    assert [p.name for p in record.parameters] == list(arguments)
    for name, annotation in arguments.items():
        hint = eval(annotation, {})
        ours = {**record.input_schema["properties"][name]}
        theirs = TypeAdapter(hint).json_schema()
        theirs = {k: v for k, v in theirs.items() if v is not True or k != "additionalProperties"}
        assert ours == _plain(theirs)


PIECES = [*"abc()[]{}:,@=*|\n '\"#\\.", "def f", "@tool", "lambda ", "    ", "Literal", "...", "\ud800", "\x00"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_is_read_or_a_finding(read: Read, text: str) -> None:
    head = "from abi import tool\nfrom typing import *\n@tool\ndef f(a: "
    result = read((head + text + "): 'x'\n").encode("utf-8", "replace"), "t.py")
    assert result.records or result.findings


def test_what_python_cannot_read_is_told_by_its_kind(read: Read) -> None:
    result = read("from abi import tool\n@tool\ndef f(x=" + "-" * 20_000 + '1):\n    "x"\n', "t.py")
    (finding,) = result.findings
    assert re.search(r"can be read: \w+Error\.$", finding.message)
