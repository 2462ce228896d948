"""Calls of chat models that can be broken off: they run on one event loop, whose tasks can be cancelled at any await.

A synchronous call in a thread cannot be stopped; a cancelled task closes its connection, and the service behind it
stops generating.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from langchain_core.messages import AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.runnables import Runnable

__all__ = ["ModelLoop", "OutOfTime", "Stopped"]

_T = TypeVar("_T")
_LOOK = 0.05
"""Seconds between two looks at whether a call is still wanted."""


class Stopped(Exception):
    """The person has stopped the turn. `text` is what was said until then."""

    def __init__(self, text: str = "") -> None:
        super().__init__("stopped")
        self.text = text


class OutOfTime(Exception):
    """The turn has no time left."""


class ModelLoop:
    """The event loop, in a thread that is started with the first call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def stream(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[BaseMessage],
        *,
        stopped: Callable[[], bool],
        until: float,
        said: Callable[[str], None],
    ) -> BaseMessage:
        """The model's reply; `said` is told each piece of its text as it comes.

        Raises Stopped once `stopped()` is true, OutOfTime at `until` (of `time.monotonic`), and what the model raises.
        """
        pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()

        running: list[asyncio.Task[None]] = []

        async def pump() -> None:
            task = asyncio.current_task()
            assert task is not None
            running.append(task)
            async for piece in model.astream(list(messages)):
                pieces.put(piece)

        future = self._start(pump())
        future.add_done_callback(lambda _: pieces.put(None))
        whole: Any = None
        try:
            for piece in self._pieces(pieces, stopped, until):
                whole = piece if whole is None else whole + piece
                text = _text(piece)
                if text:
                    said(text)
        except Stopped:
            self._start(_break_off(running))
            raise Stopped(_text(whole)) from None
        except BaseException:
            self._start(_break_off(running))
            raise
        future.result()
        if whole is None:
            raise ValueError("the model gave no reply")
        return message_chunk_to_message(whole) if isinstance(whole, AIMessageChunk) else whole

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._start(work).result()

    def close(self) -> None:
        """End the loop and what still runs on it."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    def _pieces(self, pieces: queue.SimpleQueue[Any], stopped: Callable[[], bool], until: float) -> Iterator[Any]:
        while True:
            if stopped():
                raise Stopped
            if time.monotonic() > until:
                raise OutOfTime
            try:
                piece = pieces.get(timeout=_LOOK)
            except queue.Empty:
                continue
            if piece is None:
                return
            yield piece

    def _start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="abi-models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _break_off(running: list[asyncio.Task[None]]) -> None:
    """Cancel until it has worked: `asyncio.wait_for`, which models use, can swallow one cancellation before 3.12."""
    for task in running:
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_LOOK)
        if not task.cancelled():
            task.exception()  # whatever it was, nobody waits for it any more


def _text(message: Any) -> str:
    if message is None:
        return ""
    if isinstance(message.content, str):
        return message.content
    return "".join(p if isinstance(p, str) else str(p.get("text", "")) for p in message.content)
