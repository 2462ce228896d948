from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.records.jinja_variables import TemplateFault, template_parameters
from abi.records.parameters import JSON, XSD
from abi.records.record import JinjaPrompt, RawPrompt, StructuredPrompt, ToolSelector

from .conftest import Read, places

RAW = """\
---
#
# The following file is a template for a raw prompt.
#
record_kind: raw_prompt
name: route_finding_prompt
description: >
  Instructions on how to find routes between airports.
annotations:
  organization: "sequoia"
tools:
  - name: "find_indirect_routes"
  - name: "find_direct_routes"
    annotations: gdpr_2016_compliant = "true"
  - query: "finding flights by name"
    limit: 2
# Below the '---' represents the prompt in its entirety.
---
Goal:
Your goal is to find a sequence of routes.
---
{{ this is no template }}
"""


def test_a_raw_prompt_is_read_as_agent_catalog_has_it(read: Read) -> None:
    result = read(RAW, "prompts/route.prompt")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, RawPrompt)
    assert record.description == "Instructions on how to find routes between airports."
    assert record.annotations == {"organization": "sequoia"}
    assert record.tools == [
        ToolSelector(name="find_indirect_routes"),
        ToolSelector(name="find_direct_routes", annotations='gdpr_2016_compliant = "true"'),
        ToolSelector(query="finding flights by name", limit=2),
    ]
    assert record.text == "Goal:\nYour goal is to find a sequence of routes.\n---\n{{ this is no template }}\n"
    assert (result.line(record), result.line(record, "text")) == (6, 19)


def test_a_template_has_its_free_variables_as_parameters(read: Read) -> None:
    text = (
        "---\nname: p\ndescription: d\n"
        "parameters:\n  source: {description: where from}\n  n: {type: xsd:integer}\n---\n"
        "From {{ source }} to {{ destination }} in {{ n }}.\n"
        "{% for stop in stops %}{{ stop }}{% endfor %}{% set own = 1 %}{{ own }}{{ mood | default('calm') }}"
    )
    result = read(text, "p.jinja")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, JinjaPrompt)
    assert [(p.name, p.datatype, p.required, p.description) for p in record.parameters] == [
        ("source", XSD + "string", True, "where from"),
        ("destination", XSD + "string", True, ""),
        ("n", XSD + "integer", True, ""),
        ("stops", JSON, True, ""),
        ("mood", XSD + "string", False, ""),
    ]
    assert [p.position for p in record.parameters] == [0, 1, 2, 3, 4]


def test_the_kind_decides_and_the_suffix_is_the_default(read: Read) -> None:
    header = "---\nrecord_kind: {}\nname: p\ndescription: d\n---\n{{{{ x }}}}"
    assert isinstance(read(header.format("jinja_prompt"), "a.prompt").records[0], JinjaPrompt)
    assert isinstance(read(header.format("raw_prompt"), "a.jinja").records[0], RawPrompt)
    assert isinstance(read(header.replace("record_kind: {}\n", ""), "b.prompt").records[0], RawPrompt)


@pytest.mark.parametrize(
    ("body", "line", "code"),
    [
        ("one\ntwo {{ x\n", 6, "template-syntax"),
        ("{% if x %}", 5, "template-syntax"),
        ("a\n\n{% include 'b' %}", 7, "template-syntax"),
        ("{{ " + "(" * 5000 + " }}", 5, "template-syntax"),
        ("  \n", 5, "prompt-empty"),
    ],
)
def test_faults_of_a_template_have_their_line(read: Read, body: str, line: int, code: str) -> None:
    result = read(f"---\nname: p\ndescription: d\n---\n{body}", "p.jinja")
    assert [(f.line, f.code) for f in result.findings] == [(line, code)]
    assert result.records == []


def test_faults_of_selectors(read: Read) -> None:
    text = (
        "---\nname: p\ndescription: d\ntools:\n  - {name: a, query: b}\n  - {limit: 2}\n"
        "  - {name: a, annotations: 'x = y'}\n  - {name: a, limit: -1}\n  - 3\n  - b\n---\nbody"
    )
    result = read(text, "p.prompt")
    assert places(result) == {
        (5, "tools.0", "selector-wrong"),
        (6, "tools.1", "selector-wrong"),
        (7, "tools.2.annotations", "predicate-syntax"),
        (8, "tools.3.limit", "type-wrong"),
        (9, "tools.4", "type-wrong"),
    }
    assert result.records[0].model_dump()["tools"][-1]["name"] == "b"


def test_an_unused_parameter_is_warned_about(read: Read) -> None:
    result = read("---\nname: p\ndescription: d\nparameters:\n  x: {}\n---\nhello", "p.jinja")
    assert [(f.line, f.code, f.severity) for f in result.findings] == [(5, "parameter-unused", "warning")]


STRUCTURED = """\
record_kind: prompt
name: find_routes_node
description: >
  Instructions on how to find routes between airports.
annotations:
  organization: "sequoia"
tools:
  - name: find_direct_routes
    annotations: gdpr_2016_compliant = "true"
  - query: finding flights by name
    limit: 0
output:
  type: object
  properties:
    routes: {type: array, items: {type: string}}
content:
  output_format_instructions: One route a line.
  agent_instructions: |
    Find a route.
    Then tell it.
  steps: [look, {then: tell}]
"""


@pytest.mark.parametrize("path", ["p.yaml", "p.yml", "p.prompt"])
@pytest.mark.parametrize("start", ["", "---\n", "# a comment\n---\n"])
def test_a_structured_prompt(read: Read, path: str, start: str) -> None:
    result = read(start + STRUCTURED, path)
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, StructuredPrompt)
    assert record.content is not None and list(record.content) == [
        "output_format_instructions",
        "agent_instructions",
        "steps",
    ]
    assert record.text == (
        "output_format_instructions: One route a line.\nagent_instructions:\n  Find a route.\n  Then tell it.\n"
        "steps:\n  - look\n  - then: tell"
    )
    assert record.output_schema is not None and record.output_schema["type"] == "object"
    assert [s.limit for s in record.tools] == [1, 0]


def test_the_text_of_a_structured_prompt_is_verbatim(read: Read) -> None:
    text = "record_kind: prompt\nname: p\ndescription: d\ncontent: |2+\n    {{ no template }}\n  ---\n\n"
    (record,) = read(text, "p.prompt").records
    assert isinstance(record, StructuredPrompt)
    assert (record.text, record.content) == ("  {{ no template }}\n---\n\n", None)


@pytest.mark.parametrize(
    ("lines", "line", "field", "code"),
    [
        ("", 1, "content", "prompt-empty"),
        ("content: '  '", 4, "content", "prompt-empty"),
        ("content: {}", 4, "content", "prompt-empty"),
        ("content: 5", 4, "content", "content-type"),
        ("content:\n  a: {b: x,\n    c: 5}", 6, "content.a.c", "content-type"),
        ("content: [x, true]", 4, "content.1", "content-type"),
        ("content:\n  a:", 5, "content.a", "content-type"),
        ("content: x\noutput: '[]'", 5, "output", "type-wrong"),
        ("content: x\noutput: '{\"type\": }'", 5, "output", "output-syntax"),
        ("content: x\noutput:\n  type: objekt", 6, "output.type", "output-schema"),
        ("content: x\nname: a b", 5, "name", "yaml-duplicate-key"),
        ("content: x\nannotations: {a: true}", 5, "annotations.a", "annotation-type"),
        ("content: x\ntools:\n  - {name: a, query: b}", 6, "tools.0", "selector-wrong"),
        ("content: x\ntools:\n  - {name: a, annotations: a=b}", 6, "tools.0.annotations", "predicate-syntax"),
        ("content: x\nmetadata_fields: [a]", 5, "metadata_fields", "key-unknown"),
    ],
)
def test_faults_of_a_structured_prompt(read: Read, lines: str, line: int, field: str, code: str) -> None:
    result = read(f"record_kind: prompt\nname: p\ndescription: d\n{lines}\n", "prompts/p.yaml")
    assert (line, field, code) in places(result)
    if code in ("key-unknown", "predicate-syntax"):
        assert result.records != []


def test_reading_a_template_evaluates_nothing_of_it() -> None:
    for body in (
        "{{ 10 ** 10 ** 9 }}",
        "{{ 'x' * 10 ** 12 }}",
        "{{ 'x' | center(10 ** 12) }}",
        "{{ range(10**9)|list }}",
    ):
        assert template_parameters(body + "{{ a }}")[0].name == "a"


pieces = st.sampled_from(
    [
        "{{",
        "}}",
        "{%",
        "%}",
        " x ",
        "if ",
        "for y in ",
        "endfor",
        "endif",
        "|default",
        "(",
        ")",
        "'",
        ".a",
        "[0]",
        "\n",
        "é",
    ]
)


@settings(max_examples=200)
@given(st.lists(pieces, max_size=15).map("".join))
def test_any_template_has_parameters_or_a_fault(text: str) -> None:
    try:
        parameters = template_parameters(text)
    except TemplateFault as fault:
        assert 1 <= fault.line <= text.count("\n") + 1
    else:
        assert all(p.name.isidentifier() for p in parameters)
