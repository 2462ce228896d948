"""Which workspaces a person trusts: their Python runs, they get their secrets. The list is outside of them all.

A workspace that was cloned or unpacked cannot say of itself that it is trusted.
"""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from abi.errors import Unreadable

__all__ = ["distrust", "is_trusted", "trust", "trust_file"]


def trust_file() -> Path:
    """`trusted.json` in `$ABI_CONFIG_DIR`, else in `$XDG_CONFIG_HOME/abi`, else in `~/.config/abi`."""
    own = os.environ.get("ABI_CONFIG_DIR")
    if own:
        return Path(own) / "trusted.json"
    # The XDG rules: a relative path there is to be ignored.
    home = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    return (home if home.is_absolute() else Path.home() / ".config") / "abi" / "trusted.json"


def is_trusted(root: Path) -> bool:
    """Whether this workspace's Python may run. False where the list cannot be read.

    It is asked at every call of a tool, and costs two looks at the file system.
    """
    try:
        own = os.environ.get("ABI_CONFIG_DIR")
        path = f"{own}/trusted.json" if own else str(trust_file())
        listed, folder = os.stat(path), os.stat(root)  # noqa: PTH116 - a Path costs as much again
        # The list is put in place whole, so a new one is another file; a link that leads elsewhere, another folder.
        trusted = _trusted(path, listed.st_ino, listed.st_mtime_ns, listed.st_size)
        return _real(str(root), folder.st_dev, folder.st_ino) in trusted
    except (OSError, Unreadable):
        return False


@lru_cache(maxsize=4)
def _trusted(path: str, inode: int, changed: int, size: int) -> frozenset[str]:
    return frozenset(_read())


@lru_cache(maxsize=256)
def _real(path: str, device: int, inode: int) -> str:
    return os.path.realpath(path)


def trust(root: Path) -> None:
    """Let this workspace's Python run from now on. Raises Unreadable where the list cannot be read or written."""
    trusted = _read()
    trusted[str(root.resolve())] = datetime.now(UTC).isoformat(timespec="seconds")
    _write(trusted)


def distrust(root: Path) -> bool:
    """Take a workspace off the list. False where it was not on it. Raises as `trust` does."""
    trusted = _read()
    found = trusted.pop(str(root.resolve()), None) is not None
    if found:
        _write(trusted)
    return found


def _read() -> dict[str, str]:
    """Real path of each trusted workspace to the time at which it was trusted."""
    path = trust_file()
    try:
        document = json.loads(path.read_text("utf-8"))
        workspaces = document["workspaces"]
        if not isinstance(workspaces, dict):
            raise TypeError("`workspaces` is no mapping")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        hint = "Correct or remove that file, then trust again the workspaces that you trust."
        raise Unreadable(f"The list of trusted workspaces, {path}, cannot be read: {error}.", hint=hint) from None
    return {str(key): str(value) for key, value in workspaces.items()}


def _write(trusted: dict[str, str]) -> None:
    path = trust_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written whole beside the old one, then put in its place: a crash leaves one of the two.
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            json.dump({"version": 1, "workspaces": dict(sorted(trusted.items()))}, file, indent=2)
        Path(file.name).replace(path)
    except OSError as error:
        message = f"The list of trusted workspaces, {path}, cannot be written: {error.strerror or error}."
        raise Unreadable(message, hint="Set ABI_CONFIG_DIR to a folder that you may write to.") from None
