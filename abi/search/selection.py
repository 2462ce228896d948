"""What a search may find: an annotation predicate and a graph pattern over `?record`, as one SPARQL query."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from abi import terms
from abi.errors import UsageError
from abi.graph.catalog import KIND_CLASSES
from abi.graph.rows import Rows, Term
from abi.search.predicate import annotation_filter

__all__ = ["Selection"]


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

    def chosen(self) -> str | None:
        """The IRIs that the filters leave, as a JSON list; None where there is no filter."""
        if not self.filters:
            return None
        rows = self.query(self._text(""))
        if rows.truncated:
            raise UsageError(
                f"The filter leaves more than {len(rows)} records.", hint="Narrow the pattern, or raise query_rows."
            )
        return json.dumps([row["record"].value for row in rows if "record" in row])

    def among(self, iris: Iterable[str]) -> set[str]:
        """Those of some IRIs that the filters leave."""
        values = " ".join(Term("iri", iri).n3() for iri in iris)
        rows = self.query(self._text(f"VALUES ?record {{ {values} }}"))
        return {row["record"].value for row in rows if "record" in row}

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
        if self.annotations is not None:
            lines.append(annotation_filter(self.annotations))
        return "\n".join([*lines, "}"])
