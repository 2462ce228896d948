"""The references inside an OpenAPI document (`#/...`): which there are, and what they point at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["OperationFault", "pointer", "references", "resolved"]


class OperationFault(ValueError):
    """Something about an operation or its document that cannot be used; the message is for a person."""


def references(value: Any) -> Iterator[str]:
    """Every `$ref` in a value, however deep; not what examples and defaults hold."""
    todo: list[tuple[Any, bool]] = [(value, False)]
    while todo:
        here, names = todo.pop()
        if isinstance(here, Mapping):
            ref = here.get("$ref")
            if isinstance(ref, str) and not names:
                yield ref
            todo += [(v, k in _NAMED) for k, v in here.items() if names or k not in _VALUES]
        elif isinstance(here, list):
            todo += [(one, False) for one in here]


_VALUES = frozenset({"example", "examples", "default", "enum", "const"})
_NAMED = frozenset(
    "properties patternProperties $defs definitions dependentSchemas schemas responses headers requestBodies "
    "securitySchemes paths content encoding callbacks links pathItems".split()
)
"""Keys whose mapping has names for keys, among which `default` is a name as any other."""


def resolved(document: Mapping[str, Any], ref: str) -> Any:
    """What a reference points at. Raises OperationFault, also where references lead to nothing but one another."""
    found = end = _at(document, ref)
    seen = {ref}
    while isinstance(end, Mapping) and isinstance(then := end.get("$ref"), str):
        if then in seen:
            raise OperationFault(f"The reference {ref!r} leads to itself.")
        seen.add(then)
        end = _at(document, then)
    return found


def _at(document: Mapping[str, Any], ref: str) -> Any:
    here: Any = document
    for part in pointer(ref):
        if isinstance(here, Mapping) and part in here:
            here = here[part]
        elif isinstance(here, list) and part.isdigit() and int(part) < len(here):
            here = here[int(part)]
        else:
            raise OperationFault(f"The reference {ref!r} leads nowhere.")
    return here


def pointer(ref: str) -> list[str]:
    if not ref.startswith("#/"):
        raise OperationFault(f"The reference {ref!r} leaves the specification; only those inside it (#/) are followed.")
    return [p.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}") for p in ref[2:].split("/")]
