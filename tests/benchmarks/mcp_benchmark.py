"""Print what MCP adds to a call of a tool: `python tests/benchmarks/mcp_benchmark.py [CALLS]`.

One tool of the example workspace, by `POST /tools/NAME` and by the SDK's client at `/mcp`, in both ways that the
protocol is spoken: CPU milliseconds of the server's process for one call. Exit code 1 where MCP adds more than its
bound.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from http_turn_benchmark import cpu_ms, serving

ADDED = 10.0
TOOL, ARGUMENTS = "airport_info", {"airport": "BOI"}


async def measured(pid: int, calls: int, call: Callable[[], Awaitable[Any]]) -> float:
    await call()
    before = cpu_ms(pid)
    for _ in range(calls):
        await call()
    return (cpu_ms(pid) - before) / calls


async def figures(port: int, pid: int, key: str, calls: int) -> dict[str, float]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    url = f"http://127.0.0.1:{port}"
    found: dict[str, float] = {}
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        found["rest"] = await measured(pid, calls, lambda: http.post(f"{url}/tools/{TOOL}", json=ARGUMENTS))
        for mode in ("auto", "legacy"):
            async with Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client:
                await client.list_tools()
                found[mode] = await measured(pid, calls, lambda: client.call_tool(TOOL, ARGUMENTS))
    return found


def main(calls: int) -> int:
    program = Path(sys.executable).with_name("abi")
    with tempfile.TemporaryDirectory(prefix="abi-mcp-") as folder:
        root = Path(folder) / "w"
        environment = {**os.environ, "ABI_CONFIG_DIR": f"{folder}/config"}
        subprocess.run([program, "demo", root], check=True, stdout=subprocess.DEVNULL, env=environment)
        with serving(root) as (port, pid, key):
            found = asyncio.run(figures(port, pid, key, calls))
    rest = found.pop("rest")
    print(f"REST: {rest:.1f} ms of CPU a call")
    over = 0
    for mode, cost in found.items():
        print(f"MCP ({mode}): {cost:.1f} ms, {cost - rest:+.1f} (bound {ADDED})")
        over += cost - rest > ADDED
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
