"""The how-to pages: what they tell to write is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PAGES = Path(__file__).parents[1] / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/x/\n")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/a.prompt").write_text("---\nrecord_kind: raw_prompt\nname: a\ndescription: A.\n---\nA.\n")
    (tmp_path / ".gitignore").write_text(".abi/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    return tmp_path


def git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    given = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false", *arguments]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(["git", *given], cwd=root, capture_output=True, text=True, env={**os.environ, "PATH": path})


def test_the_hook_stops_a_faulty_commit_and_no_other(repository: Path) -> None:
    hook, release = blocks("pre-commit.md", "sh")
    path = repository / ".git" / "hooks" / "pre-commit"
    path.write_text(hook)
    path.chmod(0o755)
    done = git(repository, "commit", "-m", "good")
    assert done.returncode == 0, done.stderr
    prompt = repository / "prompts/a.prompt"
    prompt.write_text(prompt.read_text().replace("name: a", "name: two words"))
    git(repository, "add", "-A")
    refused = git(repository, "commit", "-m", "bad")
    assert refused.returncode != 0 and "prompts/a.prompt:" in refused.stdout + refused.stderr
    assert "abi publish" in release


def test_the_release_job_publishes_once(repository: Path) -> None:
    assert git(repository, "commit", "-m", "the first").returncode == 0
    _, release = blocks("pre-commit.md", "sh")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = []
    for _ in range(2):
        done = subprocess.run(
            release, shell=True, cwd=repository, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stderr)
    assert "Nothing is new" not in told[0] and "Nothing is new" in told[1]


def test_the_configuration_is_what_pre_commit_reads() -> None:
    (text,) = blocks("pre-commit.md", "yaml")
    (repo,) = yaml.safe_load(text)["repos"]
    (hook,) = repo["hooks"]
    assert {"id", "name", "entry", "language"} <= hook.keys()
    pattern = re.compile(hook["files"])
    assert pattern.search("tools/a.rq") and pattern.search("abi.yaml") and not pattern.search("README.md")
