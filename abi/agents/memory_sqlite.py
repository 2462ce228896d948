"""Conversations in a SQLite file: the default, for one machine."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.checkpoint.sqlite import SqliteSaver

from abi.agents.memory import KEPT, Memory
from abi.agents.thread_locks import FileLocks

__all__ = ["SqliteMemory"]


class SqliteMemory(Memory):
    """One connection, shared by the threads of this process; other processes may use the file at the same time."""

    lost = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, check_same_thread=False, timeout=5.0)
        try:
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            saver = SqliteSaver(self._connection)
            saver.setup()
        except sqlite3.Error:
            self._connection.close()
            raise
        super().__init__(saver, FileLocks(path.with_name(f"{path.name}-turns")))
        self._lock = saver.lock

    def thread_keys(self) -> list[str]:
        with self._lock:
            rows = self._connection.execute(
                "SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id "
                "ORDER BY max(checkpoint_id) DESC"
            ).fetchall()
        return [key for (key,) in rows]

    def interrupted(self, key: str) -> bool:
        with self._lock:
            found = self._connection.execute(
                "SELECT EXISTS (SELECT 1 FROM writes "
                "WHERE thread_id = :key AND checkpoint_ns = '' AND channel = :channel "
                "AND checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = :key "
                "AND checkpoint_ns = ''))",
                {"key": key, "channel": INTERRUPT},
            )
            return bool(found.fetchone()[0])

    def drop_older(self, key: str, turn: int) -> None:
        with self._lock:
            cursor = self._connection.execute(
                "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' "
                "ORDER BY checkpoint_id DESC LIMIT 1 OFFSET ?",
                (key, KEPT - 1),
            )
            oldest = cursor.fetchone()
            if oldest is not None:
                for table in ("checkpoints", "writes"):
                    self._connection.execute(
                        f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id < ?",  # noqa: S608
                        (key, oldest[0]),
                    )
            self._connection.commit()

    def close(self) -> None:
        self._connection.close()
