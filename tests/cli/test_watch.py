"""Waiting for files to change."""

from __future__ import annotations

from pathlib import Path

from abi.cli import watch


def test_a_change_is_told_once_it_has_come_to_rest(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    changes = watch.changes(tmp_path, seconds=0.01)
    next(changes)
    (tmp_path / "tools" / "a.rq").write_text("x")
    next(changes)
    (tmp_path / "tools" / "a.rq").unlink()
    next(changes)


def test_what_the_index_itself_writes_is_no_change(tmp_path: Path) -> None:
    before = watch.snapshot(tmp_path)
    for folder in (".abi", ".git", "tools/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text("x")
    assert watch.snapshot(tmp_path) == before == {}
