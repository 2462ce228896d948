"""Faults, made from the rules: for each constraint of each rule, values that it forbids, put in a good individual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdflib import RDF, SH, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from abi import terms
from tests.ontology.conftest import EXAMPLES, SHAPES

RULE = Namespace(terms.SHAPES)
EX = Namespace("https://example.org/")
ABI = Namespace(terms.ABI)
WORDS = ["", " ", "two words", "1st", "class", "a:b c", "https://example.org/", "/etc/passwd", "hunter2!"]


def read(*paths: Path) -> Graph:
    graph = Graph()
    for path in paths:
        graph.parse(path)
    return graph


ALL = read(*SHAPES)
GOOD = read(EXAMPLES)


@dataclass(frozen=True)
class Fault:
    """In the good examples, `subject` gets these `values` for `path`, and `rule` must say so."""

    rule: URIRef
    constraint: str
    subject: URIRef
    path: URIRef
    values: tuple[Node, ...]

    def __str__(self) -> str:
        return f"{self.rule.removeprefix(RULE)} {self.constraint}"

    def graph(self) -> Graph:
        graph = Graph() + GOOD
        graph.remove((self.subject, self.path, None))
        for value in self.values:
            graph.add((self.subject, self.path, value))
        return graph


def rules() -> list[URIRef]:
    """Every rule that can end up in a finding: it has a message."""
    return sorted(s for s in ALL.subjects(SH.message, None) if isinstance(s, URIRef))


def node_shapes(rule: Node) -> list[URIRef]:
    shapes = [rule] if (rule, SH.targetClass, None) in ALL else list(ALL.subjects(SH.property, rule))
    return [s for s in shapes if isinstance(s, URIRef)]


def targets(shapes: list[URIRef]) -> set[Node]:
    return {c for s in shapes for c in ALL.objects(s, SH.targetClass)}


def properties(rule: Node) -> list[URIRef]:
    """What a rule is about; empty for a condition over several properties."""
    path = ALL.value(rule, SH.path)
    if path is None or isinstance(path, URIRef):
        return [] if path is None else [path]
    return [p for p in Collection(ALL, ALL.value(path, SH.alternativePath)) if isinstance(p, URIRef)]


def example(rule: URIRef) -> tuple[URIRef, URIRef, list[Node]]:
    """A good individual that the rule looks at, the property and its values."""
    classes = targets(node_shapes(rule))
    forbidden = (rule, SH.maxCount, Literal(0)) in ALL
    for subject in sorted(GOOD.subjects(RDF.type, None)):
        if isinstance(subject, URIRef) and classes & set(GOOD.objects(subject, RDF.type)):
            for path in properties(rule):
                values = sorted(GOOD.objects(subject, path))
                if values or forbidden:
                    return subject, path, values
    raise AssertionError(f"{EXAMPLES.name} has nothing for {rule}")


def another(values: list[Node]) -> Node:
    """A value like those that are there."""
    first = values[0] if values else EX.origin
    if isinstance(first, URIRef):
        return next(i for i in (EX.query, EX.guide) if i not in values)
    like = [Literal("another"), Literal(first.toPython() is not True), Literal(7)] if isinstance(first, Literal) else []
    same = [v for v in like if v.datatype == getattr(first, "datatype", None) and v not in values]
    return same[0] if same else Literal("another")


def forbidden_values(constraint: Node, bound: Node, path: URIRef, values: list[Node]) -> list[tuple[Node, ...]]:
    if constraint == SH.minCount:
        return [()]
    if constraint == SH.maxCount:
        return [(*values, another(values))]
    if constraint == SH.datatype:
        wrong = XSD.integer if bound == XSD.boolean else XSD.boolean
        return [(Literal("P1D", datatype=XSD.duration),), (EX.query,), (Literal("1", datatype=wrong),)]
    if constraint == SH["in"]:
        return [(Literal("else"),), (EX.query,)]
    if constraint == SH.pattern and isinstance(values[0], URIRef):
        return [(URIRef(XSD.base64Binary),), (EX.query,)]
    if constraint == SH.pattern:
        return [(Literal(w),) for w in (*WORDS, "word " * 300) if not re.search(str(bound), w)]
    if constraint == SH.nodeKind:
        return [(Literal("text"),), (BNode(),)]
    if constraint == SH.minInclusive:
        any_number = isinstance(bound, Literal) and bound.toPython() == float("-inf")
        return [(Literal("text"),)] if any_number else [(Literal(-1),), (Literal(-0.5),)]
    if constraint == SH.maxInclusive:
        return [(Literal(85),), (Literal(1.01),)]
    if constraint == SH.lessThanOrEquals:
        late = Literal("2030-01-01T00:00:00Z", datatype=XSD.dateTime)
        return [(late if path == ABI.startedAt else Literal(5000),)]
    if constraint == SH["or"]:
        return [(EX.boise,), (EX.message,)]
    if constraint == SH["not"]:
        return [(Literal("class"),), (Literal("name\n"),)]
    return []


def faults() -> Iterator[Fault]:
    for rule in rules():
        if not properties(rule):
            continue
        subject, path, values = example(rule)
        for constraint, bound in ALL.predicate_objects(rule):
            for case in forbidden_values(constraint, bound, path, values):
                yield Fault(rule, constraint.removeprefix(str(SH)), subject, path, case)


CONDITIONS = [
    Fault(RULE["intent-scope-direct"], "tool", EX["tool-intent"], ABI.intentScope, (ABI["scope-all"],)),
    Fault(RULE["intent-scope-direct"], "agent", EX["agent-intent"], ABI.intentScope, (ABI["scope-all"],)),
    Fault(RULE["intent-raw-reply"], "target", EX["raw-intent"], ABI.intentTarget, (EX.query,)),
    Fault(RULE["intent-tool-target"], "an agent", EX["tool-intent"], ABI.intentTarget, (EX.guide,)),
    Fault(RULE["intent-tool-target"], "a text", EX["tool-intent"], ABI.intentTarget, (Literal("find_direct_routes"),)),
    Fault(RULE["intent-tool-target"], "nothing", EX["tool-intent"], ABI.intentTarget, ()),
    Fault(RULE["intent-agent-target"], "a tool", EX["agent-intent"], ABI.intentTarget, (EX.query,)),
    Fault(RULE["intent-agent-target"], "nothing", EX["agent-intent"], ABI.intentTarget, ()),
]
FAULTS = [*faults(), *CONDITIONS]
