"""MCP over the standard streams of a process: one client, whoever started it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping

from abi.errors import Unsupported
from abi.mcp.mounted import MISSING
from abi.mcp.routes import Caller, Routes

__all__ = ["quiet", "serve", "speaks_mcp"]


def speaks_mcp() -> None:
    """Raises Unsupported where the package is missing."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise Unsupported("This needs the package mcp.", hint=MISSING)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Whatever is printed meanwhile, by any library or child process, goes to stderr: stdout is for messages alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def serve(name: str, routes: Routes, prefixes: Mapping[str, str], key: str) -> None:
    """Until the client closes the stream."""
    asyncio.run(_serve(name, routes, prefixes, key))


async def _serve(name: str, routes: Routes, prefixes: Mapping[str, str], key: str) -> None:
    with quiet():
        from mcp.server.stdio import stdio_server

        from abi.mcp.server import McpServer

        caller = Caller("admin", f"Bearer {key}", session=f"mcp-{secrets.token_hex(8)}")
        made = McpServer(name, routes, prefixes, lambda context: caller)
    async with stdio_server() as (read, write), made.watching():
        await made.server.run(read, write, made.server.create_initialization_options())
