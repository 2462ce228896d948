"""Without a server: what happens before one is reached, and what its errors become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from couchbase import exceptions

from abi.errors import ToolFailed
from abi.graph.rows import Rows
from abi.records.record import CouchbaseSecrets, SqlppQuery
from abi.settings import Settings
from abi.tools.couchbase import Cluster
from abi.tools.runner import RunContext, run
from abi.tools.tool_secrets import ToolSecrets

CANARY = "canary-7f3e-value"
NAMES = CouchbaseSecrets(conn_string="PLACE", username="USER", password="PASSWORD")
QUERY = SqlppQuery(name="q", description="d", query="SELECT 1 AS a", couchbase=NAMES)


def context(root: Path, seconds: float = 2, **secrets: str) -> RunContext:
    settings = Settings(base_iri="https://example.org/w/", query_seconds=seconds)
    return RunContext(lambda text, *, rows=None: Rows("ask"), settings, root, secret=lambda name: secrets[name])


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Any]:
    """A cluster as it is after connecting, without its connection."""
    cluster = object.__new__(Cluster)
    cluster._tool, cluster._seconds, cluster._folder = "q", 1.0, None
    cluster._secrets = ToolSecrets("q", context(tmp_path, PASSWORD=CANARY))
    assert cluster._secrets["PASSWORD"] == CANARY
    yield cluster._told


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    here = context(tmp_path, PLACE="couchbase://127.0.0.1:1", USER="ann", PASSWORD=CANARY)
    with pytest.raises(ToolFailed, match=r"The tool q .* on Couchbase: .*Timeout") as caught:
        run(QUERY, {}, here)
    assert CANARY not in json.dumps(caught.value.document())
    assert caught.value.details["tool"] == "q"
    assert caught.value.details["remote"] == "couchbase"
    assert "query_seconds" in caught.value.hint


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        (exceptions.AuthenticationException(message=f"no {CANARY}"), "Authentication: no ***", "password"),
        (exceptions.ParsingFailedException(message="syntax error - at SELEC."), "ParsingFailed: syntax error", "query"),
        (exceptions.UnAmbiguousTimeoutException(message="late"), "UnAmbiguousTimeout: late", "certificate"),
        (exceptions.SearchIndexNotFoundException(message="x"), "SearchIndexNotFound: x", "vector index"),
        (exceptions.CouchbaseException(), "Couchbase", ""),
    ],
)
def test_errors_of_the_service_are_ours(told: Any, error: Exception, kind: str, hint: str) -> None:
    with pytest.raises(ToolFailed) as caught, told("failed"):
        raise error
    assert caught.value.message.startswith(f"The tool q failed on Couchbase: {kind}")
    assert hint in caught.value.hint
    assert CANARY not in json.dumps(caught.value.document())
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("names", "secrets", "message"),
    [
        (CouchbaseSecrets(conn_string="PLACE"), {"PLACE": "couchbase://h"}, "lack username, password"),
        (NAMES, {"PLACE": f"http {CANARY}"}, "PLACE is no connection string"),
        (
            NAMES.model_copy(update={"certificate": "CERT"}),
            {"PLACE": "couchbases://h", "USER": "u", "PASSWORD": CANARY, "CERT": "/no/such.pem"},
            "file of its certificate is not there",
        ),
    ],
)
def test_what_is_wrong_before_connecting(
    tmp_path: Path, names: CouchbaseSecrets, secrets: dict[str, str], message: str
) -> None:
    with pytest.raises(ToolFailed, match=message) as caught:
        run(QUERY.model_copy(update={"couchbase": names}), {}, context(tmp_path, **secrets))
    assert CANARY not in json.dumps(caught.value.document())


def test_a_certificate_in_the_secret_is_a_file_for_the_sdk_only(tmp_path: Path, told: Any) -> None:
    cluster = told.__self__
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    path = cluster._certificate(pem)
    assert path.read_text() == pem
    with pytest.raises(ToolFailed), told("cannot connect"):
        raise exceptions.AuthenticationException()
    assert not path.exists()
