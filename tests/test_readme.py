"""The README is executed: its files written, its commands run in order, their output compared with what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
_FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _matches(printed: str, expected: str) -> bool:
    """`...` stands for anything, as in doctest."""
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def _commands(block: str) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in found]


@pytest.mark.timeout(600)
def test_what_the_readme_shows_is_what_happens(tmp_path: Path) -> None:
    scripts = tmp_path / "bin"
    scripts.mkdir()
    launcher = scripts / "abi"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m abi.cli.main "$@"\n')
    launcher.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "ABI_CONFIG_DIR": str(tmp_path / "config"),
        "PYTHONPATH": str(README.parent),
        "NO_COLOR": "1",
    }

    def run(command: str, folder: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
        # A turn's answer goes to stdout, the work behind it to stderr; the README shows what a pipe would get.
        return done.stdout

    folder = tmp_path
    for language, file, block in _FENCE.findall(README.read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(block, encoding="utf-8")
        elif language == "sh":
            # What installs and what runs the tests has happened, or this would not run; the demo has not.
            for command in re.findall(r"abi demo", block):
                run(command, folder)
        elif language == "console":
            for command, expected in _commands(block):
                if command.startswith("cd "):
                    folder = folder / command[3:]
                    continue
                printed = run(command, folder)
                assert _matches(printed, expected), f"$ {command}\n{printed}\nis not what README says:\n{expected}"
        elif language == "python":
            script = tmp_path / "example.py"
            script.write_text(block, encoding="utf-8")
            run(f'"{sys.executable}" "{script}"', folder)
