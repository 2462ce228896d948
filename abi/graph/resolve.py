"""A name, as people write it, to the individual of a class that bears it.

First exact look-ups, which cost the same in any graph: as IRI, then as label, code or alternative label in the usual
spellings. Only where those find nothing the labels of the class are read through, without regard to case, and last for
names that are near, to say in the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from abi.errors import ArgumentError
from abi.graph.rows import Rows, Term

__all__ = ["Candidate", "candidates", "labels_of", "near_names", "resolve"]

OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUBCLASS = f"<{RDFS}subClassOf>"
OWL_THING = OWL + "Thing"
_NAMES = (RDFS + "label", SKOS + "prefLabel", SKOS + "notation", "https://w3id.org/abi/name")
_OTHER_NAMES = (SKOS + "altLabel",)
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]+")
_SCAN_ROWS = 20_000
_NEAR = 5
_LANGUAGES = (None, "en")
"""Tags that a label is looked up with; labels in other languages are found by reading through the class."""


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """Something that a name may mean. `label` is the local part of the IRI where it has none."""

    iri: str
    label: str


def resolve(
    query: Callable[..., Rows],
    text: str,
    value_class: str,
    *,
    prefixes: Mapping[str, str] | None = None,
    argument: str = "",
    look_up: Callable[..., Rows] | None = None,
) -> Candidate:
    """The one individual of the class (or of a subclass) that `text` means; owl:Thing stands for anything.

    `look_up` answers the exact look-ups, whose cost does not grow with the graph; `query` (default: for all) those
    that read a class through.

    Raises ArgumentError: with near names in the hint where nothing has that name, and with `code: ambiguous` and all
    `candidates` ({iri, label}) in the fault where several have it.
    """
    found = candidates(query, text, value_class, prefixes=prefixes, look_up=look_up)
    if len(found) == 1:
        return found[0]
    what = labels_of(look_up or query, [value_class]).get(value_class) or _local(value_class)
    fault: dict[str, Any] = {"argument": argument}
    where = f"{argument}: " if argument else ""
    if found:
        listed = ", ".join(f"{c.label} <{c.iri}>" for c in found[:10])
        fault |= {
            "code": "ambiguous",
            "message": f"{text!r} can mean {len(found)} things: {listed}.",
            "candidates": [{"iri": c.iri, "label": c.label} for c in found],
        }
        hint = "Give the IRI, or a name or code that only one of them has."
    else:
        near = near_names(query, text, value_class)
        kind = "Nothing in the graph" if value_class == OWL_THING else f"No {what}"
        fault |= {"code": "unknown", "message": f"{kind} is called {text!r}.", "near": near}
        hint = f"Near names: {', '.join(near)}." if near else ""
    raise ArgumentError(where + fault["message"], hint=hint, details={"faults": [fault]})


def candidates(
    query: Callable[..., Rows],
    text: str,
    value_class: str,
    *,
    prefixes: Mapping[str, str] | None = None,
    look_up: Callable[..., Rows] | None = None,
) -> list[Candidate]:
    """All that `text` may mean: by IRI or prefixed name, else by label or code, else by alternative label."""
    quick = look_up or query
    text = " ".join(text.split())
    if not text or any("\ud800" <= c <= "\udfff" for c in text):
        return []
    iri = _as_iri(text, prefixes or {})
    if iri is not None and quick(f"ASK {{ {_member(f'<{iri}>', value_class)} }}", rows=1).boolean:
        return [Candidate(iri, labels_of(quick, [iri]).get(iri, _local(iri)))]
    spellings = dict.fromkeys((text, text.lower(), text.upper(), text.title(), text.capitalize()))
    literals = [Term("literal", s, None, tag).n3() for s in spellings for tag in _LANGUAGES]
    folded = f"FILTER(LCASE(STR(?text)) = {Term('literal', text.lower()).n3()})"
    for ask, exact in ((quick, True), (query, False)):
        for properties in (_NAMES, _OTHER_NAMES):
            # A pattern a spelling is looked up in the index; VALUES would be joined with all the names that there are.
            named = (
                " UNION ".join(f"{{ ?x <{p}> {literal} }}" for p in properties for literal in literals)
                if exact
                else f"VALUES ?property {{ {' '.join(f'<{p}>' for p in properties)} }} ?x ?property ?text . {folded}"
            )
            rows = ask(
                f"SELECT DISTINCT ?x {{ {named} FILTER(isIRI(?x)) {_member('?x', value_class, looked_up=True)} }} "
                "LIMIT 101",
                rows=101,
            )
            iris = sorted({row["x"].value for row in rows})
            if iris:
                labels = labels_of(quick, iris)
                return [Candidate(i, labels.get(i, _local(i))) for i in iris]
    return []


def labels_of(query: Callable[..., Rows], iris: list[str]) -> dict[str, str]:
    """The label of each IRI that has one, by one query: without a language tag before @en before others."""
    usable = [i for i in dict.fromkeys(iris) if _IRI.fullmatch(i)]
    if not usable:
        return {}
    listed = " ".join(f"<{i}>" for i in usable)
    rows = query(
        f"SELECT DISTINCT ?x ?label {{ VALUES ?x {{ {listed} }} ?x <{RDFS}label>|<{SKOS}prefLabel> ?label }}",
        rows=20 * len(usable),
    )
    best: dict[str, tuple[int, str]] = {}
    for row in rows:
        label = row["label"]
        language = (label.language or "").lower()
        rank = 0 if not language else 1 if language.startswith("en") else 2
        key = (rank, label.value)
        if row["x"].value not in best or key < best[row["x"].value]:
            best[row["x"].value] = key
    return {iri: label for iri, (_, label) in best.items()}


def _as_iri(text: str, prefixes: Mapping[str, str]) -> str | None:
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1]
    prefix, colon, local = text.partition(":")
    if colon and prefix in prefixes and not local.startswith("//"):
        text = prefixes[prefix] + local
    return text if _IRI.fullmatch(text) else None


def _member(term: str, value_class: str, *, looked_up: bool = False) -> str:
    """The pattern that says that a term is in the class; for owl:Thing, that the graph speaks of it."""
    if value_class == OWL_THING:
        return "" if looked_up else f"{{ {term} ?p ?o }} UNION {{ ?s ?p {term} }}"
    if value_class == OWL + "Class":
        # Also those that are only declared by RDF Schema, or are superclasses without a declaration.
        return (
            f"FILTER(EXISTS {{ {term} a <{OWL}Class> }} || EXISTS {{ {term} a <{RDFS}Class> }} "
            f"|| EXISTS {{ ?i {RDF_TYPE} {term} }})"
        )
    return f"{term} {RDF_TYPE}/{SUBCLASS}* <{value_class}> ."


def near_names(query: Callable[..., Rows], text: str, value_class: str) -> list[str]:
    """Names of individuals of a class that are like a text, nearest first."""
    from rapidfuzz import fuzz, process, utils

    listed = " ".join(f"<{p}>" for p in (*_NAMES, *_OTHER_NAMES))
    rows = query(
        f"SELECT DISTINCT ?text {{ {_member('?x', value_class, looked_up=True)} VALUES ?property {{ {listed} }} "
        f"?x ?property ?text }} LIMIT {_SCAN_ROWS}",
        rows=_SCAN_ROWS,
    )
    # A name much shorter than the text is only near to a piece of it.
    names = [n for n in dict.fromkeys(row["text"].value for row in rows) if 2 * len(n) > len(text)]
    found = process.extract(
        text, names, scorer=fuzz.WRatio, processor=utils.default_process, limit=_NEAR, score_cutoff=70
    )
    return [name for name, _, _ in found]


def _local(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#:"))[-1]
