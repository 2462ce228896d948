"""The gate with the shapes that abi ships: what passes, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from abi import terms
from abi.errors import Invalid
from abi.files import shipped
from abi.findings import Finding
from abi.graph.change import Change
from abi.graph.gate import Gate
from abi.graph.mapping import Names, provenance_quads, record_quads
from abi.graph.names import source_graph
from abi.graph.oxigraph import OxigraphStore
from abi.records.record import (
    AgentSpecification,
    Intent,
    Parameter,
    RawPrompt,
    Record,
    Source,
    SparqlQuery,
    SystemPrompt,
    ToolSelector,
)

BASE = "https://example.org/mine/"
HEAD = (
    "@prefix : <https://example.org/mine/> . @prefix abi: <https://w3id.org/abi/> . @prefix ex: <https://ex.org/> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    "@prefix sh: <http://www.w3.org/ns/shacl#> . "
)
HASH = "0" * 64


@pytest.fixture
def store() -> OxigraphStore:
    return OxigraphStore.memory()


@pytest.fixture
def gate(store: OxigraphStore) -> Gate:
    return Gate(store, [shipped("shapes")], base=BASE)


def tool(name: str, **more: object) -> SparqlQuery:
    given: dict[str, object] = {"description": "Finds things that are there.", "query": "SELECT ?a WHERE { ?a ?b ?c }"}
    return SparqlQuery(name=name, **{**given, **more})  # type: ignore[arg-type]


def change(path: str, *records: Record, line: int = 1) -> Change:
    source = Source(path=path, content_hash=HASH, line=line)
    graph = source_graph(BASE, path)
    placed = [r.model_copy(update={"source": source}) for r in records]
    quads = [q for r in placed for q in record_quads(r, graph, Names(BASE))]
    return Change(replace={graph: quads}, add=provenance_quads(placed, source, BASE))


def turtle(text: str, path: str = "a.ttl") -> Change:
    graph = source_graph(BASE, path)
    quads = [ox.Quad(*q.triple, ox.NamedNode(graph)) for q in ox.parse(HEAD + text, ox.RdfFormat.TURTLE)]
    return Change(replace={graph: quads})


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(f.code, f.field, f.severity) for f in findings]


def test_a_sound_record_passes_and_is_written(store: OxigraphStore, gate: Gate) -> None:
    record = tool(
        "find_x",
        annotations={"domain": "travel"},
        parameters=[Parameter(name="a", datatype=terms.XSD_STRING), Parameter(name="b", datatype=terms.XSD_INTEGER)],
    )
    written = gate.write(change("tools/x.rq", record))
    assert (written.version, written.findings, written.removed) == (1, [], 0)
    assert written.added == len(store) - 2  # and the two counters of the store itself
    assert gate.write(change("tools/x.rq", record)).version == 1, "nothing changed"


def test_a_broken_record_is_refused_whole(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("t.rq", tool("find_x")))
    before = set(store.quads())
    bad = tool("find-x", description="", parameters=[Parameter(name="a b", datatype="https://ex.org/int")])
    with pytest.raises(Invalid, match="nothing was written") as caught:
        gate.write(change("t.rq", tool("fine"), bad, line=4))
    assert {f.code for f in caught.value.findings} == {
        "description-missing",
        "tool-name",
        "parameter-datatype",
        "parameter-name",
    }
    assert {f.field for f in caught.value.findings if f.code == "parameter-name"} == {"parameters.a b.name"}
    assert {(f.path, f.line) for f in caught.value.findings} == {("t.rq", 4)}
    assert all(f.message and f.fix for f in caught.value.findings)
    assert set(store.quads()) == before
    assert store.version() == 1


def test_the_line_finder_has_the_first_word(store: OxigraphStore) -> None:
    places = {"https://ex.org/a": ("agents/a.ttl", 12)}
    gate = Gate(store, [shipped("shapes")], places.get, base=BASE)
    (finding,) = gate.check(turtle('ex:a a abi:AgentSpecification ; abi:name "a" ; rdfs:label "a" .'))
    assert (finding.path, finding.line, finding.code) == ("agents/a.ttl", 12, "description-missing")
    assert finding.message.startswith("a: ")


def test_a_warning_does_not_stop_a_write_unless_strict(gate: Gate) -> None:
    text = 'ex:a a abi:AgentSpecification ; abi:name "a" ; abi:description "d" .'
    with pytest.raises(Invalid):
        gate.write(turtle(text), strict=True)
    written = gate.write(turtle(text))
    assert told(written.findings) == [("label-missing", "", "warning")]
    assert written.findings[0].path == "a.ttl"


def test_one_name_in_two_files(gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_x"), line=3))
    (finding,) = gate.check(change("b.rq", tool("find_x")))
    assert (finding.code, finding.path) == ("name-duplicate", "b.rq")
    assert "a.rq" in finding.message
    both = Change(
        replace={**change("c.rq", tool("y")).replace, **change("d.rq", tool("y")).replace},
    )
    assert [(f.code, f.path) for f in gate.check(both)] == [("name-duplicate", "c.rq"), ("name-duplicate", "d.rq")]


def test_a_record_may_move_between_files(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_x")))
    moved = change("b.rq", tool("find_x"))
    moved.drop.add(source_graph(BASE, "a.rq"))
    assert gate.check(moved) == []


def test_names_are_unique_among_tools_and_prompts_together(gate: Gate) -> None:
    gate.write(change("a.rq", tool("same"), line=3))
    (finding,) = gate.check(change("p.prompt", RawPrompt(name="same", description="d", text="t")))
    assert (finding.code, finding.field, finding.path) == ("name-duplicate", "name", "p.prompt")
    assert "a.rq:3" in finding.message
    assert gate.check(change("a.yaml", AgentSpecification(name="same", description="d"))) == []


def test_authored_iris_do_not_hide_a_duplicate(gate: Gate) -> None:
    gate.write(change("a.yaml", AgentSpecification(name="guide", description="d")))
    text = 'ex:g a abi:AgentSpecification ; abi:name "guide" ; abi:description "d" ; rdfs:label "g" .'
    assert [f.code for f in gate.check(turtle(text))] == ["name-duplicate"]


def test_intents_of_one_agent_have_their_own_names(gate: Gate) -> None:
    text = """ex:g a abi:AgentSpecification ; abi:name "g" ; abi:description "d" ; rdfs:label "g" ; abi:hasIntent ex:i , ex:j .
        ex:i a abi:Intent ; abi:name "hi" ; rdfs:label "hi" ; abi:intentValue "hi" ; abi:intentType abi:raw-intent ; abi:reply "a" .
        ex:j a abi:Intent ; abi:name "hi" ; rdfs:label "hi" ; abi:intentValue "hey" ; abi:intentType abi:raw-intent ; abi:reply "b" ."""  # noqa: E501
    assert [f.code for f in gate.check(turtle(text))] == ["name-duplicate"]
    other = text.replace('ex:j a abi:Intent ; abi:name "hi"', 'ex:j a abi:Intent ; abi:name "ho"')
    assert gate.check(turtle(other)) == []


def test_dangling_references_with_near_names(gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_direct_routes")))
    agent = AgentSpecification(
        name="guide",
        description="d",
        tools=["find_direct_route"],
        agents=["nobody"],
        system_prompt=SystemPrompt(prompt="none_such"),
        intents=[
            Intent(name="go", description="", values=["go"], type="tool", target="find_direct_rotes", agent="guide")
        ],
        uses_intents=["elsewhere"],
    )
    findings = gate.check(change("g.yaml", agent))
    assert {(f.code, f.field) for f in findings} == {
        ("reference-dangling", f) for f in ("tools", "agents", "system_prompt.prompt", "target", "intents")
    }
    fixes = {f.field: f.fix for f in findings}
    assert fixes["tools"] == fixes["target"] == "Did you mean find_direct_routes?"
    assert fixes["agents"].startswith("Add it")
    assert {f.path for f in findings} == {"g.yaml"}
    sound = agent.model_copy(
        update={
            "tools": ["find_direct_routes"],
            "agents": [],
            "system_prompt": SystemPrompt(),
            "uses_intents": [],
            "intents": [agent.intents[0].model_copy(update={"target": "find_direct_routes"})],
        }
    )
    assert gate.check(change("g.yaml", sound)) == []


def test_what_an_agent_uses_cannot_go_away(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_x")))
    gate.write(change("g.yaml", AgentSpecification(name="guide", description="d", tools=["find_x"]), line=2))
    gone = Change(drop={source_graph(BASE, "a.rq")})
    (finding,) = gate.check(gone)
    assert (finding.code, finding.path, finding.line) == ("reference-dangling", "g.yaml", 2)
    gone.drop.add(source_graph(BASE, "g.yaml"))
    assert gate.check(gone) == []


def test_a_reference_to_another_kind_of_thing(gate: Gate) -> None:
    gate.write(change("p.prompt", RawPrompt(name="p", description="d", text="t")))
    agent = AgentSpecification(name="guide", description="d", tools=[BASE + "prompt/p"])
    assert told(gate.check(change("g.yaml", agent))) == [("agent-tool", "tools", "error")]


def test_selectors_and_classes_that_match_nothing_are_warnings(gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_routes")))
    prompt = RawPrompt(name="p", description="d", text="t", tools=[ToolSelector(name="find_rutes")])
    (finding,) = gate.check(change("p.prompt", prompt))
    assert (finding.code, finding.severity, finding.field) == ("selector-unmatched", "warning", "tools")
    assert "find_routes" in finding.fix
    prompt = RawPrompt(name="p", description="d", text="t", tools=[ToolSelector(name="find_routes")])
    gate.write(change("p.prompt", prompt))
    (finding,) = gate.check(Change(drop={source_graph(BASE, "a.rq")}))
    assert (finding.code, finding.path) == ("selector-unmatched", "p.prompt")
    gate.write(turtle("ex:Airport a <http://www.w3.org/2002/07/owl#Class> ."))
    by_class = tool("by_class", parameters=[Parameter(name="x", value_class="https://ex.org/Aiport")])
    (finding,) = gate.check(change("c.rq", by_class))
    assert (finding.code, finding.severity, finding.fix) == ("class-unknown", "warning", "Did you mean Airport?")


def test_edits_from_outside_are_checked_too(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("g.yaml", AgentSpecification(name="guide", description="d"), line=2))
    node, graph = ox.NamedNode(BASE + "agent/guide"), ox.NamedNode(source_graph(BASE, "g.yaml"))
    high = ox.Quad(node, ox.NamedNode(terms.INTENT_THRESHOLD), ox.Literal(3), graph)
    old = next(store.match(node, high.predicate))
    (finding,) = gate.check(Change(remove=[old], add=[high]))
    assert (finding.code, finding.field, finding.path, finding.line) == ("agent-threshold", "threshold", "g.yaml", 2)
    low = ox.Quad(node, high.predicate, ox.Literal("0.50", datatype=ox.NamedNode(terms.XSD_DECIMAL)), graph)
    gate.write(Change(remove=[old], add=[low]), mark_edited=[graph.value])
    assert store.query(f"ASK {{ <{graph.value}> abi:edited true }}").boolean
    assert store.query(f"ASK {{ GRAPH <{BASE}provenance> {{ ?s abi:edited true }} }}").boolean


def test_a_changed_parameter_is_told_with_its_tool(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_x", parameters=[Parameter(name="a", datatype=terms.XSD_STRING)]), line=5))
    part = ox.NamedNode(BASE + "tool/find_x/parameter/a")
    name = next(store.match(part, ox.NamedNode(terms.DATATYPE)))
    (finding,) = gate.check(Change(remove=[name]))
    assert (finding.code, finding.field) == ("parameter-type", "parameters.a.type")
    assert (finding.path, finding.line) == ("a.rq", 5)


def test_a_workspaces_own_shapes(store: OxigraphStore, tmp_path: Path) -> None:
    (tmp_path / "s.ttl").write_text(
        HEAD
        + """ex:AirportShape a sh:NodeShape ; sh:targetClass ex:Place ;
          sh:property [ sh:path ex:code ; sh:pattern "^[A-Z]{3}$" ; sh:message "A code is three capital letters." ] ;
          sh:property ex:near .
        ex:near a sh:PropertyShape ; sh:path ( ex:in ex:state ) ; sh:minCount 1 ; sh:severity sh:Warning ."""
    )
    gate = Gate(store, [shipped("shapes"), tmp_path, tmp_path / "none"], base=BASE)
    gate.write(turtle("ex:Airport rdfs:subClassOf ex:Place . ex:Idaho a ex:State .", "o.ttl"))
    text = 'ex:boi a ex:Airport ; ex:code "boi" ; ex:in ex:boise .'
    findings = gate.check(turtle(text, "data/d.ttl"))
    assert told(findings) == [("shape-near", "", "warning"), ("shape-AirportShape", "code", "error")]
    assert "A code is three capital letters." in findings[1].message
    assert findings[0].path == "data/d.ttl"
    gate.write(turtle('ex:boi a ex:Airport ; ex:code "BOI" ; ex:in ex:boise . ex:boise ex:state ex:Idaho .', "d.ttl"))
    # Two links away: the town loses its state, and the airport is told.
    town = next(store.match(ox.NamedNode("https://ex.org/boise")))
    assert told(gate.check(Change(remove=[town]))) == [("shape-near", "", "warning")]


def test_a_class_that_comes_under_a_shape_brings_its_individuals(store: OxigraphStore, tmp_path: Path) -> None:
    (tmp_path / "s.ttl").write_text(
        HEAD + "ex:S a sh:NodeShape ; sh:targetClass ex:Place ; sh:property [ sh:path ex:code ; sh:minCount 1 ] ."
    )
    gate = Gate(store, [tmp_path], base=BASE)
    gate.write(turtle("ex:a a ex:Airport ."))
    findings = gate.check(turtle("ex:Airport rdfs:subClassOf ex:Place .", "o.ttl"))
    assert [f.code for f in findings] == ["shape-S"]


def test_shapes_that_do_not_parse_or_are_broken(store: OxigraphStore, tmp_path: Path) -> None:
    (tmp_path / "bad.ttl").write_text("@prefix sh: <http://www.w3.org/ns/shacl#> .\n<urn:s> a ")
    with pytest.raises(Invalid) as caught:
        Gate(store, [tmp_path]).check(turtle("ex:a a ex:B ."))
    (finding,) = caught.value.findings
    assert (finding.code, finding.line) == ("shape-unreadable", 2)
    (tmp_path / "bad.ttl").write_text(
        HEAD + "ex:S a sh:NodeShape ; sh:targetClass ex:B ; sh:property [ sh:minCount 1 ] ."
    )
    with pytest.raises(Invalid) as caught:
        Gate(store, [tmp_path]).check(turtle("ex:a a ex:B ."))
    assert [f.code for f in caught.value.findings] == ["shape-broken"]


def test_a_shape_in_sparql_sees_the_neighbourhood_and_no_service(store: OxigraphStore, tmp_path: Path) -> None:
    rule = """ex:S a sh:NodeShape ; sh:targetClass ex:B ; sh:sparql [ sh:message "No twin." ; sh:select
        "SELECT $this WHERE { %s }" ] ."""
    (tmp_path / "s.ttl").write_text(HEAD + rule % "$this <https://ex.org/twin> ?t . ?t a <https://ex.org/B>")
    gate = Gate(store, [tmp_path])
    findings = gate.check(turtle("ex:a a ex:B ; ex:twin ex:b . ex:b a ex:B ."))
    assert [f.code for f in findings] == ["shape-S"]
    assert "No twin." in findings[0].message
    (tmp_path / "s.ttl").write_text(HEAD + rule % "SERVICE <http://127.0.0.1:9/> { $this ?p ?o }")
    with pytest.raises(Invalid):
        Gate(store, [tmp_path]).check(turtle("ex:a a ex:B ."))


def test_what_no_graph_may_hold(gate: Gate) -> None:
    plain = ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.Literal("x"))
    with pytest.raises(Invalid) as caught:
        gate.write(Change(add=[plain]))
    assert [f.code for f in caught.value.findings] == ["graph-missing"]
    triple = ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.Literal("x"))
    with pytest.raises(Invalid) as caught:
        gate.write(Change(add=[ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), triple, ox.NamedNode("urn:g"))]))
    assert [f.code for f in caught.value.findings] == ["triple-term"]


def test_net_is_what_differs(store: OxigraphStore) -> None:
    def q(n: object, datatype: str = terms.XSD_DECIMAL) -> ox.Quad:
        value = ox.Literal(str(n), datatype=ox.NamedNode(datatype))
        return ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), value, ox.NamedNode("urn:g"))

    store.apply([], [q("1.5")])
    assert not Change(replace={"urn:g": [q("1.50")]}).net(store), "the same number in another spelling"
    assert not Change(add=[q("1.50")]).net(store)
    assert not Change(remove=[q("9")]).net(store)
    assert not Change(remove=[q("1.5")], add=[q("1.5")]).net(store)
    net = Change(replace={"urn:g": [q("2.5")]}, add=[q("3.5")], remove=[q("2.5")]).net(store)
    assert (net.removed, net.added) == ([q("1.5")], [q("3.5")])
    assert Change(drop={"urn:g"}).net(store).removed == [q("1.5")]
    with pytest.raises(ValueError, match="another graph"):
        Change(replace={"urn:h": [q("1")]}).net(store)


def test_check_all_looks_at_what_is_there(store: OxigraphStore, gate: Gate) -> None:
    gate.write(change("a.rq", tool("find_x")))
    assert gate.check_all() == []
    store.update(f"INSERT DATA {{ GRAPH <{BASE}source/a.rq> {{ <{BASE}tool/find_x> abi:queryText 'second' }} }}")
    assert [f.code for f in gate.check_all()] == ["query-missing"]
