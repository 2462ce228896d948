"""Conversations that survive a restart: LangGraph's SQLite checkpointer, one row a thread and turn."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["KEPT", "close_memory", "drop_older", "open_memory"]

KEPT = 5
"""Checkpoints kept of a thread: the last is what a turn reads, the others are for a look back."""

_log = logging.getLogger("abi")


def open_memory(path: Path | None) -> BaseCheckpointSaver[Any]:
    """The checkpointer over the SQLite file at `path`; in memory where there is none or it cannot be written.

    Falling back is said in a warning of the log, since such conversations end with the process.
    """
    if path is not None:
        try:
            return _sqlite(path)
        except (OSError, sqlite3.Error) as error:
            _log.warning("Conversations are kept in memory only: %s cannot be written (%s).", path, error)
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


def _sqlite(path: Path) -> BaseCheckpointSaver[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, check_same_thread=False, timeout=5.0)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        saver = SqliteSaver(connection)
        saver.setup()
    except sqlite3.Error:
        connection.close()
        raise
    return saver


def drop_older(saver: BaseCheckpointSaver[Any], thread_id: str) -> None:
    """Keep the last `KEPT` checkpoints of a thread, as each holds the whole conversation."""
    connection = getattr(saver, "conn", None)
    if not isinstance(connection, sqlite3.Connection):
        return
    with saver.lock:  # type: ignore[attr-defined]
        cursor = connection.execute(
            "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' "
            "ORDER BY checkpoint_id DESC LIMIT 1 OFFSET ?",
            (thread_id, KEPT - 1),
        )
        oldest = cursor.fetchone()
        if oldest is not None:
            for table in ("checkpoints", "writes"):
                connection.execute(
                    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id < ?",  # noqa: S608
                    (thread_id, oldest[0]),
                )
        connection.commit()


def close_memory(saver: BaseCheckpointSaver[Any]) -> None:
    connection = getattr(saver, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        connection.close()
