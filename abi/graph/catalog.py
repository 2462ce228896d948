"""Look-ups in the catalog that the graph holds: by name, by kind, by use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.errors import NotFound, UsageError
from abi.graph.rows import Term
from abi.graph.store import GraphStore

__all__ = ["FAMILIES", "KIND_CLASSES", "KIND_WORDS", "Catalog", "Entry"]

KIND_CLASSES: dict[str, str] = {
    "python_function": terms.PYTHON_FUNCTION,
    "sqlpp_query": terms.SQLPP_QUERY,
    "sparql_query": terms.SPARQL_TEMPLATE,
    "jinja_query": terms.JINJA_QUERY,
    "semantic_search": terms.SEMANTIC_SEARCH,
    "http_request": terms.HTTP_REQUEST,
    "raw_prompt": terms.RAW_PROMPT,
    "jinja_prompt": terms.JINJA_PROMPT,
    "prompt": terms.STRUCTURED_PROMPT,
    "agent": terms.AGENT_SPECIFICATION,
    "intent": terms.INTENT,
}
"""`record_kind` to the class of its individuals."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "tool": ("python_function", "sqlpp_query", "sparql_query", "jinja_query", "semantic_search", "http_request"),
    "prompt": ("raw_prompt", "jinja_prompt", "prompt"),
    "agent": ("agent",),
    "intent": ("intent",),
}

KIND_WORDS: dict[str, tuple[str, ...]] = {
    "tools": FAMILIES["tool"],
    "prompts": FAMILIES["prompt"],
    "agents": FAMILIES["agent"],
    "intents": FAMILIES["intent"],
    "records": tuple(KIND_CLASSES),
}
"""What a person calls a kind on the command line; `entities` is everything else that has a label."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record in brief. `source` is `path:line`, or the graph's IRI where no file is known."""

    name: str
    kind: str
    iri: str
    description: str = ""
    source: str = ""

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "iri": self.iri,
            "description": self.description,
            "source": self.source,
        }


class Catalog:
    """The records of a store, read by SPARQL; nothing is cached, so it is always of the store's present version."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store

    def entries(self, kind: str | None = None) -> list[Entry]:
        """All records, or those of one kind word (`tools`), family (`tool`) or record kind, by kind and name."""
        kinds = kinds_of(kind)
        values = " ".join(f"(<{KIND_CLASSES[k]}> {Term('literal', k).n3()})" for k in kinds)
        return self._select(f"VALUES (?class ?kind) {{ {values} }} ?iri a ?class .")

    def one(self, name: str) -> Entry:
        """The record called NAME; `KIND/NAME` or an IRI where a bare name would be ambiguous. Raises NotFound."""
        found = self.named(name)
        if not found:
            near = self._near(name)
            raise NotFound(
                f"No record is called {name!r}.",
                hint=f"Did you mean {', '.join(near)}?" if near else "`abi ls` shows what there is.",
            )
        if len(found) > 1:
            choices = ", ".join(sorted({f"{family_of(e.kind)}/{e.name}" for e in found}))
            raise UsageError(f"{name!r} is the name of several records: {choices}.", hint="Say which: KIND/NAME.")
        return found[0]

    def named(self, name: str) -> list[Entry]:
        """All records of that name, `KIND/NAME` or IRI."""
        if "://" in name or name.startswith("urn:"):
            return self._select(f"VALUES ?iri {{ {iri_term(name).n3()} }} ?iri a ?class .")
        kinds, _, bare = name.rpartition("/")
        wanted = set(kinds_of(kinds)) if kinds and "/" not in kinds else set(KIND_CLASSES)
        if kinds and "/" in kinds:  # AGENT's intent: agent/NAME/intent/SLUG is only reachable by IRI
            return []
        rows = self._select(f"?iri <{terms.NAME}> {Term('literal', bare).n3()} . ?iri a ?class .")
        return [e for e in rows if e.kind in wanted]

    def used_by(self, iri: str) -> list[Entry]:
        """Records that point at this one: agents that have a tool, intents that lead to it, prompts that select it."""
        node = iri_term(iri).n3()
        links = " | ".join(
            f"<{p}>"
            for p in (
                terms.HAS_TOOL,
                terms.HAS_SUB_AGENT,
                terms.HAS_SYSTEM_PROMPT,
                terms.HAS_INTENT,
                terms.INTENT_TARGET,
            )
        )
        by_selector = (
            f"{node} <{terms.NAME}> ?selected . ?selector <{terms.NAME}> ?selected . "
            f"?iri <{terms.SELECTS_TOOL}> ?selector . ?iri a ?class ."
        )
        return self._select(f"{{ ?iri {links} {node} . ?iri a ?class . }} UNION {{ {by_selector} }}")

    def sources(self) -> dict[str, tuple[str, str, bool]]:
        """Path of each indexed source file -> (its graph, content hash, edited since)."""
        rows = self.store.query(
            f"SELECT DISTINCT ?graph ?path ?hash ?edited WHERE {{ ?graph a <{terms.SOURCE_FILE}> ; "
            f"<{terms.PATH}> ?path ; <{terms.CONTENT_HASH}> ?hash . "
            f"OPTIONAL {{ ?graph <{terms.EDITED}> ?edited }} }}"
        )
        return {
            r["path"].value: (
                r["graph"].value,
                r["hash"].value,
                "edited" in r and r["edited"].python() is True,
            )
            for r in rows
        }

    def counts(self) -> dict[str, int]:
        """How many records of each kind."""
        values = " ".join(f"(<{c}> {Term('literal', k).n3()})" for k, c in KIND_CLASSES.items())
        rows = self.store.query(
            f"SELECT ?kind (COUNT(DISTINCT ?iri) AS ?n) WHERE {{ VALUES (?class ?kind) {{ {values} }} "
            "?iri a ?class } GROUP BY ?kind ORDER BY ?kind"
        )
        return {r["kind"].value: int(r["n"].value) for r in rows}

    def description(self, iri: str) -> list[ox.Quad]:
        """The triples of a record and of its parts (whose IRIs begin with its own)."""
        quads: list[ox.Quad] = []
        todo, seen = [iri], {iri}
        while todo:
            for quad in self.store.match(ox.NamedNode(todo.pop())):
                quads.append(quad)
                part = getattr(quad.object, "value", "")
                if isinstance(quad.object, ox.NamedNode) and part.startswith(iri + "/") and part not in seen:
                    seen.add(part)
                    todo.append(part)
        return list(dict.fromkeys(quads))

    def graph_sizes(self) -> dict[str, int]:
        """Triples in each named graph."""
        rows = self.store.query("SELECT ?g (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g")
        return {r["g"].value: int(r["n"].value) for r in rows}

    def _near(self, name: str) -> list[str]:
        from rapidfuzz import process

        names = {e.name for e in self.entries()}
        return [m[0] for m in process.extract(name.rpartition("/")[2], names, limit=3, score_cutoff=60)]

    def _select(self, pattern: str) -> list[Entry]:
        rows = self.store.query(
            f"SELECT DISTINCT ?iri ?class ?name ?description ?path ?line WHERE {{ {pattern} "
            f"?iri <{terms.NAME}> ?name . "
            f"OPTIONAL {{ ?iri <{terms.DESCRIPTION}> ?description }} "
            f"OPTIONAL {{ ?iri <{terms.DEFINED_IN}>/<{terms.PATH}> ?path . "
            f"OPTIONAL {{ ?iri <{terms.LINE}> ?line }} }} }} ORDER BY ?class ?name ?iri"
        )
        kinds = {c: k for k, c in KIND_CLASSES.items()}
        entries: dict[str, Entry] = {}
        for r in rows:
            kind = kinds.get(r["class"].value)
            if kind is None or r["iri"].value in entries:
                continue
            source = r["path"].value + (f":{r['line'].value}" if "line" in r else "") if "path" in r else ""
            description = r["description"].value if "description" in r else ""
            entries[r["iri"].value] = Entry(r["name"].value, kind, r["iri"].value, description, source)
        order = {k: n for n, k in enumerate(KIND_CLASSES)}
        return sorted(entries.values(), key=lambda e: (order[e.kind], e.name, e.iri))


def kinds_of(word: str | None) -> Iterable[str]:
    """Record kinds that a kind word means. Raises UsageError for a word that is none."""
    if not word:
        return tuple(KIND_CLASSES)
    if word in KIND_WORDS:
        return KIND_WORDS[word]
    if word in FAMILIES:
        return FAMILIES[word]
    if word in KIND_CLASSES:
        return (word,)
    raise UsageError(f"{word!r} is no kind.", hint=f"Kinds are {', '.join(KIND_WORDS)}, or a record_kind.")


def family_of(kind: str) -> str:
    """`tool` for `sparql_query`, and so on."""
    return next(f for f, kinds in FAMILIES.items() if kind in kinds)


def iri_term(iri: str) -> Term:
    """An IRI from outside as a term. Raises UsageError where it is no IRI, so that it can never end a query's token."""
    if any(c in iri for c in '<>"{}|^`\\') or any(ord(c) <= 0x20 for c in iri):
        raise UsageError(f"{iri!r} is not an IRI.")
    return Term("iri", iri)
