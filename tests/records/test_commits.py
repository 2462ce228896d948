from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from abi.records.commits import last_commits


def git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_each_tracked_file_has_its_last_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    root = tmp_path / "w"
    root.mkdir()
    commits = {}
    for name in ("a.rq", "é ü.rq", "c.rq"):
        (root / name).write_text(name)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", name)
        commits[name] = git(tmp_path, "rev-parse", "HEAD")
    (root / "a.rq").write_text("changed")
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    commits["a.rq"] = git(tmp_path, "rev-parse", "HEAD")
    (root / "new.rq").write_text("x")
    assert last_commits(root, [*commits, "new.rq", "gone.rq"]) == commits
    assert last_commits(root, []) == {}
    assert last_commits(tmp_path, ["w/c.rq"]) == {"w/c.rq": commits["c.rq"]}


def test_programs_that_a_repository_names_are_not_run(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.rq").write_text("x")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "a")
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o755)
    for key, value in {
        "core.fsmonitor": script,
        "log.showSignature": "true",
        "gpg.program": script,
        "core.pager": script,
    }.items():
        git(tmp_path, "config", key, str(value))
    assert last_commits(tmp_path, ["a.rq"]).keys() == {"a.rq"}
    assert not (tmp_path / "ran").exists()


def test_without_git_and_outside_a_repository_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert last_commits(tmp_path, ["a.rq"]) == {}
    monkeypatch.setenv("PATH", "")
    assert last_commits(tmp_path, ["a.rq"]) == {}
