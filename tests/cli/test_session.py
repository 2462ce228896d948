"""Paths and texts as they are given on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from abi.cli.session import Session
from abi.errors import Unreadable


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session([])


def test_a_path_is_of_here_or_else_of_the_workspace(session: Session, tmp_path: Path) -> None:
    session.directory = tmp_path / "ws"
    (tmp_path / "ws").mkdir()
    (tmp_path / "here.ttl").touch()
    assert session.path(Path("here.ttl")) == tmp_path / "here.ttl"
    assert session.path(Path("there.ttl")) == tmp_path / "ws" / "there.ttl"
    assert session.paths(None) == []


@pytest.mark.parametrize("text", ["SELECT ?s WHERE { ?s ?p ?o }", "DESCRIBE <x>", "CLEAR ALL", "# only\n# text"])
def test_a_text_is_taken_as_it_is(session: Session, text: str) -> None:
    assert session.text_of(text, "the query") == text


def test_a_file_is_read_without_its_byte_order_mark(session: Session, tmp_path: Path) -> None:
    (tmp_path / "my query.rq").write_bytes(b"\xef\xbb\xbfASK {}")
    assert session.text_of("my query.rq", "the query") == "ASK {}"


def test_stdin(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("ASK {}"))
    assert session.text_of("-", "the query") == "ASK {}"


def test_a_missing_or_unreadable_file_is_told(session: Session, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"no file missing\.rq"):
        session.text_of("missing.rq", "the query")
    (tmp_path / "latin.rq").write_bytes(b"ASK { ?\xe9 }")
    with pytest.raises(Unreadable, match=r"latin\.rq cannot be read"):
        session.text_of("latin.rq", "the query")
