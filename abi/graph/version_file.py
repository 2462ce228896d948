"""One published version of a catalog as a file: gzipped N-Quads, in canonical order, under a line that says what it is.

    # {"version": "3f9ac0d1e2b34567", "time": "2026-01-31T09:30:00.000Z", "commit": "0a1b2c3...", ...}
    <https://example.org/mine/agent/guide> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ... .

Any RDF tool reads it. Its name is the beginning of the SHA-256 of its content, which is checked when it is opened.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.errors import StoreError
from abi.graph.migrations import migrate
from abi.graph.names import provenance_graph
from abi.graph.oxigraph import OxigraphStore
from abi.graph.store import BOOKKEEPING, SCHEMA_VERSION

__all__ = ["SUFFIX", "CatalogVersion", "content_hash", "open_version", "read_header", "read_lines", "write_version"]

SUFFIX = ".nq.gz"
_COMMIT = f"<{terms.COMMIT}>"


@dataclass(frozen=True, slots=True)
class CatalogVersion:
    """What is known of a version without reading its content. `time` is in UTC, ISO 8601 with Z.

    `dirty`: whether it was made of anything else than what `commit` holds; None where there is no commit.
    """

    version: str
    records: int
    triples: int
    commit: str | None
    dirty: bool | None
    time: str
    message: str
    previous: str | None
    content_hash: str
    base_iri: str
    schema: int

    def document(self) -> dict[str, Any]:
        shown = asdict(self)
        del shown["schema"], shown["base_iri"]
        return shown


def content_hash(lines: Iterable[str], base: str) -> str:
    """The SHA-256 of a version's lines, in hex.

    The commits of files are left out: they are remarks about files whose bytes are hashed anyway. Those hashes count,
    because what a Python function does is in no triple but in its file.
    """
    end = f"<{provenance_graph(base)}> ."
    digest = hashlib.sha256()
    for line in lines:
        if line.endswith(end) and line.split(" ", 2)[1] == _COMMIT:
            continue
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def write_version(path: Path, version: CatalogVersion, lines: Iterable[str]) -> None:
    """Write the file, read-only, all of it or nothing. Raises StoreError where the disk does not let it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as beside:
            try:
                # Without a time or a name in its head, the same version is the same file.
                with gzip.GzipFile(filename="", fileobj=beside, mode="wb", compresslevel=6, mtime=0) as out:
                    out.write(f"# {json.dumps(asdict(version), ensure_ascii=False)}\n".encode())
                    for line in lines:
                        out.write(line.encode() + b"\n")
                beside.flush()
                os.fsync(beside.fileno())
                Path(beside.name).chmod(0o444)
                Path(beside.name).replace(path)
            except BaseException:
                Path(beside.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StoreError(f"The version {path} cannot be written: {error.strerror or error}.") from error


def read_header(path: Path) -> CatalogVersion:
    """What a file says of itself. Raises StoreError where it is no version."""
    with _reading(path) as lines:
        return _header(path, next(lines, ""))


def read_lines(path: Path) -> tuple[CatalogVersion, list[str]]:
    """A version and its content. Raises StoreError where the content is not what its hash says."""
    with _reading(path) as lines:
        version = _header(path, next(lines, ""))
        content = list(lines)
    if content_hash(content, version.base_iri) != version.content_hash:
        raise StoreError(
            f"The version {version.version} is damaged: {path} does not hold what was published.",
            hint="Restore the file from a backup, or publish that content again.",
        )
    return version, content


def open_version(path: Path, prefixes: Mapping[str, str]) -> tuple[CatalogVersion, OxigraphStore]:
    """A version as a read-only store in memory. Raises StoreError as `read_lines`, and for one of a newer abi."""
    version, content = read_lines(path)
    inner = ox.Store()
    inner.bulk_load("\n".join(content).encode(), ox.RdfFormat.N_QUADS)
    node = ox.NamedNode(BOOKKEEPING)
    inner.add(ox.Quad(node, ox.NamedNode(SCHEMA_VERSION), ox.Literal(version.schema), node))
    store = OxigraphStore(inner, prefixes=prefixes)
    migrate(store)
    store.read_only = True
    return version, store


class _reading:
    """The lines of a file, without their newlines."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Iterator[str]:
        try:
            self._file = gzip.open(self._path, "rt", encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._unreadable(error) from error
        return (line.removesuffix("\n") for line in self._file)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        if isinstance(error, (OSError, EOFError, zlib.error, UnicodeDecodeError)):
            raise self._unreadable(error) from error

    def _unreadable(self, error: BaseException) -> StoreError:
        return StoreError(
            f"The version file {self._path} cannot be read: {error}.", hint="Restore it from a backup, or delete it."
        )


def _header(path: Path, line: str) -> CatalogVersion:
    try:
        return CatalogVersion(**json.loads(line.removeprefix("# ")))
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path} is no version of a catalog.", hint="Take it out of the folder of versions."
        ) from error
