"""The Accept header: weights, wildcards, what is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.errors import NotAcceptable
from abi.server.negotiate import GRAPHS, RESULTS, choose

CASES = [
    (None, "json", "turtle"),
    ("", "json", "turtle"),
    ("*/*", "json", "turtle"),
    ("text/*", "csv", "turtle"),
    ("application/sparql-results+xml", "xml", None),
    ("application/json", "json", "jsonld"),
    ("application/xml", "xml", "rdfxml"),
    ("text/csv;q=0.5, text/tab-separated-values", "tsv", None),
    ("text/csv;q=0.5, text/tab-separated-values;q=0.4", "csv", None),
    ("TEXT/CSV", "csv", None),
    ("application/sparql-results+json;q=0, */*;q=0.1", "xml", "turtle"),
    ("application/rdf+xml;q=0.9, text/turtle;q=0.8, */*;q=0.1", "json", "rdfxml"),
    ("text/turtle; charset=utf-8", None, "turtle"),
    ("application/ld+json;profile=x;q=0.7", None, "jsonld"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "xml", "rdfxml"),
    ("application/sparql-results+json,application/json;q=0.9,*/*;q=0.5", "json", "jsonld"),
    ("image/png", None, None),
    ("*/*;q=0", None, None),
    ("nonsense", None, None),
    ("text/csv;q=high", None, None),
]


@pytest.mark.parametrize(("accept", "result", "graph"), CASES)
def test_choice(accept: str | None, result: str | None, graph: str | None) -> None:
    for offers, expected in ((RESULTS, result), (GRAPHS, graph)):
        if expected is None:
            with pytest.raises(NotAcceptable):
                choose(accept, offers)
        else:
            assert choose(accept, offers).format == expected


@given(st.text(st.sampled_from("text/*csvq=;,.01 application+json\x00é"), max_size=80))
def test_nothing_breaks_it(accept: str) -> None:
    with contextlib.suppress(NotAcceptable):
        assert choose(accept, RESULTS) in RESULTS
