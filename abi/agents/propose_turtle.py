"""`propose_turtle`: a tool by which a model proposes classes, properties and individuals as Turtle.

What is proposed has to stand on BFO: every class under one of its classes, named and defined. Faults are told to the
model, all at once; what has none is shown to a person quad by quad, and written only after they say yes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from abi import terms
from abi.agents.update_graph import MOST, PROPOSE_TURTLE, Proposal, UpdateGraphTool
from abi.errors import ArgumentError
from abi.graph.resolve import near_names
from abi.graph.rows import Term

if TYPE_CHECKING:
    from collections.abc import Callable

    from abi.graph.rows import Rows

__all__ = ["ProposeTurtleTool", "grounding_faults"]

Triple = tuple[str, str, Term]
"""Subject and predicate as IRIs; of a literal only the text counts here."""
_CLASSES = frozenset({terms.OWL_CLASS, terms.RDFS_CLASS})
_PROPERTIES = frozenset(
    terms.OWL + n for n in ("ObjectProperty", "DatatypeProperty", "AnnotationProperty", "FunctionalProperty")
)
_NAMES = frozenset({terms.RDFS_LABEL, terms.SKOS + "prefLabel"})
_DEFINITIONS = frozenset({terms.SKOS_DEFINITION, terms.OBO + "IAO_0000115", terms.RDFS + "comment"})
_PREFIX = re.compile(r"^\s*@?prefix\s+([\w.-]*):", re.IGNORECASE | re.MULTILINE)


class _Turtle(BaseModel):
    turtle: str = Field(description="Turtle without blank nodes. Prefixes of the workspace are declared already.")
    reason: str = Field(default="", description="Why, in one sentence for the person who approves it.")
    graph: str = Field(default="", description="IRI of the named graph that it goes into; best left out.")


class ProposeTurtleTool(UpdateGraphTool):
    """As `update_graph`, for Turtle."""

    name: str = PROPOSE_TURTLE
    description: str = (
        "Propose new classes, properties or individuals as Turtle. Each new class needs rdfs:subClassOf a class that "
        "is under BFO, rdfs:label and skos:definition; each new property rdfs:label, skos:definition, rdfs:domain and "
        "rdfs:range. It is shown to the person and written only if they approve it; faults are told to you to mend."
    )
    args_schema: Any = _Turtle

    def propose(self, arguments: dict[str, Any]) -> Proposal:
        """Raises ArgumentError with all that is wrong with the Turtle, and what `update_graph` raises."""
        given = _Turtle.model_validate(arguments)
        triples, lines = self._parsed(given.turtle)
        faults = grounding_faults(triples, self.services.query)
        if faults:
            raise ArgumentError(f"The proposal has {len(faults)} fault(s): {' '.join(faults[:20])}")
        graph = given.graph or f"{self.services.settings.base_iri}graph/ontology"
        return self.proposed(f"INSERT DATA {{ GRAPH {_n3(graph)} {{ {' '.join(lines)} }} }}", given.reason)

    def _parsed(self, text: str) -> tuple[list[Triple], list[str]]:
        """The triples of a Turtle text, and each as a line of N-Triples."""
        from abi.graph.rdf_source import parse_text

        settings = self.services.settings
        text = re.sub(r"\A\s*```\w*\n|\n```\s*\Z", "\n", text)
        known = {"skos": terms.SKOS, "bfo": terms.BFO, "obo": terms.OBO, **settings.all_prefixes()}
        declared = set(_PREFIX.findall(text))
        head = "".join(f"@prefix {p}: <{i}> .\n" for p, i in known.items() if p not in declared)
        parsed = parse_text(head + text, "turtle", None, path="proposal", settings=settings)
        faults = [f for f in parsed.findings if f.severity == "error"]
        if faults:
            above = head.count("\n")
            told = "; ".join(f"line {max(f.line - above, 1)}: {f.message} {f.fix}".strip() for f in faults[:5])
            raise ArgumentError(f"The Turtle cannot be read: {told}")
        if not parsed.quads:
            raise ArgumentError("The Turtle holds no triples.")
        if len(parsed.quads) > MOST:
            raise ArgumentError(f"The Turtle holds {len(parsed.quads)} triples; {MOST} can be approved at once.")
        triples, lines = [], []
        for quad in parsed.quads:
            if str(quad.subject).startswith("_:") or str(quad.object).startswith("_:"):
                raise ArgumentError("The Turtle has blank nodes.", hint="Give each thing an IRI; write no [ ] or ( ).")
            kind = "iri" if str(quad.object).startswith("<") else "literal"
            triples.append((str(quad.subject)[1:-1], quad.predicate.value, Term(kind, quad.object.value)))  # type: ignore[arg-type, union-attr]
            lines.append(f"{quad.subject} {quad.predicate} {quad.object} .")
        return triples, lines


def grounding_faults(triples: Iterable[Triple], query: Callable[..., Rows]) -> list[str]:
    """What keeps new classes, properties and individuals from standing on BFO, each in a sentence that says how to
    mend it. `query` asks the graph as it is."""
    about: dict[str, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for subject, predicate, value in triples:
        about[subject][predicate].append(value)
    return _Grounding(about, query).faults()


class _Grounding:
    def __init__(self, about: dict[str, dict[str, list[Term]]], query: Callable[..., Rows]) -> None:
        self._about = about
        self._query = query
        self._new = {s for s, said in about.items() if self._types(said) & _CLASSES}

    def faults(self) -> list[str]:
        found: list[str] = []
        for subject, said in self._about.items():
            kinds = self._types(said)
            if kinds & _CLASSES:
                found += self._documented(subject, said, "class") + self._under_bfo(subject, said)
            elif kinds & _PROPERTIES:
                found += self._documented(subject, said, "property") + self._ends(subject, said)
            else:
                found += [
                    self._unknown(k, f"the type of {_short(subject)}")
                    for k in sorted(kinds - {terms.OWL_NAMED_INDIVIDUAL})
                    if not k.startswith((terms.OWL, terms.RDFS)) and not self._is_class(k)
                ]
        return found

    @staticmethod
    def _types(said: dict[str, list[Term]]) -> set[str]:
        return {t.value for t in said.get(terms.RDF_TYPE, ())}

    def _documented(self, subject: str, said: dict[str, list[Term]], what: str) -> list[str]:
        found = []
        for properties, name in ((_NAMES, "rdfs:label"), (_DEFINITIONS, "skos:definition")):
            path = "|".join(map(_n3, sorted(properties)))
            if not properties & said.keys() and not self._ask(f"ASK {{ {_n3(subject)} {path} ?x }}"):
                found.append(f"The {what} {_short(subject)} has no {name}.")
        return found

    def _under_bfo(self, subject: str, said: dict[str, list[Term]]) -> list[str]:
        over, waiting = {subject}, [subject]
        outside: list[str] = []
        while waiting:
            for parent in self._about.get(waiting.pop(), {}).get(terms.RDFS_SUBCLASSOF, ()):
                if parent.value == subject:
                    return [f"The class {_short(subject)} is under itself."]
                if parent.value in over:
                    continue
                over.add(parent.value)
                (waiting if parent.value in self._new else outside).append(parent.value)
        found = [self._unknown(c, f"above {_short(subject)}") for c in sorted(outside) if not self._is_class(c)]
        if found:
            return found
        roots = sorted(outside)
        if not self._ask(
            f"ASK {{ {_values('a', [subject, *roots])} ?a {_n3(terms.RDFS_SUBCLASSOF)}* ?b "
            f"FILTER(STRSTARTS(STR(?b), '{terms.BFO}')) }}"
        ):
            return [
                f"The class {_short(subject)} is under no class of BFO: give it rdfs:subClassOf one that is, such as "
                f"{self._buckets()}."
            ]
        rows = self._query(
            f"SELECT ?x ?y {{ {_values('a', [subject, *roots])} {_values('b', [subject, *roots])} "
            f"?a {_n3(terms.RDFS_SUBCLASSOF)}* ?x . ?b {_n3(terms.RDFS_SUBCLASSOF)}* ?y . "
            f"?x {_n3(terms.OWL + 'disjointWith')} ?y }} ORDER BY ?x ?y LIMIT 1"
        )
        both = [f"{self._name(r['x'].value)} and {self._name(r['y'].value)}" for r in rows]
        return [f"The class {_short(subject)} is under {names}, and nothing is both." for names in both]

    def _ends(self, subject: str, said: dict[str, list[Term]]) -> list[str]:
        return [
            self._unknown(end.value, f"the {name} of {_short(subject)}")
            for name in ("domain", "range")
            for end in said.get(terms.RDFS + name, ())
            if not end.value.startswith((terms.XSD, terms.OWL, terms.RDFS, terms.RDF)) and not self._is_class(end.value)
        ]

    def _is_class(self, iri: str) -> bool:
        kinds = ", ".join(map(_n3, sorted(_CLASSES)))
        return iri in self._new or self._ask(f"ASK {{ {_n3(iri)} a ?k FILTER(?k IN ({kinds})) }}")

    def _unknown(self, iri: str, role: str) -> str:
        near = near_names(self._query, _short(iri), terms.OWL_CLASS)
        there = f" Near: {', '.join(near)}." if near else ""
        return f"There is no class {_short(iri)}, {role}.{there}"

    def _buckets(self) -> str:
        rows = self._query(f"SELECT DISTINCT ?c {{ ?c {_n3(terms.BUCKET)} ?b }} ORDER BY ?c", rows=20)
        return ", ".join(f"<{r['c'].value}> ({self._name(r['c'].value)})" for r in rows)

    def _name(self, iri: str) -> str:
        from abi.graph.resolve import labels_of

        return labels_of(self._query, [iri]).get(iri) or _short(iri)

    def _ask(self, query: str) -> bool:
        return bool(self._query(query).boolean)


def _n3(iri: str) -> str:
    return Term("iri", iri).n3()


def _values(name: str, iris: Iterable[str]) -> str:
    return f"VALUES ?{name} {{ {' '.join(map(_n3, iris))} }}"


def _short(iri: str) -> str:
    return re.split(r"[/#]", iri.rstrip("/#"))[-1]
