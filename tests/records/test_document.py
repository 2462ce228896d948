from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.records.document import decode, open_comment_header, open_front_matter


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"\xef\xbb\xbfa: 1\n", "file-byte-order-mark", 1),
        (b"a: 1\nb: 2\r\nc: 3\r\n", "file-line-ends", 2),
        (b"a: 1\nb: caf\xe9\n", "file-encoding", 2),
        ("a: 1".encode("utf-16"), "file-encoding", 1),
        (b"a: 1\n\nb: \x07\n", "file-control-character", 3),
    ],
)
def test_unusual_bytes_are_told_with_a_way_to_mend_them(data: bytes, code: str, line: int) -> None:
    text, findings = decode(data, "f.yaml")
    assert [(f.code, f.line) for f in findings] == [(code, line)]
    assert findings[0].fix
    assert (text is None) == (findings[0].severity == "error")
    assert "\r" not in (text or "") and not (text or "").startswith("\ufeff")


def test_the_header_ends_at_the_second_delimiter_whatever_the_body_holds() -> None:
    document = open_front_matter("p", "---\nname: a\n---\n\nOne\n---\nTwo\n--- \nThree")
    assert document.header is not None and document.header.value == {"name": "a"}
    assert (document.body, document.body_line) == ("\nOne\n---\nTwo\n--- \nThree", 4)


@pytest.mark.parametrize(
    ("text", "line"), [("name: a\n", 1), ("---\nname: a\n", 1), ("\n\nname\n---\n", 3), ("---\n---\nbody", 1)]
)
def test_a_missing_delimiter_or_header_is_told(text: str, line: int) -> None:
    document = open_front_matter("p", text)
    assert [(f.line, f.code) for f in document.findings] == [(line, "header-missing")]


def test_a_query_keeps_its_own_comments_and_its_optional_lines() -> None:
    text = "\n# name: a\n#\n#nested:\n#  x: 1\n#?state ?a ex:b ?state .\n# about the query\nSELECT * {}\n\n"
    document = open_comment_header("q.rq", text)
    assert document.header is None  # `nested` is indented less than `name`
    document = open_comment_header("q.rq", text.replace("#nested", "# nested").replace("#  x", "#   x"))
    assert document.header is not None and document.header.value == {"name": "a", "nested": {"x": 1}}
    assert document.header.line("nested.x") == 5
    assert document.body == "#?state ?a ex:b ?state .\n# about the query\nSELECT * {}"
    assert document.body_line == 6


def test_a_comment_behind_an_empty_line_belongs_to_the_query() -> None:
    document = open_comment_header("q.rq", "#name: a\n\n\n# about the query\nSELECT * {}")
    assert document.header is not None and document.header.value == {"name": "a"}
    assert (document.body, document.body_line) == ("# about the query\nSELECT * {}", 4)


@pytest.mark.parametrize("text", ["SELECT * {}", "# just a remark\nSELECT * {}", "#?x\nSELECT * {}"])
def test_a_query_without_a_header_is_told(text: str) -> None:
    assert [f.code for f in open_comment_header("q.rq", text).findings] == ["header-missing"]


bodies = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n-# "), max_size=80)


@settings(max_examples=150)
@given(bodies, st.dictionaries(st.sampled_from("abcd"), st.integers(), min_size=1))
def test_front_matter_gives_back_any_body(body: str, header: dict[str, int]) -> None:
    text = "---\n" + "".join(f"{k}: {v}\n" for k, v in header.items()) + "---\n" + body
    document = open_front_matter("p", text)
    assert document.header is not None
    assert (document.header.value, document.body) == (header, body)
    assert document.text.split("\n")[document.body_line - 1 :] == body.split("\n")


@settings(max_examples=150)
@given(st.text(max_size=80))
def test_any_text_is_taken_apart_without_a_fault_of_ours(text: str) -> None:
    for opener in (open_front_matter, open_comment_header):
        document = opener("p", text)
        assert document.header is not None or document.findings


@settings(max_examples=150)
@given(st.binary(max_size=80))
def test_any_bytes_are_text_or_a_finding(data: bytes) -> None:
    text, findings = decode(data, "p")
    assert text is not None or findings[-1].severity == "error"
