"""IRIs that abi mints, and the way between a reference by name and an IRI.

The parts of an IRI are percent-encoded, so that any name makes a valid IRI and comes back from it unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyoxigraph as ox

from abi import terms

if TYPE_CHECKING:
    from abi.graph.store import GraphStore

__all__ = [
    "FAMILY_CLASSES",
    "Names",
    "encode",
    "family_of",
    "intent_iri",
    "is_iri",
    "provenance_graph",
    "record_iri",
    "source_graph",
    "source_path",
]

FAMILY_CLASSES: dict[str, tuple[str, ...]] = {
    "tool": (
        terms.TOOL,
        terms.PYTHON_FUNCTION,
        terms.SQLPP_QUERY,
        terms.SPARQL_TEMPLATE,
        terms.JINJA_QUERY,
        terms.SEMANTIC_SEARCH,
        terms.HTTP_REQUEST,
    ),
    "prompt": (terms.PROMPT, terms.RAW_PROMPT, terms.JINJA_PROMPT, terms.STRUCTURED_PROMPT),
    "agent": (terms.AGENT_SPECIFICATION,),
    "intent": (terms.INTENT,),
}
"""The classes whose individuals share one name space; tools and prompts share theirs, too."""

_CLASS_FAMILY = {c: family for family, classes in FAMILY_CLASSES.items() for c in classes}
_ABSOLUTE = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*://|urn:)[^\s<>\"{}|\\^`\x00-\x20]+\Z")
_NAME = ox.NamedNode(terms.NAME)
_TYPE = ox.NamedNode(terms.RDF_TYPE)


def encode(part: str, *, safe: str = "") -> str:
    """Percent-encode everything but unreserved characters and those in `safe`."""
    return quote(part, safe=safe)


def is_iri(text: str) -> bool:
    """Whether a reference is an absolute IRI and not a name."""
    return _ABSOLUTE.match(text) is not None


def record_iri(base: str, family: str, name: str) -> str:
    return f"{base}{family}/{encode(name)}"


def intent_iri(agent: str, name: str) -> str:
    """The IRI of an intent that belongs to the agent with the IRI `agent`."""
    return f"{agent}/intent/{encode(name)}"


def source_graph(base: str, path: str) -> str:
    """The graph that holds the content of one source file; `path` is relative, with forward slashes."""
    return f"{base}source/{encode(path, safe='/')}"


def source_path(base: str, graph: str) -> str | None:
    """The path behind a source graph's IRI; None where it is no source graph."""
    prefix = f"{base}source/"
    return unquote(graph[len(prefix) :]) if graph.startswith(prefix) else None


def provenance_graph(base: str) -> str:
    """The one graph that says where everything came from."""
    return f"{base}provenance"


def family_of(class_iri: str) -> str | None:
    return _CLASS_FAMILY.get(class_iri)


class Names:
    """References between records, both ways.

    A name becomes the IRI of the record that bears it: one learnt in this run, else one of the store, else the
    minted one (which need not exist: the gate reports what dangles). An IRI becomes a name where it is minted.
    """

    def __init__(self, base: str, store: GraphStore | None = None) -> None:
        self.base = base
        self._store = store
        self._learnt: dict[tuple[str, str], str] = {}

    def learn(self, family: str, name: str, iri: str) -> None:
        """A record that is about to be written and whose IRI may not be the minted one."""
        self._learnt[family, name] = iri

    def resolve(self, family: str, name: str) -> str:
        if is_iri(name):
            return name
        learnt = self._learnt.get((family, name))
        if learnt is not None:
            return learnt
        minted = record_iri(self.base, family, name)
        if self._store is None:
            return minted
        found = sorted(
            q.subject.value
            for q in self._store.match(None, _NAME, ox.Literal(name))
            if isinstance(q.subject, ox.NamedNode) and self._is(q.subject, family)
        )
        return minted if not found or minted in found else found[0]

    def reference(self, family: str, iri: str) -> str:
        """The name behind an IRI; the IRI itself where no name would resolve to it by minting."""
        prefix = f"{self.base}{family}/"
        name = unquote(iri[len(prefix) :]) if iri.startswith(prefix) else ""
        return name if name and record_iri(self.base, family, name) == iri else iri

    def _is(self, subject: ox.NamedNode, family: str) -> bool:
        assert self._store is not None
        types = (q.object for q in self._store.match(subject, _TYPE))
        return any(isinstance(t, ox.NamedNode) and _CLASS_FAMILY.get(t.value) == family for t in types)
