"""`Entity`: says in a function's signature that an argument is a thing of the graph."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Entity"]


@dataclass(frozen=True, slots=True)
class Entity:
    """`airport: Annotated[str, Entity("fl:Airport")]`: an individual of that class, given by IRI, label or code.

    The function gets its IRI. The class is a `prefix:Name` of the workspace, or a whole IRI.
    """

    value_class: str
