"""What the graph says of models: individuals of abi:ModelDescription, as entries of the registry.

A description names a model and says what it can do. It says nothing of addresses and keys, which are the operator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abi import terms
from abi.graph.rows import Term
from abi.models import SHIPPED, ModelEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from abi.graph.rows import Rows

__all__ = ["described_models"]

_FIELDS = {
    terms.CONTEXT_WINDOW: "context_window",
    terms.CALLS_TOOLS: "tools",
    terms.VECTOR_LENGTH: "dimensions",
}


def described_models(query: Callable[[str], Rows]) -> dict[str, ModelEntry]:
    """`provider:model` to its entry. What a description leaves open is as in the entry that comes with abi.

    A description that is no good is left out: the gate has said so where it was written.
    """
    listed = " ".join(Term("iri", p).n3() for p in _FIELDS)
    rows = query(
        f"SELECT DISTINCT ?name ?property ?value {{ "
        f"?x a {_n3(terms.MODEL_DESCRIPTION)} ; {_n3(terms.MODEL_NAME)} ?name "
        f"OPTIONAL {{ VALUES ?property {{ {listed} }} ?x ?property ?value }} }} ORDER BY ?name ?property ?value"
    )
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        said = found.setdefault(row["name"].value, {})
        if "property" in row:
            said.setdefault(_FIELDS[row["property"].value], row["value"].python())
    entries: dict[str, ModelEntry] = {}
    for name, said in found.items():
        known = SHIPPED[name].model_dump(exclude_unset=True) if name in SHIPPED else {}
        try:
            entry = ModelEntry(**{**known, **said, "model": name})
        except ValueError:
            continue
        if "@" not in name:
            entries[name] = entry
    return entries


def _n3(iri: str) -> str:
    return Term("iri", iri).n3()
