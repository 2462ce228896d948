"""Data on stdout, everything else on stderr, and what a terminal gets that a pipe does not."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.cli import output as module
from abi.cli.output import Output, plural, printable
from abi.errors import NotFound
from abi.findings import Finding, exit_code


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes both streams look like a terminal."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "on_terminal", lambda stream: True)


def finding(code: str, severity: str = "error") -> Finding:
    return Finding("a.rq", 1, "", severity, code, "m")  # type: ignore[arg-type]


def test_a_table_in_a_pipe_is_tab_separated_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(["a", "b"], [["x" * 500, None], ["with\ttab\nand line", 2]])
    out, err = capsys.readouterr()
    assert out.splitlines() == ["a\tb", "x" * 500 + "\t", "with tab and line\t2"]
    assert err == ""


def test_a_table_on_a_terminal_is_drawn(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(["name"], [["[bold]not markup[/bold]"]])
    out = capsys.readouterr().out
    assert "[bold]not markup[/bold]" in out and "─" in out


def test_a_table_on_a_terminal_shortens_iris(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.prefixes = {"ex": "https://example.org/", "": "https://example.org/mine/"}
    output.table(["iri"], [["https://example.org/a"], ["https://example.org/a?b"], ["https://example.com/c"]])
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert shown[2:] == ["ex:a", "https://example.org/a?b", "https://example.com/c"]


def test_colour_on_a_terminal_only(
    terminal: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Output().text("good", "green")
    assert "\x1b[32m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    Output().text("good", "green")
    Output().table(["name"], [["value"]])
    assert "\x1b" not in capsys.readouterr().out


def test_an_error_has_colour_on_a_terminal_and_no_controls_of_its_text(
    terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Output().error(NotFound("no \x1b[2J \u202e thing", hint="look\x07"))
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "\x1b[31merror:\x1b[0m no \ufffd[2J \ufffd thing"
    assert hint == "\x1b[33mhint:\x1b[0m look\ufffd"


def test_no_colour_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.text("good", "green")
    output.note("bad", "red")
    output.findings([finding("name-duplicate")])
    output.progress("reading", 1, 2)
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert out == "good\n" and "reading" not in err


def test_progress_is_redrawn_and_cleared(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.progress("reading", 1, 1000)
    output.text("done")
    out, err = capsys.readouterr()
    assert err == "\r\x1b[Kreading 1/1,000\r\x1b[K"
    assert out == "done\n"


def test_no_progress_with_json(terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).progress("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_documents_hold_what_json_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    Output().document({"a": Decimal("1.5"), "b": Decimal("2"), "c": Path("x/y"), "d": "é"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": 1.5, "b": 2, "c": "x/y", "d": "é"}
    Output().document_line({"a": [1, {"b": "x\ny"}]})
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_findings_are_ordered_by_place(capsys: pytest.CaptureFixture[str]) -> None:
    places = [("b.rq", 1), ("a.rq", 10), ("a.rq", 9)]
    Output().findings([Finding(p, n, "", "error", "x-y", "m") for p, n in places], as_data=True)
    out = capsys.readouterr().out
    assert [line.split(": ")[0] for line in out.splitlines()] == ["a.rq:9", "a.rq:10", "b.rq:1"]


@given(st.text())
def test_printable_keeps_everything_but_controls(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        control = ord(before) < 32 or 127 <= ord(before) < 160 or before in "\u202a\u202b\u202c\u202d\u202e"
        control = control or "\u2066" <= before <= "\u2069"
        assert after == before if not control or before in "\n\t" else after == "\N{REPLACEMENT CHARACTER}"


def test_plural() -> None:
    assert [plural(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]


@pytest.mark.parametrize(
    ("codes", "strict", "expected"),
    [
        ([], False, 0),
        ([finding("name-duplicate")], False, 1),
        ([finding("name-duplicate"), finding("yaml-syntax")], False, 3),
        ([finding("file-encoding")], False, 3),
        ([finding("key-unknown", "warning")], False, 0),
        ([finding("key-unknown", "warning")], True, 1),
    ],
)
def test_unreadable_input_wins_over_findings(codes: list[Finding], strict: bool, expected: int) -> None:
    assert exit_code(codes, strict=strict) == expected
