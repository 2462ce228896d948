"""The classes and properties of a graph, as a writer of queries needs them, and the terms that a query gets wrong.

Read once for a version of the graph; what abi itself and the RDF vocabularies bring is left out of the description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from abi.errors import StoreError
from abi.graph.resolve import labels_of
from abi.graph.rows import Rows
from abi.graph.tokens import Token, tokenize

__all__ = ["UsedTerms", "missing_prefixes", "unknown_terms", "used_iris"]

_VOCABULARIES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2004/02/skos/core#",
    "http://www.w3.org/ns/prov#",
    "http://www.w3.org/ns/shacl#",
    "http://purl.org/dc/terms/",
)
_OWN = (*_VOCABULARIES, "https://w3id.org/abi/", "http://purl.obolibrary.org/obo/")
COMMON_PREFIXES: dict[str, str] = {
    "bfo": "http://purl.obolibrary.org/obo/BFO_",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "org": "http://www.w3.org/ns/org#",
    "schema": "https://schema.org/",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
}
"""Prefixes that people and models write without declaring them; used where a workspace declares no other."""


@dataclass
class UsedTerms:
    """IRIs to (label, uses). `links`: (class, property, class of the value, or its datatype), most used first."""

    classes: dict[str, tuple[str, int]] = field(default_factory=dict)
    properties: dict[str, tuple[str, int]] = field(default_factory=dict)
    links: list[tuple[str, str, str]] = field(default_factory=list)

    @classmethod
    def read(cls, query: Callable[..., Rows]) -> UsedTerms:
        """Ask the graph. Links are left out where the graph is too large to find them within the time of a query."""
        classes = {r["c"].value: _int(r) for r in query("SELECT ?c (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c")}
        properties = {r["p"].value: _int(r) for r in query("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p")}
        declared = query(
            "SELECT DISTINCT ?x ?k { VALUES ?k { owl:Class rdfs:Class owl:ObjectProperty owl:DatatypeProperty "
            "rdf:Property } ?x a ?k FILTER(isIRI(?x)) }"
        )
        for row in declared:
            place = classes if row["k"].value.endswith("Class") else properties
            place.setdefault(row["x"].value, 0)
        mine = [i for i in (*classes, *properties) if not i.startswith(_OWN)]
        labels = labels_of(query, mine)
        found = cls(
            {i: (labels.get(i, local_name(i)), n) for i, n in _sorted(classes)},
            {i: (labels.get(i, local_name(i)), n) for i, n in _sorted(properties)},
        )
        try:
            rows = query(
                "SELECT ?c ?p ?d (COUNT(*) AS ?n) { ?s ?p ?o ; a ?c OPTIONAL { ?o a ?k } "
                "BIND(IF(isLiteral(?o), DATATYPE(?o), ?k) AS ?d) "
                "FILTER(?p != rdf:type) } GROUP BY ?c ?p ?d ORDER BY DESC(?n) LIMIT 500"
            )
        except StoreError:
            return found
        found.links = [
            (r["c"].value, r["p"].value, r["d"].value if "d" in r else "")
            for r in rows
            if not r["c"].value.startswith(_OWN) and not (r["d"].value if "d" in r else "").startswith(_VOCABULARIES[3])
        ]
        return found

    def near(self, iri: str, limit: int = 3) -> list[str]:
        """Terms whose names or labels are like the end of an IRI, nearest first."""
        from rapidfuzz import fuzz, process, utils

        names: dict[str, str] = {}
        for known, (label, _) in (*self.classes.items(), *self.properties.items()):
            names[known] = f"{_words(local_name(known))} {label if label != local_name(known) else ''}".strip()
        wanted = _words(local_name(iri))
        best = process.extract(
            wanted, names, scorer=fuzz.token_set_ratio, processor=utils.default_process, limit=limit, score_cutoff=60
        )
        return [key for _, _, key in best]

    def text(self, prefixes: Mapping[str, str], limit: int = 6000) -> str:
        """The description, in at most `limit` characters: what is used most comes first."""
        lines = ["Prefixes, declared already: " + ", ".join(f"{p}: <{i}>" for p, i in prefixes.items()), "Classes:"]
        for iri, (label, count) in self.classes.items():
            if not iri.startswith(_OWN):
                lines.append(f"- {short(iri, prefixes)}{_called(iri, label)}, {count} individuals")
        linked = {p for _, p, _ in self.links}
        lines.append("Properties:")
        for c, p, d in self.links:
            lines.append(f"- {short(c, prefixes)} {short(p, prefixes)} {short(d, prefixes) if d else '(anything)'}")
        for iri, (label, count) in self.properties.items():
            if iri not in linked and not iri.startswith(_OWN):
                lines.append(f"- {short(iri, prefixes)}{_called(iri, label)}, {count} uses")
        text = "\n".join(lines)
        return text if len(text) <= limit else text[: text.rfind("\n", 0, limit)] + "\n..."


def missing_prefixes(text: str, declared: Mapping[str, str]) -> tuple[str, list[str]]:
    """The query with lines for common prefixes that it uses undeclared, and the prefixes that nobody knows."""
    tokens = tokenize(text)
    own = {
        tokens[i + 1].text.removesuffix(":")
        for i, t in enumerate(tokens[:-1])
        if t.upper == "PREFIX" and tokens[i + 1].kind == "pname"
    }
    used = dict.fromkeys(t.text.split(":", 1)[0] for t in tokens if t.kind == "pname")
    open_ = [p for p in used if p not in own and p not in declared]
    added = "".join(f"PREFIX {p}: <{COMMON_PREFIXES[p]}>\n" for p in open_ if p in COMMON_PREFIXES)
    return added + text, [p for p in open_ if p not in COMMON_PREFIXES]


def used_iris(text: str, declared: Mapping[str, str]) -> dict[str, Token]:
    """The IRIs that a query names, outside of the common vocabularies, each where it is written first."""
    tokens = tokenize(text)
    prefixes = dict(declared)
    found: dict[str, Token] = {}
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if before.upper() == "PREFIX" and token.kind == "pname":
            prefixes[token.text.removesuffix(":")] = tokens[i + 1].name if i + 1 < len(tokens) else ""
            continue
        if token.kind not in ("iri", "pname") or before == "^^" or after == "(" or before.upper() == "BASE":
            continue
        if token.kind == "iri" and i > 1 and tokens[i - 2].upper == "PREFIX":
            continue
        iri = token.name
        if token.kind == "pname":
            prefix, _, local = token.text.partition(":")
            if prefix not in prefixes:
                continue
            iri = prefixes[prefix] + re.sub(r"\\(.)", r"\1", local)
        if not iri.startswith(_VOCABULARIES) and ":" in iri:
            found.setdefault(iri, token)
    return {i: token for i, token in found.items() if re.fullmatch(r'[^\x00-\x20<>"{}|^`\\]+', i)}


def unknown_terms(text: str, declared: Mapping[str, str], query: Callable[..., Rows]) -> list[tuple[Token, str]]:
    """The IRIs of a query that stand nowhere in the graph, each where it is written first."""
    found = usable = used_iris(text, declared)
    if not usable:
        return []
    listed = " ".join(f"<{i}>" for i in usable)
    known = {
        row["x"].value
        for row in query(
            f"SELECT ?x {{ VALUES ?x {{ {listed} }} FILTER(EXISTS {{ ?x ?p ?o }} || EXISTS {{ ?s ?x ?o }} || "
            "EXISTS { ?s ?p ?x } || EXISTS { GRAPH ?x { ?s ?p ?o } }) }"
        )
    }
    return [(found[i], i) for i in usable if i not in known]


def short(iri: str, prefixes: Mapping[str, str]) -> str:
    """`prefix:name` where a prefix fits, else `<IRI>`."""
    for prefix, namespace in sorted(prefixes.items(), key=lambda p: -len(p[1])):
        name = iri.removeprefix(namespace)
        if name != iri and re.fullmatch(r"[A-Za-z_][\w-]*", name):
            return f"{prefix}:{name}"
    return f"<{iri}>"


def local_name(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1]


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name)


def _called(iri: str, label: str) -> str:
    return f" ({label})" if label.casefold() != _words(local_name(iri)).casefold() else ""


def _sorted(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda c: (-c[1], c[0]))


def _int(row: Mapping[str, object]) -> int:
    return int(str(row["n"]))
