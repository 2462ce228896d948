"""`shapes/`: good individuals pass without a word, and each constraint of each rule finds the fault that it is for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from pyshacl import ShapesGraph, validate
from pyshacl.graph_abstraction import DataGraph
from pyshacl.pytypes import SHACLExecutor
from rdflib import OWL, RDF, RDFS, SH, Graph, URIRef
from rdflib.term import Node

from abi import terms
from abi.records.record import KINDS
from tests.ontology.conftest import SHAPES
from tests.ontology.faults import ABI, ALL, EX, FAULTS, GOOD, RULE, Fault, node_shapes, properties, read, rules

CONSTRAINTS = {
    *(SH.minCount, SH.maxCount, SH.datatype, SH["in"], SH.pattern, SH.nodeKind, SH.minInclusive, SH.maxInclusive),
    *(SH.lessThanOrEquals, SH["or"], SH["not"], SH["class"], SH.hasValue),
}
REST = {
    *(SH.path, SH.name, SH.message, SH.description, SH.severity, SH.property, SH.targetClass, SH.alternativePath),
    *(RDF.type, RDF.first, RDF.rest),
}


@cache
def loaded() -> ShapesGraph:
    shapes = ShapesGraph(read(*SHAPES))
    assert shapes.shapes
    return shapes


def findings(graph: Graph, axioms: Graph, shapes: Iterable[URIRef] = ()) -> dict[URIRef, set[Node]]:
    """Rule that is broken -> individuals that break it. Of some shapes only, or of all."""
    data = DataGraph.from_rdflib_graph(graph + axioms)
    found: dict[URIRef, set[Node]] = {}
    # Not by validate(use_shapes=..., focus_nodes=...): pySHACL then leaves out property shapes that have an IRI, or
    # passes what is nested in sh:or and sh:not for values that are no focus nodes.
    for shape in [loaded().lookup_shape_from_node(s) for s in shapes] or loaded().shapes:
        _, results = shape.validate(SHACLExecutor(), data)
        for _, _, triples in results:
            said = {p: o[1] if isinstance(o, tuple) else o for _, p, o in triples}
            rule = said[SH.sourceShape]
            assert isinstance(rule, URIRef), "a result that has no code"
            found.setdefault(rule, set()).add(said[SH.focusNode])
    return found


def test_good_examples_pass_without_a_word(class_axioms: Graph) -> None:
    assert findings(GOOD, class_axioms) == {}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_constraint_finds_its_fault(fault: Fault, class_axioms: Graph) -> None:
    found = findings(fault.graph(), class_axioms, node_shapes(fault.rule))
    assert fault.subject in found.get(fault.rule, set())


def test_every_rule_is_broken_by_some_fault() -> None:
    assert {f.rule for f in FAULTS} == set(rules())


def test_a_reference_that_leads_nowhere_is_left_to_the_whole_graph(class_axioms: Graph) -> None:
    graph = Graph() + GOOD
    for subject, path in ((EX.agent, ABI.hasTool), (EX["tool-intent"], ABI.intentTarget), (EX.agent, ABI.hasIntent)):
        graph.set((subject, path, EX["does-not-exist"]))
    assert findings(graph, class_axioms) == {}


def test_a_subclass_of_a_tool_class_is_a_tool(class_axioms: Graph) -> None:
    graph = Graph() + GOOD
    graph.add((EX.RankedQuery, RDFS.subClassOf, ABI.SparqlTemplate))
    graph.remove((EX.query, RDF.type, ABI.SparqlTemplate))
    graph.add((EX.query, RDF.type, EX.RankedQuery))
    assert findings(graph, class_axioms) == {}


def test_shapes_are_good_shacl() -> None:
    conforms, _, text = validate(Graph(), shacl_graph=read(*SHAPES), meta_shacl=True)
    assert conforms, text


def test_each_rule_tells_what_is_wrong_and_how_to_mend_it() -> None:
    for rule in rules():
        (message,) = ALL.objects(rule, SH.message)
        (fix,) = ALL.objects(rule, SH.description)
        (field,) = ALL.objects(rule, SH.name)
        for sentence in (str(message), str(fix)):
            assert re.match(r"[A-Z]|abi:|[a-z_]+ must be", sentence) and sentence.endswith("."), (rule, sentence)
        assert re.fullmatch(r"[a-z_]*(\.[a-z_]+)*", str(field)), (rule, field)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.removeprefix(RULE)), "codes are <subject>-<fault>"
        assert set(ALL.objects(rule, SH.severity)) <= {SH.Warning}, "an error says so by saying nothing"


def test_warnings_are_few_and_known() -> None:
    warnings = {s.removeprefix(RULE) for s in ALL.subjects(SH.severity, SH.Warning) if isinstance(s, URIRef)}
    assert warnings == {"description-long", "label-missing"}


def test_only_core_constraints_and_classes_of_the_ontology(class_axioms: Graph) -> None:
    # sh:sparql costs fifteen times as much; what needs it is asked of the whole graph.
    assert set(ALL.predicates()) <= CONSTRAINTS | REST
    for target in ALL.objects(None, SH.targetClass):
        assert (target, RDFS.subClassOf, None) in class_axioms
        # Concrete: no class that the ontology puts another one under, so that no target needs inference.
        assert (None, RDFS.subClassOf, target) not in class_axioms


def test_each_property_is_a_term() -> None:
    known = {v for v in vars(terms).values() if isinstance(v, str)}
    assert {str(p) for rule in rules() for p in properties(rule)} <= known


@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.stem)
def test_each_file_says_what_it_is_and_holds_the_rules_of_its_class(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# Rules of ")
    graph = read(path)
    assert not list(graph.subjects(RDF.type, OWL.Ontology))
    assert all(str(s).startswith(RULE) for s in graph.subjects(RDF.type, None) if isinstance(s, URIRef))
    assert len({s for s in graph.subjects(SH.targetClass, None) if (s, SH.property, None) in graph}) in (1, 2)


def test_each_kind_has_its_file() -> None:
    assert set(KINDS) <= {p.stem for p in SHAPES}
