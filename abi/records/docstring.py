"""A docstring in Google's or numpy's style, or in reStructuredText: what it says, and what it says of each argument."""

from __future__ import annotations

import re

__all__ = ["read_docstring"]

_PARAMETER_SECTIONS = {"args", "arguments", "parameters", "params", "keyword arguments", "other parameters"}
_OTHER_SECTIONS = {"returns", "return", "yields", "raises", "attributes", "examples", "example"}
_GOOGLE = re.compile(rf"(?:{'|'.join(_PARAMETER_SECTIONS | _OTHER_SECTIONS)})\s*:\s*\Z", re.IGNORECASE)
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?\Z")
_REST_ITEM = re.compile(r":param(?:eter)?\s+(?:[\w.\[\], ]+\s+)?(\w+)\s*:\s*(.*)")
_REST_FIELD = re.compile(r":(?:param|parameter|type|return|returns|rtype|raises?|except)\b[^:]*:")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a cleaned docstring into its description and the descriptions of arguments, by name.

    The description ends where the first section begins; a docstring that begins with a section is all description.
    """
    lines = text.splitlines()
    end = len(lines)
    arguments: dict[str, str] = {}
    for n, line in enumerate(lines):
        bare = line.strip()
        underlined = n + 1 < len(lines) and re.match(r"-{3,}\s*\Z", lines[n + 1].strip()) is not None
        title = bare.rstrip(":").strip().lower()
        if underlined and title in _PARAMETER_SECTIONS | _OTHER_SECTIONS:
            end = min(end, n)
            if title in _PARAMETER_SECTIONS:
                arguments |= _items(lines[n + 2 :], _NUMPY_ITEM, numpy=True)
        elif _GOOGLE.match(bare) and not line.startswith(" "):
            end = min(end, n)
            if title in _PARAMETER_SECTIONS:
                arguments |= _items(lines[n + 1 :], _GOOGLE_ITEM, numpy=False)
        elif _REST_FIELD.match(bare):
            end = min(end, n)
            item = _REST_ITEM.match(bare)
            if item:
                arguments[item.group(1)] = item.group(2).strip()
    description = "\n".join(lines[:end]).strip()
    return description or text.strip(), {k: v for k, v in arguments.items() if v}


def _items(lines: list[str], pattern: re.Pattern[str], *, numpy: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    indent: int | None = None
    for n, line in enumerate(lines):
        bare = line.strip()
        depth = len(line) - len(line.lstrip())
        if not bare:
            continue
        if indent is None:
            indent = depth
        underlined = n + 1 < len(lines) and re.match(r"-{3,}\s*\Z", lines[n + 1].strip())
        if depth < indent or (depth == 0 and not numpy) or (numpy and underlined):
            break
        item = pattern.match(bare) if depth == indent else None
        if item:
            names = [name.strip() for name in item.group(1).split(",")]
            for name in names:
                found[name] = "" if numpy else item.group(2).strip()
        elif depth > indent:
            for name in names:
                found[name] = f"{found[name]} {bare}".strip()
        else:
            names = []
    return found
