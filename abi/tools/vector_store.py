"""The vectors of the texts that semantic searches look through: one DuckDB file, made by `abi vectors build`.

A space is what one search looks through with one model. It can be deleted and built again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.errors import StoreLocked, Unsupported

if TYPE_CHECKING:
    from abi.search.embedder import Embedder

__all__ = ["Built", "Nearest", "Text", "VectorStore", "digest"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false", "threads": "2"}


@dataclass(frozen=True, slots=True)
class Text:
    """One text to be found. `id` is the IRI of an individual, or the key or number of a document."""

    id: str
    text: str
    vector: Sequence[float] | None = None
    """Where it has one already, made with the same model."""


@dataclass(frozen=True, slots=True)
class Nearest:
    id: str
    text: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Built:
    """How many texts a space has, and how many of them were embedded now."""

    texts: int
    embedded: int


def digest(texts: Sequence[Text]) -> str:
    """Tells whether texts are those that were built."""
    parts = hashlib.sha256()
    for text in sorted(texts, key=lambda t: (t.id, t.text)):
        parts.update(json.dumps([text.id, text.text]).encode())
    return parts.hexdigest()


class VectorStore:
    """The file at `path`, opened for each verb: several processes may look at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def built(self, space: str) -> str | None:
        """The digest of the texts that a space was built of; None where it was not."""
        if not self.path.is_file():
            return None
        with self._open(read_only=True) as connection:
            row = connection.execute("SELECT digest FROM spaces WHERE space = ?", [space]).fetchone()
        return str(row[0]) if row else None

    def build(self, space: str, texts: Sequence[Text], embedder: Embedder) -> Built:
        """Make the space anew; texts that had a vector in it, or come with one, are not embedded again."""
        import numpy as np

        with self._open(read_only=False) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS spaces (space VARCHAR PRIMARY KEY, digest VARCHAR)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (space VARCHAR, id VARCHAR, text VARCHAR, vector FLOAT[])"
            )
            old = connection.execute("SELECT text, vector FROM vectors WHERE space = ?", [space]).fetchall()
            known: dict[str, Any] = dict(old)
            vectors: list[Any] = [t.vector if t.vector is not None else known.get(t.text) for t in texts]
            wanted = list(dict.fromkeys(t.text for t, v in zip(texts, vectors, strict=True) if v is None))
            made = dict(zip(wanted, embedder.embed(wanted), strict=True)) if wanted else {}
            rows = [
                (space, t.id, t.text, np.asarray(made[t.text] if v is None else v, dtype=np.float32).tolist())
                for t, v in zip(texts, vectors, strict=True)
            ]
            connection.execute("BEGIN")
            connection.execute("DELETE FROM vectors WHERE space = ?", [space])
            for at in range(0, len(rows), 500):
                part = rows[at : at + 500]
                places = ", ".join(["(?, ?, ?, ?)"] * len(part))
                connection.execute(f"INSERT INTO vectors VALUES {places}", [v for row in part for v in row])  # noqa: S608
            connection.execute("INSERT OR REPLACE INTO spaces VALUES (?, ?)", [space, digest(texts)])
            connection.execute("COMMIT")
        return Built(len(rows), len(wanted))

    def nearest(self, space: str, vector: Sequence[float], limit: int) -> list[Nearest]:
        """The texts nearest to a vector, best first; vectors of another length are left out."""
        size = len(vector)
        with self._open(read_only=True) as connection:
            rows = connection.execute(
                f"SELECT id, text, array_cosine_similarity(CAST(vector AS FLOAT[{size}]), "  # noqa: S608 - a number
                f"CAST($vector AS FLOAT[{size}])) AS cosine FROM vectors "
                "WHERE space = $space AND len(vector) = $size ORDER BY cosine DESC, id, text LIMIT $limit",
                {"vector": [float(x) for x in vector], "space": space, "size": size, "limit": limit},
            ).fetchall()
        return [Nearest(str(i), str(t), float(c)) for i, t, c in rows if c is not None]

    @contextmanager
    def _open(self, *, read_only: bool) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError as error:
            raise Unsupported("Vectors are kept by duckdb.", hint="pip install 'abi-graph[sql]'") from error
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = duckdb.connect(str(self.path), read_only=read_only, config=_CONFIG)
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise
            raise StoreLocked("Another process builds vectors.", hint="Try again in a moment.") from error
        try:
            yield connection
        finally:
            connection.close()
