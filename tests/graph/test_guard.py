from __future__ import annotations

import pytest

from abi.errors import QueryRefused, QuerySyntaxError
from abi.graph.guard import check_query, check_update
from abi.settings import Settings

SETTINGS = Settings(
    base_iri="https://example.org/w/",
    prefixes={"f": "file:///data/", "service": "https://s.example/", "x": "https://x.example/"},
)


@pytest.mark.parametrize(
    ("text", "form", "variables"),
    [
        ("SELECT ?b ?a WHERE { ?a ?b $c }", "select", ("a", "b", "c")),
        ("PREFIX x: <urn:x> BASE <urn:y> select * {}", "select", ()),
        ("ASK{?service:load ?load 'SERVICE <x>' # LOAD\n}", "ask", ("load", "service")),
        ("CONSTRUCT WHERE { ?s service:x ?o . GRAPH service:g { ?s a ?o } }", "construct", ("o", "s")),
        ("DESCRIBE <urn:a>", "describe", ()),
    ],
)
def test_queries(text: str, form: str, variables: tuple[str, ...]) -> None:
    verdict = check_query(text, SETTINGS)
    assert (verdict.form, verdict.variables, verdict.has_dataset) == (form, variables, False)


def test_from_names_graphs() -> None:
    assert check_query("SELECT * FROM <https://a/> FROM NAMED x:y {}", SETTINGS).has_dataset


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://169.254.169.254/> { ?a ?b ?c } }",
        "SELECT * { sErViCe SILENT <http://a/> {} }",
        "SELECT * { ?a ?b trueSERVICE<http://a/>{} }",
        "PREFIX : <http://a/> SELECT * { SERVICE:x{} }",
        "PREFIX : <http://a/> SELECT * { SERVICESILENT:x{} }",
        "PREFIX : <http://a/> SELECT * { SERVICE silent:x{} }",
        "PREFIX : <http://a/> SELECT * { {} trueSERVICE:x{} }",
        "SELECT * { ?a ?b ?c #\rSERVICE<http://a/>{}\n}",
        'SELECT * { VALUES (?a ?b) { (""" x")} SERVICE<http://a/>{} #\\x""" \n}',
        "SELECT * FROM <file:///etc/passwd> {}",
        "SELECT * FROM NAMED <FILE:/etc/passwd> {}",
        "SELECT * FROM f:passwd {}",
        "PREFIX g: <file:///etc/> SELECT * FROM g:passwd {}",
        "INSERT DATA { <urn:a> <urn:b> 1 }",
        "LOAD <http://a/>",
        "{" * 200,
        "SELECT * " + "{" * 101 + "}" * 101,
        "ASK { FILTER(" + "!" * 6000 + "true) }",
        "ASK { FILTER(" + "(" * 101 + "true" + ")" * 102 + "}",
        "ASK {{}" + "UNION{}" * 5000 + "}",
        "DESCRIBE " + "<urn:a>" * 2000,
        "ASK { ?a ?b (" + "1 " * 2000 + ") }",
        "ASK { " + "<< " * 101 + "}",
        "SELECT * { } #" + "x" * 70_000,
        "SELECT * { <urn:" + "é" * 40_000 + "> ?a ?b }",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        check_query(text, SETTINGS)


@pytest.mark.parametrize(
    "text",
    "|# only this|PREFIX a: <urn:a>|PREFIX a <urn:a> ASK {}|PREFIX a:b <urn:x> ASK {}|PREFIX|BASE"
    "|SELECTDISTINCT ?x {}|LOAD:x|WHERE {}|(".split("|"),
)
def test_not_a_query(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        check_query(text, SETTINGS)


def test_position_is_said() -> None:
    with pytest.raises(QueryRefused, match="line 2, column 3: SERVICE") as caught:
        check_query("SELECT * {\n  SERVICE <http://a/> {} }", SETTINGS)
    assert caught.value.details == {"line": 2, "column": 3}


def test_long_data_is_no_operator() -> None:
    check_query("SELECT * { VALUES ?x {" + " 1" * 20_000 + "} }", SETTINGS)
    check_query("SELECT * { VALUES (?x ?y) {" + "(1 2)" * 10_000 + "} }", SETTINGS)


def test_operations_stand_alone() -> None:
    text = """PREFIX a: <urn:a> INSERT DATA { a:x a:y "1;2" ; a:z 3 } ;
    PREFIX b: <urn:b>
    DELETE DATA { GRAPH b:g { a:x a:y 1 } };
    DELETE WHERE { ?a ?b ?c };
    WITH a:g DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o };
    INSERT { ?s ?p 1 } USING <urn:g> WHERE { ?s ?p ?o };
    CLEAR SILENT GRAPH a:g; DROP ALL; CREATE GRAPH a:h; COPY a:x TO a:y; MOVE a:x TO a:y; ADD a:x TO a:y ;"""
    operations = check_update(text, SETTINGS, {})
    assert [o.kind for o in operations] == (
        "insert_data delete_data delete_where modify modify clear drop create copy move add".split()
    )
    assert operations[0].prologue == "PREFIX a: <urn:a>\n"
    assert operations[1].prologue == "PREFIX a: <urn:a>\nPREFIX b: <urn:b>\n"
    assert operations[1].prefixes == {"a": "urn:a", "b": "urn:b"}
    assert operations[1].text == "DELETE DATA { GRAPH b:g { a:x a:y 1 } }"
    assert (operations[1].line, operations[2].line) == (3, 4)
    assert [t.text for t in operations[2].tokens][:3] == ["DELETE", "WHERE", "{"]


def test_no_operation() -> None:
    assert check_update("", SETTINGS) == []
    assert check_update("PREFIX a: <urn:a>", SETTINGS) == []


@pytest.mark.parametrize(
    "text",
    [
        "LOAD <http://a/>",
        "load silent <file:///etc/passwd> into graph <urn:g>",
        "CLEAR ALL; LOADSILENT <http://a/>",
        "PREFIX : <http://a/> CLEAR ALL; LOAD:x",
        "INSERT { ?a ?b ?c } WHERE { SERVICE <http://a/> { ?a ?b ?c } }",
        "INSERT { ?a ?b ?c } USING <file:///etc/passwd> WHERE { ?a ?b ?c }",
        "INSERT { ?a ?b ?c } USING NAMED <file:///etc/passwd> WHERE { ?a ?b ?c }",
        "SELECT * {}",
        "; CLEAR ALL",
        "INSERTDATA { }",
        "INSERT",
        "hello",
    ],
)
def test_refused_updates(text: str) -> None:
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        check_update(text, SETTINGS)


def test_an_undeclared_prefix_is_named() -> None:
    with pytest.raises(QuerySyntaxError, match="the prefix eg: is not declared") as error:
        check_query("SELECT * WHERE { ?s a eg:Thing }", SETTINGS, {"ex": "https://example.org/"})
    assert error.value.details["column"] == 23
