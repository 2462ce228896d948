"""The `secrets:` of a tool that asks a database: which name is for what."""

from __future__ import annotations

from typing import Any

from abi.records.header import Header, near, type_name
from abi.records.record import CouchbaseSecrets, EmbeddingSecrets

__all__ = ["read_database_secrets"]

_COUCHBASE = ("conn_string", "username", "password", "certificate")
_EMBEDDING = ("auth", "username", "password")
_SYSTEMS = {"couchbase": _COUCHBASE, "embedding": _EMBEDDING, "embedding_model": _EMBEDDING}
_EXAMPLE = "Write `- couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}`."


def read_database_secrets(header: Header, *, couchbase: bool = True) -> tuple[CouchbaseSecrets, EmbeddingSecrets]:
    """The names under `secrets:`, by system. `couchbase` says whether the tool cannot do without that one.

    That each is a name and no secret is checked where all records' secrets are read.
    """
    found: dict[str, dict[str, str]] = {}
    value = header.raw("secrets")
    for n, item in enumerate(value if isinstance(value, list) else [value] if isinstance(value, dict) else []):
        where = f"secrets.{n}" if isinstance(value, list) else "secrets"
        if not isinstance(item, dict):
            header.fault(where, "type-wrong", f"A secret must be a mapping, not {type_name(item)}.", _EXAMPLE)
            continue
        for system, names in item.items():
            _system(header, f"{where}.{system}", system, names, found)
    if value is not None and not isinstance(value, (list, dict)):
        header.fault("secrets", "type-wrong", f"secrets must be a list, not {type_name(value)}.", _EXAMPLE)
    elif couchbase and "couchbase" not in found:
        header.fault("secrets", "secrets-missing", "The secrets of couchbase are missing.", _EXAMPLE)
    own = found.get("couchbase", {})
    missing = [name for name in _COUCHBASE[:3] if name not in own] if "couchbase" in found else []
    if missing:
        message = f"The secrets of couchbase lack {', '.join(missing)}."
        header.fault("secrets", "secrets-missing", message, "Add the names by which they are looked up.")
    return CouchbaseSecrets(**own), EmbeddingSecrets(**found.get("embedding", {}))


def _system(header: Header, where: str, system: str, names: Any, found: dict[str, dict[str, str]]) -> None:
    known = _SYSTEMS.get(system)
    if known is None:
        fix = near(system, _SYSTEMS) or "Systems are couchbase and embedding."
        header.fault(where, "secrets-unknown", f"The system {system!r} is not known here.", fix)
        return
    called = "embedding" if system == "embedding_model" else system
    if called in found:
        header.fault(where, "secrets-several", f"There are two secrets of {called}.", "Keep one of them.")
        return
    if not isinstance(names, dict):
        found[called] = {}
        message = f"The secrets of {system} must be a mapping of names, not {type_name(names)}."
        header.fault(where, "type-wrong", message, f"Write {', '.join(known)}, each with a name.")
        return
    for key in names.keys() - set(known):
        fix = near(key, known) or f"It may have {', '.join(known)}."
        header.fault(f"{where}.{key}", "key-unknown", f"The key {key!r} is not known here.", fix, "warning")
    found[called] = {k: v for k, v in names.items() if k in known and isinstance(v, str) and v.strip()}
