"""Clients of the SDK, in both ways that the protocol has been spoken."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from server.conftest import Served, lay_out, serving

MODES = ["auto", "legacy"]
"""Since 2026 each request stands alone; before there was a handshake."""


@contextlib.asynccontextmanager
async def http_client(served: Served, role: str, mode: str, **options: Any) -> AsyncIterator[Any]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {served.keys[role]}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120, trust_env=False) as http:
        transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


def through(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 240))


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory):
    root: Path = tmp_path_factory.mktemp("shop") / "w"
    root.mkdir()
    lay_out(root)
    with serving(root) as made, made.client("writer") as client:
        report = client.post("/index", json={})
        assert report.status_code == 200 and report.json()["written"], report.text
        yield made
