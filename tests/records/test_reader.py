from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abi.records.reader import READERS, ReadContext, read_file
from abi.records.record import KINDS
from abi.records.scan import SourceFile
from abi.settings import Settings

from .conftest import Read, places


def test_each_kind_has_a_reader() -> None:
    assert READERS.keys() == KINDS.keys()


def test_words_are_expanded_by_the_workspaces_prefixes() -> None:
    context = ReadContext.of(Settings(base_iri="https://example.org/w/", prefixes={"fl": "https://example.org/fl#"}))
    assert context.expand("fl:Airport") == "https://example.org/fl#Airport"
    assert context.expand(":x") == "https://example.org/w/x"
    assert context.expand("<https://a.org/b>") == context.expand("https://a.org/b") == "https://a.org/b"
    assert context.expand("urn:a:b") == "urn:a:b"
    for wrong in ("Airport", "ff:Airport", "https://a b", "<x>", "", "javascript:alert(1)", "fl:a b"):
        with pytest.raises(ValueError, match=r"\w"):
            context.expand(wrong)


@pytest.mark.parametrize(
    ("path", "text", "place", "severity"),
    [
        ("a.yaml", "title: x\n", (1, "record_kind", "kind-missing"), "warning"),
        ("a.yaml", "\nrecord_kind: agnt\n", (2, "record_kind", "kind-unknown"), "error"),
        ("a.yaml", "record_kind: [a]\n", (1, "record_kind", "kind-unknown"), "error"),
        ("a.yaml", "record_kind: python_function\nname: a\n", (1, "record_kind", "kind-misplaced"), "error"),
        ("a.yaml", "- a\n- b\n", (1, "", "header-missing"), "error"),
        ("a.yaml", "", (1, "", "file-empty"), "error"),
        ("a.yaml", " \n\n", (1, "", "file-empty"), "error"),
        ("a.rq", "", (1, "", "file-empty"), "error"),
        ("a.prompt", "", (1, "", "file-empty"), "error"),
        ("a.yaml", "a: [1\n", (2, "", "yaml-syntax"), "error"),
    ],
)
def test_files_that_are_no_record(read: Read, path: str, text: str, place: tuple[int, str, str], severity: str) -> None:
    result = read(text, path)
    assert places(result) == {place}
    assert result.records == []
    (finding,) = result.findings
    assert (finding.path, finding.severity) == (path, severity)
    assert finding.fix


def test_an_empty_python_file_is_no_fault(read: Read) -> None:
    assert read("", "tools/__init__.py").findings == []


def test_windows_line_ends_and_a_byte_order_mark_are_read_and_told(read: Read) -> None:
    text = "\ufeff---\r\nname: p\r\ndescription: d\r\n---\r\nOne\r\nTwo\r\n"
    result = read(text, "p.prompt")
    assert {f.code for f in result.findings} == {"file-byte-order-mark", "file-line-ends"}
    assert result.records[0].model_dump()["text"] == "One\nTwo\n"


def test_a_secret_pasted_anywhere_is_told_and_not_repeated(read: Read) -> None:
    key = "sk-" + "a1b2" * 8
    result = read(f"---\nname: p\ndescription: d\n---\nUse the key\n{key}\n", "p.prompt")
    (finding,) = result.findings
    assert (finding.line, finding.code, finding.severity) == (6, "secret-literal", "error")
    assert key not in str(finding)


def test_two_tools_of_one_name_in_one_file(read: Read) -> None:
    text = 'from abi import tool\n@tool\ndef a():\n    "x"\n@tool(name="a")\ndef b():\n    "y"\n'
    result = read(text, "t.py")
    assert places(result) == {(6, "name", "name-duplicate")}
    assert len(result.records) == 1


def test_a_removed_file_is_a_finding(tmp_path: Path) -> None:
    context = ReadContext.of(Settings(base_iri="https://example.org/w/"))
    result = read_file(SourceFile("a.rq", tmp_path / "a.rq", 1, 1), context)
    assert [f.code for f in result.findings] == ["file-unreadable"]


text_like = st.text(st.sampled_from([*string.printable, "é", "\ufeff", "\x00", "😀"]), max_size=120)
headers = st.lists(
    st.sampled_from(
        [
            "record_kind: agent",
            "record_kind: intent",
            "name: x",
            "description: y",
            "parameters: {a: {type: xsd:string}}",
            "parameters: [1]",
            "intents: [{values: [a], type: raw, target: b}]",
            "intents: {}",
            "tools: [{name: x}, y, 3]",
            "annotations: {a: 1}",
            "values: [1, {}]",
            "system_prompt: 3",
            "secrets: {a: b}",
            "? - x",
            "---",
        ]
    ),
    max_size=8,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(headers, text_like, st.sampled_from(["a.yaml", "a.rq", "a.prompt", "a.jinja", "a.py", "a.sqlpp"]))
def test_no_file_breaks_a_reader(read: Read, lines: list[str], tail: str, path: str) -> None:
    mark = {".rq": "# ", ".py": "# "}.get(path[1:], "")
    fence = "---\n" if path.endswith((".prompt", ".jinja")) else ""
    text = fence + "".join(f"{mark}{line}\n" for line in lines) + fence + tail
    result = read(text.encode(), path)
    # A lone carriage return ends a line too.
    last = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(1 <= f.line <= last + 1 and f.message and f.code for f in result.findings)
