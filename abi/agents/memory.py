"""Where conversations are kept: PostgreSQL where `POSTGRES_URL` says so, else a SQLite file, else this process only.

Each is a LangGraph checkpointer and what abi needs beside it: which threads there are, and letting go of old states.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.agents.thread_locks import Locks, ProcessLocks

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["KEPT", "Memory", "open_memory"]

KEPT = 5
"""Checkpoints kept of a thread: the last is what a turn reads, the others are for a look back."""

_log = logging.getLogger("abi")


class Memory:
    """Conversations in this process, until it ends; the base of the others."""

    lost: tuple[type[Exception], ...] = ()
    """What is raised where the place that keeps conversations cannot be reached."""

    def __init__(self, saver: BaseCheckpointSaver[Any], locks: Locks | None = None) -> None:
        self.saver = saver
        self.locks: Locks = locks or ProcessLocks()
        """Among all that keep conversations in the same place: one turn of a thread at a time."""

    def thread_keys(self) -> list[str]:
        """The keys of all threads, the one that spoke last first."""
        last: dict[str, str] = {}
        for found in self.saver.list(None):
            at = found.config["configurable"]
            last[at["thread_id"]] = max(last.get(at["thread_id"], ""), str(at["checkpoint_id"]))
        return sorted(last, key=lambda key: last[key], reverse=True)

    def interrupted(self, key: str) -> bool:
        """Whether the last state of a thread may wait for what a person says; False only where it surely does not."""
        return True

    def drop_older(self, key: str, turn: int) -> None:
        """Let go of what a thread kept of its older turns, as each state holds the whole conversation."""

    def delete(self, key: str) -> None:
        self.saver.delete_thread(key)

    def close(self) -> None:
        """Let go of files and connections."""


def open_memory(path: Path | None, url: str | None = None) -> Memory:
    """The memory behind `url` (postgresql://...), else that in the SQLite file at `path`, else one in this process.

    Raises StoreError where the server behind `url` cannot be reached, Unsupported without its driver. Where the file
    cannot be written a warning of the log says that conversations end with the process.
    """
    if url:
        from abi.agents.memory_postgres import PostgresMemory

        return PostgresMemory(url)
    if path is not None:
        from abi.agents.memory_sqlite import SqliteMemory

        try:
            return SqliteMemory(path)
        except (OSError, sqlite3.Error) as error:
            _log.warning("Conversations are kept in memory only: %s cannot be written (%s).", path, error)
    from langgraph.checkpoint.memory import InMemorySaver

    return Memory(InMemorySaver())
