"""Reads the `tools:` of a prompt: which tools go with it, by name or by what they do."""

from __future__ import annotations

from abi.errors import UsageError
from abi.records.annotation_predicate import parse_predicate
from abi.records.header import Header, type_name
from abi.records.record import ToolSelector

__all__ = ["read_tool_selectors"]


def read_tool_selectors(header: Header) -> list[ToolSelector]:
    """A list of `{name or query, annotations, limit}`; a bare text is a name. `limit: 0` means all."""
    selectors: list[ToolSelector] = []
    for n, item in enumerate(header.items("tools")):
        where = f"tools.{n}"
        if isinstance(item, str) and item.strip():
            item = {"name": item}
        if not isinstance(item, dict):
            fix = "Write `- name: NAME` or `- query: what the tool does`."
            header.fault(where, "type-wrong", f"A tool must be a mapping, not {type_name(item)}.", fix)
            continue
        inner = header.child(where, item)
        name, query = inner.text("name"), inner.text("query")
        annotations = inner.text("annotations")
        limit = inner.raw("limit")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            if limit is not None:
                inner.fault("limit", "type-wrong", f"limit must be a whole number, not {limit!r}.", "0 means all.")
            limit = 1
        if annotations:
            try:
                parse_predicate(annotations)
            except UsageError as error:
                inner.fault("annotations", "predicate-syntax", error.message, error.hint)
                annotations = None
        inner.extras()
        if bool(name) == bool(query):
            what = "both name and query" if name else "neither name nor query"
            inner.fault("", "selector-wrong", f"This tool has {what}.", "Give exactly one of them.")
            continue
        selectors.append(ToolSelector(name=name, query=query, annotations=annotations, limit=limit))
    return selectors
