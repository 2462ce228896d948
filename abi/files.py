"""The files that abi ships: ontology/, shapes/, sparql/ and data/, read from the checkout or from the wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["shipped"]


@cache
def _root() -> Path:
    installed = Path(__file__).parent / "_files"
    return installed if installed.is_dir() else Path(__file__).parents[1]


def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, for example `shipped("sparql", "tools")`."""
    return _root().joinpath(*parts)
