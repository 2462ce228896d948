"""A hundred clients at once: `python tests/benchmarks/http_load_benchmark.py [CLIENTS] [SECONDS]`.

The example workspace is served; each client holds one connection and takes turns at queries, look-ups, searches, tools
and chats with the offline model, with a rest between them, while five updates a second are written. Printed are the
errors, the 50th and 99th percentile of each kind, and the server's memory and open files early on and at the end.
Exit code 1 where there is an error, a 99th percentile over one second, or growth.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parent))

from http_turn_benchmark import serving

P99_SECONDS = 1.0
MEMORY_GROWTH = 1.15
FILE_GROWTH = 8
REST = 0.9
"""Seconds between two requests of a client, on average: a person reads, a program works."""
WRITES = 5
CODES = ("BOI", "SEA", "SFO", "DEN", "LAX", "ORD", "PDX", "SLC")


class Clients:
    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {key}"}
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.until = 0.0
        self._numbers = itertools.count()

    async def client(self, number: int) -> None:
        chance = random.Random(number)
        async with httpx.AsyncClient(base_url=self.url, headers=self.headers, timeout=30, trust_env=False) as http:
            kinds: dict[str, Callable[[], Awaitable[httpx.Response]]] = {
                "query": lambda: http.get("/sparql", params={"query": self._query(chance)}),
                "record": lambda: http.get("/catalog/tools/find_direct_routes"),
                "entity": lambda: http.get(f"/id/airport/{chance.choice(CODES)}", headers={"Accept": "text/turtle"}),
                "find": lambda: http.post(
                    "/catalog/find", json={"kind": "tools", "query": f"flights of {chance.choice(CODES)}"}
                ),
                "tool": lambda: http.post(
                    "/tools/find_direct_routes", json={"origin": chance.choice(CODES), "limit": 5}
                ),
                "chat": lambda: http.post(
                    "/agents/route_finder/completion",
                    json={
                        "prompt": f"Which airports can I reach directly from {chance.choice(CODES)}?",
                        "thread_id": f"c{number}-{next(self._numbers)}",
                    },
                ),
            }
            if not number:
                for kind, ask in kinds.items():
                    await self._timed(kind, ask)
            weights = [40, 15, 15, 10, 10, 10]
            await asyncio.sleep(chance.random() * REST)
            while time.monotonic() < self.until:
                kind = chance.choices(list(kinds), weights)[0]
                await self._timed(kind, kinds[kind])
                await asyncio.sleep(chance.random() * 2 * REST)

    async def writer(self) -> None:
        async with httpx.AsyncClient(base_url=self.url, headers=self.headers, timeout=30, trust_env=False) as http:
            for number in itertools.count():
                if time.monotonic() > self.until:
                    return
                begun = time.monotonic()
                # Each takes away what the one before brought, so the graph does not grow of it.
                text = (
                    f"DELETE WHERE {{ GRAPH <urn:load> {{ <urn:load:{number - 1}> ?p ?o }} }} ; "
                    f"INSERT DATA {{ GRAPH <urn:load> {{ <urn:load:{number}> <urn:load:at> {number} }} }}"
                )
                await self._timed("write", lambda text=text: http.post("/update", data={"update": text}))  # type: ignore[misc]
                await asyncio.sleep(max(0.0, 1 / WRITES - (time.monotonic() - begun)))

    async def _timed(self, kind: str, ask: Callable[[], Awaitable[httpx.Response]]) -> None:
        begun = time.monotonic()
        try:
            answer = await ask()
            if answer.status_code != 200:
                self.errors.append(f"{kind}: {answer.status_code} {answer.text[:200]}")
        except httpx.HTTPError as error:
            self.errors.append(f"{kind}: {type(error).__name__} {error}")
        self.taken[kind].append(time.monotonic() - begun)

    def _query(self, chance: random.Random) -> str:
        airport = f"<https://example.org/flights/airport/{chance.choice(CODES)}>"
        return f"SELECT ?a ?n WHERE {{ ?r fl:from {airport} ; fl:to ?a ; fl:flights ?n }} LIMIT 20"


def family(pid: int) -> list[int]:
    """A process and all that it began."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            todo += [int(child) for child in task.read_text().split()]
    return found


def state(pid: int) -> tuple[float, int, int]:
    """MB resident and open files of the server, MB of all its processes."""

    def resident(one: int) -> float:
        lines = Path(f"/proc/{one}/status").read_text().splitlines()
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)

    every = 0.0
    for one in family(pid):
        try:
            every += resident(one)
        except OSError:
            continue
    return resident(pid), len(os.listdir(f"/proc/{pid}/fd")), int(every)  # noqa: PTH208


async def drive(url: str, key: str, pid: int, count: int, seconds: float) -> int:
    clients = Clients(url, key)
    clients.until = time.monotonic() + 1  # everything is loaded once
    await clients.client(0)
    clients.taken.clear()
    clients.until = time.monotonic() + seconds
    tasks = [asyncio.create_task(clients.client(n)) for n in range(1, count + 1)]
    tasks.append(asyncio.create_task(clients.writer()))
    await asyncio.sleep(seconds / 3)  # caches are full and every process is there
    early = state(pid)
    await asyncio.sleep(seconds / 3)
    middle = state(pid)
    await asyncio.gather(*tasks)
    late = state(pid)
    over = len(clients.errors)
    for error in clients.errors[:5]:
        print(f"  {error}")
    for kind, times in sorted(clients.taken.items()):
        p99 = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
        over += p99 > P99_SECONDS
        verdict = "ok" if p99 <= P99_SECONDS else "OVER"
        print(f"{kind:7} {len(times):6} requests  p50 {statistics.median(times) * 1000:7.1f} ms  "
              f"p99 {p99 * 1000:7.1f} ms {verdict}")  # fmt: skip
    every = [t for times in clients.taken.values() for t in times]
    print(f"all     {len(every):6} requests  {len(every) / seconds:.0f}/s  {len(clients.errors)} errors")
    grown, files = late[0] / middle[0], late[1] - middle[1]
    over += grown > MEMORY_GROWTH or files > FILE_GROWTH
    for when, (own, handles, total) in (("early", early), ("middle", middle), ("end", late)):
        print(f"{when:7} server {own:.0f} MB, {handles} files; with its processes {total} MB")
    print(f"growth  {grown:.2f}x memory, {files:+d} files "
          f"{'ok' if grown <= MEMORY_GROWTH and files <= FILE_GROWTH else 'OVER'}")  # fmt: skip
    return 1 if over else 0


def main(count: int, seconds: float) -> int:
    from abi.files import shipped

    with tempfile.TemporaryDirectory(prefix="abi-load-") as folder:
        root = Path(folder) / "flights"
        shutil.copytree(shipped("data", "flights"), root, ignore=shutil.ignore_patterns(".abi"))
        program = Path(sys.executable).with_name("abi")
        os.environ["ABI_CONFIG_DIR"] = folder
        for command in ("trust", "index"):
            subprocess.run([program, "-C", root, command], check=True, stdout=subprocess.DEVNULL)
        with serving(root) as (port, pid, key):
            return asyncio.run(drive(f"http://127.0.0.1:{port}", key, pid, count, seconds))


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 100, float(given[1]) if len(given) > 1 else 60.0))
