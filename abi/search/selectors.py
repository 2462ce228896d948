"""The tools that a prompt's selectors choose, at the time at which the prompt is fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from abi import terms
from abi.findings import Finding
from abi.graph.rows import Rows
from abi.records.record import Record, ToolSelector

__all__ = ["Selected", "searching_prompts", "selected_tools", "selector_text", "vain_searches"]

Find = Callable[..., Iterable[Any]]
"""`find("tools", text, name=, annotations=, limit=)`: hits with a name, best first."""


@dataclass(frozen=True, slots=True)
class Selected:
    """`names` of tools, each once, in the order of the selectors; `unmatched` are the selectors that found nothing."""

    names: list[str]
    unmatched: list[ToolSelector]


def selected_tools(selectors: Sequence[ToolSelector], find: Find) -> Selected:
    """By name, by name and annotations, or the best `limit` of a search (0: all that it finds)."""
    names: dict[str, None] = {}
    unmatched: list[ToolSelector] = []
    for selector in selectors:
        if selector.name is not None:
            hits = find("tools", None, name=selector.name, annotations=selector.annotations, limit=1)
        else:
            hits = find("tools", selector.query, annotations=selector.annotations, limit=selector.limit)
        found = [hit.name for hit in hits]
        names |= dict.fromkeys(found)
        if not found:
            unmatched.append(selector)
    return Selected(list(names), unmatched)


def selector_text(selector: ToolSelector) -> str:
    """A selector as one says it: `find_routes`, or `tools for "finding flights" with domain = "travel"`."""
    what = selector.name if selector.name is not None else f'tools for "{selector.query}"'
    return f"{what} with {selector.annotations}" if selector.annotations else what


def searching_prompts(query: Callable[[str], Rows]) -> list[str]:
    """IRIs of the prompts that select tools by a search."""
    rows = query(
        f"SELECT DISTINCT ?prompt WHERE {{ ?prompt <{terms.SELECTS_TOOL}> ?selector . "
        f"?selector <{terms.QUERY_TEXT}> ?text }} ORDER BY ?prompt"
    )
    return [row["prompt"].value for row in rows if row["prompt"].kind == "iri"]


def vain_searches(prompt: Record, find: Find) -> list[Finding]:
    """A warning for each search among the prompt's selectors that finds no tool.

    Not where no tool has such annotations: that is told already, by the graph's own check.
    """
    searches = [
        s
        for s in getattr(prompt, "tools", [])
        if isinstance(s, ToolSelector) and s.query is not None
        if not s.annotations or list(find("tools", None, annotations=s.annotations, limit=1))
    ]
    path, line = (prompt.source.path, prompt.source.line) if prompt.source else ("", 0)
    fix = "Say it in the words of the tools' descriptions, or name a tool."
    return [
        Finding(
            path, line, "tools", "warning", "selector-unmatched", f"{prompt.name} selects {text}, and finds none", fix
        )
        for text in map(selector_text, selected_tools(searches, find).unmatched)
    ]
