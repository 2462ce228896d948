"""Files of SHACL shapes, abi's own and a workspace's.

A workspace's come with it, so they are read within limits, and nothing that they name is fetched: a rule in SPARQL
(sh:sparql) passes the guard first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.errors import AbiError, Invalid
from abi.findings import Finding
from abi.graph.guard import check_query
from abi.graph.rdf_source import parse_text
from abi.graph.shapes import Shapes
from abi.settings import Settings

__all__ = ["load_shapes"]


def load_shapes(folders: Sequence[Path]) -> Shapes:
    """All `.ttl` files of the folders; folders that do not exist are skipped. Parsed once as long as no file changes.

    Raises Invalid with a finding for each file that does not parse or leads out of its workspace.
    """
    files = sorted(f for folder in folders if folder.is_dir() for f in folder.glob("*.ttl"))
    seen = [(f, f.stat() if f.exists() else f.lstat()) for f in files]
    return _load(tuple((os.fspath(f), status.st_mtime_ns, status.st_size) for f, status in seen))


@lru_cache(maxsize=16)
def _load(files: tuple[tuple[str, int, int], ...]) -> Shapes:
    limits = Settings(base_iri="urn:abi:")
    prefixes = limits.all_prefixes()
    triples: list[ox.Quad] = []
    findings = []
    for name, _, size in files:
        path = Path(name)
        shown = f"{path.parent.name}/{path.name}"
        fault = _unfit(path, size, limits)
        if fault:
            findings.append(Finding(shown, 0, "", "error", "shape-unreadable", fault))
            continue
        parsed = parse_text(path.read_bytes(), "turtle", None, path=shown, settings=limits)
        findings += [
            replace(f, code="shape-unreadable", message=f"the shapes do not parse: {f.message}")
            for f in parsed.findings
        ]
        triples += parsed.quads
        prefixes |= parsed.prefixes
        findings += _refused_queries(parsed.quads, shown, limits, prefixes)
    if findings:
        raise Invalid("a file of shapes cannot be used", findings)
    return Shapes(triples)


def _unfit(path: Path, size: int, limits: Settings) -> str | None:
    """Why a file is not read at all."""
    try:
        if not path.is_file():
            return "this is no file"
        if not path.resolve(strict=True).is_relative_to(path.parent.parent.resolve()):
            return "the symbolic link leads out of the workspace"
    except (OSError, RuntimeError):
        return "the symbolic link leads nowhere"
    if size > limits.max_rdf_bytes:
        return f"the file has {size:,} bytes; {limits.max_rdf_bytes:,} are allowed"
    return None


_QUERIES = frozenset(terms.SH + name for name in ("select", "ask"))


def _refused_queries(
    triples: Sequence[ox.Quad], shown: str, limits: Settings, prefixes: dict[str, str]
) -> Iterator[Finding]:
    """rdflib evaluates these, which opens what SERVICE and FROM name."""
    said: dict[str, dict[Any, str]] = {"prefix": {}, "namespace": {}}
    for quad in triples:
        name = quad.predicate.value.removeprefix(terms.SH)
        if name in said and isinstance(quad.object, ox.Literal):
            said[name][quad.subject] = quad.object.value
    known = prefixes | {p: said["namespace"].get(node, "") for node, p in said["prefix"].items()}
    for quad in triples:
        if quad.predicate.value not in _QUERIES or not isinstance(quad.object, ox.Literal):
            continue
        try:
            fault = (
                "FROM cannot be used in a shape" if check_query(quad.object.value, limits, known).has_dataset else None
            )
        except AbiError as error:
            fault = error.message
        if fault:
            yield Finding(shown, 0, "", "error", "shape-broken", f"a query of a shape cannot be used: {fault}")
