"""Running commands as the shell would, in this process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from abi.cli.main import main

Run = Callable[..., "Done"]


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; anything else beside it is a ValueError."""
        return json.loads(self.out)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("ls", "tools", stdin="...")`: the exit code and what the command wrote to its two streams."""

    def call(*arguments: str | Path, stdin: str = "") -> Done:
        capfd.readouterr()
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call
