"""Conversations in PostgreSQL, shared by every process that names the same database."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from abi.agents.memory import KEPT, Memory
from abi.errors import StoreError, Unsupported

__all__ = ["PostgresMemory"]

_CONNECT_SECONDS = 5
_WAIT_SECONDS = 10.0
"""For a free connection, or for a server that comes back."""
_CONNECTIONS = 10
_SETUP_LOCK = 0x616269
"""Held while the tables are made, so that processes that start together do not make them twice."""


class PostgresMemory(Memory):
    """A pool of connections, each tried before it is used. The tables are made on first use.

    Raises Unsupported without the driver, StoreError where the server cannot be reached.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
            from langgraph.checkpoint.postgres import PostgresSaver
            from psycopg.rows import dict_row
            from psycopg_pool import ConnectionPool
        except ImportError:
            raise Unsupported(
                "POSTGRES_URL is set, and PostgreSQL's driver is not installed.",
                hint="pip install 'abi-graph[postgres]', or unset POSTGRES_URL.",
            ) from None
        self.lost = (psycopg.Error,)
        options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        try:
            made: Any = psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, **options)
            with made as connection:
                # Tried again and again, not waited for: indexes are made while no other transaction is open.
                while not connection.execute("SELECT pg_try_advisory_lock(%s) AS got", (_SETUP_LOCK,)).fetchone()[
                    "got"
                ]:
                    time.sleep(0.1)
                PostgresSaver(connection).setup()
        except psycopg.Error as error:
            raise StoreError(
                f"Conversations cannot be kept: PostgreSQL at {_place(url)} does not take them: {_line(error)}",
                hint="Start the server or mend POSTGRES_URL; without it a SQLite file keeps them.",
            ) from None
        self._pool: ConnectionPool[Any] = ConnectionPool(
            url,
            kwargs={**options, "connect_timeout": _CONNECT_SECONDS},
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_WAIT_SECONDS,
            check=ConnectionPool.check_connection,
            open=True,
        )
        saver = PostgresSaver(self._pool)
        # Its lock is for one connection; here each use has one of its own.
        saver.lock = nullcontext()  # type: ignore[assignment]
        self._turns = _AdvisoryLocks(lambda: psycopg.connect(url, connect_timeout=_CONNECT_SECONDS, autocommit=True))
        super().__init__(saver, self._turns)

    def thread_keys(self) -> list[str]:
        with self._pool.connection() as connection:
            rows = connection.execute(
                "SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id "
                "ORDER BY max(checkpoint_id) DESC"
            ).fetchall()
        return [row["thread_id"] for row in rows]

    def drop_older(self, key: str, turn: int) -> None:
        if turn % KEPT == 0:
            self.saver.prune([key], strategy="keep_latest")

    def close(self) -> None:
        self._turns.close()
        self._pool.close()


class _AdvisoryLocks:
    """Locks between all processes of one database: advisory locks of one session, which ends with the process.

    A session may take a lock twice, so that its own are remembered here. A pooler between must keep sessions.
    """

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._connection: Any = None
        self._own: set[str] = set()
        self._guard = threading.Lock()

    def take(self, key: str) -> Callable[[], None] | None:
        with self._guard:
            if key in self._own or not self._ask("SELECT pg_try_advisory_lock(%s)", key, again=True):
                return None
            self._own.add(key)
        return lambda: self._release(key)

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _release(self, key: str) -> None:
        from psycopg import Error

        with self._guard:
            self._own.discard(key)
            if self._connection is not None:
                with suppress(Error):  # a session that is lost holds nothing any more
                    self._ask("SELECT pg_advisory_unlock(%s)", key, again=False)

    def _ask(self, query: str, key: str, *, again: bool) -> bool:
        from psycopg import Error

        if self._connection is None:
            self._connection = self._connect()
            again = False
        number = int.from_bytes(
            hashlib.sha256(b"abi turn " + key.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True
        )
        try:
            return bool(self._connection.execute(query, (number,)).fetchone()[0])
        except Error:
            self._connection.close()
            self._connection = None
            if not again:
                raise
        return self._ask(query, key, again=False)


def _place(url: str) -> str:
    """Host and port of an address, without what is secret in it."""
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
    except Exception:  # the address itself cannot be read
        return "the address given"
    return f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
