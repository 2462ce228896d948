from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.errors import UsageError
from abi.graph.oxigraph import OxigraphStore
from abi.search.predicate import annotation_filter

BASE = "https://example.org/flights/"
TYPED = "?record a ?class FILTER(STRSTARTS(STR(?record), 'https://example.org/flights/tool/'))"


def kept(store: OxigraphStore, predicate: str) -> list[str]:
    rows = store.query(
        f"SELECT DISTINCT ?record WHERE {{ {TYPED} ?record abi:name ?n . {annotation_filter(predicate)} }}"
    )
    found = {r["record"].value.removeprefix(f"{BASE}tool/") for r in rows}
    return sorted(name for name in found if "/" not in name)


DIRECT, INDIRECT, INVOICES, DISTANCE = "find_direct_routes", "find_indirect_routes", "unpaid_invoices", "distance"


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ('domain = "travel"', [DIRECT, INDIRECT]),
        ('"travel" = domain AND gdpr="true"', [DIRECT]),
        ('gdpr != "true"', [INDIRECT]),
        ('domain = "travel" AND domain = "finance"', []),
        ('domain = "finance" OR gdpr = "false"', [INDIRECT, INVOICES]),
        ('NOT domain = "travel"', [DISTANCE, INVOICES]),
        ('NOT (domain = "travel" OR domain = "finance")', [DISTANCE]),
        ('domain IN ("travel", "finance") AND NOT gdpr = "true"', [INDIRECT, INVOICES]),
        ('nothing = "x"', []),
    ],
)
def test_what_it_keeps(store: OxigraphStore, predicate: str, expected: list[str]) -> None:
    assert kept(store, predicate) == expected


def test_faults_are_the_parsers() -> None:
    with pytest.raises(UsageError, match="column"):
        annotation_filter("a=b; DROP SCOPE x")


@given(st.text(max_size=30))
def test_values_are_never_read_as_sparql(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    store = OxigraphStore.memory()
    text = annotation_filter(f'key = "{quoted}"')
    rows = store.query(f"SELECT ?record WHERE {{ VALUES ?record {{ <urn:x> }} {text} }}")
    assert list(rows) == []
