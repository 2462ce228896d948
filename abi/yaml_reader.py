"""YAML as abi reads it: safe, with the line of every key.

Differences from `yaml.safe_load`, each because of a file that went wrong somewhere:

* no aliases: a few hundred bytes of them unfold to gigabytes on the first traversal;
* nesting, and the length of a number, are bounded;
* a key that stands twice is an error, not a silent overwrite;
* booleans are `true` and `false` (YAML 1.2): `NO` is Norway, `on` is a word, `12:30:00` is a text;
* a number with leading zeros is a text, since YAML 1.1 and 1.2 disagree about it; `.inf` and `.nan` are texts, since
  JSON has no such numbers;
* keys are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from abi.errors import Invalid
from abi.findings import Finding

__all__ = ["MAX_DEPTH", "Located", "load_yaml"]

MAX_DEPTH = 50
_TAG = "tag:yaml.org,2002:"
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})\Z|0x[0-9a-fA-F]{1,80}\Z|0o[0-7]{1,80}\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]{1,5})?\Z")
# What no RDF syntax can carry: control characters, lone surrogates, XML's non-characters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(slots=True)
class Located:
    """A YAML value and the lines of its keys.

    `findings` are faults that leave a value to go on with (a key twice, an alias), so that one run tells all faults.
    """

    value: Any
    lines: dict[str, int]
    findings: list[Finding] = field(default_factory=list)

    def line(self, path: str = "") -> int:
        """The line of a key by its dotted path (`intents.0.values`), or of the nearest key above it."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path.rpartition(".")[0]
        return self.lines.get("", 1)


def load_yaml(text: str, path: str, first_line: int = 1) -> Located:
    """Read one YAML document. `first_line` is the line of the file on which `text` starts.

    Gives None as the value of an empty text. Raises Invalid, with one finding, where the text cannot be parsed.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    composer = _Composer(yaml.parse(text, Loader=loader), path, first_line)
    try:
        return composer.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        row, column = (mark.line, mark.column) if mark else (0, 0)
        problem = error.problem or error.context or "it does not parse"
        lines = text.split("\n")
        here = lines[row][column : column + 1] if row < len(lines) else ""
        message = f"This is no YAML: {problem} (column {column + 1})."
        fault = composer.fault(first_line + row, "", "yaml-syntax", message, _hint(problem, here))
    except yaml.reader.ReaderError as error:
        where = _UNFIT.search(text)
        line = first_line + text.count("\n", 0, where.start() if where else 0)
        message = f"This is no YAML: the character {error.character!r} is not allowed."
        fault = composer.fault(line, "", "yaml-syntax", message, "Remove the character.")
    except _TooDeep as error:
        message = f"This is nested more than {MAX_DEPTH} levels deep."
        fault = composer.fault(error.line, "", "yaml-syntax", message, "Make it flatter.")
    raise Invalid(str(fault), composer.located.findings)


def _hint(problem: str, here: str) -> str:
    if "mapping values are not allowed" in problem:
        return 'Put the value in quotes where it holds a colon followed by a space: description: "a: b".'
    if here == "\t":
        return "Indent with spaces, not with tabs."
    if here and here in "@`%&*!|>":
        return f"Put the value in quotes: it begins with {here}."
    return "Check indentation, quotes and brackets on this line and the one before it."


class _TooDeep(Exception):
    def __init__(self, line: int) -> None:
        self.line = line


class _Composer:
    """Builds plain Python values from parse events, so that depth is bounded before anything recurses."""

    def __init__(self, events: Iterator[Any], path: str, first_line: int) -> None:
        self.events = events
        self.path = path
        self.first_line = first_line
        self.located = Located(None, {})

    def document(self) -> Located:
        documents = 0
        for event in self.events:
            name = type(event).__name__
            if name == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    self._fault(event, "", "yaml-documents", "A second document starts here.", "Keep one in a file.")
                    break
            elif name not in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
                self.located.lines[""] = self._line(event)
                self.located.value = self._value(event, "", 0)
        self.located.lines.setdefault("", self.first_line)
        return self.located

    def _line(self, event: Any) -> int:
        return self.first_line + int(event.start_mark.line)

    def fault(self, line: int, where: str, code: str, message: str, fix: str) -> Finding:
        finding = Finding(self.path, line, where, "error", code, message, fix)
        self.located.findings.append(finding)
        return finding

    def _fault(self, event: Any, where: str, code: str, message: str, fix: str) -> None:
        self.fault(self._line(event), where, code, message, fix)

    def _value(self, event: Any, where: str, depth: int) -> Any:
        name = type(event).__name__
        if name == "AliasEvent":
            message = f"The alias *{event.anchor} is not supported."
            self._fault(event, where, "yaml-alias", message, "Write the value out in each place.")
            return None
        if name == "ScalarEvent":
            return self._scalar(event, where)
        if depth >= MAX_DEPTH:
            raise _TooDeep(self._line(event))
        if event.tag and event.tag not in (_TAG + "map", _TAG + "seq", "!"):
            self._fault(event, where, "yaml-tag", f"The tag {event.tag} is not supported.", "Remove the tag.")
        if name == "SequenceStartEvent":
            return self._sequence(where, depth)
        return self._mapping(where, depth)

    def _sequence(self, where: str, depth: int) -> list[Any]:
        items: list[Any] = []
        for event in self.events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            inner = f"{where}.{len(items)}" if where else str(len(items))
            self.located.lines[inner] = self._line(event)
            items.append(self._value(event, inner, depth + 1))
        return items

    def _mapping(self, where: str, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for event in self.events:
            name = type(event).__name__
            if name == "MappingEndEvent":
                break
            if name == "ScalarEvent":
                key = str(event.value)
                if _UNFIT.search(key):
                    self._fault(event, where, "yaml-character", "This key holds a control character.", "Remove it.")
                    key = _UNFIT.sub("", key)
            else:
                self._fault(event, where, "yaml-key", "A key must be a plain word.", "Write it as key: value.")
                self._value(event, where, depth + 1)
                key = ""
            inner = f"{where}.{key}" if where else key
            line = self._line(event)
            value = self._value(next(self.events), inner, depth + 1)
            if key in mapping:
                message = f"The key {key!r} stands here a second time (first on line {self.located.lines[inner]})."
                self._fault(event, inner, "yaml-duplicate-key", message, "Remove one of them, or give it its own name.")
                continue
            self.located.lines[inner] = line
            if name == "ScalarEvent":
                mapping[key] = value
        return mapping

    def _scalar(self, event: Any, where: str) -> Any:
        text: str = event.value
        tag = event.tag
        if tag and tag != "!":
            if tag == _TAG + "str":
                return self._text(event, text, where)
            if tag not in {_TAG + n for n in ("null", "bool", "int", "float")}:
                self._fault(event, where, "yaml-tag", f"The tag {tag} is not supported.", "Remove the tag.")
                return self._text(event, text, where)
        if event.style or tag == "!":
            return self._text(event, text, where)
        if text in _NULL:
            return None
        if text in _BOOLEAN:
            return _BOOLEAN[text]
        if _INTEGER.match(text):
            return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))
        if _FLOAT.match(text) and math.isfinite(float(text)):
            return float(text)
        return self._text(event, text, where)

    def _text(self, event: Any, text: str, where: str) -> str:
        if _UNFIT.search(text):
            message = "This text holds a control character or half of a character."
            self._fault(event, where, "yaml-character", message, "Remove it.")
            return _UNFIT.sub("", text)
        return text
