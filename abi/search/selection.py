"""What a search may find: an annotation predicate and a graph pattern over `?record`.

The index has the annotations of records, so that a predicate alone asks the graph nothing. Together with a pattern, or
for what is no record, it becomes a part of the one SPARQL query.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from abi import terms
from abi.errors import UsageError
from abi.graph.catalog import KIND_CLASSES
from abi.graph.rows import Rows, Term
from abi.records.annotation_predicate import holds, parse_predicate
from abi.search.predicate import annotation_filter

if TYPE_CHECKING:
    from abi.search.index import SearchIndex

__all__ = ["Selection"]


@lru_cache(maxsize=8192)
def _holds(predicate: str, annotations: str) -> bool:
    """Whether annotations, as the index keeps them, are as a predicate wants; many records have the same."""
    return holds(parse_predicate(predicate), json.loads(annotations))


@dataclass(frozen=True, slots=True)
class Selection:
    """The filters of a search over some kinds. Methods raise UsageError where one of them is wrong."""

    query: Callable[[str], Rows]
    kinds: tuple[str, ...]
    annotations: str | None
    where: str | None

    @property
    def filters(self) -> bool:
        return self.annotations is not None or self.where is not None

    @property
    def _of_records(self) -> bool:
        return all(kind in KIND_CLASSES for kind in self.kinds)

    def chosen(self, index: SearchIndex) -> str | None:
        """The IRIs that the filters leave, as a JSON list; None where there is no filter."""
        if not self.filters:
            return None
        if self.where is None and self.annotations is not None and self._of_records:
            return index.cached(("chosen", self.annotations, self.kinds), lambda: self._annotated(index))
        return json.dumps(self._records(""))

    def _annotated(self, index: SearchIndex) -> str:
        predicate = parse_predicate(self.annotations or "")
        every = index.annotations().items()
        return json.dumps([iri for iri, (kind, has) in every if kind in self.kinds and holds(predicate, has)])

    def among(self, index: SearchIndex, ids: Sequence[int]) -> list[int]:
        """Those documents that the filters leave, in their order."""
        rows = index.rows(
            "SELECT id, iri, annotations FROM documents WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        iris = {i: iri for i, iri, _ in rows}
        if self.annotations is not None and self._of_records:
            iris = {i: iri for i, iri, has in rows if _holds(self.annotations, has)}
        if iris and (self.where is not None or not self._of_records):
            values = " ".join(Term("iri", iri).n3() for iri in iris.values())
            passed = set(self._records(f"VALUES ?record {{ {values} }}"))
            iris = {i: iri for i, iri in iris.items() if iri in passed}
        return [i for i in ids if i in iris]

    def _records(self, values: str) -> list[str]:
        rows = self.query(self._text(values))
        if rows.truncated:
            raise UsageError(
                f"The filter leaves more than {len(rows)} records.", hint="Narrow the pattern, or raise query_rows."
            )
        return [row["record"].value for row in rows if "record" in row]

    def _text(self, values: str) -> str:
        if self.where is not None and not re.search(r"[?$]record\b", self.where):
            raise UsageError(
                "The pattern does not name ?record.", hint="For example: ?record abi:hasParameter ?parameter"
            )
        classes = " ".join(f"<{KIND_CLASSES[k]}>" for k in self.kinds if k in KIND_CLASSES)
        lines = ["SELECT DISTINCT ?record WHERE {", values]
        if classes and not values:
            # Among given ones the index knows the kinds.
            lines.append(f"VALUES ?record_class {{ {classes} }} ?record a ?record_class .")
        elif self.annotations is not None and not values:
            lines.append(f"?record <{terms.RDFS_LABEL}> ?record_label .")
        if self.where is not None:
            lines += ["{", self.where, "}"]
        if self.annotations is not None and not (values and self._of_records):
            lines.append(annotation_filter(self.annotations))
        return "\n".join([*lines, "}"])
