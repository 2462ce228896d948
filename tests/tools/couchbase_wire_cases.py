"""The SDK itself, over its two protocols, against a server on this machine: signing in, queries, vector searches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abi.errors import ArgumentError, ToolFailed
from abi.graph.rows import Rows
from abi.records.record import CouchbaseSecrets, SemanticSearch, SqlppQuery, VectorSearch
from abi.settings import Settings
from abi.tools.runner import RunContext, run
from tests.tools.couchbase_server import CouchbaseServer, running

NAMES = CouchbaseSecrets(conn_string="PLACE", username="USER", password="PASSWORD")
INPUT = {"type": "object", "properties": {"least": {"type": "integer"}}, "required": ["least"]}
QUERY = SqlppQuery(
    name="rates",
    description="d",
    query="/* name: rates */\nSELECT r.* FROM `b`.`s`.`c` r WHERE r.rate > $least",
    input_schema=INPUT,
    output_schema={"type": "array", "items": {"type": "object", "properties": {"rate": {"type": "number"}}}},
    couchbase=NAMES,
)
SEARCH = SemanticSearch(
    name="blogs",
    description="d",
    vector_search=VectorSearch(
        bucket="b",
        scope="s",
        collection="c",
        index="blog_index",
        vector_field="vec",
        text_field="text",
        embedding_model="their-model",
        num_candidates=4,
    ),
    input_schema={"type": "object", "properties": {"wish": {"type": "string"}}, "required": ["wish"]},
    couchbase=NAMES,
)


@pytest.fixture
def server() -> Iterator[CouchbaseServer]:
    with running() as made:
        yield made


def context(server: CouchbaseServer, root: Path, password: str = "secret-of-ann", **settings: Any) -> RunContext:
    values = {"PLACE": server.place, "USER": "ann", "PASSWORD": password}
    made = Settings(base_iri="https://example.org/w/", **{"query_seconds": 30, **settings})
    return RunContext(lambda text, *, rows=None: Rows("ask"), made, root, secret=values.__getitem__)


def rows_answer(rows: list[Any], **more: Any) -> dict[str, Any]:
    return {"body": {"requestID": "r", "signature": {"*": "*"}, "results": rows, "status": "success", **more}}


def test_a_query_goes_out_read_only_with_named_parameters_and_its_rows_come_back(
    server: CouchbaseServer, tmp_path: Path
) -> None:
    server.answers["/query/service"] = rows_answer([{"rate": 3.5, "of": {"a": [1, None]}}, {"rate": 4}])
    result = run(QUERY, {"least": "3"}, context(server, tmp_path))
    assert result.result == [{"rate": 3.5, "of": {"a": [1, None]}}, {"rate": 4}]
    assert (result.row_count, result.truncated, result.arguments) == (2, False, {"least": 3})
    (asked,) = server.asked
    assert (asked["user"], asked["password"]) == ("ann", "secret-of-ann")
    body = asked["body"]
    assert (body["$least"], body["$readonly"], body["timeout"]) == (3, True, "29500ms")  # the SDK keeps half a second
    assert body["statement"].endswith("WHERE r.rate > $least")


def test_rows_end_at_the_limit(server: CouchbaseServer, tmp_path: Path) -> None:
    server.answers["/query/service"] = rows_answer([{"rate": n} for n in range(50)])
    result = run(QUERY, {"least": 3}, context(server, tmp_path, tool_rows=20))
    assert (result.row_count, result.truncated) == (20, True)


def test_wrong_arguments_are_not_sent(server: CouchbaseServer, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="least"):
        run(QUERY, {"least": "many"}, context(server, tmp_path))
    assert server.asked == []


def test_what_the_service_refuses_is_told_with_its_code(server: CouchbaseServer, tmp_path: Path) -> None:
    fault = {"code": 3000, "msg": "syntax error - line 1, column 8, near 'SELECT ', at: secret-of-ann"}
    server.answers["/query/service"] = {
        "status": 400,
        "body": {"requestID": "r", "errors": [fault], "status": "fatal", "results": []},
    }
    with pytest.raises(ToolFailed, match=r"The tool rates failed on Couchbase: ParsingFailed: 3000 syntax error") as e:
        run(QUERY, {"least": 3}, context(server, tmp_path))
    assert e.value.hint == "Correct the query."
    assert "secret-of-ann" not in json.dumps(e.value.document())


def test_a_wrong_password_is_told(server: CouchbaseServer, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="The tool rates cannot connect on Couchbase") as caught:
        run(QUERY, {"least": 3}, context(server, tmp_path, password="not-her-secret", query_seconds=4))
    assert "not-her-secret" not in json.dumps(caught.value.document())
    assert server.asked == []


def test_a_vector_search_goes_out_with_the_vector_of_the_arguments(server: CouchbaseServer, tmp_path: Path) -> None:
    hits = [{"index": "x", "id": f"d{n}", "score": 1 / n, "fields": {"text": f"blog {n}"}} for n in (1, 2)]
    server.answers["/api/"] = {
        "body": {
            "status": {"total": 1, "failed": 0, "successful": 1},
            "hits": hits,
            "total_hits": 2,
            "max_score": 1.0,
            "took": 1000,
        }
    }
    here = context(server, tmp_path, embedding_models={"their-model": "minilm"})
    result = run(SEARCH, {"wish": "a quiet beach"}, here)
    assert [row["text"] for row in result.result] == ["blog 1", "blog 2"]
    (asked,) = server.asked
    assert asked["path"] == "/api/bucket/b/scope/s/index/blog_index/query"
    (knn,) = asked["body"]["knn"]
    assert (knn["field"], knn["k"], len(knn["vector"])) == ("vec", 4, 384)
    assert asked["body"]["fields"] == ["text"]
    again = run(SEARCH, {"wish": "a noisy city"}, here)
    assert again.result and server.asked[1]["body"]["knn"][0]["vector"] != knn["vector"]
