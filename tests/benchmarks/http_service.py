"""A service that answers at once, in a process of its own: `python http_service.py PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn

_BODY = b'{"thing_id": 7, "name": "apple", "tags": ["red", "round"]}'
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())],
}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    await send(_START)
    await send({"type": "http.response.body", "body": _BODY})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", lifespan="off")
