"""What happens around every command: help, options, errors, exit codes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import abi
from abi.cli import main as module
from abi.cli.main import COMMANDS, group, load
from abi.errors import AbiError, Invalid
from abi.findings import Finding

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Put an exception in, and `abi settings` raises it."""
    raised: list[BaseException] = []

    def command(*_: object, **__: object) -> None:
        raise raised[0]

    monkeypatch.setattr("abi.cli.session.Session.root", command)
    return raised


def test_help_lists_every_command_with_its_first_sentence(run: Run) -> None:
    done = run("--help")
    assert done.code == 0 and done.err == ""
    for name, entry in COMMANDS.items():
        assert entry.summary in done.out
        assert (load(name).help or "").splitlines()[0] == entry.summary
    assert run().out == done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_that_parse(name: str, run: Run) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert "Examples:" in done.out and "--json" in done.out and "-C DIR" in done.out
    examples = sys.modules[f"abi.cli.{name}"].EXAMPLES
    for example in examples:
        assert example in done.out
        words = shlex.split(example, comments=True)
        while words and words[0] != "abi":  # a pipe into abi, or a variable before it
            words = words[1:]
        if not words:  # abi inside another command, as in eval "$(abi completion bash)"
            continue
        ends = [i for i, word in enumerate(words) if word in (">", "|")]
        arguments = words[1 : ends[0] if ends else None]
        if arguments[0] == "-C":
            arguments = arguments[2:]
        assert arguments[0] == name
        with group().make_context("abi", [], resilient_parsing=True) as context:
            from abi.cli.session import Session

            context.obj = Session([])
            load(name).make_context(name, arguments[1:], parent=context)


def test_version_names_abi_the_ontology_and_the_store(run: Run) -> None:
    assert run("--version").out.startswith(f"abi {abi.__version__}, ontology ")
    assert set(run("--json", "--version").document) == {"abi", "ontology", "store"}
    assert run("--json", "--version").document["ontology"] != "unknown"


def test_an_unknown_command_is_a_usage_error_that_suggests(run: Run) -> None:
    done = run("fnd")
    assert done.code == 2 and done.out == ""
    assert "abi find" in done.err


@pytest.mark.parametrize("arguments", [["--nothing"], ["ls", "--nothing"], ["sparql"], ["find", "--limit", "x"]])
def test_a_wrong_call_exits_2_and_leaves_stdout_empty(arguments: list[str], run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2 and done.out == ""
    assert "Usage:" in done.err


def test_outside_of_a_workspace_the_error_says_what_to_do(run: Run, tmp_path: Path) -> None:
    done = run("-C", tmp_path, "ls")
    assert done.code == 1 and done.out == ""
    assert "abi init" in done.err
    assert "Traceback" not in done.err


def test_an_error_is_one_document_on_stderr_with_json(run: Run, tmp_path: Path) -> None:
    done = run("ls", "--json", "-C", tmp_path)
    assert done.out == ""
    import json

    error = json.loads(done.err)["error"]
    assert error["code"] == "not_found"
    assert set(error) == {"code", "message", "details", "hint"}


def test_verbose_adds_the_trace(run: Run, tmp_path: Path) -> None:
    assert "Traceback" in run("-v", "-C", tmp_path, "ls").err


def test_a_fault_of_abi_itself_is_one_line_without_a_trace(run: Run, failing: list[BaseException]) -> None:
    failing.append(KeyError("thing"))
    done = run("settings")
    assert done.code == module.INTERNAL_ERROR_EXIT
    assert "KeyError" in done.err and "-v" in done.err and "Traceback" not in done.err
    assert "Traceback" in run("settings", "-v").err


def test_control_c_exits_130(run: Run, failing: list[BaseException]) -> None:
    failing.append(KeyboardInterrupt())
    done = run("settings")
    assert done.code == 130
    assert "Traceback" not in done.err


def test_invalid_tells_every_finding(run: Run, failing: list[BaseException]) -> None:
    findings = [Finding("a.rq", n, "name", "error", "name-duplicate", f"fault {n}.", "Mend it.") for n in (1, 2)]
    failing.append(Invalid("2 faults.", findings, hint="Mend them."))
    done = run("settings")
    assert done.code == 1
    assert "a.rq:1: error: fault 1. [name] Mend it." in done.err
    assert "a.rq:2" in done.err and "hint: Mend them." in done.err


@pytest.mark.parametrize("error", [AbiError("It \x1b[31mfailed\x07.", hint="Do \x9b this.")])
def test_no_control_character_reaches_the_terminal(run: Run, failing: list[BaseException], error: AbiError) -> None:
    failing.append(error)
    assert not {"\x1b", "\x07", "\x9b"} & set(run("settings").err)


def test_a_closed_pipe_is_quiet() -> None:
    program = f"{shlex.quote(sys.executable)} -m abi.cli.main --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "abi", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("abi ")
    assert subprocess.run([sys.executable, "-m", "abi", "nothing"], capture_output=True, check=False).returncode == 2
