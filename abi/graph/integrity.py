"""What must hold over many records: names that are unique, references that lead somewhere.

Each check asks the candidate state about what changed, and who refers to it; none walks through the store, but for the
near names of a reference that is already known to dangle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import pyoxigraph as ox

from abi import terms
from abi.errors import UsageError
from abi.findings import Severity
from abi.graph.change import Candidate, Node
from abi.graph.names import FAMILY_CLASSES, family_of
from abi.records.annotation_predicate import holds, parse_predicate

__all__ = ["Fault", "integrity_faults"]

_N = ox.NamedNode
_TYPE, _NAME, _HAS_INTENT = _N(terms.RDF_TYPE), _N(terms.NAME), _N(terms.HAS_INTENT)
_VALUE_CLASS, _OWL_CLASS = _N(terms.VALUE_CLASS), _N(terms.OWL_CLASS)
_SELECTOR, _PREDICATE = _N(terms.TOOL_SELECTOR), _N(terms.ANNOTATION_PREDICATE)
_SELECTS = {_NAME, _PREDICATE, _N(terms.QUERY_TEXT)}
_HAS_ANNOTATION, _KEY, _VALUE = _N(terms.HAS_ANNOTATION), _N(terms.KEY), _N(terms.VALUE)

_REFERENCES: dict[ox.NamedNode, tuple[str, str, tuple[str, ...]]] = {
    _N(terms.HAS_TOOL): ("tools", "tool", ("tool",)),
    _N(terms.HAS_SUB_AGENT): ("agents", "agent", ("agent",)),
    _N(terms.HAS_SYSTEM_PROMPT): ("system_prompt.prompt", "prompt", ("prompt",)),
    _HAS_INTENT: ("intents", "intent", ("intent",)),
    _N(terms.INTENT_TARGET): ("target", "tool or agent", ("tool", "agent")),
}
"""Properties that lead to a record: the field, what it should be, and the families to look for near names in."""

_BUILT_IN = (terms.OWL, terms.RDFS, terms.RDF)
"""Classes of the languages themselves (owl:Thing, owl:Class) are declared nowhere."""

_SPACES = {"tool": "tools and prompts", "prompt": "tools and prompts", "agent": "agents"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of `node`; `graph` is the one that brings it, where that matters."""

    node: Node
    field: str
    severity: Severity
    code: str
    message: str
    fix: str = ""
    graph: str = ""
    other: Node | None = None
    """The record that it clashes with."""
    missing: str = ""
    """The name of what is not there."""


def integrity_faults(candidate: Candidate) -> list[Fault]:
    """All faults that the change brings, in no particular order."""
    return [
        *_same_iri(candidate),
        *_same_name(candidate),
        *_same_intent(candidate),
        *_dangling(candidate),
        *_selectors(candidate),
        *_classes(candidate),
        *_orphans(candidate),
    ]


def _families(candidate: Candidate, node: Node) -> set[str]:
    return {f for t in candidate.types(node) if (f := family_of(t))}


def _name(candidate: Candidate, node: Node) -> str:
    for term in candidate.objects(node, _NAME):
        if isinstance(term, ox.Literal):
            return term.value
    return unquote(node.value.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1])


def _same_iri(candidate: Candidate) -> Iterator[Fault]:
    for quad in candidate.net.added:
        if quad.predicate != _TYPE or family_of(getattr(quad.object, "value", "")) is None:
            continue
        subject = quad.subject
        assert not isinstance(subject, ox.Triple)
        graphs = {g for t in candidate.types(subject) if family_of(t) for g in candidate.graphs(subject, _TYPE, _N(t))}
        graph = getattr(quad.graph_name, "value", "")
        others = sorted(graphs - {graph})
        if others:
            name = _name(candidate, subject)
            yield Fault(
                subject,
                "name",
                "error",
                "name-duplicate",
                f"{name} is defined in {_shown(graph)} and in {_shown(others[0])}",
                "Rename one of them, or keep only one.",
                graph,
            )


def _changed_names(candidate: Candidate) -> Iterable[Node]:
    found: dict[Node, None] = {}
    for quad in candidate.net.added:
        if quad.predicate == _NAME or (quad.predicate == _TYPE and family_of(getattr(quad.object, "value", ""))):
            found[quad.subject] = None  # type: ignore[index]
    return found


def _same_name(candidate: Candidate) -> Iterator[Fault]:
    told: set[tuple[str, str]] = set()
    for node in _changed_names(candidate):
        spaces = {_SPACES[f] for f in _families(candidate, node) if f in _SPACES}
        if not spaces:
            continue
        for name in candidate.objects(node, _NAME):
            others = [
                o
                for o in candidate.subjects(_NAME, name)
                if o != node and spaces & {_SPACES.get(f, "") for f in _families(candidate, o)}
            ]
            for space in sorted(spaces):
                if others and (space, name.value) not in told:
                    told.add((space, name.value))
                    yield Fault(
                        node,
                        "name",
                        "error",
                        "name-duplicate",
                        f"{name.value} is also the name of another record; names are unique among {space}",
                        "Rename one of them.",
                        other=others[0],
                    )


def _same_intent(candidate: Candidate) -> Iterator[Fault]:
    agents: dict[Node, None] = {}
    for quad in candidate.net.added:
        if quad.predicate == _HAS_INTENT:
            agents[quad.subject] = None  # type: ignore[index]
    for node in _changed_names(candidate):
        if "intent" in _families(candidate, node):
            agents.update(dict.fromkeys(candidate.subjects(_HAS_INTENT, node)))
    for agent in agents:
        first: dict[str, Node] = {}
        intents = [i for i in candidate.objects(agent, _HAS_INTENT) if not isinstance(i, ox.Literal)]
        for intent in sorted(intents, key=lambda i: i.value):
            if not candidate.objects(intent, _NAME):
                continue
            name = _name(candidate, intent)
            if name in first:
                text = f"the agent {_name(candidate, agent)} has two intents with the name {name}"
                yield Fault(intent, "name", "error", "name-duplicate", text, "Rename one of them.", other=first[name])
            first.setdefault(name, intent)


def _dangling(candidate: Candidate) -> Iterator[Fault]:
    told: set[tuple[Node, ox.NamedNode, Node]] = set()
    links: list[tuple[Node, ox.NamedNode, Node]] = []
    for quad in candidate.net.added:
        if quad.predicate in _REFERENCES and isinstance(quad.object, Node):
            links.append((quad.subject, quad.predicate, quad.object))  # type: ignore[arg-type]
    for quad in candidate.net.removed:
        if quad.predicate == _TYPE and family_of(getattr(quad.object, "value", "")):
            gone = quad.subject
            assert not isinstance(gone, ox.Triple)
            if not candidate.types(gone):
                links += [(s, p, gone) for p in _REFERENCES for s in candidate.subjects(p, gone)]
    for subject, predicate, target in links:
        link = (subject, predicate, target)
        # What has another class than it should is the shapes' to tell; here it is about what is nothing at all.
        if link in told or candidate.types(target):
            continue
        told.add(link)
        field, what, families = _REFERENCES[predicate]
        missing = _missing(candidate, target)
        text = f"{_name(candidate, subject)} refers to the {what} {missing}, which does not exist"
        yield Fault(
            subject, field, "error", "reference-dangling", text, _near(candidate, missing, families), missing=missing
        )


def _selectors(candidate: Candidate) -> Iterator[Fault]:
    """Selectors that no tool answers to: by name, and by annotations. What a search finds is told when it is made."""
    names: dict[ox.Literal, None] = {}
    selectors: dict[Node, None] = {}
    for quad in (*candidate.net.added, *candidate.net.removed):
        node = quad.subject
        assert not isinstance(node, ox.Triple)
        is_new = quad.predicate == _TYPE and quad.object == _SELECTOR
        if (is_new or quad.predicate in _SELECTS) and terms.TOOL_SELECTOR in candidate.types(node):
            selectors[node] = None
        elif quad.predicate == _NAME and isinstance(quad.object, ox.Literal) and not candidate.types(node):
            names[quad.object] = None  # a record that goes away
    for gone in names:
        for node in candidate.subjects(_NAME, gone):
            if terms.TOOL_SELECTOR in candidate.types(node):
                selectors[node] = None
    for node in selectors:
        owners = candidate.subjects(_N(terms.SELECTS_TOOL), node)
        if owners:
            yield from _unmatched(candidate, node, owners[0])


def _unmatched(candidate: Candidate, selector: Node, prompt: Node) -> Iterator[Fault]:
    owner = _name(candidate, prompt)
    texts = [t.value for t in candidate.objects(selector, _PREDICATE) if isinstance(t, ox.Literal)]
    try:
        predicate = parse_predicate(texts[0]) if texts else None
    except UsageError:
        return  # a fault of its own, told where it is read
    names = [t for t in candidate.objects(selector, _NAME) if isinstance(t, ox.Literal)]
    for name in names:
        tools = [o for o in candidate.subjects(_NAME, name) if "tool" in _families(candidate, o)]
        if not tools:
            text = f"{owner} selects the tool {name.value}, which does not exist"
            near = _near(candidate, name.value, ("tool",))
            yield Fault(prompt, "tools", "warning", "selector-unmatched", text, near, missing=name.value)
        elif predicate and not any(holds(predicate, _annotations(candidate, tool)) for tool in tools):
            text = f"{owner} selects the tool {name.value} with {texts[0]}, and its annotations are others"
            fix = "Correct the annotations of one of the two."
            yield Fault(prompt, "tools", "warning", "selector-unmatched", text, fix)
    if not names and predicate:
        every = (t for c in FAMILY_CLASSES["tool"] for t in candidate.subjects(_TYPE, _N(c)))
        if not any(holds(predicate, _annotations(candidate, tool)) for tool in every):
            text = f"{owner} selects tools with {texts[0]}, and there is none"
            yield Fault(prompt, "tools", "warning", "selector-unmatched", text, "Correct the annotations.")


def _annotations(candidate: Candidate, node: Node) -> dict[str, str]:
    found = {}
    for part in candidate.objects(node, _HAS_ANNOTATION):
        if isinstance(part, (ox.NamedNode, ox.BlankNode)):
            for key in candidate.objects(part, _KEY):
                found[key.value] = next((v.value for v in candidate.objects(part, _VALUE)), "")
    return found


def _classes(candidate: Candidate) -> Iterator[Fault]:
    for quad in candidate.net.added:
        value = quad.object
        if quad.predicate != _VALUE_CLASS or not isinstance(value, ox.NamedNode):
            continue
        node = quad.subject
        assert not isinstance(node, ox.Triple)
        if candidate.types(value) or candidate.subjects(_TYPE, value) or value.value.startswith(_BUILT_IN):
            continue
        text = f"the class <{value.value}> of {_name(candidate, node)} is not in the graph"
        known = {c.value.replace("#", "/").rsplit("/", 1)[-1] for c in candidate.subjects(_TYPE, _OWL_CLASS)}
        near = _nearest(value.value.replace("#", "/").rsplit("/", 1)[-1], known)
        fix = f"Did you mean {near}?" if near else "Declare it in an ontology of the workspace, or correct its IRI."
        yield Fault(node, "value_class", "warning", "class-unknown", text, fix, missing=value.value)


def _orphans(candidate: Candidate) -> Iterator[Fault]:
    """What is left of a record that lost its type: no shape would ever look at it again."""
    for quad in candidate.net.removed:
        if quad.predicate != _TYPE or family_of(getattr(quad.object, "value", "")) is None:
            continue
        node = quad.subject
        assert not isinstance(node, ox.Triple)
        # Where a record came from is written apart, and may outlive it for a moment.
        stays = (q for q in candidate.quads(node) if q.predicate.value not in (terms.DEFINED_IN, terms.LINE))
        if not _families(candidate, node) and (left := next(stays, None)) is not None:
            text = f"{_name(candidate, node)} would be of no kind any more, but other triples of it would stay"
            graph = getattr(left.graph_name, "value", "")
            fix = "Delete all of it, with its parts, or leave its rdf:type."
            yield Fault(node, "kind", "error", "kind-missing", text, fix, graph)


def _missing(candidate: Candidate, target: Node) -> str:
    minted = any(f"/{family}/" in target.value for family in FAMILY_CLASSES)
    return _name(candidate, target) if minted else f"<{target.value}>"


def _near(candidate: Candidate, name: str, families: tuple[str, ...]) -> str:
    known = {_name(candidate, s) for f in families for c in FAMILY_CLASSES[f] for s in candidate.subjects(_TYPE, _N(c))}
    near = _nearest(name.strip("<>").replace("#", "/").rsplit("/", 1)[-1], known)
    if near:
        return f"Did you mean {near}?"
    return "Add it, or take the reference out."


def _nearest(name: str, known: Iterable[str]) -> str:
    from rapidfuzz import fuzz, process, utils

    found = process.extract(
        name, sorted(known), scorer=fuzz.WRatio, processor=utils.default_process, limit=3, score_cutoff=75
    )
    return " or ".join(match for match, _, _ in found)


def _shown(graph: str) -> str:
    _, found, path = graph.partition("/source/")
    return unquote(path) if found else f"<{graph}>"
