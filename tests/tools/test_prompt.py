from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from abi.errors import ArgumentError, ToolFailed
from abi.graph.rows import Rows
from abi.records.jinja_variables import template_parameters
from abi.records.record import JinjaPrompt, Parameter, RawPrompt, ToolSelector
from abi.settings import Settings
from abi.tools.prompt import _plain_parts, render
from abi.tools.runner import RunContext
from abi.tools.runner import run as run_record

SETTINGS = Settings(base_iri="https://example.org/w/", render_seconds=2, render_bytes=10_000)


def template(text: str) -> JinjaPrompt:
    return JinjaPrompt(name="p", description="d", text=text, parameters=template_parameters(text))


def test_a_raw_prompt_is_its_text() -> None:
    prompt = RawPrompt(name="p", description="d", text="{{ not a template }}\n")
    assert render(prompt, {}, SETTINGS) == "{{ not a template }}\n"
    with pytest.raises(ArgumentError) as caught:
        render(prompt, {"x": 1}, SETTINGS)
    assert caught.value.hint == "It takes none."


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("From {{ a }} to {{ b }}.\n", {"a": "Boise", "b": 2}, "From Boise to 2."),
        ("{% for x in xs %}{{ loop.index }}={{ x.name | upper }};{% endfor %}", {"xs": [{"name": "é"}]}, "1=É;"),
        ("{{ a | default('none') }}", {}, "none"),
        ("{{ a | default('none') }}", {"a": None}, "none"),
        ("{{ a }} <b>", {"a": "<i> & {{ b }}"}, "<i> & {{ b }} <b>"),
        ("{# remark #}{% raw %}{{ x }}{% endraw %}{{ a }}", {"a": True}, "{{ x }}True"),
    ],
)
def test_a_template_is_filled(text: str, arguments: dict[str, object], expected: str) -> None:
    assert render(template(text), arguments, SETTINGS) == expected


def test_all_missing_and_unknown_arguments_are_named() -> None:
    prompt = template("{{ a }} {{ b }} {{ c }} {{ d | default(1) }}")
    with pytest.raises(ArgumentError, match="needs a, c") as caught:
        render(prompt, {"b": 1, "c": None}, SETTINGS)
    assert caught.value.details == {"missing": ["a", "c"]}
    with pytest.raises(ArgumentError, match="no argument x, y"):
        render(prompt, {"y": 1, "x": 2}, SETTINGS)
    with pytest.raises(ArgumentError, match="nothing"):
        render(template("{{ a.nothing }}"), {"a": {}}, SETTINGS)


def test_a_run_gives_the_text_and_the_named_tools(tmp_path: Path) -> None:
    def no_query(text: str, *, rows: int | None = None) -> Rows:
        raise AssertionError("a prompt asks nothing")

    context = RunContext(query=no_query, settings=SETTINGS, root=tmp_path, principal="ann")
    tools = [ToolSelector(name="find_routes"), ToolSelector(query="routes")]
    who = Parameter(name="who", datatype="http://www.w3.org/2001/XMLSchema#string", filled_from="principal")
    prompt = template("Hi {{ who }}: {{ a }}").model_copy(update={"tools": tools})
    prompt = prompt.model_copy(update={"parameters": [who, prompt.parameters[1]]})
    document = run_record(prompt, {"a": "x"}, context).document()
    assert document == {
        "prompt": "p",
        "arguments": {"a": "x"},
        "text": "Hi ann: x",
        "tools": ["find_routes"],
        "unmatched": ['tools for "routes"'],
    }
    with pytest.raises(ArgumentError, match="no argument who"):
        run_record(prompt, {"a": "x", "who": "eve"}, context)


@pytest.mark.parametrize(
    "text",
    [
        "{{ a.__class__.__mro__ }}",
        "{{ a.__init__.__globals__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}{{ a }}",
        "{{ cycler.__init__.__globals__.os.environ }}{{ a }}",
        "{% set _ = a.append(1) %}",
    ],
)
def test_a_template_cannot_reach_out(text: str) -> None:
    with pytest.raises((ToolFailed, ArgumentError)) as caught:
        render(template(text), {"a": ["x"]}, SETTINGS)
    assert "PATH" not in str(caught.value.document())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "longer than 2 s|more time"),
        ("{{ 10 ** (10 ** 8) }}", "longer than 2 s|more time|could not be rendered"),
        ("{{ 'x' * (10 ** 10) }}", "memory|longer"),
        ("{{ 'x' | center(10 ** 10) }}", "memory|longer"),
        ("{% for i in range(5000) %}{{ i }}{% endfor %}", "longer than 10000 bytes"),
        ("{{ range(10 ** 7) | list }}", "OverflowError"),
        ("{{ 1 / 0 }}", "on line 1 of its text: ZeroDivisionError"),
    ],
)
def test_a_template_has_limits(text: str, says: str) -> None:
    with pytest.raises(ToolFailed, match=says):
        render(template(text), {}, SETTINGS)


def test_plain_templates_have_the_size_limit_too() -> None:
    with pytest.raises(ToolFailed, match="10000 bytes"):
        render(template("{{ a }}{{ a }}"), {"a": "x" * 9000}, SETTINGS)


def test_plain_templates_need_no_child() -> None:
    assert _plain_parts("a {{ b }} {# c #}") is not None
    for text in ("{{ b | upper }}", "{{ b.c }}", "{% if b %}{% endif %}", "{{ range }}", "{{ 1 }}", "{{ 10 ** 9 }}"):
        assert _plain_parts(text) is None


plain = st.lists(st.sampled_from(["{{ a }}", "{{b}}", "\n", "x", "{{- a -}}", " ", "{# c #}", "}", "é"])).map("".join)


@hypothesis_settings(max_examples=100)
@given(plain, st.text(max_size=5), st.integers() | st.booleans() | st.lists(st.text(max_size=2), max_size=2))
def test_plain_templates_come_out_as_jinja_has_them(text: str, a: str, b: object) -> None:
    prompt = template(text)
    arguments = {p.name: {"a": a, "b": b}[p.name] for p in prompt.parameters}
    assert _plain_parts(text) is not None
    expected = jinja2.Environment().from_string(text).render(arguments)
    assert render(prompt, arguments, SETTINGS) == expected
