"""Hostile queries, all the way: what the guard lets through harms neither this process nor others nor the network."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from abi.errors import AbiError, QueryRefused, QuerySyntaxError
from abi.graph.guard import check_query, check_update
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.graph.worker import QueryWorker
from abi.settings import Settings

SETTINGS = Settings(base_iri="urn:x:")


def many(before: str, unit: str, after: str) -> Callable[[int], str]:
    """A text in which a unit is repeated; `%` in it becomes the number of the repetition."""
    return lambda times: before + "".join(unit.replace("%", str(i)) for i in range(times)) + after


GROWING = {
    "groups": many("ASK{", "{}", "}"),
    "optional": many("ASK{", "OPTIONAL{?a% ?b ?c}", "}"),
    "union": many("ASK{{}", "UNION{}", "}"),
    "minus": many("ASK{", "MINUS{?a ?b ?c}", "}"),
    "lateral": many("ASK{", "LATERAL{}", "}"),
    "graph": many("ASK{", "GRAPH?g{}", "}"),
    "subselect": many("ASK{", "{SELECT*{?a ?b ?c}}", "}"),
    "filter": many("ASK{", "FILTER(1)", "}"),
    "exists": many("ASK{", "FILTER NOT EXISTS{}", "}"),
    "bind": many("ASK{", "BIND(1 AS ?b%)", "}"),
    "project": many("SELECT ", "(1 AS ?b%)", "{}"),
    "aggregate": many("SELECT ", "(COUNT(?a)AS?b%)", "{?a ?b ?c}"),
    "having": many("SELECT(COUNT(*)AS?x){}HAVING", "(1)", ""),
    "path": many("ASK{?s a", " /a", " ?o}"),
    "alternative": many("ASK{?s a", " |a", " ?o}"),
    "inverse": many("ASK{?s ", "^", " a ?o}"),
    "not": many("ASK{FILTER(", "!", "1)}"),
    "minus sign": many("ASK{FILTER(", "- ", "1)}"),
    "plus": many("ASK{FILTER(1", "+1", ")}"),
    "and": many("ASK{FILTER(1", "&&1", ")}"),
    "or": many("ASK{FILTER(1", "||1", ")}"),
    "semicolon": many("ASK{?a ?b ?c", ";?b ?c", "}"),
    "comma": many("ASK{?a ?b ?c", ",?c", "}"),
    "collection": many("ASK{?a ?b(", " 1", ")}"),
    "describe": many("DESCRIBE ", "<urn:a>", "{}"),
    "in": many("ASK{FILTER(1 IN (0", ",1", "))}"),
    "values": many("ASK{VALUES?a{", " 1", "}}"),
    "order": many("SELECT*{}ORDER BY", " ?a", ""),
    "braces": lambda times: "ASK" + "{" * times + "}" * times,
    "parentheses": lambda times: "ASK{FILTER(" + "(" * times + "1" + ")" * times + ")}",
    "brackets": lambda times: "ASK{?a ?b " + "[?p " * times + "1" + "]" * times + "}",
    "quoted": lambda times: "ASK{" + "<<" * times + "?a ?b ?c" + ">> ?b ?c" * times + "}",
}
CHILD = """
import sys, threading, pyoxigraph
def go():
    try: pyoxigraph.Store().query(sys.stdin.read())
    except Exception: pass
threading.stack_size(8 << 20)
thread = threading.Thread(target=go, daemon=True)
thread.start()
thread.join(2)
sys.stdout.flush()
import os; os._exit(0)
"""


def allowed(text: str) -> bool:
    try:
        check_query(text, SETTINGS)
    except (QueryRefused, QuerySyntaxError):
        return False
    return True


@pytest.mark.parametrize("name", sorted(GROWING))
def test_the_largest_query_that_is_let_through_is_no_crash(name: str) -> None:
    """Parsed on a stack of 8 MiB, which is what a main thread has; taking too long is another matter."""
    grow = GROWING[name]
    low, high = 1, 70_000
    assert not allowed(grow(high)), "no limit holds"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(grow(middle)) else (low, middle)
    done = subprocess.run([sys.executable, "-c", CHILD], input=grow(low), text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{low} times {name}"


class Listener:
    """Counts connections on a port of this machine."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.connections = 0
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        """Ends with the first connection that says so."""
        while True:
            connection, _ = self.socket.accept()
            with connection:
                if connection.recv(4) == b"stop":
                    return
            self.connections += 1

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"stop")
        self.thread.join()
        self.socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()
    assert made.connections == 0, "a query reached the network"


@pytest.fixture(scope="module")
def worker() -> Iterator[QueryWorker]:
    store = OxigraphStore.memory()
    triples = " ".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(60))
    store.update(f'INSERT DATA {{ GRAPH <urn:g> {{ {triples} <urn:s0> <urn:secret> "canary" }} }}')
    with QueryWorker(store) as made:
        yield made


def outcome(worker: QueryWorker, text: str) -> Rows | AbiError:
    try:
        check_query(text, SETTINGS)
        return worker.query(text, seconds=1)
    except AbiError as error:
        return error


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <%> { ?a ?b ?c } }",
        "SELECT * { SERVICE SILENT <%> { ?a ?b ?c } }",
        "SELECT * { OPTIONAL { ?x a ?y . { SELECT * { service<%>{ ?a ?b ?c } } } } }",
        "SELECT * { FILTER EXISTS { SERVICE <%> { ?a ?b ?c } } }",
        "SELECT * { VALUES ?e { <%> } SERVICE ?e { ?a ?b ?c } }",
        "SELECT * { ?s ?p trueSERVICE<%>{?a ?b ?c} }",
        "PREFIX : <%> SELECT * { SERVICE:{?a ?b ?c} }",
        "PREFIX : <%> SELECT * { SERVICESILENT:x{?a ?b ?c} }",
        "PREFIX : <%> SELECT * { {} SERVICE SILENT:x{?a ?b ?c} }",
        "SELECT * { ?a ?b ?c #\rSERVICE<%>{?a ?b ?c}\n}",
        "SELECT * { FILTER(?a<?b)SERVICE?x#>\n{?a ?b ?c}} VALUES ?x { <%> }",
        "SELECT * { VALUES ?x { <%> } FILTER(1<2)FILTER(?a<?b)SERVICE?x#>\n{?a ?b ?c}}",
        'SELECT * { VALUES (?a ?b) { (""" ")} SERVICE<%>{?a ?b ?c} #\\x """\n}',
        "SELECT * { \\u0053ERVICE <%> { ?a ?b ?c } }",
        "SELECT * FROM <%> { ?a ?b ?c }",
        "SELECT * FROM NAMED <%> { GRAPH ?g { ?a ?b ?c } }",
        "LOAD <%>",
        "INSERT DATA {} ; LOAD SILENT <%>",
    ],
)
def test_nothing_reaches_the_network(worker: QueryWorker, listener: Listener, text: str) -> None:
    text = text.replace("%", f"http://127.0.0.1:{listener.port}/")
    result = outcome(worker, text)
    assert isinstance(result, (QueryRefused, QuerySyntaxError)) or (isinstance(result, Rows) and not result.rows)
    if "LOAD" in text:
        with pytest.raises(QueryRefused):
            check_update(text, SETTINGS)
    # And where the guard is passed by, the process itself has no sockets.
    with contextlib.suppress(AbiError):
        worker.query(text, seconds=2)


@pytest.mark.parametrize("scheme", ["file:///etc/hostname", "FILE:///etc/hostname", "file:/etc/hostname"])
def test_no_file_is_read(worker: QueryWorker, scheme: str) -> None:
    for text in (
        f"SELECT * FROM <{scheme}> {{ ?a ?b ?c }}",
        f"ASK FROM NAMED <{scheme}> {{ GRAPH ?g {{ ?a ?b ?c }} }}",
    ):
        assert isinstance(outcome(worker, text), QueryRefused)
    with pytest.raises(QueryRefused):
        check_update(f"LOAD <{scheme}>", SETTINGS)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }",
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c = 'never') }",
        "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l } ORDER BY ?l",
        "ASK { FILTER(REGEX('" + "a" * 5000 + "', '(a+)+b')) }",
        "ASK { FILTER(REGEX('" + "a" * 5000 + "', '" + "(a?){50}" * 20 + "')) }",
        "SELECT (REPLACE('" + "a" * 10_000 + "', 'a', '" + "b" * 20_000 + "') AS ?x) {}",
        "SELECT * { ?a (<urn:p>|!<urn:p>)* ?b . ?c (<urn:p>|!<urn:p>)* ?d . ?e (<urn:p>|!<urn:p>)* ?f }",
        "SELECT (GROUP_CONCAT(?c) AS ?x) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    ],
)
def test_a_query_that_eats_time_or_memory_ends_and_the_next_one_is_answered(worker: QueryWorker, text: str) -> None:
    result = outcome(worker, text)
    assert isinstance(result, (Rows, AbiError))
    assert worker.query("ASK { <urn:s0> <urn:secret> 'canary' }").boolean


def test_an_answer_is_never_larger_than_its_limit(worker: QueryWorker) -> None:
    rows = worker.query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", seconds=5, rows=10**9, bytes=100_000)
    assert rows.truncated and sum(len(str(t)) for row in rows for t in row.values()) <= 100_000


@pytest.mark.parametrize(
    "text", ["INSERT DATA { <urn:a> <urn:b> 1 }", "DELETE WHERE { ?s ?p ?o }", "CLEAR ALL", "DROP ALL"]
)
def test_a_query_cannot_write(worker: QueryWorker, text: str) -> None:
    assert isinstance(outcome(worker, text), QueryRefused)
    with pytest.raises(QuerySyntaxError):
        worker.query(text)
    assert worker.query("ASK { <urn:s0> <urn:secret> 'canary' }").boolean
