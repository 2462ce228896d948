"""What the offline model reads of a tool: words, phrases and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from abi.records.record import Parameter, Record

__all__ = ["DERIVED", "ToolCard", "card_of_record", "card_of_schema"]

DERIVED = "derived_from"
"""The annotation of derived tools: the graph that they were derived from."""
_XSD = "http://www.w3.org/2001/XMLSchema#"
_JSON_TYPES = {"integer": "integer", "number": "double", "boolean": "boolean", "string": "string"}


@dataclass(frozen=True)
class ToolCard:
    """A tool as the offline model sees it. `target` is the name under which the bound tool is called."""

    name: str
    target: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    phrases: tuple[str, ...] = ()
    answer: str | None = None
    columns: tuple[str, ...] = ()
    kind: str = ""
    derived: bool = False
    """Whether the tool was made from what the graph holds, by `abi intents derive`."""
    extra: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)

    @property
    def fillable(self) -> tuple[Parameter, ...]:
        """Parameters that a message can fill, in their order; those filled from the caller's identity are not."""
        own = [p for p in self.parameters if p.filled_from is None]
        return tuple(sorted(own, key=lambda p: p.position))

    @property
    def required(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.fillable if p.required and p.default is None)

    def label(self) -> str:
        return self.name.replace("_", " ")


def card_of_record(record: Record, phrases: tuple[str, ...] = (), target: str | None = None) -> ToolCard:
    query = getattr(record, "query", "") or ""
    return ToolCard(
        name=record.name,
        target=target or record.name,
        description=" ".join(record.description.split()),
        parameters=tuple(getattr(record, "parameters", ())),
        phrases=phrases,
        answer=getattr(record, "answer", None),
        columns=_columns(query),
        kind=str(getattr(record, "kind", "")),
        derived=DERIVED in record.annotations,
    )


def card_of_schema(name: str, description: str, schema: Mapping[str, Any]) -> ToolCard:
    """The card of a tool that has no record: its parameters are read from its JSON schema."""
    required = set(schema.get("required", []))
    parameters = []
    for position, (key, entry) in enumerate(schema.get("properties", {}).items()):
        types = [entry.get("type")] + [o.get("type") for o in entry.get("anyOf", [])]
        local = next((_JSON_TYPES[t] for t in types if t in _JSON_TYPES), "string")
        parameters.append(
            Parameter(
                name=key,
                description=entry.get("description", ""),
                datatype=_XSD + local,
                required=key in required,
                default=entry.get("default"),
                enum=entry.get("enum", []),
                examples=entry.get("examples", []),
                position=position,
            )
        )
    return ToolCard(name, name, " ".join(description.split()), tuple(parameters))


def _columns(query: str) -> tuple[str, ...]:
    """Names of the variables that a SELECT gives back, as words that its rows can be asked for."""
    start = query.upper().find("SELECT")
    end = query.find("{", start)
    if start < 0 or end < 0:
        return ()
    found = []
    for piece in query[start:end].split("?")[1:]:
        name = "".join(c if c.isalnum() or c == "_" else " " for c in piece).split()
        if name:
            found.append(name[0])
    return tuple(dict.fromkeys(found))
