from __future__ import annotations

import json
import string

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import Invalid
from abi.yaml_reader import MAX_DEPTH, load_yaml


def test_values_are_those_of_yaml_1_2() -> None:
    text = (
        "a: NO\nb: on\nc: true\nd: 12:30:00\ne: 007\nf: 2024-01-01\ng: ~\nh: 0x1F\ni: -2.5e3\nj: .inf\nk: 1e999\n2: x"
    )
    assert load_yaml(text, "p").value == {
        "a": "NO",
        "b": "on",
        "c": True,
        "d": "12:30:00",
        "e": "007",
        "f": "2024-01-01",
        "g": None,
        "h": 31,
        "i": -2500.0,
        "j": ".inf",
        "k": "1e999",
        "2": "x",
    }


def test_each_key_has_its_line() -> None:
    located = load_yaml("# head\na:\n  - x: 1\n    y: 2\n  - z\nb: {c: 3}\n", "p", first_line=10)
    assert {k: located.line(k) for k in ("a", "a.0.y", "a.1", "b.c", "b.c.unknown", "nothing")} == {
        "a": 11,
        "a.0.y": 13,
        "a.1": 14,
        "b.c": 15,
        "b.c.unknown": 15,
        "nothing": 11,
    }


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: [1, 2\nc: 3", 3, "YAML"),
        ("a: b: c", 1, "colon"),
        ("a: 1\n\tb: 2", 2, "tabs"),
        ("a: @home", 1, "begins with @"),
        ("a\x00b", 1, "character"),
        ("[" * 200 + "]" * 200, 1, "flatter"),
        ("[" * 20_000, 1, "YAML"),
        ("{a: " * 60 + "1" + "}" * 60, 1, "flatter"),
    ],
)
def test_what_does_not_parse_is_told_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(Invalid) as caught:
        load_yaml(text, "some.yaml")
    finding = caught.value.findings[-1]
    assert (finding.path, finding.line, finding.code) == ("some.yaml", line, "yaml-syntax")
    assert says in finding.message + finding.fix


def test_all_other_faults_are_told_together_and_leave_a_value() -> None:
    text = "a: &x 1\nb: *x\na: 2\nc: !!python/name:os.system x\n? [k]\n: v\nd: '\\0'\ne: \"\\0\"\n---\nf: 1"
    located = load_yaml(text, "p")
    assert {(f.line, f.code) for f in located.findings} == {
        (2, "yaml-alias"),
        (3, "yaml-duplicate-key"),
        (4, "yaml-tag"),
        (5, "yaml-key"),
        (8, "yaml-character"),
        (9, "yaml-documents"),
    }
    assert located.value == {"a": 1, "b": None, "c": "x", "d": "\\0", "e": ""}


def test_an_alias_bomb_ends_at_once() -> None:
    rows = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    located = load_yaml("\n".join(rows), "bomb.yaml")
    assert {f.code for f in located.findings} == {"yaml-alias"}
    assert len(json.dumps(located.value)) < 2000


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(string.ascii_letters + "_ é", min_size=1, max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(json_values)
def test_json_is_read_as_json(value: object) -> None:
    located = load_yaml(json.dumps(value, ensure_ascii=False), "p")
    assert located.findings == []
    assert located.value == value


@settings(max_examples=150)
@given(json_values)
def test_what_pyyaml_writes_is_read_back(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assert load_yaml(text, "p").value == value or "&id" in text


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*"ab:-?[]{}&*!|>'\"%@`#, \n\t01.~<\\", "---", "é", "\x00", "\x85"])).map("".join))
def test_any_text_gives_a_value_or_findings(text: str) -> None:
    try:
        located = load_yaml(text, "p", first_line=3)
    except Invalid as error:
        assert error.findings
        assert all(f.line >= 3 for f in error.findings)
    else:
        json.dumps(located.value, allow_nan=False)
        assert all(3 <= line <= 3 + len(text) for line in located.lines.values())


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert load_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH, "p").findings == []
