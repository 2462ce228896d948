"""Many queries at one time, in every format, with what is cut and what is ended."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abi.errors import AbiError, Busy, NotAcceptable, QuerySyntaxError, QueryTimeout, StoreError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.pool import Cancel, WorkerPool
from abi.graph.worker import Document

DEATH = "SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l{} }}"
VALUE = "SELECT ?o { <urn:s7> <urn:v> ?o }"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OxigraphStore]:
    with OxigraphStore.open(tmp_path_factory.mktemp("pool") / "g", create=True) as made:
        labels = '"a{}},\\"%", "x\\r\\n<r>\\t%"@en'
        triples = " ".join(f"<urn:s{i}> <urn:v> {i} ; <urn:l> {labels.replace('%', str(i))} ." for i in range(300))
        made.update(f"INSERT DATA {{ GRAPH <urn:g> {{ {triples} }} }}")
        yield made


@pytest.fixture(scope="module")
def pool(store: OxigraphStore) -> Iterator[WorkerPool]:
    with WorkerPool(store, size=2, long=3, queue=50) as made:
        yield made


def data_of(document: Document) -> bytes:
    if document.file is None:
        return document.data
    data = document.file.read_bytes()
    document.file.unlink()
    assert len(data) == document.size
    return data


def rows_in(data: bytes, format: str) -> int:
    if format == "json":
        return len(json.loads(data)["results"]["bindings"])
    if format == "xml":
        return len(ET.fromstring(data).findall(".//{*}result"))
    text = data.decode()
    return len(list(csv.reader(io.StringIO(text, newline="")))) - 1 if format == "csv" else text.count("\n") - 1


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
@pytest.mark.parametrize("most", [0, 1, 599, 600, 601])
def test_rows_are_cut_and_counted(pool: WorkerPool, format: str, most: int) -> None:
    found = pool.document("SELECT ?s ?l { ?s <urn:l> ?l }", format, rows=most)
    data = data_of(found)
    assert rows_in(data, format) == min(most, 600)
    assert found.truncated is (most < 600)
    if format == "json":
        assert json.loads(data).get("truncated", False) is found.truncated


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
@pytest.mark.parametrize("size", [150, 1_000, 9_999])
def test_bytes_are_cut_at_a_row(pool: WorkerPool, format: str, size: int) -> None:
    found = pool.document("SELECT ?s ?l { ?s <urn:l> ?l }", format, bytes=size)
    assert found.truncated and found.size < size + 9_000
    assert rows_in(data_of(found), format) < 600


_TEXT = st.text(st.sampled_from("ab\"\\{}<>,[]\r\n\t?' é"), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(_TEXT | st.none(), _TEXT), min_size=1, max_size=6), st.integers(0, 6), st.data())
def test_no_value_is_taken_for_the_end_of_a_row(
    pool: WorkerPool, values: list[tuple[str | None, str]], most: int, data: st.DataObject
) -> None:
    block = " ".join(
        "(" + " ".join("UNDEF" if v is None else str(ox.Literal(v)) for v in pair) + ")" for pair in values
    )
    format = data.draw(st.sampled_from(["json", "csv"]))
    found = pool.document(f"SELECT ?a ?b {{ VALUES (?a ?b) {{ {block} }} }}", format, rows=most)
    whole = data_of(found)
    assert found.truncated is (most < len(values))
    kept = [("" if a is None else a, b) for a, b in values[:most]]
    if format == "json":
        rows = [(r.get("a", {}).get("value", ""), r["b"]["value"]) for r in json.loads(whole)["results"]["bindings"]]
        assert rows == kept
    else:
        assert [tuple(row) for row in csv.reader(io.StringIO(whole.decode(), newline=""))][1:] == kept


@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "nquads", "jsonld", "rdfxml"])
def test_graphs(pool: WorkerPool, format: str) -> None:
    whole = pool.document("CONSTRUCT { ?s <urn:x:v> ?o } WHERE { ?s <urn:v> ?o }", format)
    cut = pool.document("CONSTRUCT { ?s <urn:x:v> ?o } WHERE { ?s <urn:v> ?o }", format, rows=10)
    small = pool.document("CONSTRUCT { ?s <urn:x:v> ?o } WHERE { ?s <urn:v> ?o }", format, bytes=4_000)
    syntax = {"jsonld": ox.RdfFormat.JSON_LD, "rdfxml": ox.RdfFormat.RDF_XML}.get(format, ox.RdfFormat.TRIG)
    counts = [len(list(ox.parse(data_of(d), syntax))) for d in (whole, cut, small)]
    assert counts[:2] == [300, 10] and 0 < counts[2] < 100
    assert [d.truncated for d in (whole, cut, small)] == [False, True, True]


def test_what_a_format_cannot_hold(pool: WorkerPool) -> None:
    with pytest.raises(NotAcceptable, match="RDF/XML"):
        pool.document("CONSTRUCT { ?s <urn:p/1> ?o } WHERE { ?s <urn:v> ?o }", "rdfxml")
    assert pool.document("ASK {}", "json").data == b'{"head":{},"boolean":true}'
    with pytest.raises(QuerySyntaxError) as caught:
        pool.document("SELECT ?o {\n ?o }", "json")
    assert caught.value.details["line"] == 2


def test_large_results_come_in_a_file(pool: WorkerPool) -> None:
    found = pool.document("SELECT * { ?a <urn:v> ?b . ?c <urn:l> ?d } LIMIT 5000", "json")
    assert found.file is not None and rows_in(data_of(found), "json") == 5000


def test_own_writes_are_seen_and_others_soon(store: OxigraphStore) -> None:
    with WorkerPool(store, size=1, staleness=60) as pool:
        assert pool.query("ASK { <urn:new> ?p ?o }").boolean is False
        pool.document("ASK { <urn:new> ?p ?o }", "csv")
        store.update("INSERT DATA { GRAPH <urn:h> { <urn:new> <urn:p> 1 } }")
        written = time.monotonic()
        assert pool.document("ASK { <urn:new> ?p ?o }", "csv").data == b"false"
        assert pool.document("ASK { <urn:new> ?p ?o }", "csv", since=written).data == b"true"
    store.update("DROP GRAPH <urn:h>")


def test_long_queries_leave_the_others_alone(pool: WorkerPool) -> None:
    ended: list[AbiError] = []

    def ask(number: int) -> None:
        with pytest.raises(AbiError) as caught:
            pool.document(DEATH.format(number), "json", seconds=3)
        ended.append(caught.value)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    while pool.counts()["long"] < 3 or pool.counts()["waiting"]:
        time.sleep(0.02)
    assert rows_in(pool.document(VALUE, "json").data, "json") == 1
    for thread in threads:
        thread.join()
    kinds = [type(error) for error in ended]
    assert kinds.count(QueryTimeout) >= 3 and set(kinds) <= {QueryTimeout, Busy}
    assert rows_in(pool.document(VALUE, "json").data, "json") == 1
    assert pool.counts()["running"] == 0 and pool.counts()["processes"] <= 2


def test_a_spare_worker_is_kept_only_where_one_is_missing(store: OxigraphStore) -> None:
    with WorkerPool(store, size=2) as pool:
        for _ in range(4):  # each as if the place that it was made for had been taken meanwhile
            pool._prepare()
        assert pool.counts()["processes"] == 2
        assert rows_in(pool.document(VALUE, "json").data, "json") == 1


def test_the_queue_is_bounded(store: OxigraphStore) -> None:
    with WorkerPool(store, size=1, long=1, queue=0) as pool:

        def ask() -> None:
            with pytest.raises(AbiError):
                pool.query(DEATH.format("w"), seconds=5)

        thread = threading.Thread(target=ask)
        thread.start()
        while not pool.counts()["running"]:
            time.sleep(0.001)
        with pytest.raises(Busy) as caught:
            pool.query(VALUE)
        assert caught.value.details["retry_after"] == 1
    thread.join()
    with pytest.raises(StoreError):
        pool.query(VALUE)


def test_a_query_is_ended_when_its_client_leaves(pool: WorkerPool) -> None:
    cancel = Cancel()
    threading.Timer(0.3, cancel).start()
    started = time.monotonic()
    with pytest.raises(StoreError):
        pool.query(DEATH.format("c"), seconds=30, cancel=cancel)
    assert time.monotonic() - started < 10
    with pytest.raises(StoreError):
        pool.query(VALUE, cancel=cancel)


def test_rdf_is_parsed_apart(pool: WorkerPool) -> None:
    quads, prefixes = pool.parse(b"@prefix : <urn:x:> . :a :b [ :c 'd' ] .", "TURTLE", base=None)
    assert len(list(ox.parse(quads, ox.RdfFormat.N_QUADS))) == 2 and prefixes == {"": "urn:x:"}
    with pytest.raises(SyntaxError) as caught:
        pool.parse(b"<urn:a> <urn:b>\n 'c' 'd' .", "TURTLE", base=None)
    assert caught.value.lineno == 2
    with pytest.raises(StoreError):  # no limit of nesting here: the process falls, and only that
        pool.parse(b"<urn:a> <urn:b> " + b"[ <urn:b> " * 3_000_000 + b"]" * 3_000_000 + b".", "TURTLE", base=None)
    assert pool.query("ASK {}").boolean is True
