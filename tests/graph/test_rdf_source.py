from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from abi.graph.rdf_source import MAX_CHAIN, MAX_NESTING, ParsedRdf, parse_rdf, parse_text, subject_lines
from abi.records.scan import SourceFile
from abi.settings import Settings

SETTINGS = Settings(base_iri="https://example.org/mine/")
G = "https://example.org/mine/source/a.ttl"
XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'


def read(text: str | bytes, format: str = "turtle", graph: str | None = G) -> ParsedRdf:
    return parse_text(text, format, graph, path="a.ttl", settings=SETTINGS)


def fault(parsed: ParsedRdf) -> tuple[str, int]:
    (finding,) = parsed.findings
    assert parsed.quads == []
    assert finding.path == "a.ttl" and finding.severity == "error" and finding.message
    return finding.code, finding.line


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("turtle", "@prefix e: <http://e/> . e:a e:p 'x' ; e:q [ e:p 1 ] ."),
        ("ntriples", "<http://e/a> <http://e/p> 'x' .".replace("'", '"')),
        ("jsonld", '{"@context": {"e": "http://e/"}, "@id": "e:a", "e:p": ["x", {"@id": "http://e/b"}]}'),
        ("rdfxml", XML + '<rdf:Description rdf:about="http://e/a"><e:p>x</e:p></rdf:Description></rdf:RDF>'),
        ("turtle", "\ufeff@prefix e: <http://e/> .\r\ne:a e:p 'x' .\r\n"),
        ("turtle", "@base <http://e/> . <a> <p> 'x' ."),
        ("turtle", ""),
    ],
)
def test_good_files(format: str, text: str) -> None:
    parsed = read(text, format)
    assert parsed.findings == []
    assert {q.graph_name for q in parsed.quads} <= {ox.NamedNode(G)}
    if text:
        wanted = ox.Quad(ox.NamedNode("http://e/a"), ox.NamedNode("http://e/p"), ox.Literal("x"), ox.NamedNode(G))
        assert wanted in parsed.quads


def test_prefixes_and_graphs_are_kept() -> None:
    parsed = read("@prefix e: <http://e/> . e:g { e:a e:p 1 } e:b e:p 1 .", "trig", None)
    assert parsed.prefixes == {"e": "http://e/"}
    assert {str(q.graph_name) for q in parsed.quads} == {"<http://e/g>", "DEFAULT"}


@pytest.mark.parametrize(
    ("format", "text", "code", "line"),
    [
        ("turtle", "@prefix e: <http://e/> .\ne:a e:p\n  foo .", "rdf-syntax", 3),
        ("turtle", "@prefix e: <http://e/> .\ne:a e:p <b> .", "rdf-relative-iri", 2),
        ("jsonld", '{\n"@id": "a", "http://e/p": 1}', "rdf-relative-iri", 2),
        ("jsonld", '{\n"@id": "http://e/a", "http://e/p": {"@id": "b"}}', "rdf-relative-iri", 2),
        ("rdfxml", XML + '\n<e:C rdf:about="a"/></rdf:RDF>', "rdf-relative-iri", 2),
        ("turtle", "<http://e/\\u0041#> <http://e/p> " + "(" * 4000, "rdf-too-deep", 1),
        ("rdfxml", XML + "<é>" * 100_000, "rdf-too-deep", 1),
        ("jsonld", '{"@context": "http://e/c", "@id": "http://e/a"}', "rdf-remote-context", 0),
        ("jsonld", "{\n\n!", "rdf-syntax", 3),
        ("rdfxml", XML + "<e:a", "rdf-syntax", 0),
        ("rdfxml", XML + "\n", "rdf-syntax", 1),
        ("rdfxml", XML + '\n<rdf:Description rdf:about="http://e/a"><e:p>x</e:p>', "rdf-syntax", 2),
        ("rdfxml", '<?xml version="1.0"?>\n<!DOCTYPE x [<!ENTITY a "b">]>' + XML + "</rdf:RDF>", "rdf-entities", 2),
        ("rdfxml", '<!DocType x [<!ENTITY a "b">]>' + XML + "</rdf:RDF>", "rdf-entities", 1),
        ("turtle", "@prefix e: <http://e/> . e:a e:b <<( e:a e:b e:c )>> .", "rdf-triple-term", 0),
        ("trig", "@prefix e: <http://e/> . e:g { e:a e:p 1 }", "rdf-graph", 0),
        ("turtle", "@prefix e: <http://e/> .\ne:a e:p 'é' .".encode("latin-1"), "rdf-encoding", 2),
        ("turtle", "<http://e/a> <http://e/p> " + "[ <http://e/p> " * 4000, "rdf-too-deep", 1),
        ("turtle", "<http://e/a> <http://e/p>\n" + "(" * 4000, "rdf-too-deep", 2),
        ("turtle", "<http://e/a> <http://e/p> " + "<<( " * 100_000, "rdf-too-deep", 1),
        ("jsonld", '{"@id":"http://e/a","http://e/p":' * 4000, "rdf-too-deep", 1),
        ("jsonld", "[" * 100_000, "rdf-too-deep", 1),
        ("rdfxml", XML + "<e:a>" * 100_000, "rdf-too-deep", 1),
        ("ntriples", "<http://e/a> <http://e/p> " + "<<( " * 100_000, "rdf-too-deep", 1),
    ],
)  # fmt: skip
def test_bad_files(format: str, text: str | bytes, code: str, line: int) -> None:
    assert fault(read(text, format)) == (code, line)


def chained(times: int, define: str, last: str) -> str:
    terms = [define.replace("%", str(n)).replace("#", str(n + 1)) for n in range(times)]
    return '{"@context": {' + ", ".join([*terms, last]) + '}, "@id": "http://e/a", "http://e/p": "x"}'


@pytest.mark.parametrize(
    "define",
    [
        '"t%": "t#"',
        '"t%": "t#:x"',
        '"t%": {"@id": "t#"}',
        '"t%": {"@id": "http://e/t", "@type": "t#:x"}',
        '"t%": {"@reverse": "t#"}',
        '"t%": "http://e/t", "t%": "t#"',
        '"t%": "\\u0074#"',
    ],
)
def test_chains_of_terms_in_a_context_end(define: str) -> None:
    """Resolved one inside the other, some thousands of them overrun the stack: the process is gone, with no error."""
    for times in (3 * MAX_CHAIN, 20_000):
        for last in (f'"t{times}": "http://e/t"', f'"t{times}": "t0"', f'"t{times}": "x", "x": "t{times}"'):
            assert fault(read(chained(times, define, last), "jsonld")) == ("rdf-too-deep", 1)
    assert read(chained(3, define, '"t3": "http://e/t"'), "jsonld").findings == []


def test_a_wide_context_and_data_that_names_its_own_keys_are_no_chains() -> None:
    wide = ", ".join(f'"t{n}": "e:t{n}"' for n in range(5_000))
    text = '{"@context": {"e": "http://e/", ' + wide + '}, "@id": "e:a", "t1": "t2", "t2": ["t3", "t1"], "t3": "t3"}'
    assert read(text, "jsonld").findings == []


def test_brackets_in_texts_comments_and_iris_are_no_nesting() -> None:
    many = "([{" * MAX_NESTING
    text = f"""@prefix e: <http://e/> . # {many} "
    e:a e:p "{many}" , '{many}' , '''{many} ' "''' , <http://e/(((> ; e:q "a#b" , "\\"{many}" . # '{many}"""
    assert read(text).findings == []
    assert read('{"@id": "http://e/a", "http://e/p": "\\"' + many + '"}', "jsonld").findings == []
    body = f"<!-- {'<a>' * 200} --><rdf:Description rdf:about='http://e/a' e:p='a>b/>' /><e:c>x</e:c>" * 150
    assert read(XML + body.replace("<e:c>x</e:c>", "") + "</rdf:RDF>", "rdfxml").findings == []


def test_what_is_never_closed_is_looked_at_once() -> None:
    # Each of these would take minutes if an opening were tried again from every place on.
    for text in ('"' * 200_000, "'" * 200_000, '"\\' * 200_000, "<" * 200_000, '"""' + '"\\' * 100_000):
        assert read(text).findings
    for text in ("<e:a x='" * 50_000, "<!--" * 50_000, "<![CDATA[" * 50_000):
        assert read(XML + text, "rdfxml").findings


def test_files_are_read_by_their_extension_within_limits(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("<http://e/a> <http://e/p> <http://e/b> .")
    file = SourceFile("x/a.nt", path, path.stat().st_size, 0)
    assert len(parse_rdf(file, G, SETTINGS).quads) == 1
    small = SETTINGS.model_copy(update={"max_rdf_bytes": 10})
    assert [f.code for f in parse_rdf(file, G, small).findings] == ["rdf-too-large"]
    gone = SourceFile("x/b.nt", tmp_path / "b.nt", 3, 0)
    assert [f.code for f in parse_rdf(gone, G, SETTINGS).findings] == ["rdf-unreadable"]


def test_a_file_is_read_with_marks_of_windows_and_wrong_literals_and_both_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_bytes(
        '\ufeff@prefix e: <http://e/> .\r\ne:a e:p "x"^^<http://www.w3.org/2001/XMLSchema#integer> .'.encode()
    )
    parsed = parse_rdf(SourceFile("x/a.ttl", path, path.stat().st_size, 0), G, SETTINGS)
    assert len(parsed.quads) == 1
    assert [(f.code, f.line, f.severity) for f in parsed.findings] == [
        ("file-byte-order-mark", 1, "warning"),
        ("file-line-ends", 1, "warning"),
        ("literal-ill-typed", 2, "warning"),
    ]


def test_blank_nodes_of_two_readings_are_apart() -> None:
    one, two = read("_:x <http://e/p> 1 ."), read("_:x <http://e/p> 1 .")
    assert one.quads[0].subject != two.quads[0].subject


def test_lines_of_subjects() -> None:
    text = """@prefix e: <http://e/> .
# e:b is told below
e:a e:p e:b ;
  e:q <http://e/c> .

<http://e/c> e:p 1 .
e:b e:p 1 . e:d e:p 1 .
"""
    prefixes = {"e": "http://e/"}
    iris = [f"http://e/{n}" for n in "abcdz"]
    assert subject_lines(text, iris, prefixes) == {
        "http://e/a": 3,
        "http://e/b": 7,
        "http://e/c": 6,
        "http://e/d": 7,
    }
    xml = XML + '\n<e:C rdf:about="http://e/a">\n<e:p rdf:resource="http://e/b"/></e:C></rdf:RDF>'
    assert subject_lines(xml, ["http://e/a"], {}) == {"http://e/a": 2}
    assert subject_lines('{\n "@id": "http://e/a"}', ["http://e/a"], {}) == {"http://e/a": 2}
