"""What the offline model asks the graph: which class is under which, and what stands beside an entity."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abi import terms
from abi.agents.words import split_name
from abi.errors import AbiError
from abi.graph.rows import Term

if TYPE_CHECKING:
    from abi.agents.services import Services
    from abi.search.linker import Candidate

__all__ = ["World"]

_NEIGHBOURS = 12
_ANYTHING = frozenset({terms.OWL_THING, terms.BFO_ENTITY, terms.RDFS + "Resource"})
_CLASSES = frozenset({terms.OWL_CLASS, terms.RDFS_CLASS})


class World:
    """Answers are kept as long as the graph does not move."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._version = -1
        self._below: dict[str, frozenset[str]] = {}
        self._beside: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._labels: dict[str, str] = {}
        self._lock = threading.Lock()

    def fits(self, candidate: Candidate, value_class: str) -> bool:
        """Whether an entity can stand where an individual of `value_class` is asked for."""
        if value_class in _ANYTHING:
            return True
        if value_class in _CLASSES:
            return candidate.cls in _CLASSES
        return not self._classes_below(value_class).isdisjoint((candidate.cls, *candidate.classes))

    def beside(self, iri: str, value_class: str) -> list[tuple[str, str]]:
        """Entities of a class that point at `iri`, as the airports of a city do: (iri, label), by label."""
        key = (iri, value_class)
        if key not in self._beside:
            rows = self._ask(
                f"SELECT DISTINCT ?x ?label {{ ?x ?p {Term('iri', iri).n3()} ; a ?c ; rdfs:label ?label . "
                f"VALUES ?c {{ {self._listed(value_class)} }} FILTER(isIRI(?x)) }} ORDER BY ?label LIMIT {_NEIGHBOURS}"
            )
            self._beside[key] = list(dict(rows).items())
        return self._beside[key]

    def leading_to(self, iris: Sequence[str], other: str) -> list[str]:
        """Those of `iris` from which one or two steps lead to `other`, as from an airport to its state."""
        node = Term("iri", other).n3()
        values = " ".join(Term("iri", i).n3() for i in iris)
        rows = self._ask(
            f"SELECT DISTINCT ?x ?label {{ VALUES ?x {{ {values} }} "
            f"{{ ?x ?p {node} }} UNION {{ ?x ?p ?y . ?y ?q {node} }} BIND('' AS ?label) }}"
        )
        found = {x for x, _ in rows}
        return [i for i in iris if i in found]

    def class_name(self, iri: str) -> str:
        """A class as people call it: its label, else its IRI's last part."""
        if iri not in self._labels:
            rows = self._ask(f"SELECT ?x ?label {{ BIND({Term('iri', iri).n3()} AS ?x) ?x rdfs:label ?label }} LIMIT 1")
            self._labels[iri] = rows[0][1] if rows else " ".join(split_name(iri)).casefold()
        return self._labels[iri]

    def _listed(self, value_class: str) -> str:
        return " ".join(Term("iri", c).n3() for c in sorted(self._classes_below(value_class))[:500])

    def _classes_below(self, value_class: str) -> frozenset[str]:
        if value_class not in self._below:
            rows = self._ask(
                f"SELECT ?x ?label {{ ?x rdfs:subClassOf* {Term('iri', value_class).n3()} BIND('' AS ?label) }}"
            )
            self._below[value_class] = frozenset({value_class, *(x for x, _ in rows)})
        return self._below[value_class]

    def _ask(self, query: str) -> list[tuple[str, str]]:
        prefixes = f"PREFIX rdf: <{terms.RDF}> PREFIX rdfs: <{terms.RDFS}> "
        try:
            rows = self._services.store.query(prefixes + query)
        except AbiError:
            return []
        return [(row["x"].value, row["label"].value) for row in rows if "x" in row and "label" in row]

    def follow(self) -> None:
        """Forget what was kept if the graph has moved since. Called once a message."""
        version = self._services.version()
        with self._lock:
            if version != self._version:
                self._version = version
                for kept in (self._below, self._beside, self._labels):
                    kept.clear()
