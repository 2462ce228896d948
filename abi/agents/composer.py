"""Composes a SPARQL query for a question about the data, from what the graph holds and nothing else.

The query is made of IRIs of the schema and of typed terms. A question of which any word that matters stands for nothing
in the graph gets no query.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abi.agents.graph_schema import GraphSchema, read_schema
from abi.agents.join import Ambiguous, Joins
from abi.agents.lexicon import Lexicon
from abi.agents.phrases import examples
from abi.agents.plan_query import Unjoinable, query_of
from abi.agents.planner import NotUnderstood, plan_of
from abi.errors import AbiError
from abi.graph.rows import Term

if TYPE_CHECKING:
    from abi.agents.services import Services

__all__ = ["Composed", "Composer"]

_TEXTS = 60
_MATCHES = 500


@dataclass(frozen=True)
class Composed:
    """`query` is None where the question was not understood: for its `words`, or as one of `choices` was not said."""

    query: str | None
    words: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class Composer:
    """Keeps what it has read of the graph for as long as the graph does not move. Safe to use from many threads."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._version = -1
        self._read: tuple[Lexicon, Joins] | None = None

    def compose(self, text: str) -> Composed:
        """The query that answers a question. Raises the errors of queries, where reading the graph fails."""
        lexicon, joins = self._vocabulary()

        def values(texts: Sequence[str]) -> dict[str, list[tuple[str, str, Term]]]:
            return self._values(texts, lexicon.schema)

        try:
            plan = plan_of(text, lexicon, values)
            query, links = query_of(plan, lexicon, joins)
        except NotUnderstood as error:
            return Composed(None, error.words, error.choices)
        except Ambiguous as error:
            return Composed(None, (), tuple(dict.fromkeys(lexicon.name(x.property) for x in error.links)))
        except Unjoinable:
            return Composed(None)
        followed = {x.property for x in links}
        unsaid = [w for w, properties in plan.relations.items() if not properties & followed]
        # A relation that was spoken of and is not part of the query would be passed over in silence.
        return Composed(None, tuple(unsaid)) if unsaid else Composed(query)

    def examples(self) -> list[str]:
        """Questions that this graph answers."""
        return examples(self._vocabulary()[0])

    def _vocabulary(self) -> tuple[Lexicon, Joins]:
        version = self._services.version()
        with self._lock:
            if self._read is None or self._version != version:
                lexicon = Lexicon(read_schema(self._services.query))
                self._read, self._version = (lexicon, Joins(lexicon.schema)), version
            return self._read

    def _values(self, texts: Sequence[str], schema: GraphSchema) -> dict[str, list[tuple[str, str, Term]]]:
        """Which texts are values in the data, in any of the usual cases: looked up as whole terms, so it stays fast."""
        of: dict[str, str] = {}
        for text in list(texts)[:_TEXTS]:
            for form in (text, text.casefold(), text.upper(), text.title(), text[:1].upper() + text[1:]):
                of.setdefault(form, text)
        languages = ["", *schema.languages]
        listed = " ".join(Term("literal", f, None, lang or None).n3() for f in of for lang in languages)
        owned = {(a.owner, a.property) for a in schema.attributes}
        query = (
            f"SELECT DISTINCT ?type ?q ?p ?v WHERE {{ VALUES ?v {{ {listed} }} ?s ?p ?v . "
            "OPTIONAL { ?s a ?type } OPTIONAL { ?x ?q ?s FILTER NOT EXISTS { ?s a ?any } } }"
        )
        found: dict[str, list[tuple[str, str, Term]]] = defaultdict(list)
        try:
            rows = self._services.query(query, rows=_MATCHES)
        except AbiError:
            return {}
        for row in rows:
            cls = row["type"].value if "type" in row else "~" + row["q"].value if "q" in row else ""
            entry = (cls, row["p"].value, row["v"])
            text = of.get(row["v"].value, "")
            if text and (cls, row["p"].value) in owned and entry not in found[text]:
                found[text].append(entry)
        return {t: e for t, e in found.items() if e}
