"""The source text of an item of an Agent Catalog file: the file as it was, or one that reads as the same record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

__all__ = ["NoText", "file_text", "suffix_of"]

_SUFFIXES = {
    "python_function": ".py",
    "sqlpp_query": ".sqlpp",
    "semantic_search": ".yaml",
    "http_request": ".yaml",
    "raw_prompt": ".prompt",
    "jinja_prompt": ".jinja",
    "prompt": ".yaml",
}


class NoText(ValueError):
    """The items do not say enough to write their file; says what is missing."""


def suffix_of(kind: str) -> str:
    return _SUFFIXES.get(kind, ".yaml")


def file_text(items: Sequence[Mapping[str, Any]]) -> str:
    """The text of the one file that all the items come from. Raises NoText.

    Agent Catalog 1.x keeps it under `raw`; before, a Python file stands under `contents` and a SQL++ file, its header
    too, under `query`. Everything else is written anew.
    """
    first = items[0]
    kind = first.get("record_kind")
    for key in ("raw", *(("contents",) if kind == "python_function" else ())):
        if isinstance(first.get(key), str) and first[key].strip():
            return str(first[key])
    if kind == "python_function":
        raise NoText("the catalog holds no code of it (neither raw nor contents)")
    if kind == "http_request":
        return _http_request(items)
    if len(items) > 1:
        raise NoText("several records are of one file, whose text the catalog does not hold")
    try:
        if kind == "sqlpp_query":
            query = str(first["query"])
            return query if "/*" in query else _sqlpp(first, query)
        if kind == "semantic_search":
            return _dumped({**_common(first), **_picked(first, "input", "secrets", "vector_search")})
        if kind == "prompt":
            return _dumped({**_common(first), **_picked(first, "output", "tools"), "content": first["content"]})
        if kind in ("raw_prompt", "jinja_prompt"):
            head = _dumped({**_common(first), **_picked(first, "tools")})
            return f"---\n{head}---\n{str(first['prompt']).removeprefix(chr(10))}"
    except KeyError as error:
        raise NoText(f"it has no {error.args[0]}") from error
    raise NoText(f"its record_kind is {kind!r}")


def _http_request(items: Sequence[Mapping[str, Any]]) -> str:
    first = items[0]
    specification = first.get("specification") or {}
    where = _picked(specification, "filename", "url")
    if not where:
        raise NoText("it names no specification")
    operations = [_picked(item.get("operation") or {}, "path", "method") for item in items]
    if not all(len(operation) == 2 for operation in operations):
        raise NoText("it names no operation")
    head: dict[str, Any] = {"record_kind": "http_request"}
    return _dumped({**head, **_picked(first, "annotations"), "open_api": {**where, "operations": operations}})


def _sqlpp(item: Mapping[str, Any], query: str) -> str:
    head = _dumped({**_common(item), **_picked(item, "input", "output", "secrets")})
    if "*/" in head:
        raise NoText("a text of its header holds */")
    return f"/*\n{head}*/\n\n{query}"


def _common(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**_picked(item, "record_kind", "name", "description"), **_picked(item, "annotations")}


def _picked(item: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item[key] for key in keys if item.get(key) not in (None, {}, [])}


def _dumped(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=110)
