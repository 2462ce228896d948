"""Keys: who may call a server, and what they may do. Only hashes are kept, outside of the graph, in `.abi/keys.json`.

A key has 256 random bits, so its plain SHA-256 cannot be guessed from and needs no salt.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from abi.errors import NotFound, Unreadable, UsageError

__all__ = ["ENVIRONMENT", "ROLES", "KeyEntry", "Keys", "Principal", "Role"]

Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may."""
ENVIRONMENT = "ABI_API_KEY"
"""The variable whose value is an admin key."""
_MARK = "abi_"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls. `name` owns threads; an anonymous caller has none of its own."""

    name: str
    role: Role
    anonymous: bool = False

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True, slots=True)
class KeyEntry:
    name: str
    role: Role
    hash: str
    created: str

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "role": self.role, "created": self.created}


class Keys:
    """The keys of one workspace. Reads its file again when it has changed, so that a key can be revoked at any time."""

    def __init__(self, root: Path) -> None:
        self.path = root / ".abi" / "keys.json"
        self._seen: tuple[int, int] | None = None
        self._entries: list[KeyEntry] = []
        self._session: list[tuple[str, Principal]] = []

    def create(self, name: str, role: Role) -> str:
        """A new key, which is nowhere to be had again. Raises UsageError for a name that is taken."""
        entries = self.entries()
        if role not in ROLES:
            raise UsageError(f"There is no role {role!r}.", hint=f"Roles are {', '.join(ROLES)}.")
        if not name or len(name) > 100 or not name.isprintable() or name != name.strip():
            raise UsageError("A key needs a name of 1 to 100 printable characters.")
        if any(entry.name == name for entry in entries) or name in ("environment", "local", "anonymous"):
            raise UsageError(f"There is a key {name!r} already.", hint="`abi key list` shows all.")
        key = _MARK + secrets.token_urlsafe(32)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._write([*entries, KeyEntry(name, role, _hash(key), now)])
        return key

    def revoke(self, name: str) -> None:
        """From now on the key is none. Raises NotFound."""
        entries = self.entries()
        left = [entry for entry in entries if entry.name != name]
        if len(left) == len(entries):
            raise NotFound(f"There is no key {name!r}.", hint="`abi key list` shows all.")
        self._write(left)

    def entries(self) -> list[KeyEntry]:
        """Raises Unreadable where the file is not what was written."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._seen, self._entries = None, []
            return []
        seen = (status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            try:
                read = json.loads(self.path.read_text(encoding="utf-8"))
                self._entries = [KeyEntry(**entry) for entry in read["keys"]]
            except (OSError, ValueError, KeyError, TypeError) as error:
                # Whoever cannot tell who has which role lets nobody in.
                raise Unreadable(f"{self.path} cannot be read.", hint="Remove it and make new keys.") from error
            self._seen = seen
        return self._entries

    def for_this_run(self, name: str = "local") -> str:
        """An admin key that is good for as long as this object lives, for programs of the same user."""
        key = _MARK + secrets.token_urlsafe(32)
        self._session.append((_hash(key), Principal(name, "admin")))
        return key

    def exist(self) -> bool:
        """Whether anybody has a key that outlives this run."""
        return bool(os.environ.get(ENVIRONMENT) or self.entries())

    def principal(self, key: str) -> Principal | None:
        """Whose key that is. It is compared with all, in a time that tells nothing."""
        given = _hash(key)
        found: Principal | None = None
        known = [(e.hash, Principal(e.name, e.role)) for e in self.entries()] + self._session
        if environment := os.environ.get(ENVIRONMENT):
            known.append((_hash(environment), Principal("environment", "admin")))
        for hash, principal in known:
            if hmac.compare_digest(hash.encode(), given.encode()):
                found = principal
        return found

    def _write(self, entries: list[KeyEntry]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"keys": [asdict(entry) for entry in entries]}, indent=1)
        new = self.path.with_name("keys.json.new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(self.path)
        self._seen = None


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
