from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import ToolFailed
from abi.graph.rows import XSD, Rows, Term
from abi.tools.answer import check_answer, render_answer
from abi.tools.answer_bounds import MAX_SECONDS

LABELS = {"urn:x:boi": "Boise", "urn:x:sea": "Seattle"}


def integer(value: int) -> Term:
    return Term("literal", str(value), XSD + "integer")


ROWS = Rows(
    "select",
    variables=["airport", "name", "flights", "note"],
    rows=[
        {"airport": Term("iri", "urn:x:sea"), "name": Term("literal", "Seattle <b>"), "flights": integer(20)},
        {"airport": Term("iri", "urn:x:geg"), "name": Term("literal", "Spokane"), "flights": integer(3)},
    ],
)
NONE = Rows("select", variables=["airport", "name", "flights", "note"])
ARGUMENTS = {"origin": Term("iri", "urn:x:boi"), "text": Term("literal", "{{ rows }}"), "limit": integer(2)}
NAMES = ["origin", "text", "limit", "state"]


def render(template: str, rows: Rows = ROWS) -> str:
    assert check_answer(template, NAMES, rows.variables) == []
    return render_answer(template, rows, ARGUMENTS, LABELS, names=NAMES)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ row_count }}: {{ rows | map(attribute='name') | join(', ') }}.", "2: Seattle <b>, Spokane."),
        ("{{ rows | map(attribute='airport') | join(' and ') }}", "Seattle and geg"),
        ("{{ origin }} {{ origin.iri }} {{ origin.value }}", "Boise urn:x:boi urn:x:boi"),
        ("{{ text }}", "{{ rows }}"),
        ("{% if state %}in {{ state.label }}{% else %}anywhere{% endif %}{{ state }}", "anywhere"),
        ("{% if rows[0].note %}a{% else %}no note{% endif %}", "no note"),
        ("{{ rows | sum(attribute='flights') }} {{ rows | map(attribute='flights') | max }}", "23 20"),
        ("{{ rows | sort(attribute='flights') | map(attribute='name') | first }}", "Spokane"),
        ("{% for row in rows[:1] %}{{ row.name }} {{ row['flights'] }}{% endfor %}", "Seattle <b> 20"),
        ("{{ rows | selectattr('flights', 'gt', 5) | list | length }}", "1"),
        ("{% if rows[0].flights > 19 and rows[0].flights >= 20 and rows[1].flights == 3 %}y{% endif %}", "y"),
        ("{% if rows[1].flights < 4 and rows[0].name < 'Z' %}y{% endif %}", "y"),
        ("{% if rows[0].name == 'Seattle <b>' and origin == 'Boise' and row_count <= limit %}y{% endif %}", "y"),
        ("{{ 's' if row_count != 1 else '' }} {{ (rows | first).name | upper }}", "s SEATTLE <B>"),
        ("  a   b\n\n c  ", "a b\n\nc"),
        ("{{ truncated }}", "False"),
        ("{{ rows[0].flights + 1 }}{{ 1 + rows[0].flights }}", "2121"),
    ],
)  # fmt: skip
def test_rendered(template: str, text: str) -> None:
    assert render(template) == text


def test_without_rows() -> None:
    template = "{% if not rows %}None from {{ origin.label }}.{% else %}{{ rows[0].name }}{% endif %}"
    assert render(template, NONE) == "None from Boise."
    assert render_answer("{{ 'yes' if result else 'no' }}", Rows("ask", boolean=True), {}, {}) == "yes"


def test_numbers_print_as_they_are() -> None:
    def one(term: Term) -> str:
        return render_answer("{{ rows[0].x }}", Rows("select", ["x"], [{"x": term}]), {}, {})

    assert one(Term("literal", "1.50", XSD + "decimal")) == "1.50"
    assert one(Term("literal", "1.2E3", XSD + "double")) == "1200"
    assert one(Term("literal", "true", XSD + "boolean")) == "true"
    assert one(Term("literal", "2026-01-31T00:00:00Z", XSD + "dateTime")) == "2026-01-31T00:00:00Z"
    assert one(Term("bnode", "b0")) == "b0"


@pytest.mark.parametrize(
    "template",
    [
        "{{ nobody }}",
        "{{ nobody.label }}",
        "{{ rows | map(attribute='nothing') | join }}",
        "{{ rows",
        "{% if %}",
        "{{ rows | format }}",
        "{{ rows | tojson }}",
        "{{ rows.append(1) }}",
        "{{ ''.join(rows) }}",
        "{{ range(10) }}",
        "{{ 'a' * 1000000000 }}",
        "{{ 10 ** 10000000 }}",
        "{{ '%s' % rows }}",
        "{{ rows.__class__ }}",
        "{{ origin._python }}",
        "{{ rows | map(attribute='__class__') | list }}",
        "{{ rows | map('attr', '__class__') | list }}",
        "{{ rows | attr('__class__') }}",
        "{% set x = 1 %}",
        "{% macro m() %}{% endmacro %}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% for a in rows %}{% for b in rows %}{% for c in rows %}x{% endfor %}{% endfor %}{% endfor %}",
        "x" * 5000,
        "{{ self }}",
        "{{ lipsum }}",
        "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
        "{{ 1" + " + 1" * 500 + " }}",
        "{{ rows" + " | list" * 400 + " }}",
    ],
)
def test_refused(template: str) -> None:
    findings = check_answer(template, NAMES, ROWS.variables, path="tools/x.rq", line=7)
    assert findings and all(f.path == "tools/x.rq" and f.line >= 7 and f.code == "answer-template" for f in findings)
    assert not any("jinja" in str(f).lower() for f in findings)


@pytest.mark.parametrize(
    ("template", "column"),
    [
        ("{% for row in rows %}{{ row.nane }}{% endfor %}", "nane"),
        ("{% for row in rows %}{{ row['nane'] }}{% endfor %}", "nane"),
        ("{% for r in rows | sort(attribute='flights') | reverse %}{{ r.naem }}{% endfor %}", "naem"),
        ("{% for r in rows[:3] if r.fligths > 1 %}{{ r.name }}{% endfor %}", "fligths"),
        ("{% for r in rows %}{% for s in rows %}{{ s.name ~ r.nmae }}{% endfor %}{% endfor %}", "nmae"),
        ("{% for k, of in rows | groupby('note') %}{% for r in of %}{{ r.nam }}{% endfor %}{% endfor %}", "nam"),
        ("{% for kind, of in rows | groupby('nota') %}{{ kind }}{% endfor %}", "nota"),
        ("{{ rows[0].fligts }}", "fligts"),
        ("{{ (rows | first).fligts }}", "fligts"),
        ("{{ rows | map(attribute='nam') | join }}", "nam"),
        ("{{ rows | selectattr('nam') | list | length }}", "nam"),
        ("{{ rows | sort(attribute='name,flihgts') | length }}", "flihgts"),
        ("{% if rows %}\n{{ rows[0].name }}{{ rows[0].flight }}{% endif %}", "flight"),
    ],
)
def test_a_column_that_the_query_does_not_give_is_found_wherever_it_stands(template: str, column: str) -> None:
    (fault,) = check_answer(template, NAMES, ROWS.variables, path="tools/x.rq", line=7)
    assert fault.message == f"The answer template uses the column {column}, which the query does not give."
    assert fault.line == 7 + template[: template.index(column)].count("\n")
    assert fault.fix.startswith("Did you mean ") and "airport, name, flights, note" in fault.fix


@pytest.mark.parametrize(
    "template",
    [
        "{% for row in rows %}{{ row.name }}{{ loop.index }}{{ row.airport.iri }}{% endfor %}",
        "{% for name in rows | map(attribute='name') %}{{ name.label }}{% endfor %}",
        "{% for kind, of in rows | groupby('note') %}{{ kind }} {{ of | length }}{{ of[0].name }}{% endfor %}",
        "{% for rows in rows %}{{ rows.name }}{% endfor %}",
        "{{ origin.label }}{{ result.anything }}{{ (rows | max(attribute='flights')).name }}",
    ],
)
def test_what_is_no_column_is_none(template: str) -> None:
    assert check_answer(template, NAMES, ROWS.variables) == []


@pytest.mark.parametrize(
    "template",
    [
        "{{ rows.append(1) }}",
        "{{ nobody }}",
        "{{ rows[0].name + 1 }}",
        "{{ rows[9].name }}",
        "{{ rows | sum(attribute='name') }}",
        "{% if %}",
    ],
)
def test_what_fails_says_so_without_internals(template: str) -> None:
    with pytest.raises(ToolFailed) as caught:
        render_answer(template, ROWS, ARGUMENTS, LABELS)
    assert "jinja" not in (caught.value.message + caught.value.hint).lower()


def test_lines_of_findings() -> None:
    (finding,) = check_answer("a\nb {{ rows | tojson }}", [], line=10)
    assert finding.line == 11


def test_size_is_limited() -> None:
    many = Rows("select", ["x"], [{"x": Term("literal", "y" * 1000)} for _ in range(200)])
    with pytest.raises(ToolFailed, match="too long"):
        render_answer("{% for a in rows %}{% for b in rows %}{{ b.x }}{% endfor %}{% endfor %}", many, {}, {})


SUMS = " + ".join(["rows"] * 50)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 1.5 | round(99999999, 'ceil') }}",
        "{{ 1.5 | round(precision=99999999, method='floor') }}",
        "{{ [1.5] | map('round', 99999999, 'ceil') | list }}",
        "{{ 15 | round(-99999999, 'ceil') }}",
        "{{ rows | join(rows | join(rows | join(rows | join('xxxxx', 'x'), 'x'), 'x'), 'x') | length }}",
        "{{ [rows] | map('join', rows | join(rows | join(rows | join('xxxx', 'x'), 'x'), 'x'), 'x') | list | length }}",
        "{% for a in " + SUMS + " %}{% for b in " + SUMS + " %}{% endfor %}{% endfor %}",
        "{% for a in rows %}{% for b in rows %}{% if rows | sort(attribute='x') " + "| sort(attribute='x') " * 100
        + "%}{% endif %}{% endfor %}{% endfor %}",
        "{% for a in [" + " ~ ".join(["rows[0].x"] * 250) + "] %}{% for b in [" + " ~ ".join(["a"] * 150)
        + "] %}{{ b | length }}{% endfor %}{% endfor %}",
        "{% for a in [" + " + ".join(["rows[0].x"] * 80) + "] %}{% for b in [" + " + ".join(["a"] * 80)
        + "] %}{{ b | length }}{% endfor %}{% endfor %}",
        "{{ 'x' | truncate(1) }}",
    ],
)  # fmt: skip
def test_time_and_size_on_the_way_are_limited_when_checked_and_when_rendered(template: str) -> None:
    many = Rows("select", ["x"], [{"x": Term("literal", "y" * 1000)} for _ in range(200)])
    began = time.monotonic()
    assert check_answer(template, [], ["x"]) == []
    assert time.monotonic() - began < MAX_SECONDS + 20
    with pytest.raises(ToolFailed):
        render_answer(template, many, {}, {})
    assert time.monotonic() - began < MAX_SECONDS + 20


def test_sums_and_joined_texts_are_what_they_were() -> None:
    assert render("{{ row_count + 1 }} {{ 'a' ~ 1 ~ rows[0].name }} {{ 'a' + 'b' }}") == "3 a1Seattle <b> ab"
    assert render("{{ rows | join(', ', attribute='name') }}") == "Seattle <b>, Spokane"
    assert render("{% for row in rows %}{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% endfor %}") == (
        "1/2False 2/2True"
    )


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=40))
def test_values_are_never_templates(text: str) -> None:
    rows = Rows("select", ["x"], [{"x": Term("literal", "{{ 7 * 7 }}" + text)}])
    out = render_answer("[{{ rows[0].x }}]", rows, {}, {})
    assert "49" not in out or "49" in text
    assert out.startswith("[{{ 7 * 7 }}")
