"""Turns as server-sent events (`text/event-stream`), under the names that ABI gives them.

`call_model`, `tool_usage`, `tool_response`, `ai_message` and `agent_routing` as they happen, `token` for each piece of
the answer, then a `message` for each of its lines, `result` with the whole chat document and `done`. What fails after
the stream has begun is an `error` with the one document that all errors have.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from abi.errors import AbiError
from abi.server.service import Gone

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from abi.agents.turn import Event, TurnResult

__all__ = ["EventStream", "event_text"]

_SILENCE = 15.0
"""Seconds after which a comment is sent, so that nothing on the way takes the connection for a dead one."""


class EventStream(Response):
    """The answer to one request for a stream; `begun` makes it when its first event is there."""

    media_type = "text/event-stream"

    def __init__(self, first: Event | TurnResult, rest: AsyncIterator[Event | TurnResult]) -> None:
        super().__init__()
        self._first = first
        self._rest = rest

    @classmethod
    async def begun(cls, items: AsyncIterator[Event | TurnResult]) -> EventStream:
        """Waits for the first event: what goes wrong before it has a status of its own."""
        return cls(await anext(items), items)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.ensure_future(_left(receive))
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._tell(left, send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            left.cancel()
            with contextlib.suppress(Exception):
                await self._rest.aclose()  # type: ignore[attr-defined]

    async def _tell(self, left: asyncio.Future[None], send: Send) -> None:
        last = ""
        item: Event | TurnResult | None = self._first
        try:
            while item is not None:
                kind = getattr(item, "type", "result")
                data = item.document() if kind == "result" else item.data  # type: ignore[union-attr]
                if kind == "done":  # kept back: it is what clients stop at
                    last = event_text("done", data)
                else:
                    await _say(event_text(kind, data), send)
                item = await self._next(left, send)
        except Gone:
            raise
        except AbiError as error:
            last = event_text("error", error.document())
        await _say(last, send)

    async def _next(self, left: asyncio.Future[None], send: Send) -> Event | TurnResult | None:
        """The next item, None after the last one. Raises Gone where the client has left."""
        coming: asyncio.Future[Event | TurnResult | None] = asyncio.ensure_future(_one(self._rest))
        waited: set[asyncio.Future[Any]] = {coming, left}
        try:
            while True:
                await asyncio.wait(waited, timeout=_SILENCE, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    return coming.result()
                if left.done():
                    raise Gone("The client left.")
                await _say(": \n\n", send)
        finally:
            if not coming.done():
                coming.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await coming


def event_text(name: str, data: Any) -> str:
    """One event as it stands in the stream: text as it is, line by line, documents as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"


async def _one(items: AsyncIterator[Event | TurnResult]) -> Event | TurnResult | None:
    return await anext(items, None)


async def _say(text: str, send: Send) -> None:
    await send({"type": "http.response.body", "body": text.encode("utf-8", "backslashreplace"), "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
