"""RDF files that people write or an editor saves: read with limits, faults as findings with their line.

Oxigraph parses; what it would take badly is refused before it sees it: brackets, elements, objects and terms of a
context nested deep enough to overrun its stack, and XML entities, which it expands without end. Remote contexts are
never fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi.errors import UsageError
from abi.findings import Finding
from abi.graph.formats import Format, format_of
from abi.graph.literal_forms import ill_typed_literals
from abi.records.document import marks
from abi.settings import Settings

if TYPE_CHECKING:
    from abi.records.scan import SourceFile

__all__ = ["ParsedRdf", "parse_rdf", "parse_text", "subject_lines"]

MAX_NESTING = 100
MAX_CHAIN = 25
"""Terms of a JSON-LD context that are each defined by the next; contexts nest, so the stack takes far more of them."""
Parser = Callable[..., "tuple[bytes, dict[str, str]]"]
_SYNTAX = {
    "turtle": "TURTLE",
    "trig": "TRIG",
    "ntriples": "N_TRIPLES",
    "nquads": "N_QUADS",
    "jsonld": "JSON_LD",
    "rdfxml": "RDF_XML",
}
"""As Oxigraph's own names of its formats."""
_RELATIVE = "relative-iri.invalid"
_BASE = f"http://{_RELATIVE}/"


@dataclass(slots=True)
class ParsedRdf:
    """What a file holds. With a finding of severity error there are no quads."""

    quads: list[ox.Quad] = field(default_factory=list)
    prefixes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    findings: list[Finding] = field(default_factory=list)


def parse_rdf(file: SourceFile, graph: str | None, settings: Settings, parser: Parser | None = None) -> ParsedRdf:
    """Read a file, by its extension, into `graph`; None keeps the graphs that the file names (TriG, N-Quads, JSON-LD).

    Never raises for what is in the file.
    """
    if file.size > settings.max_rdf_bytes:
        return ParsedRdf(findings=[_too_large(file.path, file.size, settings)])
    try:
        row = format_of(file.path)
        data = file.data
    except (UsageError, OSError) as error:
        message = f"the file cannot be read: {getattr(error, 'message', None) or error}"
        return ParsedRdf(findings=[Finding(file.path, 0, "", "error", "rdf-unreadable", message)])
    parsed = parse_text(data, row, graph, path=file.path, settings=settings, parser=parser)
    if not parsed.findings:
        parsed.findings += marks(data, file.path)
        parsed.findings += ill_typed_literals(parsed.quads, parsed.text, file.path)
    return parsed


def parse_text(
    data: bytes | str,
    format: Format | str,
    graph: str | None,
    *,
    path: str,
    settings: Settings,
    base: str | None = None,
    parser: Parser | None = None,
) -> ParsedRdf:
    """The same for bytes from anywhere; `path` is what findings name. Blank nodes get labels of their own.

    `base` is what relative IRIs are relative to; without it they are refused. `parser` parses in place of this process:
    `WorkerPool.parse`.
    """
    row = format if isinstance(format, Format) else format_of(format)
    raw = data.encode() if isinstance(data, str) else data
    if len(raw) > settings.max_rdf_bytes:
        return ParsedRdf(findings=[_too_large(path, len(raw), settings)])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        fault = Finding(
            path, line, "", "error", "rdf-encoding", "the file is not UTF-8", "Save it with the encoding UTF-8."
        )
        return ParsedRdf(findings=[fault])
    parsed = ParsedRdf(text=text)
    fault_or_none = _bomb(text, row, path)
    if fault_or_none is not None:
        parsed.findings.append(fault_or_none)
        return parsed
    target = None if graph is None else ox.NamedNode(graph)
    try:
        # Turtle without a base says where a relative IRI stands; the others would drop it without a word.
        resolved = base or (None if row.name in ("turtle", "trig", "ntriples", "nquads") else _BASE)
        prefixes: Mapping[str, str]
        if parser is None:
            reader = ox.parse(text, row.syntax, base_iri=resolved, rename_blank_nodes=True)
            found: Iterable[ox.Quad] = reader
        else:
            reader = None
            plain, prefixes = parser(text.encode(), _SYNTAX[row.name], base=resolved)
            found = ox.parse(plain, ox.RdfFormat.N_QUADS)
        for quad in found:
            fault_or_none = _unfit(quad, target, path, text)
            if fault_or_none is not None:
                parsed.findings.append(fault_or_none)
                parsed.quads = []
                return parsed
            parsed.quads.append(quad if target is None else ox.Quad(quad.subject, quad.predicate, quad.object, target))
        if reader is not None:
            prefixes = reader.prefixes
        parsed.prefixes = {p: n for p, n in prefixes.items() if not n.startswith(_BASE)}
        if row.name == "rdfxml" and (fault_or_none := _cut_off(text, path)) is not None:
            parsed.findings.append(fault_or_none)
            parsed.quads = []
    except SyntaxError as error:
        parsed.quads = []
        parsed.findings.append(_syntax(error, path, row))
    except ValueError as error:
        parsed.quads = []
        parsed.findings.append(Finding(path, 0, "", "error", "rdf-syntax", f"it does not parse: {error}", _MEND))
    return parsed


def subject_lines(text: str, iris: Iterable[str], prefixes: Mapping[str, str]) -> dict[str, int]:
    """The lines on which IRIs begin a statement, as well as can be told without parsing; others are left out.

    Turtle and its kin: the IRI or its prefixed name at the beginning of a line, else where it first stands; RDF/XML and
    JSON-LD: its first `rdf:about` or `@id`, else where it first stands.
    """
    wanted: dict[str, str] = {}
    for iri in iris:
        wanted[f"<{iri}>"] = iri
        wanted[f'"{iri}"'] = iri
        for prefix, namespace in prefixes.items():
            if namespace and iri.startswith(namespace):
                wanted[f"{prefix}:{iri[len(namespace) :]}"] = iri
    first: dict[str, int] = {}
    begun: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.lstrip()
        if stripped.startswith("#"):
            continue
        for match in _WORD.finditer(line):
            found = wanted.get(match.group().rstrip(".,;"))
            if found is None:
                continue
            first.setdefault(found, number)
            leading = line[: match.start()].strip()
            if leading in ("", "GRAPH") or leading.endswith((". ", "rdf:about=", '"@id":', '"@id" :')):
                begun.setdefault(found, number)
    return {**first, **begun}


_WORD = re.compile(r"<[^<>\s\"]*>|\"[^\"\s]*\"|[^\s<>\"'()\[\];,]+")


def _too_large(path: str, size: int, settings: Settings) -> Finding:
    message = f"the file has {size:,} bytes; {settings.max_rdf_bytes:,} is the most for an RDF file"
    fix = "Split it, or raise max_rdf_bytes in abi.yaml."
    return Finding(path, 0, "", "error", "rdf-too-large", message, fix)


# What would overrun the parser

_TURTLE = re.compile(
    # What is never closed goes on to the end: looked at once, and Oxigraph refuses it anyway.
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\\?\Z)'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+(?:'''|\\?\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'(?:[^'\\\n]|\\.)*+'?"
    r"|<<\(?|\)?>>|<[^<>\"{}|^`\s]*+>|#[^\n]*+|\\.|[\[({\])}]",
    re.DOTALL,
)
_JSON = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)
_XML = re.compile(
    r"<!--(?!-?>).*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|</"
    # A tag that does not look whole counts as one that opens.
    r"|<[^\s!?/<>](?:(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>)?",
    re.DOTALL,
)
_DOCTYPE = re.compile("<!doctype", re.IGNORECASE)
_OPENING = frozenset({"[", "(", "{", "<<", "<<("})
_CLOSING = frozenset({"]", ")", "}", ">>", ")>>"})


def _bomb(text: str, row: Format, path: str) -> Finding | None:
    if row.name == "rdfxml":
        # The parser takes the first word in any case, and expands what stands behind the second.
        declared = _DOCTYPE.search(text)
        if declared and "<!entity" in text.lower():
            return Finding(
                path,
                text.count("\n", 0, declared.start()) + 1,
                "",
                "error",
                "rdf-entities",
                "the file declares XML entities, which can grow without end",
                "Save it as Turtle, or as RDF/XML without entities.",
            )
        return _too_deep(text, path, (_xml_step(m) for m in _XML.finditer(text)))
    if row.name in ("ntriples", "nquads") and "<<" not in text:
        return None
    pattern = _JSON if row.name == "jsonld" else _TURTLE
    fault = _too_deep(text, path, (_step(m) for m in pattern.finditer(text)))
    return fault or (_long_chain(text, path) if row.name == "jsonld" else None)


def _step(match: re.Match[str]) -> tuple[int, int]:
    word = match.group()
    return (1 if word in _OPENING else -1 if word in _CLOSING else 0), match.start()


def _xml_step(match: re.Match[str]) -> tuple[int, int]:
    word = match.group()
    if word == "</":
        return -1, match.start()
    opens = word[1] not in "!?" and not word.endswith("/>")
    return (1 if opens else 0), match.start()


def _cut_off(text: str, path: str) -> Finding | None:
    """The parser takes a file that ends within its elements for a whole one."""
    if sum(step for step, _ in map(_xml_step, _XML.finditer(text))) <= 0:
        return None
    line = text.count("\n", 0, len(text.rstrip())) + 1
    return Finding(path, line, "", "error", "rdf-syntax", "the file ends before its elements are closed", _MEND)


def _too_deep(text: str, path: str, steps: Iterable[tuple[int, int]]) -> Finding | None:
    depth = 0
    for step, at in steps:
        depth = max(0, depth + step)
        if depth > MAX_NESTING:
            line = text.count("\n", 0, at) + 1
            message = f"it is nested more than {MAX_NESTING} deep"
            return Finding(path, line, "", "error", "rdf-too-deep", message, "Give the inner nodes IRIs of their own.")
    return None


class _LongChain(Exception):
    pass


def _long_chain(text: str, path: str) -> Finding | None:
    """A context's terms are resolved one inside the other. Any object may be a context, and may have a key twice."""
    try:
        json.loads(text, object_pairs_hook=_measure, parse_int=float)
    except json.JSONDecodeError as error:
        message = f"column {error.colno}: it does not parse as jsonld: {error.msg}"
        return Finding(path, error.lineno, "", "error", "rdf-syntax", message, _MEND)
    except _LongChain:
        message = f"more than {MAX_CHAIN} terms of a context are each defined by the next"
        return Finding(path, 1, "", "error", "rdf-too-deep", message, "Define terms by whole IRIs.")
    return None


class _Texts(list[str]):
    """The texts of an object, in place of it."""


def _measure(pairs: list[tuple[str, Any]]) -> _Texts:
    """Raises _LongChain for an object that may be a context of too long a chain."""
    following: dict[str, set[str]] = {key: set() for key, _ in pairs}
    texts = _Texts()
    for key, value in pairs:
        words = [w for w in (value if isinstance(value, list) else [value]) if isinstance(w, str)]
        if not isinstance(value, _Texts):
            texts += words
        for word in (key, *words):
            following[key].update(w for w in (word, word.partition(":")[0]) if w in following and w != key)
    ends = {key for key, others in following.items() if not others}
    left = following.keys() - ends
    for _ in range(MAX_CHAIN):
        level = {key for key in left if following[key] <= ends}
        ends |= level
        left -= level
        if not level:
            break
    # What is left comes before a longer chain, or leads into a circle, which the parser refuses at its end only.
    if len(left) > MAX_CHAIN:
        raise _LongChain
    return texts


# What must not be in a graph


def _unfit(quad: ox.Quad, target: ox.NamedNode | None, path: str, text: str) -> Finding | None:
    terms: list[Any] = [quad.subject, quad.predicate, quad.object, quad.graph_name]
    for term in terms:
        if isinstance(term, ox.Triple):
            message = "a triple is used as a term, which this version of abi does not keep"
            return Finding(
                path, 0, "", "error", "rdf-triple-term", message, "Use a node that stands for the statement."
            )
        if isinstance(term, ox.NamedNode) and _RELATIVE in term.value and term.value.startswith(_BASE):
            relative = term.value[len(_BASE) :]
            return _relative(path, _line_of(text, relative), relative)
    if target is not None and not isinstance(quad.graph_name, ox.DefaultGraph):
        message = f"the file names a graph of its own, {quad.graph_name}; as a source it has the graph of its path"
        return Finding(path, 0, "", "error", "rdf-graph", message, "Take the graph out, or use `abi load`.")
    return None


def _line_of(text: str, word: str) -> int:
    for quote in (f'"{word}"', f"'{word}'"):
        at = text.find(quote)
        if at >= 0:
            return text.count("\n", 0, at) + 1
    return 0


def _relative(path: str, line: int, relative: str) -> Finding:
    shown = f"the IRI <{relative}> is relative" if relative else "an IRI is relative"
    return Finding(
        path, line, "", "error", "rdf-relative-iri", f"{shown}: it would mean another thing wherever the file lies",
        "Write it whole, or with a prefix, or put a base (@base in Turtle) at the top of the file.",
    )  # fmt: skip


_POSITION = re.compile(r"^Parser error at line \d+(?: between columns \d+ and \d+| column \d+)?(?: and .*?)?: ")
_MEND = "Correct the file at this place, or save it again from the editor that wrote it."
_TRAILING = re.compile(r" \(line \d+\)$")


def _syntax(error: SyntaxError, path: str, row: Format) -> Finding:
    line, column = error.lineno or 0, error.offset or 0
    said = _TRAILING.sub("", _POSITION.sub("", error.msg or str(error)))
    if "No scheme found" in said:
        return _relative(path, line, "")
    if "LoadDocumentCallback" in said:
        message = "the file has a remote @context, and nothing is fetched"
        return Finding(path, line, "", "error", "rdf-remote-context", message, "Write the context into the file.")
    at = f"column {column}: " if column else ""
    return Finding(path, line, "", "error", "rdf-syntax", f"{at}it does not parse as {row.name}: {said}", _MEND)
