"""Hostile requests: what comes over HTTP harms neither the server nor its other clients, the network nor the graph."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.conftest import FRUIT, Served, serving

CANARY = "canary-3f9d1c"
DEATH = "SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l{} }}"
TURTLE = {"Content-Type": "text/turtle"}
UPDATE = {"Content-Type": "application/sparql-update"}
SETTINGS = """\
server_hosts: [abi.example.org]
server_origins: [https://pages.example.org]
max_rdf_bytes: 300000
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("attacked") / "w", SETTINGS) as made:
        with made.client("writer") as client:
            assert client.put("/store?graph=urn:g", content=FRUIT, headers=TURTLE).status_code == 201
        time.sleep(1)
        yield made


@pytest.fixture
def writer(server: Served) -> Iterator[httpx.Client]:
    with server.client("writer") as client:
        yield client
        assert client.get("/health").status_code == 200
        assert client.get("/sparql", params={"query": "ASK { GRAPH <urn:g> { <urn:f1> ?p ?o } }"}).json()["boolean"]


@contextlib.contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A port of this machine, and what was sent to it."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = listening.accept()
                    got.append(connection.recv(100))
                    connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield listening.getsockname()[1], got
        done.set()
        thread.join()


def test_nothing_is_fetched(writer: httpx.Client) -> None:
    with listener() as (port, got):
        there = f"http://127.0.0.1:{port}/x"
        for query in (
            f"SELECT * {{ SERVICE <{there}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ SERVICE SILENT <{there}> {{ ?s ?p ?o }} }}",
            f"SELECT * FROM <{there}> {{ ?s ?p ?o }}",
            f"SELECT * FROM NAMED <{there}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
            "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
        ):
            answer = writer.get("/sparql", params={"query": query})
            assert answer.status_code == 403 or not answer.json()["results"]["bindings"]
        for parameter in ("default-graph-uri", "named-graph-uri"):
            assert writer.get("/sparql", params={"query": "ASK { ?s ?p ?o }", parameter: there}).status_code == 200
        for update in (f"LOAD <{there}>", f"LOAD SILENT <{there}> INTO GRAPH <urn:x>", "LOAD <file:///etc/passwd>"):
            assert writer.post("/update", content=update, headers=UPDATE).status_code == 403
        context = json.dumps({"@context": there, "@id": "urn:a", "urn:b": "c"})
        answer = writer.put("/store?graph=urn:x", content=context, headers={"Content-Type": "application/ld+json"})
        assert answer.status_code == 422
        entity = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{there}">]><r xmlns="urn:x:">&x;</r>'
        answer = writer.put("/store?graph=urn:x", content=entity, headers={"Content-Type": "application/rdf+xml"})
        assert answer.status_code == 422
        time.sleep(0.3)
    assert got == []


@pytest.mark.parametrize(
    "query",
    [
        "ASK " + "{" * 4_000 + "}" * 4_000,
        "ASK { FILTER(" + "(" * 5_000 + "1" + ")" * 5_000 + ") }",
        "ASK { FILTER(" + "!" * 20_000 + "1) }",
        "ASK { {}" + " UNION {}" * 6_000 + " }",
        "ASK { " + "x" * 70_000 + " }",
        "ASK { VALUES ?x { '\ud800' } }",
        "ASK { ?a<?b)SERVICE?x#>\n{} }",
        "\x00",
    ],
)
def test_texts_that_crash_parsers(writer: httpx.Client, query: str) -> None:
    body = query.encode("utf-8", "surrogatepass")
    answer = writer.post("/sparql", content=body, headers={"Content-Type": "application/sparql-query"})
    assert answer.status_code in (400, 403, 413), answer.text
    update = b"DELETE WHERE " + body[4:]
    assert writer.post("/update", content=update, headers=UPDATE).status_code in (400, 403, 413)


@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("text/turtle", "<urn:a> <urn:b> " + "<<( " * 100_000),
        ("text/turtle", "<urn:a> <urn:b> " + "[ <urn:b> " * 20_000 + "]" * 20_000 + " ."),
        ("application/ld+json", '{"@id":"urn:a","urn:b":' * 4_000 + "1" + "}" * 4_000),
        ("application/rdf+xml", "<a>" * 80_000),
        (
            "application/rdf+xml",
            '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
            + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
            + ']><r xmlns="urn:x:">&j;</r>',
        ),
    ],
    ids=["triple terms", "blank nodes", "json-ld", "elements", "billion laughs"],
)
def test_rdf_that_crashes_parsers(writer: httpx.Client, media: str, body: str) -> None:
    answer = writer.put("/store?graph=urn:x", content=body, headers={"Content-Type": media})
    assert answer.status_code in (413, 422), answer.text
    assert writer.get("/store?graph=urn:x").status_code == 404


def test_bodies_are_measured_as_they_come(writer: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(10_000):
            yield b"<urn:a> <urn:b> 1 .\n" * 100

    with contextlib.suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        answer = writer.put("/store?graph=urn:x", content=chunks(), headers=TURTLE)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert writer.post("/sparql", content=b"x" * 500_000, headers=UPDATE).status_code == 413
    bomb = gzip.compress(b"<urn:a> <urn:b> 1 .\n" * 1_000_000)
    packed = writer.put("/store?graph=urn:x", content=bomb, headers={**TURTLE, "Content-Encoding": "gzip"})
    assert packed.status_code == 415


def test_queries_of_death_do_not_stop_the_others(server: Served) -> None:
    def die(number: int) -> tuple[int, float]:
        started = time.monotonic()
        with server.client("reader") as client:
            answer = client.get("/sparql", params={"query": DEATH.format(number), "timeout": "4"})
        return answer.status_code, time.monotonic() - started

    with ThreadPoolExecutor(20) as threads, server.client("writer") as other:
        deaths = [threads.submit(die, number) for number in range(20)]
        time.sleep(1.5)  # until each of them has shown what it is
        while not any(death.done() for death in deaths):
            assert other.get("/sparql", params={"query": "ASK { <urn:f1> ?p ?o }"}).status_code == 200
            assert other.get("/health/live").status_code == 200
        ended = [death.result() for death in deaths]
    assert {status for status, _ in ended} == {503}
    assert server.workspace.pool.counts()["running"] == 0


def test_other_names_and_other_pages(server: Served) -> None:
    ask = {"query": "ASK {}"}
    with server.client("reader") as client:

        def status(**headers: str) -> int:
            return client.get("/sparql", params=ask, headers=headers).status_code

        here = server.url.removeprefix("http://")
        assert status() == status(Host="localhost:1234") == status(Host="abi.example.org") == 200
        assert status(Host="evil.example.com") == status(Host="127.0.0.1.evil.example.com") == 403
        assert status(Origin=f"http://{here}") == 200
        for origin in ("https://evil.example.com", "null", "http://127.0.0.1:1", f"http://{here}.evil.example.com"):
            assert status(Origin=origin) == 403
        allowed = {"Origin": "https://pages.example.org"}
        answer = client.get("/sparql", params=ask, headers=allowed)
        assert answer.headers["access-control-allow-origin"] == "https://pages.example.org"
        assert "access-control-allow-credentials" not in answer.headers
        late = client.get("/sparql", params={"query": DEATH.format("o"), "timeout": "0.2"}, headers=allowed)
        assert late.status_code == 503 and "access-control-allow-origin" in late.headers
        before = client.options("/update", headers={**allowed, "Access-Control-Request-Method": "POST"})
        assert before.status_code == 204 and "Authorization" in before.headers["access-control-allow-headers"]
        assert client.get("/sparql", params=ask).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("Bearer wrong", 401),
        ("Basic d3JpdGVyOng=", 401),
        ("Bearer", 401),
        ("Bearer \xff\xe9", 401),
        ("", 401),
    ],
)
def test_wrong_keys(server: Served, given: str, status: int) -> None:
    with server.client() as client:
        for method, url in (("GET", "/sparql?query=ASK{}"), ("POST", "/update"), ("DELETE", "/store?graph=urn:g")):
            headers = [(b"authorization", given.encode("latin-1"))] if given else []
            answer = client.request(method, url, headers=headers)
            assert answer.status_code == status and answer.headers["www-authenticate"] == "Bearer"


def test_a_key_in_the_address_is_none(server: Served) -> None:
    with server.client() as client:
        key = server.keys["writer"]
        assert client.get("/sparql", params={"query": "ASK {}", "token": key}).status_code == 401
        assert client.post("/update", params={"token": key}, content="CLEAR ALL", headers=UPDATE).status_code == 401
        # Where it is taken it is in no line of the log.
        assert client.get("/agents", params={"token": key}).status_code != 401
    assert key not in server.log.getvalue()


def test_readers_change_nothing(server: Served) -> None:
    with server.client("reader") as client:
        for method in ("PUT", "POST", "DELETE"):
            answer = client.request(method, "/store?graph=urn:g", content="<urn:a> <urn:b> 1 .", headers=TURTLE)
            assert answer.status_code == 403
        assert client.post("/update", content="CLEAR ALL", headers=UPDATE).status_code == 403
        assert client.post("/sparql", data={"update": "CLEAR ALL"}).status_code == 403
        form = client.post("/update", content="update=CLEAR ALL", headers={"Content-Type": "text/plain"})
        assert form.status_code in (403, 415)


def test_many_wrong_keys_are_slowed_down(tmp_path: Path) -> None:
    with serving(tmp_path / "w") as made, made.client() as client:
        statuses = [client.get("/metrics", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(40)]
    assert statuses[0] == 401 and statuses[-1] == 429


def test_a_caller_has_its_rate(tmp_path: Path) -> None:
    with serving(tmp_path / "w", "server_rate: 20\n") as made, made.client("reader") as client:
        answers = [client.get("/sparql", params={"query": "ASK {}"}) for _ in range(25)]
        assert answers[0].status_code == 200 and answers[-1].status_code == 429
        assert "retry-after" in answers[-1].headers
        assert client.get("/health/live").status_code == 200


def test_without_a_key_there_is_no_change(tmp_path: Path) -> None:
    with serving(tmp_path / "w", keys=False) as made, made.client() as client:
        assert client.get("/sparql", params={"query": "ASK {}"}).status_code == 200
        assert client.post("/update", content="CLEAR ALL", headers=UPDATE).status_code == 401
        assert client.put("/store?graph=urn:x", content="", headers=TURTLE).status_code == 401


def test_the_canary_is_told_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_API_KEY", CANARY)
    told: list[str] = []
    with serving(tmp_path / "w") as made, made.client() as client:
        for headers in ({"Authorization": f"Bearer {CANARY}"}, {"Authorization": f"Bearer {CANARY}x"}, {}):
            for url in (
                "/sparql?query=ASK{}",
                f"/sparql?query=ASK{{{CANARY[:0]}",
                "/sparql",
                "/metrics",
                "/health",
                "/store?graph=urn:none",
                "/openapi.json",
                f"/agents?token={CANARY}",
            ):
                answer = client.get(url, headers=headers)
                told += [answer.text, str(answer.headers)]
        told.append(made.log.getvalue())
    for file in (tmp_path / "w").rglob("*"):
        if file.is_file():
            told.append(file.read_bytes().decode("latin-1"))
    assert not any(CANARY in text for text in told)


def test_no_process_and_no_file_is_left(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not tell which files a process has open")
    with serving(tmp_path / "w") as made:
        with made.client("writer") as client:
            client.put("/store?graph=urn:g", content=FRUIT, headers=TURTLE)
            query = {"query": "SELECT * { ?a ?b ?c . ?d <urn:size> ?e } LIMIT 9000"}
            sizes = []
            for _ in range(12):
                assert client.get("/sparql", params=query).status_code == 200
                with contextlib.suppress(httpx.HTTPError), client.stream("GET", "/sparql", params=query) as answer:
                    next(answer.iter_raw())  # and leaves in the middle
                sizes.append(len(list(Path("/proc/self/fd").iterdir())))
        assert max(sizes[6:]) <= max(sizes[:6]) + 2
