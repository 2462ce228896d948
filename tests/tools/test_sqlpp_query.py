from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from abi.errors import ArgumentError, ToolFailed
from abi.graph.rows import Rows
from abi.records.reader import ReadContext, read_file
from abi.records.record import CouchbaseSecrets, SqlppQuery
from abi.records.scan import SourceFile
from abi.records.schema_parameters import schema_parameters
from abi.records.sqlpp_tokens import SqlppFault
from abi.settings import Settings
from abi.tools.runner import RunContext, run
from abi.tools.sqlpp_duckdb import translate
from abi.tools.sqlpp_query import check, fits_output
from abi.tools.sqlpp_words import refusals

SEED = Path(__file__).parents[1] / "records" / "seed" / "sqlpp_query.sqlpp"
SETTINGS = Settings(base_iri="https://example.org/w/", tool_rows=50, query_seconds=5)
CUSTOMERS = [
    {"cust_id": "C1", "name": {"first": "Ada", "last": "O'Hara"}, "tags": ["new", "vip"], "zip": 83701},
    {"cust_id": "C2", "name": {"first": "Bo", "last": "Li"}, "tags": [], "zip": None},
    {"cust_id": "C3", "name": {"first": "Cy"}, "born": "1990-05-01"},
]
ORDERS = [
    {"id": 1, "cust_id": "C1", "orderdate": "2026-01-05", "items": [{"sku": "a", "qty": 2}, {"sku": "b", "qty": 5}]},
    {"id": 2, "cust_id": "C1", "orderdate": "2026-02-01", "items": [{"sku": "a", "qty": 1}]},
    {"id": 3, "cust_id": "C2", "orderdate": "2026-01-20", "items": [{"sku": "c", "qty": 9}]},
    {"id": 4, "cust_id": "C9", "orderdate": "2026-03-01", "items": []},
]


def secret(name: str) -> str:
    return {"PLACE": "duckdb:data", "FILE": "duckdb:shop.duckdb", "NOWHERE": "duckdb:gone"}[name]


@pytest.fixture
def context(tmp_path: Path) -> RunContext:
    data = tmp_path / "data"
    data.mkdir()
    (data / "customers.json").write_text(json.dumps(CUSTOMERS))
    (data / "orders.jsonl").write_text("\n".join(json.dumps(o) for o in ORDERS))
    return RunContext(lambda text, *, rows=None: Rows("ask"), SETTINGS, tmp_path, secret=secret)


def query(text: str, place: str = "PLACE", output: dict[str, Any] | None = None, **properties: Any) -> SqlppQuery:
    schema = {"type": "object", "properties": properties}
    return SqlppQuery(
        name="q",
        description="d",
        query=text,
        input_schema=schema,
        output_schema=output,
        parameters=schema_parameters(schema),
        couchbase=CouchbaseSecrets(conn_string=place, username="NO_USER", password="NO_PASSWORD"),
    )


Ask = Callable[..., Any]


@pytest.fixture
def ask(context: RunContext) -> Ask:
    def call(text: str, **arguments: Any) -> Any:
        return run(query(text, **{name: {} for name in arguments}), arguments, context).result

    return call


def test_agent_catalogs_template_runs(context: RunContext, tmp_path: Path) -> None:
    items = [{"sku": f"s{n}", "qty": 1} for n in range(600)]
    orders = [{"cust_id": "C1", "orderdate": f"2026-01-0{n}", "items": items} for n in (1, 2, 9)]
    (tmp_path / "data" / "orders.jsonl").write_text("\n".join(json.dumps(o) for o in orders))
    path = tmp_path / "q.sqlpp"
    path.write_bytes(SEED.read_bytes())
    status = path.stat()
    file = SourceFile("q.sqlpp", path, status.st_size, status.st_mtime_ns)
    (record,) = read_file(file, ReadContext.of(SETTINGS)).records
    here = RunContext(context.query, SETTINGS, tmp_path, secret=lambda name: {"CB_CONN_STRING": "duckdb:data"}[name])
    given = {"orderdate_start": "2026-01-01", "orderdate_end": "2026-01-05"}
    result = run(record, given, here)
    assert result.result == [{"cust_id": "C1", "first_name": "Ada", "last_name": "O'Hara", "item_cnt": 1200}]
    assert (result.row_count, result.truncated, result.arguments) == (1, False, given)
    assert run(record, {**given, "orderdate_end": "2026-01-01"}, here).result == []
    assert run(record, {}, here).result == []  # compared with what is missing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT c.cust_id, c.name.last FROM customers c ORDER BY c.cust_id LIMIT 2",
            [{"cust_id": "C1", "last": "O'Hara"}, {"cust_id": "C2", "last": "Li"}],
        ),
        ('SELECT RAW c.name FROM customers AS c WHERE c.cust_id = "C3"', [{"first": "Cy"}]),
        ("SELECT VALUE UPPER(name.first) FROM customers WHERE name.last = 'O''Hara'", ["ADA"]),
        (
            "SELECT * FROM orders AS o WHERE o.id = 2",
            [{"o": {"id": 2, "cust_id": "C1", "orderdate": "2026-02-01", "items": [{"sku": "a", "qty": 1}]}}],
        ),
        (
            "SELECT o.* FROM `orders` o WHERE o.id = 4",
            [{"id": 4, "cust_id": "C9", "orderdate": "2026-03-01", "items": []}],
        ),
        (
            "SELECT o.id, i.sku FROM orders AS o, o.items AS i WHERE i.qty > 4 ORDER BY o.id",
            [{"id": 1, "sku": "b"}, {"id": 3, "sku": "c"}],
        ),
        ("SELECT o.id, i.* FROM orders o UNNEST o.items i WHERE o.id = 2", [{"id": 2, "sku": "a", "qty": 1}]),
        (
            "SELECT o.id, i.sku FROM orders AS o LEFT UNNEST o.items AS i WHERE o.id >= 3 ORDER BY o.id",
            [{"id": 3, "sku": "c"}, {"id": 4, "sku": None}],
        ),
        ("SELECT t FROM customers c INNER UNNEST c.tags AS t ORDER BY t", [{"t": "new"}, {"t": "vip"}]),
        (
            "SELECT i.sku, SUM(i.qty) AS n FROM orders o, o.items i GROUP BY i.sku ORDER BY n DESC, i.sku",
            [{"sku": "c", "n": 9}, {"sku": "b", "n": 5}, {"sku": "a", "n": 3}],
        ),
        (
            "SELECT c.name.first, COUNT(*) FROM customers c JOIN orders o ON c.cust_id = o.cust_id "
            "GROUP BY c.name.first, c.cust_id HAVING COUNT(*) > 1",
            [{"first": "Ada", "$1": 2}],
        ),
        (
            "SELECT c.cust_id, c.name AS n FROM customers c, orders o WHERE c.cust_id = o.cust_id GROUP BY c.cust_id "
            "ORDER BY c.name.last",
            [
                {"cust_id": "C2", "n": {"first": "Bo", "last": "Li"}},
                {"cust_id": "C1", "n": {"first": "Ada", "last": "O'Hara"}},
            ],
        ),
        ("SELECT RAW o.items[0].sku FROM orders o WHERE ARRAY_LENGTH(o.items) > 1", ["a"]),
        ("SELECT RAW o.items[-1].sku FROM orders o WHERE o.id = 1", ["b"]),
        ("SELECT RAW c.tags[0:1] FROM customers c WHERE c.cust_id = 'C1'", [["new"]]),
        ("SELECT RAW SUBSTR(c.name.last, 2, 3) FROM customers c WHERE POSITION(c.name.last, 'Hara') = 2", ["Har"]),
        ("SELECT RAW o.id FROM orders o WHERE ANY i IN o.items SATISFIES i.qty > 4 AND i.sku != 'c' END", [1]),
        ("SELECT RAW o.id FROM orders o WHERE EVERY i IN o.items SATISFIES i.sku = 'a' END ORDER BY o.id", [2, 4]),
        ("SELECT RAW ARRAY i.sku FOR i IN o.items WHEN i.qty > 1 END FROM orders o WHERE o.id = 1", [["a", "b"]]),
        (
            "SELECT RAW ARRAY CASE WHEN i.qty > 2 THEN 'many' ELSE 'few' END FOR i IN o.items END "
            "FROM orders o WHERE o.id = 1",
            [["few", "many"]],
        ),
        ("SELECT RAW c.cust_id FROM customers c WHERE c.zip IS NOT VALUED AND c.born IS VALUED", ["C3"]),
        ("SELECT RAW IFMISSINGORNULL(c.born, 'unknown') FROM customers c WHERE c.cust_id = 'C1'", ["unknown"]),
        ('SELECT RAW c.cust_id FROM customers c WHERE ARRAY_CONTAINS(c.tags, "vip")', ["C1"]),
        ("SELECT RAW c.cust_id FROM customers c WHERE 'vip' IN c.tags", ["C1"]),
        (
            "SELECT RAW c.cust_id FROM customers c "
            "WHERE c.cust_id IN (SELECT RAW o.cust_id FROM orders o WHERE o.id = 3)",
            ["C2"],
        ),
        (
            "SELECT o.id, (SELECT RAW i.sku FROM o.items AS i WHERE i.qty > 1) AS skus FROM orders AS o WHERE o.id = 1",
            [{"id": 1, "skus": ["a", "b"]}],
        ),
        (
            "SELECT RAW (SELECT o.id, (SELECT RAW i.qty FROM o.items AS i) AS q FROM orders AS o2 WHERE o2.id = 2) "
            "FROM orders AS o WHERE o.id = 1",
            [[{"id": 1, "q": [2, 5]}]],
        ),
        (
            "SELECT RAW (SELECT i.sku, i.qty FROM o.items AS i ORDER BY i.qty DESC)[0] FROM orders AS o WHERE o.id = 1",
            [{"sku": "b", "qty": 5}],
        ),
        (
            "WITH big AS (SELECT i.sku FROM orders o, o.items i WHERE i.qty > 4) "
            "SELECT RAW b.sku FROM big b ORDER BY b.sku",
            ["b", "c"],
        ),
        (
            "SELECT {\"id\": o.id, 'list': [1, o.id]} AS x FROM orders o WHERE o.id == 2",
            [{"x": {"id": 2, "list": [1, 2]}}],
        ),
        ("SELECT DISTINCT RAW o.cust_id FROM shop.main.orders AS o ORDER BY o.cust_id", ["C1", "C2", "C9"]),
        ("SELECT RAW DATE_PART_STR(o.orderdate, 'month') FROM orders o WHERE o.id = 2", [2]),
        ("SELECT RAW OBJECT_NAMES(c.name) FROM customers c WHERE c.cust_id = 'C1'", [["first", "last"]]),
        ("FROM orders AS o SELECT RAW o.id WHERE o.id < 2;", [1]),
        ("SELECT ARRAY_AGG(o.id) AS ids FROM orders o WHERE o.id < 3", [{"ids": [1, 2]}]),
    ],
)
def test_the_subset_gives_what_couchbase_gives(ask: Ask, text: str, expected: Any) -> None:
    assert ask(text) == expected


@pytest.mark.parametrize("value", ["C1", "C1' OR '1'='1", "'; DROP TABLE orders; --", "$b", 'a"b', "é\n"])
def test_parameters_are_bound_and_never_text(ask: Ask, value: str) -> None:
    found = ask("SELECT RAW o.id FROM orders o WHERE o.cust_id = $a AND '$a' != 'x' ORDER BY o.id", a=value)
    assert found == ([1, 2] if value == "C1" else [])
    assert ask("SELECT RAW $v FROM orders o LIMIT 1", v=value) == [value]


def test_parameters_of_every_type(ask: Ask) -> None:
    assert ask("SELECT RAW o.id FROM orders o WHERE o.id IN $ids ORDER BY o.id LIMIT $n", ids=[1, 3, 4], n=2) == [1, 3]
    assert ask("SELECT RAW o.id FROM orders o WHERE o.id > $low AND $on = true", low=3, on=True) == [4]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("SELECT META(c).id\nFROM c", 1, "the function META"),
        ("SELECT a\nFROM c NEST d ON KEYS c.ds", 2, "NEST"),
        ("SELECT a\nFROM c\nUSE KEYS 'x'", 3, "USE"),
        ("SELECT a FROM c LET x = 1", 1, "LET"),
        ("SELECT a FROM c WHERE\n c.x IS MISSING", 2, "IS MISSING"),
        ("SELECT foo(a)\nFROM c", 1, "the function FOO"),
        ("SELECT read_csv('/etc/passwd')", 1, "the function READ_CSV"),
        ("SELECT * FROM read_text('/etc/passwd')", 1, "the function READ_TEXT"),
        ("SELECT * FROM '/etc/passwd'", 1, "FROM a text"),
        ("DELETE FROM c", 1, "DELETE"),
        ("INSERT INTO c VALUES ('a')", 1, "INSERT"),
        ("SELECT 1;\nDROP TABLE c", 2, "a second statement"),
        ("SELECT a FROM c GROUP BY a GROUP AS g", 1, "GROUP AS"),
        ("SELECT SUM(a) OVER (PARTITION BY b) FROM c", 1, "OVER"),
        ("SELECT ANY AND EVERY v IN c.x SATISFIES v END FROM c", 1, "ANY AND EVERY"),
        ("SELECT FIRST v FOR v IN c.x END FROM c", 1, "FIRST ... FOR"),
        ("SELECT ANY v IN c.x, w IN c.y SATISFIES v = w END FROM c", 1, "several variables"),
        ("SELECT a FROM\nc WHERE (", 2, "does not parse"),
        ("SELECT SUBSTR(c.a) FROM c", 1, "SUBSTR takes 2 to 3"),
        ("SELECT ANY v IN c.x FROM c", 1, "no SATISFIES"),
        ("SELECT 'a", 1, "not closed"),
    ],
)
def test_what_is_outside_the_subset_is_refused_by_name(text: str, line: int, what: str) -> None:
    record = query(text)
    found = check(record, path="tools/q.sqlpp", line=10, place="duckdb:data")
    assert [(f.line, f.severity) for f in found][:1] == [(9 + line, "error")]
    assert what in found[0].message
    assert {f.severity for f in check(record, path="q", line=1, place=None)} == {"warning"}
    assert check(record, path="q", line=1, place="couchbases://db") == []


def test_every_refusal_is_told(context: RunContext) -> None:
    text = "SELECT META(c).id, foo(1)\nFROM c NEST d"
    assert [f.line for f in refusals(text)] == [1, 1, 2]
    with pytest.raises(ToolFailed, match=r"q cannot run \(line 1 of its query\).*META"):
        run(query(text), {}, context)


def test_names_that_are_keywords_elsewhere(ask: Ask) -> None:
    assert ask("SELECT RAW `let`.id FROM orders AS `let` WHERE `let`.id = 1") == [1]
    assert ask("SELECT o.id AS `first`, o.cust_id AS any_value FROM orders o WHERE o.id = 1") == [
        {"first": 1, "any_value": "C1"}
    ]


def test_arguments_are_checked_by_the_schema(context: RunContext) -> None:
    record = query("SELECT RAW o.id FROM orders o WHERE o.id = $id", id={"type": "integer", "minimum": 1})
    assert run(record, {"id": "2"}, context).result == [2]
    with pytest.raises(ArgumentError, match=r"id: .*greater than or equal to 1"):
        run(record, {"id": 0}, context)
    with pytest.raises(ArgumentError, match="nothing"):
        run(record, {"id": 1, "nothing": 2}, context)


def test_a_record_of_triples_may_have_parameters_and_no_schema(context: RunContext) -> None:
    whole = query("SELECT RAW o.id FROM orders o WHERE o.id = $id", id={"type": "integer"})
    record = whole.model_copy(update={"input_schema": {}})
    assert run(record, {"id": "2"}, context).result == [2]
    with pytest.raises(ArgumentError, match="there are none"):
        run(query("SELECT RAW 1 FROM orders o"), {"x": 1}, context)


def test_results_are_checked_by_the_output(context: RunContext) -> None:
    output = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
    with pytest.raises(ToolFailed, match=r"result of q is not as its output says, at 0.id: 1 is not of type 'string'"):
        run(query("SELECT o.id FROM orders o", output=output), {}, context)
    output["items"]["properties"]["id"]["type"] = "integer"
    assert run(query("SELECT o.id FROM orders o", output=output), {}, context).row_count == 4


def test_a_pattern_of_an_output_cannot_hang() -> None:
    fits_output("q", {"items": {"not": {"pattern": "^(a|a)*$"}}}, ["a" * 60 + "!"])
    with pytest.raises(ArgumentError, match="takes longer than 1 s"):
        fits_output("q", {"items": {"pattern": "^(?!x)(a|a)*$"}}, ["a" * 60 + "!"])


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("SELECT a FROM nowhere", "PLACE", "has no collection nowhere", "It has customers, orders."),
        ("SELECT a FROM `../secret`", "PLACE", "has no collection ../secret", "It has"),
        ("SELECT o.idd FROM orders o", "PLACE", "idd", "unknown here"),
        ("SELECT o.id + o.cust_id FROM orders o", "PLACE", "onvert|No function|Conversion", ""),
        ("SELECT 1 FROM x", "NOWHERE", "no folder or DuckDB file where", "workspace"),
    ],
)
def test_what_fails_names_the_tool(context: RunContext, text: str, place: str, message: str, hint: str) -> None:
    with pytest.raises(ToolFailed, match=message) as caught:
        run(query(text, place), {}, context)
    assert caught.value.message.startswith("The tool q failed on the embedded engine: ")
    assert hint in caught.value.hint


def test_a_missing_secret_is_named(context: RunContext) -> None:
    from abi.secrets import secret as look_up

    here = RunContext(context.query, SETTINGS, context.root, secret=lambda n: look_up(n, SETTINGS, context.root))
    with pytest.raises(ToolFailed, match="The tool q cannot run: The secret ABI_NO_SUCH has no value"):
        run(query("SELECT 1", "ABI_NO_SUCH"), {}, here)


def test_tables_of_a_duckdb_file(context: RunContext, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("CREATE TABLE orders (id INTEGER, day DATE, items STRUCT(sku VARCHAR, qty DECIMAL(9,2))[])")
        database.execute("INSERT INTO orders VALUES (1, '2026-01-02', [{'sku': 'a', 'qty': 1.5}])")
    record = query(
        "SELECT o.id, o.day, i.qty FROM orders o, o.items i WHERE o.day = $at", "FILE", at={"type": "string"}
    )
    assert run(record, {"at": "2026-01-02"}, context).result == [{"id": 1, "day": "2026-01-02", "qty": 1.5}]


def test_a_changed_collection_is_read_again(ask: Ask, tmp_path: Path) -> None:
    count = "SELECT RAW COUNT(*) FROM customers"
    assert ask(count) == [3]
    assert ask("SELECT RAW COUNT(*) FROM orders") == [4]
    (tmp_path / "data" / "customers.json").write_text("[]")
    with pytest.raises(ToolFailed):
        ask("SELECT RAW c.name FROM customers c")  # no document has a field
    (tmp_path / "data" / "customers.json").write_text('[{"a": {"b": [{"c": null}]}}, {"a": 5}]')
    assert ask("SELECT * FROM customers c") == [{"c": {"a": {"b": [{}]}}}, {"c": {"a": 5}}]
    (tmp_path / "data" / "customers.json").write_text("{broken")
    with pytest.raises(ToolFailed, match=r"customers.json cannot be read"):
        ask(count)


def test_rows_and_time_are_limited(context: RunContext) -> None:
    small = RunContext(context.query, SETTINGS.model_copy(update={"tool_rows": 2}), context.root, secret=secret)
    result = run(query("SELECT o.id FROM orders o ORDER BY o.id"), {}, small)
    assert (result.result, result.truncated) == ([{"id": 1}, {"id": 2}], True)
    hasty = RunContext(context.query, SETTINGS.model_copy(update={"query_seconds": 0.3}), context.root, secret=secret)
    joins = " , ".join(f"ARRAY_RANGE(0, 100000) AS a{n}" for n in range(1))
    slow = f"SELECT RAW COUNT(*) FROM (SELECT {joins}) AS x, x.a0 AS b, x.a0 AS c WHERE b * c % 7 = 3"
    started = time.monotonic()
    with pytest.raises(ToolFailed, match=r"longer than 0.3 s"):
        run(query(slow), {}, hasty)
    assert time.monotonic() - started < 30


words = st.sampled_from(
    "SELECT RAW c.a FROM c AS x , ( ) [ ] { } ANY EVERY v IN SATISFIES END ARRAY FOR WHEN CASE THEN 'a' \"b\" `n` $p 1 "
    "UNNEST LEFT IS NOT VALUED NULL GROUP BY HAVING COUNT SUBSTR . * = < -- ; WITH".split()
)


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.lists(words, max_size=14).map(" ".join))
def test_any_words_are_translated_or_refused(text: str) -> None:
    try:
        translate("SELECT " + text)
    except SqlppFault as fault:
        assert fault.line == 1 and fault.message
