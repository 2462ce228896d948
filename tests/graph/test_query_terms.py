from __future__ import annotations

from pathlib import Path

import pytest

from abi.graph.query_terms import whole_query
from abi.workspace import Workspace

ONTOLOGY = """@prefix s: <https://example.org/s#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/s> a owl:Ontology ; rdfs:label "s" .
s:Airport a owl:Class ; rdfs:label "airport" .
s:from a owl:ObjectProperty ; rdfs:label "from" .
s:flights a owl:DatatypeProperty ; rdfs:label "flights" .
"""

QUERY = """# record_kind: sparql_query
# name: busy
# description: Airports with flights.
# parameters:
#   least: {type: xsd:integer, required: false}
# answer: "{% for row in rows %}{{ row.COLUMN }}{% endfor %}"
SELECT ?airport ?n WHERE {
  ?airport a s:CLASS ; s:PROPERTY ?n .
  #?least ?n s:OPTIONAL ?least .
  ?airport o:elsewhere ?x .
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "abi.yaml").write_text(
        "base_iri: https://example.org/w/\nprefixes: {s: 'https://example.org/s#', o: 'https://example.org/other#'}\n"
    )
    for folder, name, text in (("ontology", "s.ttl", ONTOLOGY), ("tools", "busy.rq", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    return tmp_path


def written(root: Path, **words: str) -> None:
    text = QUERY
    for word, given in {
        "COLUMN": "n",
        "CLASS": "Airport",
        "PROPERTY": "flights",
        "OPTIONAL": "from",
        **words,
    }.items():
        text = text.replace(word, given)
    (root / "tools" / "busy.rq").write_text(text)


@pytest.mark.parametrize(
    ("words", "line", "term", "fix"),
    [
        ({"PROPERTY": "flihgts"}, 8, "s:flihgts", "Did you mean s:flights?"),
        ({"CLASS": "Airprot"}, 8, "s:Airprot", "Did you mean s:Airport?"),
        ({"OPTIONAL": "form"}, 9, "s:form", "Did you mean s:from?"),
        ({"PROPERTY": "qqqq"}, 8, "s:qqqq", "Correct it, or declare it in an ontology."),
    ],
)
def test_a_misspelt_term_is_a_warning_at_its_line(
    root: Path, words: dict[str, str], line: int, term: str, fix: str
) -> None:
    written(root, **words)
    with Workspace.open(root) as workspace:
        (found,) = workspace.check().findings
        assert (found.path, found.line, found.field, found.severity, found.code, found.fix) == (
            "tools/busy.rq",
            line,
            "query",
            "warning",
            "term-unknown",
            fix,
        )
        assert term in found.message
        report = workspace.index()
        assert report.written and report.findings == [found]


def test_what_a_graph_beside_the_files_has_is_known(root: Path, tmp_path: Path) -> None:
    written(root, PROPERTY="loaded")
    data = tmp_path / "more.nt"
    data.write_text('<https://example.org/s#x> <https://example.org/s#loaded> "1" .\n')
    with Workspace.open(root) as workspace:
        assert len(workspace.check().findings) == 1
        workspace.index()
        workspace.load([data], graph="https://example.org/more")
        assert workspace.check().findings == []


def test_a_wrong_column_in_a_loop_is_found_by_check(root: Path) -> None:
    written(root, COLUMN="m")
    with Workspace.open(root) as workspace:
        (found,) = workspace.check().findings
    assert (found.line, found.field, found.severity) == (6, "answer", "error")
    assert "the column m" in found.message


def test_optional_lines_stay_where_they_are() -> None:
    assert whole_query("a\n  #?x #?y b\n#c\n") == "a\n          b\n#c\n"
