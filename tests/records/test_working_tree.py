from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from abi.records.working_tree import working_tree


def git(root: Path, *arguments: str) -> str:
    given = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(["git", *given], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "in a repository" / "work space"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    (folder / "é.rq").write_text("one")
    (folder / ".abi").mkdir()
    (folder / ".abi" / "made").write_text("made")
    git(folder.parent, "add", "work space/é.rq")
    git(folder.parent, "commit", "-q", "-m", "one")
    return folder


def test_a_clean_tree(root: Path) -> None:
    (root.parent / "outside").write_text("of no concern")
    tree = working_tree(root)
    assert tree is not None and tree.changed == []
    assert tree.commit == git(root, "rev-parse", "HEAD")


def test_changed_new_removed_and_staged_files(root: Path) -> None:
    (root / "tools").mkdir()
    (root / "tools" / "new one.rq").write_text("new")
    (root / "staged.rq").write_text("staged")
    git(root, "add", "staged.rq")
    (root / "é.rq").unlink()
    git(root, "config", "status.relativePaths", "true")
    tree = working_tree(root)
    assert tree is not None and tree.changed == ["staged.rq", "tools/new one.rq", "é.rq"]


def test_ignored_files_are_no_change(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n.gitignore\n")
    (root / "a.log").write_text("noise")
    tree = working_tree(root)
    assert tree is not None and tree.changed == []


def test_no_git_no_repository_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert working_tree(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert working_tree(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert working_tree(tmp_path) is None


def test_a_repository_cannot_name_a_program_to_run(root: Path, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    git(root, "config", "core.fsmonitor", f"touch {witness}")
    assert working_tree(root) is not None
    assert not witness.exists()
