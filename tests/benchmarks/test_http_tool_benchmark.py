"""1,000 calls of an HTTP tool to a service on this machine, beside bare httpx: bound 1.3 times its wall-clock time.

Both keep their connection open and read the answer's JSON; the tool checks arguments and result besides. Rounds of the
two alternate, and the best rounds of each are compared: what else the machine does only ever adds. Run with:

    pytest tests/benchmarks/test_http_tool_benchmark.py --benchmark-only
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from abi.net import close_clients
from abi.workspace import Workspace

BOUND = 1.3
CALLS, ROUNDS = 1_000, 10
THING = {
    "type": "object",
    "required": ["thing_id", "name"],
    "properties": {
        "thing_id": {"type": "integer"},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
PARAMETERS = [
    {"name": "thing_id", "in": "path", "required": True, "schema": {"type": "integer"}},
    {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
]
OPERATION = {
    "operationId": "get_thing",
    "description": "One thing.",
    "parameters": PARAMETERS,
    "responses": {"200": {"description": "It.", "content": {"application/json": {"schema": THING}}}},
}


@pytest.fixture
def service() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen([sys.executable, str(Path(__file__).with_name("http_service.py")), str(port)])
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            httpx.get(url)
            break
        except httpx.TransportError:
            time.sleep(0.05)
    yield url
    close_clients()
    child.terminate()
    child.wait()


@pytest.fixture
def workspace(tmp_path: Path, service: str) -> Iterator[Workspace]:
    (tmp_path / "tools").mkdir()
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": service}],
        "paths": {"/things/{thing_id}": {"get": OPERATION}},
    }
    header = {
        "record_kind": "http_request",
        "open_api": {"filename": "api.json", "operations": [{"path": "/things/{thing_id}", "method": "get"}]},
    }
    (tmp_path / "tools" / "api.json").write_text(json.dumps(document))
    (tmp_path / "tools" / "things.yaml").write_text(json.dumps(header))
    (tmp_path / "abi.yaml").write_text(
        f"base_iri: https://example.org/w/\nsources: [tools]\nnet_allow: ['{service}']\n"
    )
    with Workspace.open(tmp_path) as made:
        made.index()
        yield made


def test_a_thousand_calls(benchmark: Any, workspace: Workspace, service: str) -> None:
    from abi.graph.mapping import Names, read_record
    from abi.tools.runner import run

    names = Names(workspace.settings.base_iri, workspace.store)
    record = read_record(workspace.store, "https://example.org/w/tool/get_thing", names)
    context = workspace.run_context
    client = httpx.Client()

    def bare() -> None:
        response = client.get(f"{service}/things/7", params={"fields": ["name", "tags"]})
        assert response.json()["name"] == "apple"

    def tool() -> None:
        assert run(record, {"thing_id": 7, "fields": ["name", "tags"]}, context).result["name"] == "apple"

    def by_name() -> None:
        assert workspace.run("get_thing", thing_id=7, fields=["name", "tags"]).result["name"] == "apple"

    def timed(call: Callable[[], None]) -> float:
        started = time.perf_counter()
        for _ in range(CALLS // ROUNDS):
            call()
        return time.perf_counter() - started

    calls = {"bare httpx": bare, "tool": tool, "by name": by_name}
    times: dict[str, list[float]] = {name: [] for name in calls}

    def one_round() -> None:
        for name, call in calls.items():
            times[name].append(timed(call))

    benchmark.pedantic(one_round, rounds=ROUNDS, warmup_rounds=1)
    client.close()
    each = {name: min(spent) / (CALLS // ROUNDS) for name, spent in times.items()}
    for name, seconds in each.items():
        print(f"\n{name}: {seconds * 1000:.3f} ms a call, {seconds / each['bare httpx']:.2f} times bare httpx", end="")
    print(f" (bound: {BOUND})")
