"""`abi publish`, `versions`, `diff`, and `--version` of the commands that look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.fixture
def published(workspace: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a version, after which one record was changed, one added and one removed."""
    monkeypatch.chdir(workspace)
    version = run("publish", "-m", "as made", "--json").document["version"]
    rules = workspace / "prompts" / "house_rules.prompt"
    rules.write_text(rules.read_text().replace("Answer from the graph only.", "Answer.\nBriefly."))
    (workspace / "agents" / "ask_about.yaml").unlink()
    assert run("add", "raw_prompt", "more").code == 0
    assert run("index").code == 0
    return str(version)


def test_publish_tells_what_it_wrote_and_when_nothing_is_new(workspace: Path, run: Run) -> None:
    first = run("-C", workspace, "publish", "-m", "one")
    assert first.code == 0 and len(first.out.strip()) == 16
    assert "records" in first.err and ".abi/versions" in first.err
    again = run("-C", workspace, "publish", "-m", "two")
    assert (again.code, again.out) == (0, first.out)
    assert "published already" in again.err
    (row,) = run("-C", workspace, "versions", "--json").document["versions"]
    assert (row["version"], row["message"], row["dirty"]) == (first.out.strip(), "one", None)


def test_versions_of_none(workspace: Path, run: Run) -> None:
    done = run("-C", workspace, "versions")
    assert (done.code, done.out) == (0, "") and "abi publish" in done.err
    assert run("-C", workspace, "versions", "--json").document == {"versions": []}


def test_a_graph_behind_its_files_is_refused_by_name(workspace: Path, run: Run) -> None:
    (workspace / "tools" / "times.py").write_text("from abi import tool\n")
    done = run("-C", workspace, "publish")
    assert done.code == 1 and done.out == ""
    assert "tools/times.py" in done.err and "--allow-dirty" in done.err


def test_diff_for_people(published: str, run: Run) -> None:
    done = run("diff", "latest")
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert "+ raw_prompt more" in lines
    assert "- intent ask_about" in lines
    at = lines.index("~ raw_prompt house_rules")
    assert lines[at + 1] == "  text:"
    assert {
        "    +Answer.",
        "    +Briefly. Name what you found by its label, and say plainly when there is nothing.",
    } < set(lines)


def test_diff_as_a_document(published: str, run: Run) -> None:
    document = run("diff", published, "--json").document
    assert document.keys() >= {"added", "removed", "changed"}
    (changed,) = document["changed"]
    assert (changed["name"], changed["kind"], list(changed["fields"])) == ("house_rules", "raw_prompt", ["text"])
    same = run("diff", published, "latest")
    assert (same.code, same.out) == (0, "") and "No difference" in same.err


def test_looking_at_a_version(published: str, run: Run) -> None:
    at = ("--version", published[:8])
    assert "from the graph only" in run("show", "house_rules", "--json", *at).document["text"]
    assert run("find", "--name", "ask_about", *at).code == 0
    assert run("find", "--name", "ask_about").code == 1
    assert "from the graph only" in run("run", "house_rules", *at).out
    assert run("run", "times", "--arg", "first=3", "--json", *at).document["result"] == 3
    assert (
        "from the graph only"
        in run("export", "--source", "prompts/house_rules.prompt", "-o", "-", "--format", "nt", *at).out
    )


def test_no_such_version(published: str, run: Run) -> None:
    for command in (["show", "guide"], ["find", "guide"], ["run", "house_rules"], ["export"]):
        done = run(*command, "--version", "0123456789")
        assert done.code == 1 and "no version" in done.err
    assert run("diff", "zzz").code == 2


def test_export_of_a_version_never_writes_back_to_a_file(published: str, run: Run, workspace: Path) -> None:
    before = (workspace / "prompts" / "house_rules.prompt").read_text()
    done = run("export", "--source", "prompts/house_rules.prompt", "--version", published)
    assert done.code == 2
    assert (workspace / "prompts" / "house_rules.prompt").read_text() == before
