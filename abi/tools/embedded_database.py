"""The embedded engine: collections that are JSON or JSONL files of a folder, or the tables of a DuckDB file.

Documents get the types that their values have: texts stay texts (also those that look like dates), a field that has
values of several types is JSON. What is missing and what is null are one here.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from abi.errors import ToolFailed, Unsupported

__all__ = ["PREFIX", "collection_file", "embedded_rows", "plain"]

PREFIX = "duckdb:"
"""Begins a connection string for the embedded engine; a path follows, from the workspace's root."""

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_NAME = re.compile(r"[\w.$ %-]{1,200}", re.ASCII)
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "memory_limit": "1GB",
    "threads": "2",
    "autoload_known_extensions": "false",
}
_TYPES = {"UBIGINT": "BIGINT", "BIGINT": "BIGINT", "HUGEINT": "DOUBLE", "UHUGEINT": "DOUBLE"}
_KEPT = 4
"""Folders whose collections stay loaded."""

# Where the database is, is a secret: it is not said.
_NOWHERE = "There is no folder or DuckDB file where the connection string says."

Signature = tuple[tuple[str, int, int], ...]


def embedded_rows(
    place: str,
    collections: Sequence[str],
    sql: str,
    values: Mapping[str, Any],
    *,
    root: Path,
    rows: int,
    seconds: float,
) -> tuple[list[dict[str, Any]], bool]:
    """Rows of a query as JSON objects, and whether there are more than `rows`. `place` is what follows `duckdb:`.

    Raises ToolFailed where a collection is not there, the query fails or takes longer than `seconds`.
    """
    try:
        import duckdb
    except ImportError as error:
        raise Unsupported("The embedded engine needs duckdb.", hint="pip install 'abi-graph[sql]'") from error
    path = root / Path(place).expanduser()
    try:
        if path.is_dir():
            connection = _folder(path, collections).cursor()
        elif path.is_file():
            connection = duckdb.connect(str(path), read_only=True, config=_CONFIG)
        else:
            raise ToolFailed(_NOWHERE, hint="Its path counts from the workspace.")
        try:
            return _rows(connection, sql, values, rows, seconds)
        finally:
            connection.close()
    except duckdb.Error as error:
        raise ToolFailed(_told(error), hint=_hint(error)) from error


def _rows(
    connection: Any, sql: str, values: Mapping[str, Any], limit: int, seconds: float
) -> tuple[list[dict[str, Any]], bool]:
    ended = threading.Event()

    def end() -> None:
        ended.set()
        connection.interrupt()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        connection.execute(f"SELECT CAST(to_json(sqlpp_row) AS VARCHAR) FROM ({sql}) AS sqlpp_row", dict(values))  # noqa: S608
        found = connection.fetchmany(limit + 1)
    except Exception:
        if ended.is_set():
            message = f"The query took longer than {seconds:g} s and was ended."
            raise ToolFailed(message, hint="Narrow it, or raise query_seconds.") from None
        raise
    finally:
        timer.cancel()
    return [json.loads(text) for (text,) in found[:limit]], len(found) > limit


def plain(value: Any, *, top: bool = True) -> Any:
    """A row without the empty fields of its documents: they only have them because others do."""
    if isinstance(value, dict):
        return {k: plain(v, top=False) for k, v in value.items() if top or v is not None}
    return [plain(v, top=False) for v in value] if isinstance(value, list) else value


_loaded: OrderedDict[Path, tuple[Signature, Any]] = OrderedDict()
_lock = threading.Lock()


def _folder(folder: Path, collections: Sequence[str]) -> Any:
    """A connection in whose memory the collections are, loaded again when a file has changed."""
    with _lock:
        known, connection = _loaded.get(folder, ((), None))
        wanted = {
            name: collection_file(folder, name) for name in {*collections, *(name for name, _, _ in known)} if name
        }
        missing = [name for name in collections if wanted[name] is None]
        if missing:
            there = sorted({p.stem for p in folder.iterdir() if p.suffix.lower() in _SUFFIXES})
            has = f"It has {', '.join(there[:20])}." if there else "It has no JSON or JSONL file."
            raise ToolFailed(f"The folder has no collection {', '.join(missing)}.", hint=has)
        files = {name: file for name, file in wanted.items() if file is not None}
        signature = tuple(sorted((name, (s := f.stat()).st_mtime_ns, s.st_size) for name, f in files.items()))
        if connection is None or signature != known:
            connection = _load(files)
            _loaded[folder] = (signature, connection)
        _loaded.move_to_end(folder)
        while len(_loaded) > _KEPT:
            _loaded.popitem(last=False)
        return connection


def collection_file(folder: Path, name: str) -> Path | None:
    """The JSON or JSONL file of a collection; None where there is none, or the name is none of a file."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        return None
    return next((p for s in _SUFFIXES if (p := folder / f"{name}{s}").is_file()), None)


def _load(files: Mapping[str, Path]) -> Any:
    import duckdb

    connection = duckdb.connect(config={k: v for k, v in _CONFIG.items() if k != "enable_external_access"})
    for name, file in files.items():
        try:
            read = "read_json_objects($path, format='auto')"
            structure = connection.execute(f"SELECT json_group_structure(json) FROM {read}", {"path": str(file)})  # noqa: S608
            (text,) = structure.fetchone() or (None,)
            shape = json.loads(text) if text else {}
            if not isinstance(shape, dict):
                raise ToolFailed(f"The collection {file.name} is no list of JSON objects.")
            columns = ", ".join(f"{_quoted(k)}: {_text(_type(v))}" for k, v in shape.items()) or "'_': 'JSON'"
            table = '"' + name.replace('"', '""') + '"'
            source = f"read_json($path, format='auto', columns={{{columns}}}, maximum_object_size=67108864)"
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {source}", {"path": str(file)})  # noqa: S608
        except duckdb.Error as error:
            raise ToolFailed(f"The collection {file.name} cannot be read: {_told(error)}") from error
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _type(shape: Any) -> str:
    if isinstance(shape, dict):
        if not shape:
            return "JSON"
        fields = ", ".join('"' + k.replace('"', '""') + '" ' + _type(v) for k, v in shape.items())
        return f"STRUCT({fields})"
    if isinstance(shape, list):
        return f"{_type(shape[0]) if shape else 'JSON'}[]"
    return "JSON" if shape in ("NULL", "JSON") else _TYPES.get(shape, shape)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


_quoted = _text


def _told(error: Exception) -> str:
    """DuckDB's first paragraph: what follows shows the query that was made."""
    text = str(error).split("\n\nLINE ")[0].split("\nLINE ")[0].strip()
    return " ".join(text.split()).rstrip(".") + "."


def _hint(error: Exception) -> str:
    text = str(error)
    if "does not have a column named" in text or "Could not find key" in text or "not found in FROM" in text:
        return "A field that no document has is unknown here."
    if "Conversion Error" in text:
        return "The field has values of several types, or the argument has another one."
    return ""
