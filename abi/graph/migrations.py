"""The layout of the triples that abi keeps, numbered, and the way from each number to the next.

A store carries its number. A writer brings an older store up to date when it opens it, each step in one update; a
newer store is refused, because an older abi would misread it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from abi.errors import StoreError
from abi.graph.store import BOOKKEEPING, SCHEMA_VERSION

__all__ = ["CURRENT_SCHEMA", "MIGRATIONS", "Migration", "migrate"]


@dataclass(frozen=True, slots=True)
class Migration:
    """Brings a store from schema `to - 1` to schema `to`. `update` is one or more SPARQL Update operations."""

    to: int
    title: str
    update: str


MIGRATIONS: tuple[Migration, ...] = ()
"""In order of `to`, without gaps, from 2 on. The ways of yesterday's stores: none is ever altered or taken out."""

CURRENT_SCHEMA = 1 + len(MIGRATIONS)


class _Migratable(Protocol):
    read_only: bool

    def schema_version(self) -> int: ...
    def update(self, text: str) -> None: ...


def migrate(store: _Migratable, migrations: Sequence[Migration] = MIGRATIONS) -> list[Migration]:
    """Bring the store to the current schema; gives the steps that were made.

    A new store is stamped. Raises StoreError where the store is newer than this abi, or older and open read-only.
    """
    current = 1 + len(migrations)
    found = store.schema_version()
    if found == current:
        return []
    if found > current:
        raise StoreError(
            f"the graph has schema {found}; this abi knows schemas up to {current}",
            hint="Upgrade abi, or delete the graph and run `abi index`.",
        )
    if store.read_only:
        if found == 0:  # a writer has made the folder and not yet stamped it
            return []
        raise StoreError(
            f"the graph has schema {found}, which is older than {current}",
            hint="Run `abi index` once: it brings the graph up to date.",
        )
    steps = [] if found == 0 else [m for m in migrations if m.to > found]
    for step in steps:
        store.update(f"{step.update.rstrip().rstrip(';')} ;\n{_stamp(step.to)}")
    if found == 0:
        store.update(_stamp(current))
    return steps


def _stamp(number: int) -> str:
    where = f"GRAPH <{BOOKKEEPING}> {{ <{BOOKKEEPING}> <{SCHEMA_VERSION}>"
    return f"DELETE WHERE {{ {where} ?old }} }} ;\nINSERT DATA {{ {where} {number} }} }}"
