"""What a shell is told when somebody presses TAB."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_abi_itself(shell: str, run: Run) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert f"_ABI_COMPLETE=complete_{shell}" in done.out


def test_bash_takes_the_script(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "abi.bash"
    script.write_text(run("completion", "bash").out)
    assert shutil.which("bash")
    subprocess.run(["bash", "-n", script], check=True)


def test_an_unknown_shell_is_a_usage_error(run: Run) -> None:
    assert run("completion", "cmd").code == 2


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("s", {"sparql", "show", "status", "settings"}),
        ("find ", {"tools", "prompts", "agents", "intents", "records", "entities"}),
        ("add ", {"agent", "intent", "jinja_prompt", "python_function", "raw_prompt", "sparql_query"}),
        ("index --r", {"--restore"}),
        ("show ", {"fruit_called", "greeting", "guide"}),
        ("run gr", {"greeting"}),
        ("chat ", {"guide"}),
    ],
)
def test_bash_completes(
    typed: str, expected: set[str], run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = typed.split(" ")
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("COMP_WORDS", f"abi {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    monkeypatch.setenv("_ABI_COMPLETE", "complete_bash")
    assert expected <= set(run().out.split())


def test_outside_of_a_workspace_there_are_no_names(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMP_WORDS", "abi show ")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_ABI_COMPLETE", "complete_bash")
    done = run()
    assert (done.out.strip(), done.err) == ("", "")
