"""Running commands as the shell would, in this process."""

from __future__ import annotations

import io
import json
import shutil
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


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workspace, made and indexed by the commands themselves; never written to."""
    root = tmp_path_factory.mktemp("cli") / "small"
    assert main(["init", str(root), "--base-iri", "https://example.org/small/"]) == 0
    for kind, name in ADDED.items():
        assert main(["-C", str(root), "add", kind, name]) == 0
    (root / "graph" / "fruit.ttl").write_text(FRUIT, encoding="utf-8")
    assert main(["-C", str(root), "index"]) == 0
    return root


@pytest.fixture
def workspace(indexed: Path, tmp_path: Path, run: Run) -> Path:
    """A copy of the small workspace, to do with as the test likes; trusted, as what `abi init` makes is."""
    root = tmp_path / "small"
    shutil.copytree(indexed, root)
    assert run("trust", root).code == 0
    return root


ADDED = {
    "sparql_query": "fruit_called",
    "python_function": "times",
    "raw_prompt": "house_rules",
    "jinja_prompt": "greeting",
    "agent": "guide",
    "intent": "ask_about",
}

FRUIT = """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix ex: <https://example.org/small/schema#> .

ex:Fruit a owl:Class ; rdfs:label "fruit"@en .
<https://example.org/small/apple> a ex:Fruit, owl:NamedIndividual ; rdfs:label "apple" .
<https://example.org/small/pear> a ex:Fruit, owl:NamedIndividual ; rdfs:label "pear" .
"""
