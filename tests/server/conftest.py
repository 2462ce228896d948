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


FILES = {
    "graph/fruit.ttl": """\
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <https://example.org/served/> .
:Fruit a owl:Class ; rdfs:label "fruit" .
:apple a :Fruit, owl:NamedIndividual ; rdfs:label "apple" ; rdfs:comment "<b onmouseover='alert(1)'>red</b>" .
:pear a :Fruit, owl:NamedIndividual ; rdfs:label "pear" ; rdfs:seeAlso <javascript:alert(1)> .
""",
    "tools/about_fruit.rq": """\
# record_kind: sparql_query
# name: about_fruit
# description: What is said of a fruit.
# parameters:
#   fruit: {class: ":Fruit", description: which fruit, examples: [apple]}
#   limit: {type: xsd:integer, default: 10, minimum: 1, maximum: 100}
# answer: "{{ row_count }} things are said of {{ fruit.label }}."
SELECT ?p ?o WHERE { ?fruit ?p ?o } LIMIT ?limit
""",
    "tools/whose.rq": """\
# record_kind: sparql_query
# name: whose
# description: Who asks.
# parameters:
#   who: {type: xsd:string, from: principal}
SELECT (?who AS ?caller) WHERE { :apple a :Fruit }
""",
    "tools/count_everything.rq": """\
# record_kind: sparql_query
# name: count_everything
# description: Counts for ever.
SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }
""",
    "prompts/greeting.jinja": """\
---
record_kind: jinja_prompt
name: greeting
description: Greets somebody.
---
Greet {{ somebody }}.
""",
    "agents/grocer.yaml": """\
record_kind: agent
name: grocer
description: Knows the fruit.
tools: [about_fruit, count_everything]
intents:
  - {values: [what is said of a fruit], type: tool, target: about_fruit}
  - {values: [count everything there is], type: tool, target: count_everything}
  - {values: [thank you], type: raw, target: You are welcome.}
""",
    "agents/keeper.yaml": """\
record_kind: agent
name: keeper
description: Keeps notes.
may_write: true
""",
}


def lay_out(root: Path) -> None:
    """The files of a small workspace."""
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")


@pytest.fixture(scope="module")
def grocery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The small workspace, served with a key of each role."""
    root = tmp_path_factory.mktemp("grocery") / "w"
    root.mkdir()
    lay_out(root)
    with serving(root) as made:
        with made.client("writer") as client:
            report = client.post("/index", json={})
            assert report.status_code == 200 and report.json()["written"], report.text
        yield made
