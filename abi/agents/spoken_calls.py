"""Calls of tools that a model writes into its text instead of making them: in the marks of Hermes and Qwen
(`<tool_call>{...}</tool_call>`), Llama (`<function=NAME>{...}</function>`) and Mistral (`[TOOL_CALLS] [...]`).

Only a call of a tool that was offered counts; everything else is text and stays what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

__all__ = ["spoken_calls"]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_LISTED = re.compile(r"\[TOOL_CALLS\]\s*")
_LONGEST = 100_000


def spoken_calls(text: str, offered: Collection[str]) -> tuple[str, list[dict[str, Any]]]:
    """The text without the calls in it, and the calls as `{"name", "args", "id", "type"}`, in order."""
    if len(text) > _LONGEST or not any(mark in text for mark in ("<tool_call>", "<function=", "[TOOL_CALLS]")):
        return text, []
    made: list[dict[str, Any]] = []
    cut: list[tuple[int, int]] = []
    for start, end, found in _found(text):
        calls = [c for c in (_call(value) for value in found) if c is not None and c["name"] in offered]
        if calls and len(calls) == len(found) and not any(a <= start < b for a, b in cut):
            made += calls
            cut.append((start, end))
    if not cut:
        return text, []
    kept, at = [], 0
    for start, end in sorted(cut):
        kept.append(text[at:start])
        at = end
    rest = "".join([*kept, text[at:]]).strip()
    return rest, [{**c, "id": f"spoken-{n}", "type": "tool_call"} for n, c in enumerate(made)]


def _found(text: str) -> Iterator[tuple[int, int, list[Any]]]:
    for match in _TAGGED.finditer(text):
        inner = _FUNCTION.search(match[1])
        if inner is not None:
            yield match.start(), match.end(), [{"name": inner[1], "arguments": _json(inner[2])}]
        else:
            yield match.start(), match.end(), [_json(match[1])]
    for match in _FUNCTION.finditer(text):
        yield match.start(), match.end(), [{"name": match[1], "arguments": _json(match[2])}]
    for match in _LISTED.finditer(text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        yield match.start(), end, value if isinstance(value, list) else [value]


def _json(text: str) -> Any:
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError):
        return None


def _call(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _json(arguments)
    return {"name": value["name"], "args": arguments} if isinstance(arguments, dict) else None
