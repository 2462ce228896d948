"""What all routes of one server share: the workspace, its keys, threads to work in, and who has written when."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from abi.errors import StoreError
from abi.graph.cancelling import ended_by
from abi.graph.pool import Cancel
from abi.keys import Keys, Principal
from abi.server.leaving import light
from abi.server.served_catalog import ServedCatalog
from abi.server.turns import Turns, owner_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from abi.tools.runner import ToolResult
    from abi.workspace import Workspace

__all__ = ["Gone", "Service", "service_of"]

_T = TypeVar("_T")
_AT_WORK = 4
_SOON = 0.05
"""Seconds after which it is worth looking whether the client is still there."""


class Gone(StoreError):
    """The client has left; nobody reads this."""


class Service:
    def __init__(self, workspace: Workspace, keys: Keys) -> None:
        self.workspace = workspace
        self.settings = workspace.settings
        self.prefixes = workspace.settings.all_prefixes()
        self.keys = keys
        self.started = time.time()
        pool = workspace.pool
        # Each query blocks a thread while a process works; the pool's own limits come first.
        self._threads = ThreadPoolExecutor(pool.size + pool.long + self.settings.query_queue + 8, "abi-server")
        # What needs this process itself is done by a few at a time: more would only wait for each other's turn at it.
        self._quick = ThreadPoolExecutor(_AT_WORK, "abi-work")
        self._written: dict[str, float] = {}
        self.catalog = ServedCatalog(workspace)
        self.turns = Turns(workspace, self.settings.server_requests)

    @property
    def default_graph(self) -> str:
        """What SPARQL's protocols call the default graph of the store, for writing: here it has a name."""
        return f"{self.settings.base_iri}default"

    def wrote(self, client: str) -> None:
        """From now on this client's queries see what it has written."""
        now = time.monotonic()
        old = now - 2 * self.settings.query_staleness
        if len(self._written) > 1_000:
            self._written = {c: t for c, t in self._written.items() if t > old}
        self._written[client] = now

    def since(self, client: str) -> float:
        """When this client wrote last, by the monotonic clock."""
        return self._written.get(client, 0.0)

    async def run(self, request: Request, work: Callable[[], _T], cancel: Cancel | None = None) -> _T:
        """Work in a thread. Where the client leaves before it is done, `cancel` is called and Gone raised."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, light(work))
        if cancel is None:
            return await future
        done, _ = await asyncio.wait({future}, timeout=_SOON)
        if done:
            return future.result()
        left = asyncio.ensure_future(_left(request))
        try:
            waited: set[asyncio.Future[Any]] = {future, left}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
            cancel()
            with contextlib.suppress(Exception):
                await future
            raise Gone("The client left.")
        except asyncio.CancelledError:
            cancel()
            raise
        finally:
            left.cancel()

    async def while_heard(self, request: Request, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for `work`; where the client leaves before it is done, cancel it and raise Gone."""
        task, left = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
        try:
            waited: set[asyncio.Future[Any]] = {task, left}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Gone("The client left.")
            return task.result()
        finally:
            left.cancel()
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def work(self, work: Callable[[], _T]) -> _T:
        """Short work of this process in a thread: look-ups, searches."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, light(work))

    async def long_work(self, work: Callable[[], _T]) -> _T:
        """Work that may take seconds, or that waits for others, in a thread: changes, exports."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, light(work))

    def call(
        self, principal: Principal, name: str, arguments: dict[str, Any], cancel: Cancel | None = None
    ) -> ToolResult:
        """Call a tool or render a prompt for a caller; its queries end when `cancel` is called. To be run in a thread.

        Raises NotFound, ArgumentError, ToolFailed, Untrusted, QueryTimeout.
        """
        with ended_by(cancel or Cancel()):
            return self.workspace.run_report(
                name, arguments, principal=owner_of(principal), may_write=principal.may("writer")
            )

    def close(self) -> None:
        self.turns.close()
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def service_of(request: Request) -> Service:
    service: Any = request.app.state.service
    assert isinstance(service, Service)
    return service
