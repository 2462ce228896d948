"""What is searched: one document for each record, class, property and individual, read by a few queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from abi import terms
from abi.graph.catalog import FAMILIES, KIND_CLASSES
from abi.graph.rows import Rows

if TYPE_CHECKING:
    from abi.settings import Settings

__all__ = ["Document", "Family", "read_documents"]

Family = Literal["tool", "prompt", "agent", "intent", "class", "property", "entity"]
Form = Literal["label", "alternative", "code"]
Query = Callable[[str], Rows]


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found.

    `passages` are embedded, each on its own; `text` is full-text indexed beside name, label and description.
    `labels` are what a message may call it. `classes` are the types of an individual, the superclasses of a class.
    """

    iri: str
    family: Family
    kind: str
    name: str
    label: str = ""
    description: str = ""
    text: str = ""
    passages: tuple[str, ...] = ()
    labels: tuple[tuple[Form, str], ...] = ()
    classes: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    source: str = ""


@dataclass(slots=True)
class _Texts:
    """The labels and texts of one subject, as they come."""

    labels: list[tuple[str, str]] = field(default_factory=list)
    others: list[tuple[Form, str]] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)

    def label(self) -> str:
        """The English label, or one without language, or the first by language; of several the shortest."""
        rank = {"en": 0, "": 1}
        return min(self.labels, key=lambda t: (rank.get(t[1].split("-")[0], 2), t[1], len(t[0]), t[0]))[0]


_FORMS: dict[str, Form] = {terms.SKOS_ALTLABEL: "alternative", terms.SKOS_NOTATION: "code"}
_LABELS = (terms.RDFS_LABEL, terms.SKOS_PREFLABEL)
_DEFINITIONS = (terms.SKOS_DEFINITION, terms.RDFS_COMMENT)
_CLASS_TYPES = {terms.OWL_CLASS, terms.RDFS_CLASS}
_PROPERTY_TYPES = {
    terms.OWL_OBJECT_PROPERTY,
    terms.OWL_DATATYPE_PROPERTY,
    terms.OWL_ANNOTATION_PROPERTY,
    terms.RDF_PROPERTY,
}
_PLATFORM_TYPES = {
    *KIND_CLASSES.values(),
    terms.ANNOTATION,
    terms.CATALOG_VERSION,
    terms.INDEXING,
    terms.INTENT_SCOPE_CLASS,
    terms.INTENT_TYPE_CLASS,
    terms.OWL_ONTOLOGY,
    terms.PUBLICATION,
    terms.SOURCE_FILE,
    terms.TOOL_PARAMETER,
    terms.TOOL_SELECTOR,
}
"""Individuals of these are the platform's own furniture, not things of the domain."""


def read_documents(query: Query, settings: Settings, subjects: Collection[str] | None = None) -> list[Document]:
    """The documents of the whole graph, or of those subjects and of the records that they are parts of.

    `query` sees the union of all graphs and cuts nothing off. A subject that has no document gives none.
    """
    if subjects is not None:
        if not subjects:
            return []
        subjects = {*subjects, *_owners(query, subjects)}
    only = _values(subjects)
    return [*_records(query, only), *_labelled(query, only, settings)]


def _values(subjects: Iterable[str] | None) -> str:
    return "" if subjects is None else "VALUES ?iri { " + " ".join(f"<{s}>" for s in sorted(subjects)) + " } "


def _owners(query: Query, subjects: Iterable[str]) -> list[str]:
    parts = " ".join(f"<{s}>" for s in subjects)
    rows = query(
        f"SELECT DISTINCT ?iri WHERE {{ VALUES ?part {{ {parts} }} "
        f"?iri <{terms.HAS_PARAMETER}>|<{terms.HAS_ANNOTATION}> ?part }}"
    )
    return [row["iri"].value for row in rows]


def _records(query: Query, only: str) -> Iterator[Document]:
    kinds = {cls: kind for kind, cls in KIND_CLASSES.items()}
    families = {kind: family for family, members in FAMILIES.items() for kind in members}
    typed = f"VALUES ?class {{ {' '.join(f'<{c}>' for c in kinds)} }} ?iri a ?class ."
    parameters: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in query(
        f"SELECT DISTINCT ?iri ?name ?position WHERE {{ {only} ?iri <{terms.HAS_PARAMETER}> ?part . "
        f"?part <{terms.NAME}> ?name OPTIONAL {{ ?part <{terms.POSITION}> ?position }} }}"
    ):
        position = row["position"].python() if "position" in row else 0
        parameters[row["iri"].value].append((position if isinstance(position, int) else 0, row["name"].value))
    annotations: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in query(
        f"SELECT ?iri ?key ?value WHERE {{ {only} ?iri <{terms.HAS_ANNOTATION}> ?part . "
        f"?part <{terms.KEY}> ?key ; <{terms.VALUE}> ?value }}"
    ):
        annotations[row["iri"].value].add((row["key"].value, row["value"].value))
    phrases: dict[str, set[str]] = defaultdict(set)
    for row in query(f"SELECT ?iri ?phrase WHERE {{ {only} ?iri <{terms.INTENT_VALUE}> ?phrase }}"):
        phrases[row["iri"].value].add(row["phrase"].value)
    seen: set[str] = set()
    for row in query(
        f"SELECT ?iri ?class ?name ?description ?path ?line WHERE {{ {only} {typed} ?iri <{terms.NAME}> ?name . "
        f"OPTIONAL {{ ?iri <{terms.DESCRIPTION}> ?description }} "
        f"OPTIONAL {{ ?iri <{terms.DEFINED_IN}> ?file . ?file <{terms.PATH}> ?path . "
        f"OPTIONAL {{ ?iri <{terms.LINE}> ?line }} }} }}"
    ):
        iri = row["iri"].value
        if iri in seen or row["iri"].kind != "iri":
            continue
        seen.add(iri)
        kind = kinds[row["class"].value]
        name, words = row["name"].value, row["name"].value.replace("_", " ")
        description = " ".join(row["description"].value.split()) if "description" in row else ""
        arguments = ", ".join(n.replace("_", " ") for _, n in sorted(parameters[iri]))
        spoken = sorted(phrases[iri])
        about = f"{words}: {description}" if description else words
        passage = f"{about} ({arguments})" if arguments else about
        source = row["path"].value + (f":{row['line'].value}" if "line" in row else "") if "path" in row else ""
        yield Document(
            iri=iri,
            family=families[kind],  # type: ignore[arg-type]
            kind=kind,
            name=name,
            label=words,
            description=description,
            text=" ".join([arguments, *spoken]),
            # An intent is its phrases; each is a passage of its own, since a message is like one of them.
            passages=tuple(spoken) if spoken else (passage,),
            classes=(row["class"].value,),
            annotations=tuple(sorted(annotations[iri])),
            source=source,
        )


def _labelled(query: Query, only: str, settings: Settings) -> Iterator[Document]:
    """Classes, properties and individuals that have a label."""
    described = " ".join(f"<{p}>" for p in (*_LABELS, *_FORMS, *_DEFINITIONS))
    texts: dict[str, _Texts] = {}
    # DISTINCT: the same triple may stand in several graphs, and the union shows it as often.
    for row in query(f"SELECT DISTINCT ?iri ?p ?v WHERE {{ {only} VALUES ?p {{ {described} }} ?iri ?p ?v }}"):
        if row["iri"].kind != "iri" or row["v"].kind != "literal":
            continue
        found = texts.setdefault(row["iri"].value, _Texts())
        prop, value = row["p"].value, " ".join(row["v"].value.split())
        if not value:
            continue
        if prop in _LABELS:
            found.labels.append((value, row["v"].language or ""))
        elif prop in _FORMS:
            found.others.append((_FORMS[prop], value))
        else:
            found.definitions.append(value)
    types: dict[str, set[str]] = defaultdict(set)
    for row in query(f"SELECT DISTINCT ?iri ?class WHERE {{ {only} ?iri a ?class }}"):
        if row["iri"].value in texts and row["class"].kind == "iri":
            types[row["iri"].value].add(row["class"].value)
    supers: dict[str, set[str]] = defaultdict(set)
    for row in query(f"SELECT DISTINCT ?iri ?class WHERE {{ {only} ?iri <{terms.RDFS_SUBCLASSOF}> ?class }}"):
        if row["class"].kind == "iri":
            supers[row["iri"].value].add(row["class"].value)
    embedded = {_expand(name, settings) for name in settings.embed_entities}
    for iri, found in texts.items():
        of = types[iri]
        if not found.labels or of & _PLATFORM_TYPES:
            continue
        family: Family = "class" if of & _CLASS_TYPES else "property" if of & _PROPERTY_TYPES else "entity"
        label = found.label()
        description = " ".join(sorted(found.definitions, key=lambda t: (len(t), t))[:1])
        about = f"{label}: {description}" if description else label
        yield Document(
            iri=iri,
            family=family,
            kind=family,
            name=label,
            label=label,
            description=description,
            text=" ".join([t for _, t in sorted(found.others)] + sorted(t for t, _ in found.labels if t != label)),
            passages=(about,) if family != "entity" or of & embedded else (),
            labels=tuple(
                dict.fromkeys([("label", label), *(("label", t) for t, _ in found.labels), *sorted(found.others)])
            ),
            classes=tuple(sorted(supers[iri] if family == "class" else of - {terms.OWL_NAMED_INDIVIDUAL})),
        )


def _expand(name: str, settings: Settings) -> str:
    prefix, colon, local = name.partition(":")
    prefixes = settings.all_prefixes()
    return prefixes[prefix] + local if colon and prefix in prefixes else name
