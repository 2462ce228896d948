"""Turns of agents for callers on the network: each in a thread, ended as soon as nobody listens.

What ends with it: the model and the tools are given up (`stop`), and the query that a tool waits for is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from abi.graph.cancelling import ended_by
from abi.graph.pool import Cancel
from abi.server.leaving import light

if TYPE_CHECKING:
    from abi.agents.agent import TurnOptions
    from abi.agents.turn import Event, TurnResult
    from abi.keys import Principal
    from abi.workspace import Workspace

__all__ = ["Turns", "owner_of"]

_AT_WORK = 8


def owner_of(principal: Principal) -> str | None:
    """Whose the threads of this caller are.

    None for programs of whoever runs the server: theirs are the conversations that were held without a server.
    """
    return None if principal.name == "local" else principal.name


class Turns:
    """Conversations with the agents of a workspace. `most`: turns at one time; more wait."""

    def __init__(self, workspace: Workspace, most: int) -> None:
        self._workspace = workspace
        self._threads = ThreadPoolExecutor(most, "abi-turn")
        self._here = threading.BoundedSemaphore(_AT_WORK)

    async def stream(
        self,
        principal: Principal,
        agent: str | None,
        text: str,
        thread_id: str | None = None,
        *,
        model: str | None = None,
        write: bool = False,
    ) -> AsyncIterator[Event | TurnResult]:
        """Events of a turn as they happen, its TurnResult last. Closing the iterator, or cancelling whoever waits for
        it, ends the turn.

        `write`: agents that may write can propose changes, which an answer approves; it has no effect for a caller
        without the role writer. Raises NotFound, UsageError and whatever a turn can raise.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event | TurnResult | BaseException | None] = asyncio.Queue()
        stop, cancel = threading.Event(), Cancel()

        def put(item: Event | TurnResult | BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and its listeners with it
                loop.call_soon_threadsafe(queue.put_nowait, item)

        options = self._options(principal, model, write, stop)

        def pump() -> None:
            last: BaseException | None = None

            def tell() -> None:
                with ended_by(cancel), self._lane(agent, model):
                    for item in self._workspace.chat_stream(text, agent=agent, thread_id=thread_id, **options):
                        put(item)

            try:
                light(tell)()
            except Exception as error:
                last = error
            put(last)

        work = self._threads.submit(pump)
        try:
            while True:
                item = await queue.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    return
                yield item
        finally:
            # Also where the turn is done: then there is nothing left to end.
            stop.set()
            cancel()
            work.cancel()

    async def answer(
        self,
        principal: Principal,
        agent: str | None,
        text: str,
        thread_id: str | None = None,
        *,
        model: str | None = None,
        write: bool = False,
    ) -> TurnResult:
        """The result of a turn alone; besides as `stream`. Cancelling it ends the turn."""
        stop, cancel = threading.Event(), Cancel()
        options = self._options(principal, model, write, stop)

        def work() -> TurnResult:
            with ended_by(cancel), self._lane(agent, model):
                return self._workspace.chat(text, agent=agent, thread_id=thread_id, **options)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, light(work))
        finally:
            stop.set()
            cancel()

    @contextlib.contextmanager
    def _lane(self, agent: str | None, model: str | None) -> Iterator[None]:
        """Turns of the offline model are this process's own work: a few at a time, as more would take each longer.
        Others wait for their model most of the time, and for nobody here."""
        with self._here:
            name = model or self._workspace.agent(agent).definition.model or self._workspace.settings.model
            if name.startswith("offline:"):
                yield
                return
        yield

    def _options(self, principal: Principal, model: str | None, write: bool, stop: threading.Event) -> TurnOptions:
        may_write = write and principal.may("writer")
        return {"model": model, "principal": owner_of(principal), "may_write": may_write, "stop": stop}

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
