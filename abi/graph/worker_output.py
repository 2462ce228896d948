"""What a query gives back, written in the process that found it: whole documents, cut at a row where they are too long.

Loaded by path beside `worker_process`, so it imports nothing of abi. Oxigraph writes the documents; rows are counted in
what it wrote, which costs nothing where there cannot be too many.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["Late", "Unwritable", "document"]

_EVERY = 64
"""Triples between two looks at the clock."""
_JSON_WORD = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]', re.DOTALL)
_CSV_WORD = re.compile(rb'"(?:[^"]|"")*+"|\r\n')
_BINDINGS = b'"bindings":['
_NAME = re.compile(r"[A-Za-z_][\w.\-]*\Z")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class Late(Exception):
    """The time is over."""


class Unwritable(Exception):
    """The format cannot hold the result."""


class _Full(Exception):
    """There is more than may be written."""


class _Output:
    def __init__(self, limit: int, deadline: float) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._limit = limit
        self._deadline = deadline

    def write(self, data: bytes) -> int:
        if self._size > self._limit:
            raise _Full  # when its writer is thrown away, Oxigraph tries once more with what was taken already
        self._chunks.append(data)
        self._size += len(data)
        if self._size > self._limit:
            raise _Full
        if time.monotonic() > self._deadline:
            raise Late
        return len(data)

    def flush(self) -> None:
        pass

    def whole(self) -> bytes:
        return b"".join(self._chunks)


def document(
    result: Any, format: str, *, rows: int, limit: int, deadline: float, prefixes: dict[str, str]
) -> tuple[bytes, bool]:
    """A result as a document, and whether it was cut. Raises Late and Unwritable."""
    import pyoxigraph as ox

    if isinstance(result, ox.QueryTriples):
        return _graph(result, format, rows, limit, deadline, prefixes)
    out = _Output(limit, deadline)
    try:
        result.serialize(out, format=getattr(ox.QueryResultsFormat, format.upper()))
    except _Full:
        return _cut(out.whole(), format, rows, limit), True
    data = out.whole()
    if isinstance(result, ox.QueryBoolean) or _most(data, format) <= rows or _count(data, format, rows) <= rows:
        return data, False
    return _cut(data, format, rows, limit), True


def _most(data: bytes, format: str) -> int:
    """No fewer rows than there are."""
    between = {"json": b"},{", "xml": b"</result>", "csv": b"\r\n", "tsv": b"\n"}[format]
    return data.count(between) + (1 if format == "json" else 0)


def _count(data: bytes, format: str, most: int) -> int:
    """The rows of a document, counted up to one more than `most`."""
    number = 0
    for number, _ in enumerate(_row_ends(data, format), start=1):
        if number > most:
            break
    return number


def _row_ends(data: bytes, format: str) -> Iterator[int]:
    """Where each whole row ends."""
    if format == "json":
        depth = 0
        for word in _JSON_WORD.finditer(data, data.index(_BINDINGS) + len(_BINDINGS)):
            if word.group() == b"{":
                depth += 1
            elif word.group() == b"}":
                depth -= 1
                if depth == 0:
                    yield word.end()
                elif depth < 0:
                    return
    elif format == "csv":
        ends = (word.end() for word in _CSV_WORD.finditer(data) if word.group() == b"\r\n")
        next(ends, None)  # the names of the columns
        yield from ends
    else:
        mark = b"</result>" if format == "xml" else b"\n"
        at = data.find(mark) + len(mark) if format == "tsv" else 0
        while (found := data.find(mark, at)) >= 0:
            at = found + len(mark)
            yield at


def _cut(data: bytes, format: str, rows: int, limit: int) -> bytes:
    start = {"json": _BINDINGS, "xml": b"<results>", "csv": b"\r\n", "tsv": b"\n"}[format]
    end = data.index(start) + len(start)
    for number, row_end in enumerate(_row_ends(data, format), start=1):
        if number > rows or row_end > limit:
            break
        end = row_end
    tail = {"json": b']},"truncated":true}', "xml": b"</results></sparql>"}.get(format, b"")
    return data[:end] + tail


def _graph(
    triples: Any, format: str, rows: int, limit: int, deadline: float, prefixes: dict[str, str]
) -> tuple[bytes, bool]:
    found: list[Any] = []
    truncated = False
    for triple in triples:
        if len(found) >= rows:
            truncated = True
            break
        if len(found) % _EVERY == 0 and time.monotonic() > deadline:
            raise Late
        found.append(triple)
    data: bytes | None
    try:
        data = _written(found, format, limit, deadline, prefixes)
    except _Full:
        truncated = True
        # Nothing tells how far it came. By N-Triples' measure first, then ever fewer.
        size, kept = 0, 0
        for triple in found:
            size += len(str(triple)) + 3
            if size > limit:
                break
            kept += 1
        data = None
        while data is None and kept:
            kept //= 2
            try:
                data = _written(found[:kept], format, limit, deadline, prefixes)
            except _Full:
                continue
        if data is None:
            raise Unwritable("its first triple is too large") from None
    if truncated and format in ("turtle", "trig", "ntriples", "nquads"):
        data += b"# truncated\n"
    return data, truncated


def _written(triples: list[Any], format: str, limit: int, deadline: float, prefixes: dict[str, str]) -> bytes:
    import pyoxigraph as ox

    formats = {
        "turtle": ox.RdfFormat.TURTLE,
        "trig": ox.RdfFormat.TRIG,
        "ntriples": ox.RdfFormat.N_TRIPLES,
        "nquads": ox.RdfFormat.N_QUADS,
        "jsonld": ox.RdfFormat.JSON_LD,
        "rdfxml": ox.RdfFormat.RDF_XML,
    }
    if format == "rdfxml":
        for triple in triples:
            if _NAME.search(triple.predicate.value) is None:
                raise Unwritable(f"RDF/XML cannot write the property <{triple.predicate.value}>")
            if isinstance(triple.object, ox.Literal) and _NOT_XML.search(triple.object.value):
                raise Unwritable("RDF/XML cannot write a control character")
    out: Any = _Output(limit, deadline)
    used = {p: n for p, n in prefixes.items() if p} if format in ("turtle", "trig", "rdfxml", "jsonld") else None
    ox.serialize(triples, out, format=formats[format], prefixes=used)
    data: bytes = out.whole()
    return data
