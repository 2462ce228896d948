"""A server on this machine, in a thread, over a workspace of its own."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from abi import Workspace
from abi.keys import Keys
from abi.server.app import create_app

BASE = "https://example.org/served/"


@dataclass
class Served:
    workspace: Workspace
    url: str
    keys: dict[str, str]
    log: io.StringIO = field(default_factory=io.StringIO)

    def client(self, role: str | None = None, **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.keys[role]}"} if role else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, **options)


@contextlib.contextmanager
def serving(root: Path, settings: str = "", *, keys: bool = True) -> Iterator[Served]:
    """Serve a new workspace in `root`, whose abi.yaml has these further lines."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "abi.yaml").write_text(f"base_iri: {BASE}\n{settings}", encoding="utf-8")
    made = Keys(root)
    # Keys of one run: reading without a key is what tests of that want to see.
    given = {role: made.create(role, role) for role in ("reader", "writer", "admin")} if keys else {}
    with Workspace.open(root) as workspace, socket.socket(proto=socket.IPPROTO_TCP) as listener:
        workspace.hold()
        listener.bind(("127.0.0.1", 0))
        log = io.StringIO()
        app = create_app(workspace, keys=made, log=log)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.005)
        try:
            yield Served(workspace, f"http://127.0.0.1:{listener.getsockname()[1]}", given, log)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served") / "w") as made:
        with made.client("writer") as client:
            answer = client.put("/store?graph=urn:g", content=FRUIT, headers={"Content-Type": "text/turtle"})
            assert answer.status_code == 201, answer.text
        time.sleep(1)  # for others it is there a little later
        yield made


FRUIT = "".join(f"<urn:f{i}> <urn:size> {i} ; <urn:name> 'fruit {i}'@en .\n" for i in range(300))
Serve = Callable[..., Any]
