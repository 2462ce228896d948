"""Updates from outside: that they do what SPARQL says, through the gate, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abi.errors import AbiError, Invalid, NotFound, QueryRefused, QuerySyntaxError, QueryTimeout, UsageError
from abi.files import shipped
from abi.graph.gate import Gate
from abi.graph.mapping import Names, provenance_quads, record_quads
from abi.graph.names import source_graph
from abi.graph.oxigraph import OxigraphStore
from abi.graph.pool import WorkerPool
from abi.graph.store import BOOKKEEPING
from abi.graph.update import Surroundings, UpdateReport, apply_update
from abi.records.record import AgentSpecification, Source, SparqlQuery
from abi.settings import Settings

BASE = "https://example.org/mine/"
SETTINGS = Settings(base_iri=BASE, prefixes={"ex": "https://ex.org/"})
EX = "https://ex.org/"


def q(s: str, p: str, o: object, g: str = "g") -> ox.Quad:
    value = o if isinstance(o, (ox.Literal, ox.NamedNode, ox.BlankNode)) else ox.Literal(o)  # type: ignore[arg-type]
    subject = ox.BlankNode(s[2:]) if s.startswith("_:") else ox.NamedNode(EX + s)
    return ox.Quad(subject, ox.NamedNode(EX + p), value, ox.NamedNode(EX + g))


def made(quads: Iterable[ox.Quad] = ()) -> tuple[OxigraphStore, Gate]:
    store = OxigraphStore.memory(prefixes=SETTINGS.all_prefixes())
    store.inner.extend(list(quads))
    return store, Gate(store, [shipped("shapes")], base=BASE)


def run(store: OxigraphStore, gate: Gate, text: str, *, dry_run: bool = False) -> UpdateReport:
    return apply_update(store, gate, text, settings=SETTINGS, dry_run=dry_run)


def content(store: OxigraphStore) -> set[ox.Quad]:
    return {x for x in store.quads() if getattr(x.graph_name, "value", "") != BOOKKEEPING}


START = [q("a", "p", 1), q("a", "p", 2), q("b", "p", 1), q("a", "q", ox.NamedNode(EX + "b")), q("c", "p", 3, "h")]
KEPT = ox.Quad(ox.NamedNode(EX + "a"), ox.NamedNode(EX + "p"), ox.Literal(1), ox.NamedNode(BASE + "provenance"))
G = "GRAPH ex:g"
UPDATES = [
    "INSERT DATA { GRAPH ex:g { ex:z ex:p 'new', 1.50 ; ex:q ex:a } GRAPH ex:new { ex:z ex:p true } }",
    "DELETE DATA { GRAPH ex:g { ex:a ex:p 1 . ex:none ex:p 1 } }",
    f"DELETE WHERE {{ {G} {{ ex:a ex:p ?o }} }}",
    "DELETE WHERE { GRAPH ?g { ?s ex:p ?o } }",
    f"DELETE {{ {G} {{ ?s ex:p ?o }} }} INSERT {{ {G} {{ ?s ex:p ?n }} }} "
    f"WHERE {{ {G} {{ ?s ex:p ?o }} BIND(?o + 1 AS ?n) }}",
    "WITH ex:g DELETE { ?s ex:p ?o } INSERT { ?s ex:r ?o } WHERE { ?s ex:p ?o FILTER(?o > 1) }",
    "WITH ex:g INSERT { ?s ex:r ?o } USING ex:h WHERE { ?s ex:p ?o }",
    "INSERT { GRAPH ex:n { ?s ex:r ?g } } USING NAMED ex:h WHERE { GRAPH ?g { ?s ex:p ?o } }",
    "INSERT { GRAPH ?g { ?s ex:seen true } } WHERE { GRAPH ?g { ?s ex:p ?o } }",
    f"INSERT {{ {G} {{ ex:x ex:p ?missing , 1 }} }} WHERE {{ {G} {{ ?s ex:p 1 }} }}",
    f"INSERT {{ {G} {{ ex:x ex:p 7 }} }} WHERE {{ {G} {{ ?s ex:p 99 }} }}",
    f"INSERT {{ {G} {{ ex:x ex:p 7 }} }} WHERE {{}}",
    f"INSERT {{ {G} {{ ?o ex:back ?s }} }} WHERE {{ {G} {{ ?s ?any ?o }} }}",
    "CLEAR GRAPH ex:g",
    "DROP SILENT GRAPH ex:none",
    "COPY ex:g TO ex:h",
    "MOVE GRAPH ex:g TO ex:h",
    "ADD SILENT ex:g TO GRAPH ex:h",
    "COPY ex:g TO ex:g",
    "CREATE GRAPH ex:empty",
    "INSERT DATA { GRAPH ex:g { ex:z ex:p 5 } } ; DELETE { GRAPH ex:g { ?s ex:p 5 } } "
    "INSERT { GRAPH ex:g { ?s ex:p 6 } } WHERE { GRAPH ex:g { ?s ex:p 5 } }",
    "CLEAR GRAPH ex:g ; COPY ex:h TO ex:g ; DELETE WHERE { GRAPH ex:h { ?s ?p ?o } }",
    "DELETE DATA { GRAPH ex:g { ex:a ex:p 1 } } ; INSERT DATA { GRAPH ex:g { ex:a ex:p 1 } }",
    "PREFIX y: <https://ex.org/> BASE <https://ex.org/> INSERT DATA { GRAPH <g> { y:z <p> 'a } b' } } # end",
    "",
]  # fmt: skip


@pytest.mark.parametrize("text", UPDATES)
def test_it_does_what_oxigraph_does(text: str) -> None:
    store, gate = made(START)
    native = ox.Store()
    native.extend(START)
    native.update(text, prefixes=SETTINGS.all_prefixes())
    report = run(store, gate, text)
    assert content(store) == set(native)
    assert report.added == len(set(native) - set(START))
    assert report.removed == len(set(START) - set(native))
    assert report.version == store.version() == (1 if report.added or report.removed else 0)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_sequences_do_too(data: st.DataObject) -> None:
    # Without those that need a graph which an earlier one may have emptied: Oxigraph keeps the names of empty graphs.
    pool = [t for t in UPDATES[:-2] if t.split()[0] not in ("CLEAR", "COPY", "MOVE", "ADD", "CREATE")]
    text = " ;\n".join(data.draw(st.lists(st.sampled_from(pool), max_size=4)))
    store, gate = made(START)
    native = ox.Store()
    native.extend(START)
    native.update(text, prefixes=SETTINGS.all_prefixes())
    run(store, gate, text)
    assert content(store) == set(native)


@pytest.mark.parametrize(
    "words", ["CLEAR GRAPH ex:none", "DROP GRAPH ex:none", "COPY ex:none TO ex:g", "MOVE ex:none TO ex:g"]
)
def test_a_graph_that_is_not_there(words: str) -> None:
    store, gate = made(START)
    with pytest.raises(NotFound, match="there is no graph"):
        run(store, gate, words)
    run(store, gate, words.replace(" ", " SILENT ", 1))
    assert content(store) == set(START)


def test_dry_run_writes_nothing() -> None:
    store, gate = made(START)
    report = run(store, gate, "CLEAR GRAPH ex:g", dry_run=True)
    assert (report.removed, report.added, report.version) == (4, 0, 0)
    assert report.graphs == [EX + "g"]
    assert report.subjects == {EX + "a", EX + "b"}
    assert content(store) == set(START)
    assert report.document() == {"added": 0, "removed": 4, "findings": []}


def test_without_a_graph_triples_go_where_their_subject_is() -> None:
    store, gate = made(START)
    run(store, gate, "DELETE { ex:c ex:p ?o } INSERT { ex:c ex:p 30 } WHERE { ex:c ex:p ?o }")
    assert q("c", "p", 30, "h") in content(store)
    assert q("c", "p", 3, "h") not in content(store)
    run(store, gate, "DELETE DATA { ex:a ex:p 1 } ; INSERT DATA { ex:a ex:s 'x' }")
    assert q("a", "p", 1) not in content(store)
    assert q("a", "s", "x") in content(store)
    before = content(store)
    with pytest.raises(Invalid) as caught:
        run(store, gate, "INSERT DATA { ex:nobody ex:p 1 }")
    assert [f.code for f in caught.value.findings] == ["graph-missing"]
    store.inner.extend([q("c", "p", 9, "g")])
    with pytest.raises(Invalid):
        run(store, gate, "INSERT DATA { ex:c ex:p 1 }")
    assert content(store) == before | {q("c", "p", 9, "g")}


def test_blank_nodes() -> None:
    b = ox.BlankNode("b")
    store, gate = made([q("a", "has", b), q("_:b", "v", 1), q("_:b", "v", 2), q("other", "p", 1)])
    run(
        store,
        gate,
        "DELETE { GRAPH ?g { ?b ex:v 1 } } INSERT { GRAPH ?g { ?b ex:v 3 } } WHERE { GRAPH ?g { ex:a ex:has ?b } }",
    )
    rows = store.query("SELECT ?v WHERE { ex:a ex:has/ex:v ?v } ORDER BY ?v")
    assert [r["v"].value for r in rows] == ["2", "3"]
    run(store, gate, "INSERT { GRAPH ex:g { ?s ex:note [ ex:v 9 ] } } WHERE { GRAPH ex:g { ?s ex:p|ex:has ?o } }")
    assert len(store.query("SELECT DISTINCT ?b WHERE { ?s ex:note ?b . ?b ex:v 9 }")) == 2
    run(store, gate, "INSERT DATA { GRAPH ex:g { ex:a ex:has _:n . _:n ex:v 5 } }")
    assert [r["v"].value for r in store.query("SELECT ?v WHERE { ex:a ex:has/ex:v ?v } ORDER BY ?v")] == ["2", "3", "5"]
    run(store, gate, "DELETE WHERE { GRAPH ex:g { ex:a ex:has ?b . ?b ex:v ?v } }")
    assert store.query("ASK { ex:a ex:has ?b }").boolean is False
    for text in (
        "DELETE DATA { GRAPH ex:g { _:b ex:v 1 } }",
        "DELETE { GRAPH ex:g { [] ex:v ?v } } WHERE { ?x ex:v ?v }",
    ):
        with pytest.raises(QuerySyntaxError, match="blank node"):
            run(store, gate, text)


def test_many_solutions() -> None:
    store, gate = made([q(f"s{n}", "p", n) for n in range(12_000)])
    report = run(store, gate, "INSERT { GRAPH ex:g { ?s ex:twice ?t } } WHERE { ?s ex:p ?n BIND(?n * 2 AS ?t) }")
    assert report.added == 12_000


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("LOAD <http://127.0.0.1:9/x>", QueryRefused),
        ("INSERT { GRAPH ex:g { ?s ?p ?o } } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", QueryRefused),
        ("INSERT DATA { GRAPH <urn:abi:store> { <urn:abi:store> abi:graphVersion 99 } }", QueryRefused),
        ("DELETE WHERE { GRAPH <urn:abi:store> { ?s ?p ?o } }", QueryRefused),
        ("PREFIX k: <https://example.org/mine/> DELETE WHERE { GRAPH k:provenance { ?s ?p ?o } }", QueryRefused),
        ("DROP GRAPH <https://example.org/mine/provenance>", QueryRefused),
        ("COPY ex:g TO DEFAULT", QueryRefused),
        ("SELECT ?s WHERE { ?s ?p ?o }", QuerySyntaxError),
        ("INSERT { GRAPH ex:g { ?s ?p } } WHERE { ?s ?p ?o }", QuerySyntaxError),
        ("INSERT DATA { GRAPH ex:g { ex:a ex:p } }", QuerySyntaxError),
        ("DELETE { GRAPH ex:g { ?s ?p ?o } } WHERE { ?s ?p }", QuerySyntaxError),
        ("INSERT DATA { GRAPH ex:g { ?s ex:p 1 } }", QuerySyntaxError),
        ("CLEAR GRAPH nope:g", QuerySyntaxError),
    ],
)
def test_refused(text: str, error: type[Exception]) -> None:
    store, gate = made([*START, KEPT])
    before = set(store.quads())
    with pytest.raises(error):
        run(store, gate, f"INSERT DATA {{ GRAPH ex:g {{ ex:first ex:p 1 }} }} ; {text}")
    assert set(store.quads()) == before


def test_clear_all_leaves_what_abi_keeps() -> None:
    store, gate = made([*START, KEPT])
    run(store, gate, "DELETE WHERE { GRAPH ?g { ex:a ex:p ?o } }")
    assert KEPT in content(store), "a variable that meets such a graph passes over it"
    run(store, gate, "CLEAR ALL")
    assert {x.graph_name.value for x in content(store)} == {BASE + "provenance"}  # type: ignore[union-attr]
    assert store.version() == 2


def test_records_are_edited_through_the_gate() -> None:
    store, gate = made()
    source = Source(path="agents/guide.yaml", content_hash="0" * 64, line=3)
    agent = AgentSpecification(name="guide", description="d", source=source)
    tool = SparqlQuery(name="find_x", description="d", query="ASK {}")
    graph = source_graph(BASE, source.path)
    quads = [x for r in (agent, tool) for x in record_quads(r, graph, Names(BASE))]
    store.apply([], quads + provenance_quads([agent], source, BASE))
    bad = "DELETE { ?a abi:intentThreshold ?t } INSERT { ?a abi:intentThreshold 7 } WHERE { ?a abi:intentThreshold ?t }"
    with pytest.raises(Invalid) as caught:
        run(store, gate, bad)
    (finding,) = caught.value.findings
    assert (finding.code, finding.path, finding.line) == ("agent-threshold", "agents/guide.yaml", 3)
    assert [f.code for f in run(store, gate, bad, dry_run=True).findings] == ["agent-threshold"]
    assert not store.query("ASK { ?s abi:edited true }").boolean
    report = run(
        store,
        gate,
        "INSERT DATA { <https://example.org/mine/agent/guide> abi:hasTool <https://example.org/mine/tool/find_x> }",
    )
    assert (report.added, report.graphs) == (1, [graph])
    assert store.query(f"ASK {{ <{graph}> abi:edited true }}").boolean
    with pytest.raises(Invalid) as caught:
        run(store, gate, "DELETE WHERE { <https://example.org/mine/tool/find_x> ?p ?o }")
    assert [f.code for f in caught.value.findings] == ["reference-dangling"]


def test_a_new_part_goes_where_its_record_is() -> None:
    store, gate = made()
    tool = SparqlQuery(name="find_x", description="d", query="ASK {}")
    graph = source_graph(BASE, "a.rq")
    store.apply([], record_quads(tool, graph, Names(BASE)))
    text = """PREFIX t: <https://example.org/mine/tool/find_x/parameter/>
      INSERT DATA { <https://example.org/mine/tool/find_x> abi:hasParameter t:a .
                    t:a a abi:ToolParameter ; abi:name "a" ; rdfs:label "a" ; abi:datatype xsd:string }"""
    assert run(store, gate, text).graphs == [graph]


def anonymous(quads: set[ox.Quad]) -> set[str]:
    return {" ".join("_" if isinstance(t, ox.BlankNode) else str(t) for t in q) for q in quads}


def test_a_process_of_its_own_finds_the_same(tmp_path: Path) -> None:
    start = [*START, q("_:n", "p", 1), q("a", "q", ox.BlankNode("n")), q("a", "l", ox.Literal("x", language="en"))]
    for number, update in enumerate([*UPDATES, f"{UPDATES[0]} ; {UPDATES[4]} ; {UPDATES[3]}"]):
        here, gate = made(start)
        with OxigraphStore.open(tmp_path / str(number), create=True, prefixes=SETTINGS.all_prefixes()) as there:
            there.inner.extend(start)
            with WorkerPool(there, size=1, prefixes=there.prefixes) as pool:
                other = Gate(there, [shipped("shapes")], base=BASE)
                around = Surroundings(pool.query)
                found = apply_update(there, other, update, settings=SETTINGS, around=around)
            expected = run(here, gate, update)
            assert (found.added, found.removed) == (expected.added, expected.removed), update
            assert anonymous(content(there)) == anonymous(content(here)), update


def test_an_update_has_its_time(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "g", create=True, prefixes=SETTINGS.all_prefixes()) as store:
        store.inner.extend(q(f"s{i}", "p", i) for i in range(400))
        gate = Gate(store, base=BASE)
        with WorkerPool(store, size=1) as pool, pytest.raises(QueryTimeout):
            death = "DELETE { ?a ?b 1 } WHERE { SELECT (COUNT(*) AS ?a) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l } }"
            apply_update(store, gate, death, settings=SETTINGS, around=Surroundings(pool.query, 0.5))
        with WorkerPool(store, size=1) as pool, pytest.raises(QueryRefused, match="triples"):
            template = " ".join(f"?s ex:r{n} ?w ." for n in range(20))
            pairs = f"INSERT {{ GRAPH ex:n {{ {template} }} }} WHERE {{ ?s ex:p ?o . ?w ex:p ?t }}"
            apply_update(store, gate, pairs, settings=SETTINGS, around=Surroundings(pool.query))


def test_a_default_graph_and_a_dataset_from_the_request() -> None:
    store, gate = made(START)
    around = Surroundings(default_graph=BASE + "default")

    def do(text: str, around: Surroundings = around) -> UpdateReport:
        return apply_update(store, gate, text, settings=SETTINGS, around=around)

    do("INSERT DATA { ex:new ex:p 9 }")
    assert ox.Quad(ox.NamedNode(EX + "new"), ox.NamedNode(EX + "p"), ox.Literal(9), ox.NamedNode(BASE + "default")) in (
        content(store)
    )
    assert do("COPY DEFAULT TO ex:copy").added == 1
    assert do("CLEAR NAMED").removed == len(START) + 1
    assert do("CLEAR DEFAULT").removed == 1
    store, gate = made(START)
    one = Surroundings(using=[EX + "h"])
    assert do("INSERT { GRAPH ex:n { ?s ex:r 1 } } WHERE { ?s ex:p ?o }", one).added == 1
    named = Surroundings(using_named=[EX + "h"])
    assert do("INSERT { GRAPH ex:m { ?s ex:r 1 } } WHERE { GRAPH ?g { ?s ex:p ?o } }", named).added == 1
    for text in ("INSERT { GRAPH ex:n { ?s ex:r 1 } } USING ex:g WHERE { ?s ex:p ?o }", f"WITH ex:g {UPDATES[5][10:]}"):
        with pytest.raises(UsageError):
            do(text, one)


_WORDS = (
    "INSERT DELETE DATA WHERE WITH USING NAMED CLEAR DROP CREATE COPY MOVE ADD TO ALL DEFAULT SILENT GRAPH INTO LOAD "
    "ex:g ex:h ?s _:b <urn:x> a 1 'x' { } { } ( ) [ ] . ; , PREFIX BASE OPTIONAL FILTER"
).split(" ")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_WORDS[:12]), st.lists(st.sampled_from(_WORDS), max_size=14))
def test_whatever_is_no_update_is_refused_as_one(first: str, words: list[str]) -> None:
    store, gate = made(START)
    try:
        run(store, gate, " ".join([first, *words]))
    except AbiError:
        assert content(store) == set(START)
