from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def talked(workspace: Path, run: Run) -> Path:
    for thread in ("one", "two"):
        assert run("-C", workspace, "chat", "guide", "-m", "thank you", "--thread", thread).code == 0
    return workspace


def test_none_yet(workspace: Path, run: Run) -> None:
    done = run("-C", workspace, "threads")
    assert (done.code, done.out) == (0, "")
    assert "no conversations yet" in done.err


def test_the_list(talked: Path, run: Run) -> None:
    lines = run("-C", talked, "threads").out.splitlines()
    assert lines[0].split("\t") == ["thread_id", "principal", "agent", "turns", "updated", "title"]
    assert [line.split("\t")[0] for line in lines[1:]] == ["two", "one"]
    found = run("-C", talked, "threads", "list", "--limit", "1", "--json").document["threads"]
    assert [(t["thread_id"], t["turns"], t["title"]) for t in found] == [("two", 1, "thank you")]


def test_one_is_shown(talked: Path, run: Run) -> None:
    assert run("-C", talked, "threads", "show", "one").out.startswith("> thank you\n")
    document = run("-C", talked, "threads", "show", "one", "--json").document
    assert [m["role"] for m in document["messages"]] == ["user", "assistant"]


def test_export_is_one_document_a_line(talked: Path, run: Run) -> None:
    lines = run("-C", talked, "threads", "export").out.splitlines()
    assert [json.loads(line)["thread_id"] for line in lines] == ["two", "one"]


def test_delete_and_prune(talked: Path, run: Run) -> None:
    assert run("-C", talked, "threads", "prune", "--json").document == {"deleted": []}
    assert "Deleted 1 conversation." in run("-C", talked, "threads", "delete", "one").err
    assert run("-C", talked, "threads", "delete", "one").code == 1
    assert run("-C", talked, "threads", "prune", "--days", "0", "--json").document == {"deleted": ["two"]}


@pytest.mark.parametrize("words", [["burn"], ["show"], ["list", "one"], ["delete"]])
def test_calls_that_are_wrong(workspace: Path, run: Run, words: list[str]) -> None:
    assert run("-C", workspace, "threads", *words).code == 2
