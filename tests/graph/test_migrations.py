from __future__ import annotations

from pathlib import Path

import pytest

from abi.errors import StoreError
from abi.graph.migrations import CURRENT_SCHEMA, MIGRATIONS, Migration, migrate
from abi.graph.oxigraph import OxigraphStore
from abi.graph.store import BOOKKEEPING, SCHEMA_VERSION

STEPS = [
    Migration(
        2,
        "p becomes q",
        "WITH <urn:g> DELETE { ?s <urn:p> ?o } INSERT { ?s <urn:q> ?o } WHERE { ?s <urn:p> ?o }",
    ),
    Migration(3, "mark", "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:r> 1 } } ;"),
]


def test_the_shipped_steps_have_no_gap() -> None:
    assert [m.to for m in MIGRATIONS] == list(range(2, CURRENT_SCHEMA + 1))


def test_a_new_store_is_stamped() -> None:
    assert OxigraphStore.memory().schema_version() == CURRENT_SCHEMA


def test_an_old_store_is_brought_up_to_date() -> None:
    store = OxigraphStore.memory()
    store.update("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 'kept' } }")
    assert migrate(store, STEPS) == STEPS
    assert store.schema_version() == 3
    assert store.query("ASK { <urn:a> <urn:q> 'kept' ; <urn:r> 1 }").boolean
    assert migrate(store, STEPS) == []


def test_only_what_is_missing_runs() -> None:
    store = OxigraphStore.memory()
    assert migrate(store, STEPS[:1]) == STEPS[:1]
    assert migrate(store, STEPS) == STEPS[1:]


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "g", create=True) as store:
        store.update(
            f"DELETE WHERE {{ GRAPH <{BOOKKEEPING}> {{ ?s <{SCHEMA_VERSION}> ?n }} }} ;"
            f"INSERT DATA {{ GRAPH <{BOOKKEEPING}> {{ <{BOOKKEEPING}> <{SCHEMA_VERSION}> 99 }} }}"
        )
    for read_only in (False, True):
        with pytest.raises(StoreError, match="schema 99"):
            OxigraphStore.open(tmp_path / "g", read_only=read_only)


def test_a_reader_does_not_migrate(tmp_path: Path) -> None:
    OxigraphStore.open(tmp_path / "g", create=True).close()
    with OxigraphStore.open(tmp_path / "g", read_only=True) as store, pytest.raises(StoreError, match="older"):
        migrate(store, STEPS)
