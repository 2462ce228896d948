"""What a graph holds, read by set-based queries: classes with individuals, their values and links, all their names.

Nothing of it depends on an ontology: classes that nobody declared, nodes without a type, blank nodes and labels without
a language are read as they stand. What an ontology says (labels, ranges, restrictions, subclasses) is added to it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from abi import terms
from abi.graph.rows import Row, Rows, Term

__all__ = ["Attribute", "GraphSchema", "Kind", "Link", "Query", "read_schema"]

Query = Callable[..., Rows]
Kind = str
"""`number`, `date`, `boolean`, `iri` or `text`: how the values of an attribute compare."""

_ROWS = 20_000
_NOT_DATA = (terms.ABI, terms.OWL, terms.RDFS, terms.RDF, terms.SH)
_NUMBERS = frozenset(
    terms.XSD + n
    for n in (
        "integer decimal double float int long short byte nonNegativeInteger positiveInteger negativeInteger "
        "nonPositiveInteger unsignedInt unsignedLong unsignedShort unsignedByte"
    ).split()
)
_DATES = frozenset(terms.XSD + n for n in "date dateTime dateTimeStamp gYear gYearMonth time".split())
_NAMES = (terms.RDFS_LABEL, terms.SKOS + "prefLabel", terms.SKOS_ALTLABEL, "http://schema.org/name")
_UPPER = ("http://purl.obolibrary.org/obo/BFO_", terms.OWL, terms.RDFS)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Literal values of one property on the individuals of one class."""

    owner: str
    property: str
    kind: Kind
    datatype: str
    triples: int
    owners: int
    values: int
    sample: str = ""

    def tells_apart(self) -> bool:
        """Whether its value tells the individuals apart."""
        return self.values == self.owners == self.triples


@dataclass(frozen=True, slots=True)
class Link:
    """A property that leads from individuals of one class to those of another. Classes are keys of `GraphSchema`."""

    source: str
    property: str
    target: str
    triples: int


@dataclass
class GraphSchema:
    """`classes`: key to number of individuals. A key is a class's IRI; for nodes without a type that one property
    leads to, `~` and that property. `members`: the classes whose individuals a class has, itself and below."""

    classes: dict[str, int] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: list[Attribute] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """IRI of a class or property to its labels in every language, preferred ones first."""
    declared: frozenset[str] = frozenset()
    """Classes and properties that an ontology declares."""
    ranges: dict[str, tuple[str, ...]] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    mutual: frozenset[tuple[str, str]] = frozenset()
    """Pairs of properties that are each other's inverse throughout the data, whatever an ontology says."""

    def digest(self) -> str:
        """sha256 over all of it, in hex: it moves when the schema or the data's shape does."""
        parts = [
            sorted(self.classes.items()),
            sorted(self.members.items()),
            sorted(map(repr, self.attributes)),
            sorted(map(repr, self.links)),
            sorted(self.names.items()),
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def of(self, owner: str) -> list[Attribute]:
        """The attributes of a class, the fullest first."""
        return self._by_owner.get(owner, [])

    @property
    def _by_owner(self) -> dict[str, list[Attribute]]:
        made: dict[str, list[Attribute]] | None = self.__dict__.get("_owners")
        if made is None:
            grouped: dict[str, list[Attribute]] = defaultdict(list)
            for attribute in sorted(self.attributes, key=lambda a: (-a.owners, a.property)):
                grouped[attribute.owner].append(attribute)
            made = self.__dict__["_owners"] = dict(grouped)
        return made


def read_schema(query: Query, graph: str | None = None) -> GraphSchema:
    """The schema of the whole graph, or of what one named graph holds; names come from everywhere.

    Left out are abi's own records and the terms of ontologies themselves. Raises what `query` raises.
    """
    return _Reader(query, graph).read()


class _Reader:
    def __init__(self, query: Query, graph: str | None) -> None:
        self._query = query
        self._graph = graph

    def read(self) -> GraphSchema:
        schema = GraphSchema()
        for row in self._ask("SELECT ?c (COUNT(DISTINCT ?s) AS ?n) { {@ ?s a ?c @} } GROUP BY ?c"):
            if row["c"].kind == "iri" and _is_data(row["c"].value):
                schema.classes[row["c"].value] = _number(row, "n")
        schema.attributes = list(self._attributes(schema))
        schema.links = list(self._links(schema))
        schema.mutual = self._mutual(schema)
        self._untyped(schema)
        self._ontology(schema)
        self._above(schema)
        schema.languages = tuple(
            sorted({v.rpartition("@")[2] for v in (a.datatype for a in schema.attributes) if v.startswith("@")})
        )
        return schema

    def _attributes(self, schema: GraphSchema) -> Iterable[Attribute]:
        rows = self._ask(
            "SELECT ?c ?p ?dt ?lang (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?owners) (COUNT(DISTINCT ?v) AS ?values) "
            "(MIN(STR(?v)) AS ?sample) { { SELECT DISTINCT ?c ?s ?p ?v { {@ ?s a ?c ; ?p ?v @} "
            "FILTER(isLiteral(?v)) } } "
            "BIND(DATATYPE(?v) AS ?dt) BIND(LANG(?v) AS ?lang) } GROUP BY ?c ?p ?dt ?lang"
        )
        return _merged((row["c"].value, row) for row in rows if row["c"].value in schema.classes)

    def _links(self, schema: GraphSchema) -> Iterable[Link]:
        for row in self._ask(
            "SELECT ?c ?p ?d (COUNT(*) AS ?n) { { SELECT DISTINCT ?c ?s ?p ?o ?d { {@ ?s a ?c ; ?p ?o @} ?o a ?d } } } "
            "GROUP BY ?c ?p ?d"
        ):
            source, target = row["c"].value, row["d"].value
            if source in schema.classes and target in schema.classes:
                yield Link(source, row["p"].value, target, _number(row, "n"))

    def _mutual(self, schema: GraphSchema) -> frozenset[tuple[str, str]]:
        sizes: dict[str, int] = defaultdict(int)
        for row in self._ask("SELECT ?p (COUNT(*) AS ?n) { {@ ?s ?p ?o @} FILTER(!isLiteral(?o)) } GROUP BY ?p"):
            sizes[row["p"].value] = _number(row, "n")
        ends = {(x.source, x.target) for x in schema.links}
        if not any((b, a) in ends for a, b in ends):
            return frozenset()
        rows = self._ask(
            "SELECT ?p ?q (COUNT(*) AS ?n) { {@ ?a ?p ?b . ?b ?q ?a @} FILTER(STR(?p) < STR(?q)) } GROUP BY ?p ?q"
        )
        pairs = {
            (row["p"].value, row["q"].value)
            for row in rows
            if _number(row, "n") >= min(sizes[row["p"].value], sizes[row["q"].value]) > 0
        }
        return frozenset(pairs | {(q, p) for p, q in pairs})

    def _untyped(self, schema: GraphSchema) -> None:
        """Nodes without a type, as the value nodes of many mappings are: they are told apart by what leads to them."""
        away = "FILTER(!isLiteral(?o)) FILTER NOT EXISTS { ?o a ?type }"
        counts: dict[str, int] = defaultdict(int)
        for row in self._ask(
            f"SELECT ?c ?p (COUNT(DISTINCT ?o) AS ?n) {{ {{@ ?s a ?c ; ?p ?o @}} {away} }} GROUP BY ?c ?p"
        ):
            if row["c"].value in schema.classes and row["p"].value != terms.RDF_TYPE:
                schema.links.append(Link(row["c"].value, row["p"].value, "~" + row["p"].value, _number(row, "n")))
                counts["~" + row["p"].value] += _number(row, "n")
        if not counts:
            return
        listed = " ".join(f"<{k[1:]}>" for k in sorted(counts))
        rows = self._ask(
            "SELECT ?c ?p ?dt ?lang (COUNT(*) AS ?n) (COUNT(DISTINCT ?o) AS ?owners) (COUNT(DISTINCT ?v) AS ?values) "
            f"(MIN(STR(?v)) AS ?sample) {{ {{ SELECT DISTINCT ?c ?o ?p ?v {{ VALUES ?c {{ {listed} }} "
            f"{{@ ?s ?c ?o . ?o ?p ?v @}} {away} FILTER(isLiteral(?v)) }} }} "
            "BIND(DATATYPE(?v) AS ?dt) BIND(LANG(?v) AS ?lang) } GROUP BY ?c ?p ?dt ?lang"
        )
        found = list(_merged(("~" + row["c"].value, row) for row in rows))
        schema.attributes += found
        for row in self._ask(
            f"SELECT ?c ?p ?d (COUNT(*) AS ?n) {{ VALUES ?c {{ {listed} }} "
            f"{{@ ?s ?c ?o . ?o ?p ?x @}} ?x a ?d . {away} }} GROUP BY ?c ?p ?d"
        ):
            if row["d"].value in schema.classes:
                schema.links.append(Link("~" + row["c"].value, row["p"].value, row["d"].value, _number(row, "n")))
        # A node of which nothing is said can neither be shown nor asked about.
        useful = {a.owner for a in found} | {link.source for link in schema.links if link.source.startswith("~")}
        schema.classes |= {k: n for k, n in counts.items() if k in useful}
        # An IRI of which nothing is said is as good as a text: a web page, a term of another vocabulary.
        for link in [x for x in schema.links if x.target not in schema.classes]:
            at = (link.source, link.property, "iri", "", link.triples, link.triples, counts[link.target])
            schema.attributes.append(Attribute(*at))
        schema.links = [link for link in schema.links if link.target in schema.classes]

    def _ontology(self, schema: GraphSchema) -> None:
        ranges: dict[str, set[str]] = defaultdict(set)
        for row in self._ask(
            f"SELECT ?p ?d {{ {{ ?p <{terms.RDFS}range> ?d }} UNION {{ ?r <{terms.OWL}onProperty> ?p ; "
            f"<{terms.OWL}someValuesFrom>|<{terms.OWL}allValuesFrom>|<{terms.OWL}onClass> ?d }} FILTER(isIRI(?d)) }}"
        ):
            ranges[row["p"].value].add(row["d"].value)
        schema.ranges = {p: tuple(sorted(r)) for p, r in ranges.items()}
        wanted = {k for k in schema.classes if not k.startswith("~")}
        wanted |= {a.property for a in schema.attributes} | {link.property for link in schema.links}
        wanted |= {d for p in wanted for d in schema.ranges.get(p, ()) if _is_data(d)}
        parents = self._parents()
        wanted |= {b for c in list(wanted) for b in _closure(c, parents)}
        names: dict[str, list[tuple[int, str]]] = defaultdict(list)
        listed = " ".join(f"<{i}>" for i in sorted(wanted) if _writable(i))
        properties = " ".join(f"(<{p}> {n})" for n, p in enumerate(_NAMES))
        for row in self._ask(
            f"SELECT DISTINCT ?i ?l ?n {{ VALUES ?i {{ {listed} }} VALUES (?p ?n) {{ {properties} }} ?i ?p ?l }}"
        ):
            if row["l"].kind == "literal" and row["l"].value.strip():
                rank = _number(row, "n") * 4 + {"en": 0, None: 1}.get(row["l"].language, 2)
                names[row["i"].value].append((rank, " ".join(row["l"].value.split())))
        schema.names = {i: tuple(dict.fromkeys(t for _, t in sorted(found))) for i, found in names.items()}
        kinds = " ".join(
            f"<{k}>"
            for k in (
                terms.OWL_CLASS,
                terms.RDFS_CLASS,
                terms.OWL + "ObjectProperty",
                terms.OWL + "DatatypeProperty",
                terms.RDF + "Property",
            )
        )
        rows = self._ask(f"SELECT DISTINCT ?i {{ VALUES ?i {{ {listed} }} VALUES ?k {{ {kinds} }} ?i a ?k }}")
        schema.declared = frozenset(row["i"].value for row in rows)
        self._up = parents

    def _parents(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for row in self._ask(f"SELECT DISTINCT ?a ?b {{ ?a <{terms.RDFS_SUBCLASSOF}> ?b FILTER(isIRI(?b)) }}"):
            if _is_data(row["b"].value) and not row["b"].value.startswith(_UPPER):
                found[row["a"].value].add(row["b"].value)
        return found

    def _above(self, schema: GraphSchema) -> None:
        """Classes over those that have individuals: what their subclasses have is theirs."""
        below: dict[str, set[str]] = defaultdict(set)
        for cls in list(schema.classes):
            below[cls].add(cls)
            for parent in _closure(cls, self._up):
                below[parent].add(cls)
        for cls, members in below.items():
            schema.members[cls] = tuple(sorted(members))
            if members == {cls}:
                continue
            schema.classes[cls] = sum(schema.classes.get(m, 0) for m in members if m != cls) + (
                schema.classes.get(cls, 0)
            )
            inherited: dict[str, list[Attribute]] = defaultdict(list)
            for attribute in schema.attributes:
                if attribute.owner in members:
                    inherited[attribute.property].append(attribute)
            schema.attributes = [a for a in schema.attributes if a.owner != cls]
            for found in inherited.values():
                schema.attributes.append(_summed(cls, found))
            links: dict[tuple[str, str], int] = defaultdict(int)
            for link in schema.links:
                if link.source in members:
                    links[link.property, link.target] += link.triples
            schema.links = [x for x in schema.links if x.source != cls]
            schema.links += [Link(cls, p, t, n) for (p, t), n in links.items()]
            backward: dict[tuple[str, str], int] = defaultdict(int)
            for link in schema.links:
                if link.target in members:
                    backward[link.source, link.property] += link.triples
            schema.links = [x for x in schema.links if x.target != cls]
            schema.links += [Link(s, p, cls, n) for (s, p), n in backward.items()]
        schema.__dict__.pop("_owners", None)

    def _ask(self, text: str) -> Rows:
        """`{@ ... @}`: the part that is looked for in the one graph, where there is one."""
        opened = f"GRAPH <{self._graph}> {{" if self._graph else "{"
        return self._query(text.replace("{@", opened).replace("@}", "}"), rows=_ROWS)


def _merged(rows: Iterable[tuple[str, Row]]) -> Iterable[Attribute]:
    """One attribute for each class and property, of the datatype that most of its values have."""
    grouped: dict[tuple[str, str], list[Attribute]] = defaultdict(list)
    for owner, row in rows:
        language = row["lang"].value if "lang" in row else ""
        datatype = f"@{language}" if language else row["dt"].value if "dt" in row else terms.XSD_STRING
        numbers = [_number(row, name) for name in ("n", "owners", "values")]
        sample = row["sample"].value if "sample" in row else ""
        kind = _kind(datatype)
        made = Attribute(owner, row["p"].value, kind, datatype, numbers[0], numbers[1], numbers[2], sample)
        grouped[owner, made.property].append(made)
    return [_summed(owner, found) for (owner, _), found in grouped.items()]


def _summed(owner: str, found: list[Attribute]) -> Attribute:
    most = max(found, key=lambda a: (a.triples, a.datatype))
    kind = most.kind if len({a.kind for a in found}) == 1 else "text"
    triples, values = sum(a.triples for a in found), sum(a.values for a in found)
    owners = max(a.owners for a in found) if len({a.owner for a in found}) == 1 else sum(a.owners for a in found)
    return Attribute(owner, most.property, kind, most.datatype, triples, owners, values, most.sample)


def _kind(datatype: str) -> Kind:
    if datatype in _NUMBERS:
        return "number"
    if datatype in _DATES:
        return "date"
    return "boolean" if datatype == terms.XSD_BOOLEAN else "text"


def _closure(cls: str, parents: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [cls]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in found and parent != cls:
                found.add(parent)
                waiting.append(parent)
    return found


def _is_data(cls: str) -> bool:
    return not cls.startswith(_NOT_DATA) and _writable(cls)


def _writable(iri: str) -> bool:
    """Whether an IRI can stand in a query; a store may hold others."""
    return Term("iri", iri).kind == "iri" and not any(c in iri for c in '<>"{}|^`\\ ')


def _number(row: Row, name: str) -> int:
    return int(row[name].value) if name in row else 0
