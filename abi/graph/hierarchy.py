"""Which class is below which, as the graph says it now, and as abi's own classes are."""

from __future__ import annotations

import pyoxigraph as ox

from abi import terms
from abi.graph.change import Candidate
from abi.graph.names import FAMILY_CLASSES

__all__ = ["Hierarchy"]

_SUBCLASS = ox.NamedNode(terms.RDFS_SUBCLASSOF)

# So that the gate knows a tool from a prompt in a store that does not hold the ontology yet.
_BUILT_IN = {c: classes[0] for classes in FAMILY_CLASSES.values() for c in classes[1:]}


class Hierarchy:
    """Superclasses by class, looked up once. Good as long as no rdfs:subClassOf triple changes."""

    def __init__(self) -> None:
        self._above: dict[str, frozenset[str]] = {}

    def above(self, class_iri: str, candidate: Candidate) -> frozenset[str]:
        """The class and all classes above it."""
        known = self._above.get(class_iri)
        if known is None:
            found = {class_iri}
            todo = [class_iri]
            while todo:
                one = todo.pop()
                parents = {
                    t.value for t in candidate.objects(ox.NamedNode(one), _SUBCLASS) if isinstance(t, ox.NamedNode)
                }
                if one in _BUILT_IN:
                    parents.add(_BUILT_IN[one])
                todo += parents - found
                found |= parents
            known = self._above[class_iri] = frozenset(found)
        return known

    def classes_of(self, types: frozenset[str], candidate: Candidate) -> frozenset[str]:
        """All classes of an individual with these types."""
        if len(types) == 1:
            (one,) = types
            return self.above(one, candidate)
        return frozenset().union(*(self.above(t, candidate) for t in types))
