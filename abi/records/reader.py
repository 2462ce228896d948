"""From a file to its records: which reader, and what it gives back.

A kind is one reader. To add a kind: write its reader, and add its row to `READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from abi.findings import Finding, Severity
from abi.records import (
    agent,
    http_request,
    jinja_query,
    prompt,
    python_function,
    semantic_search,
    sparql_query,
    sqlpp_query,
)
from abi.records.document import (
    Document,
    decode,
    open_block_comment,
    open_comment_header,
    open_front_matter,
    open_plain,
    open_yaml,
)
from abi.records.header import near
from abi.records.literal_secrets import literal_secrets
from abi.records.record import Record, Source
from abi.records.scan import SourceFile
from abi.settings import Settings

__all__ = ["READERS", "RECORD_SUFFIXES", "ReadContext", "ReadResult", "Reader", "read_file"]

_IRI = re.compile(r"(?:https?://|urn:)[^\s<>\"{}|\\^`\x00-\x20]+\Z")
_STRUCTURED = re.compile(r"^record_kind:\s*[\"']?prompt[\"']?\s*(?:#.*)?$", re.MULTILINE)
_CURIE = re.compile(r"([A-Za-z_][\w.-]*)?:([\w.~%/#+-]*)\Z")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What a reader knows of the workspace. `prefixes` are those that its records may use.

    `fetch` gives the bytes at a URL that a record names; readers open no connection of their own. Without it, such a
    record cannot be read.
    """

    settings: Settings
    prefixes: Mapping[str, str]
    fetch: Callable[[str], bytes] | None = None

    @classmethod
    def of(cls, settings: Settings, fetch: Callable[[str], bytes] | None = None) -> ReadContext:
        return cls(settings, settings.all_prefixes(), fetch)

    def expand(self, word: str) -> str:
        """The IRI of `prefix:name`, `<iri>` or an IRI. Raises ValueError that says what is wrong."""
        bare = word[1:-1] if word.startswith("<") and word.endswith(">") else word
        if _IRI.match(bare):
            return bare
        match = _CURIE.match(word)
        if not match:
            raise ValueError(f"{word!r} is no IRI.")
        prefix = match.group(1) or ""
        if prefix not in self.prefixes:
            hint = near(prefix, [p for p in self.prefixes if p])
            message = f"The prefix {prefix!r} of {word!r} is not declared in abi.yaml."
            raise ValueError(f"{message} {hint}".strip())
        return self.prefixes[prefix] + match.group(2)


@dataclass(slots=True)
class ReadResult:
    """The records of one file and all that is wrong with it.

    `lines` tells for each record (by name) the line of a field: `query` (its first line), `text`, `answer`,
    `parameters.NAME`, `tools.NAME`, `intents.NAME`.
    """

    file: SourceFile
    records: list[Record] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    lines: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, record: Record, lines: dict[str, int]) -> None:
        self.records.append(record)
        self.lines[record.name] = lines

    def line(self, record: Record, field: str = "") -> int:
        """The line of a field of a record, or of the nearest field above it, or of the record."""
        lines = self.lines.get(record.name, {})
        while field:
            if field in lines:
                return lines[field]
            field = field.rpartition(".")[0]
        return record.source.line if record.source else 1

    def source(self, line: int) -> Source:
        return Source(path=self.file.path, line=line, content_hash=self.file.content_hash)

    def fault(
        self, line: int, field: str, code: str, message: str, fix: str = "", severity: Severity = "error"
    ) -> None:
        self.findings.append(Finding(self.file.path, line, field, severity, code, message, fix))


Read = Callable[[Document, ReadContext, ReadResult], None]


@dataclass(frozen=True, slots=True)
class Reader:
    """How files of a kind are read. `suffixes` are where the kind may live; the first is where it is at home."""

    read: Read
    suffixes: tuple[str, ...]


READERS: dict[str, Reader] = {
    "python_function": Reader(python_function.read, (".py",)),
    "sqlpp_query": Reader(sqlpp_query.read, (".sqlpp",)),
    "sparql_query": Reader(sparql_query.read, (".rq",)),
    "jinja_query": Reader(jinja_query.read, (".rq",)),
    "semantic_search": Reader(semantic_search.read, (".yaml", ".yml")),
    "http_request": Reader(http_request.read, (".yaml", ".yml")),
    "raw_prompt": Reader(prompt.read_raw, (".prompt", ".jinja")),
    "jinja_prompt": Reader(prompt.read_jinja, (".jinja", ".prompt")),
    "prompt": Reader(prompt.read_structured, (".yaml", ".yml", ".prompt")),
    "agent": Reader(agent.read_agent, (".yaml", ".yml")),
    "intent": Reader(agent.read_intent, (".yaml", ".yml")),
}

_OPEN: dict[str, tuple[Callable[[str, str], Document], str]] = {
    ".py": (open_plain, "python_function"),
    ".rq": (open_comment_header, "sparql_query"),
    ".prompt": (open_front_matter, "raw_prompt"),
    ".jinja": (open_front_matter, "jinja_prompt"),
    ".yaml": (open_yaml, ""),
    ".yml": (open_yaml, ""),
    ".sqlpp": (open_block_comment, "sqlpp_query"),
}
RECORD_SUFFIXES = frozenset(_OPEN)
"""Files that may hold records; RDF files are read in `abi.graph`."""


def read_file(file: SourceFile, context: ReadContext) -> ReadResult:
    """Read one file: its records and every fault of it. Raises nothing for what is in the file."""
    result = ReadResult(file)
    suffix = PurePosixPath(file.path).suffix.lower()
    opener, default_kind = _OPEN[suffix]
    text = _text(file, suffix, result)
    if text is None:
        return result
    if suffix == ".prompt" and _STRUCTURED.search(text):
        # Agent Catalog 1.x writes prompts as plain YAML under the same suffix; its first line may be `---`, too.
        opener = open_yaml
    document = opener(file.path, text)
    result.findings.extend(document.findings)
    kind = _kind(document, default_kind, suffix, result)
    if kind and (document.header is not None or opener is open_plain):
        READERS[kind].read(document, context, result)
    if result.records or suffix != ".py":
        result.findings.extend(literal_secrets(text, file.path))
    _no_duplicates(result)
    result.findings = sorted(set(result.findings))
    return result


def _text(file: SourceFile, suffix: str, result: ReadResult) -> str | None:
    try:
        data = file.data
    except OSError as error:
        fix = "Check that it exists and that you may read it."
        result.fault(0, "", "file-unreadable", f"The file cannot be read: {error.strerror or error}.", fix)
        return None
    text, findings = decode(data, file.path)
    result.findings.extend(findings)
    # An empty Python file is usual (`__init__.py`); any other empty file was meant to become something.
    if text is not None and not text.strip() and suffix != ".py":
        result.fault(1, "", "file-empty", "The file is empty.", "Write a record into it, or remove it.")
        return None
    return text


def _kind(document: Document, default: str, suffix: str, result: ReadResult) -> str | None:
    """The kind of the file's record; None where there is no reader for it, with the reason among the findings."""
    value: Any = document.header.value.get("record_kind") if document.header else None
    line = document.header.line("record_kind") if document.header else 1
    if value is None:
        if document.header and {"openapi", "swagger"} & document.header.value.keys():
            return None  # a specification that lies beside the record that names it
        if not default and document.header is not None:
            fix = "Add `record_kind: agent` or another kind, or name the file in .abiignore."
            message = "The file has no record_kind, so it is no record, and was skipped."
            result.fault(line, "record_kind", "kind-missing", message, fix, "warning")
        value = default
    if not value:
        return None
    if not isinstance(value, str) or value not in READERS:
        known = sorted(READERS)
        fix = near(str(value), known) or f"Write one of {', '.join(known)}."
        result.fault(line, "record_kind", "kind-unknown", f"The record_kind {value!r} is not known.", fix)
        return None
    if suffix not in READERS[value].suffixes:
        home = READERS[value].suffixes[0]
        message = f"A {value} is not written in a {suffix} file."
        result.fault(line, "record_kind", "kind-misplaced", message, f"Write it in a {home} file.")
        return None
    return value


def _no_duplicates(result: ReadResult) -> None:
    """Two records of one name in one file; across files the gate looks."""
    seen: dict[tuple[str, str], int] = {}
    for record in list(result.records):
        line = record.source.line if record.source else 1
        key = ("tool/prompt" if record.family in ("tool", "prompt") else record.family, record.name)
        if key in seen:
            message = f"The name {record.name!r} is taken by line {seen[key]} of this file."
            result.fault(line, "name", "name-duplicate", message, "Rename one of the two.")
            result.records.remove(record)
        seen.setdefault(key, line)
