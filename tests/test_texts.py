from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from abi import Workspace
from abi.errors import AbiError, UsageError
from abi.texts import need_whole

HALF = "\ud800"
CALLS: dict[str, Callable[[Workspace], Any]] = {
    "find": lambda ws: ws.find("tools", HALF),
    "find by name": lambda ws: ws.find("tools", name=HALF),
    "where": lambda ws: ws.find("tools", where=f'?record abi:name "{HALF}"'),
    "show": lambda ws: ws.show(HALF),
    "run": lambda ws: ws.run("search_entities", text=HALF),
    "query": lambda ws: ws.query(f'SELECT * WHERE {{ ?s ?p "{HALF}" }}'),
    "sparql": lambda ws: ws.sparql(f'SELECT * WHERE {{ ?s ?p "{HALF}" }}'),
    "similarity": lambda ws: ws.sparql(f'SELECT ?t WHERE {{ ?t a ?c }} ORDER BY abi:similarity(?t, "{HALF}")'),
    "escaped": lambda ws: ws.sparql(r'SELECT ?t WHERE { ?t abi:search "\uD800" }'),
    "update": lambda ws: ws.update(f'INSERT DATA {{ <urn:a> <urn:b> "{HALF}" }}'),
    "thread": lambda ws: ws.agent().invoke("hello", thread_id=HALF),
}


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    root: Path = tmp_path_factory.mktemp("half") / "w"
    Workspace.init(root, base_iri="https://example.org/t/")
    with Workspace.open(root) as workspace:
        workspace.index()
        yield workspace


@pytest.mark.parametrize("name", CALLS)
def test_half_a_character_is_refused_in_words(ws: Workspace, name: str) -> None:
    with pytest.raises(AbiError) as caught:
        CALLS[name](ws)
    assert caught.value.message


def test_a_message_with_half_a_character_is_answered(ws: Workspace) -> None:
    assert ws.agent().invoke(f"hello {HALF}").answer


def test_what_is_named() -> None:
    need_whole("The text", None)
    need_whole("The text", "Köln 🛫")
    with pytest.raises(UsageError, match="The text holds half of a character"):
        need_whole("The text", "a\udfff")
