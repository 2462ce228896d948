from __future__ import annotations

import gc
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from abi.errors import QuerySyntaxError, QueryTimeout, StoreError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Term
from abi.graph.store import BUMP_VERSION as BUMP
from abi.graph.worker import QueryWorker

DEATH = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


def filled(store: OxigraphStore) -> OxigraphStore:
    triples = " ".join(f"<urn:s{i}> <urn:p> <urn:s{i + 1}> ; <urn:v> {i} ." for i in range(150))
    store.update(f'INSERT DATA {{ GRAPH <urn:g> {{ {triples} <urn:s0> <urn:l> "a", "b"@en, 1.5 }} }}')
    return store


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OxigraphStore]:
    made = OxigraphStore.memory() if request.param == "memory" else OxigraphStore.open(tmp_path / "g", create=True)
    yield filled(made)
    made.close()


@pytest.fixture
def worker(store: OxigraphStore) -> Iterator[QueryWorker]:
    with QueryWorker(store) as made:
        yield made


def test_forms_and_terms(worker: QueryWorker) -> None:
    rows = worker.query("SELECT ?o ?none { <urn:s0> <urn:l> ?o } ORDER BY STR(?o)")
    assert rows.variables == ["o", "none"]
    assert [r["o"] for r in rows] == [
        Term("literal", "1.5", "http://www.w3.org/2001/XMLSchema#decimal"),
        Term("literal", "a"),
        Term("literal", "b", None, "en"),
    ]
    assert worker.query("ASK { <urn:s0> <urn:p> ?x }").boolean is True
    assert worker.query("ASK { GRAPH <urn:other> { ?s ?p ?o } }").boolean is False
    triples = worker.query("CONSTRUCT WHERE { <urn:s1> <urn:p> ?o }")
    assert (triples.form, len(triples)) == ("construct", 1)
    assert triples.rows[0]["object"] == Term("iri", "urn:s2")
    assert worker.query("SELECT ?b { BIND(BNODE() AS ?b) }").rows[0]["b"].kind == "bnode"
    assert worker.query("SELECT ?p { ?p rdfs:label ?o }").rows == []


def test_graphs(worker: QueryWorker) -> None:
    assert worker.query("SELECT * { <urn:s1> <urn:p> ?o }", default_graphs=["urn:g"]).rows
    assert not worker.query("SELECT * { <urn:s1> <urn:p> ?o }", default_graphs=["urn:other"]).rows
    assert not worker.query("SELECT * { GRAPH ?g { <urn:s1> <urn:p> ?o } }", named_graphs=["urn:other"]).rows
    assert not worker.query("SELECT * FROM <urn:other> { <urn:s1> <urn:p> ?o }").rows
    with pytest.raises(QuerySyntaxError):
        worker.query("SELECT * {}", default_graphs=["no iri"])


def test_limits_cut_and_say_so(worker: QueryWorker) -> None:
    cut = worker.query("SELECT * { ?s <urn:p> ?o }", rows=10)
    assert (len(cut), cut.truncated) == (10, True)
    whole = worker.query("SELECT * { ?s <urn:p> ?o }", rows=150)
    assert (len(whole), whole.truncated) == (150, False)
    few = worker.query("SELECT * { ?s <urn:p> ?o }", bytes=1000)
    assert 0 < len(few) < 50 and few.truncated
    assert worker.query('SELECT ("é\\u0000\\n" AS ?x) {}').rows[0]["x"].value == "é\x00\n"


def test_errors_have_their_place(worker: QueryWorker) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        worker.query("SELECT * {\n  ?a ?b }")
    assert caught.value.details["line"] == 2
    assert worker.query("ASK {}").boolean


def test_a_query_of_death_is_ended_and_the_next_one_answered(worker: QueryWorker) -> None:
    assert worker.query("ASK {}").boolean
    for text in (DEATH, "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"):
        with pytest.raises(QueryTimeout, match=r"longer than 0\.3 seconds"):
            worker.query(text, seconds=0.3, rows=10**9, bytes=10**9)
        assert worker.query("ASK { <urn:s0> <urn:p> ?x }").boolean


def test_others_wait_and_are_told(worker: QueryWorker) -> None:
    worker.query("ASK {}")

    def die() -> None:
        with pytest.raises(QueryTimeout):
            worker.query(DEATH, seconds=4)

    slow = threading.Thread(target=die)
    slow.start()
    while worker.working_since is None:
        time.sleep(0.01)
    with pytest.raises(QueryTimeout, match="Other queries"):
        worker.query("ASK {}", seconds=0.2)
    slow.join()
    assert worker.query("ASK {}").boolean


def test_what_was_committed_is_seen(store: OxigraphStore, worker: QueryWorker) -> None:
    for i in range(3):
        text = f"ASK {{ <urn:new> <urn:p> {i} }}"
        assert worker.query(text).boolean is False
        store.update(f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:new> <urn:p> {i} }} }} ; {BUMP}")
        assert worker.query(text).boolean is True
    worker.refresh()
    assert worker.query("ASK { <urn:new> <urn:p> 2 }").boolean


def test_a_crash_is_said_and_survived(worker: QueryWorker) -> None:
    worker.query("ASK {}")
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    assert worker.query("ASK {}").boolean, "a process that died between two queries is started again"


def test_memory_is_bounded(store: OxigraphStore) -> None:
    with QueryWorker(store, memory=1300 * 1024**2) as worker:
        with pytest.raises(StoreError, match="memory"):
            worker.query('SELECT (STRLEN(?h) AS ?n) { BIND("x" AS ?a) ' + _doubling(45) + " }", seconds=60)
        assert worker.query("ASK {}").boolean


def _doubling(times: int) -> str:
    out, last = [], "a"
    for i in range(times):
        name = "h" if i == times - 1 else f"v{i}"
        out.append(f"BIND(CONCAT(?{last},?{last}) AS ?{name})")
        last = name
    return " ".join(out)


def test_it_cannot_open_a_connection(worker: QueryWorker) -> None:
    """The guard refuses SERVICE; this is what is left when a text comes past it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        with pytest.raises(StoreError):
            worker.query(f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?a ?b ?c }} }}", seconds=5)
        with pytest.raises(TimeoutError):
            server.accept()


def test_threads_share_it(worker: QueryWorker) -> None:
    seen: list[str] = []

    def ask(i: int) -> None:
        seen.append(worker.query(f"SELECT ?v {{ <urn:s{i}> <urn:v> ?v }}").rows[0]["v"].value)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, seen)) == list(range(20))


def open_files() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.exists() else 0


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    store = filled(OxigraphStore.memory())
    gc.collect()  # what other tests left to the collector must not be counted as this one's
    before = open_files()
    for _ in range(3):
        with QueryWorker(store) as worker:
            worker.query("ASK {}")
            process = worker._process
        assert process is not None and process.poll() is not None
    gc.collect()
    assert open_files() == before


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    store = OxigraphStore.memory()
    store.path = tmp_path / "nothing"
    with QueryWorker(store) as worker, pytest.raises(StoreError, match="cannot open"):
        worker.query("ASK {}")
