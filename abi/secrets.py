"""Secrets: names in files, values only in memory.

A name is looked up where `secrets` in `abi.yaml` says (`env:VAR`, `file:PATH`, `keyring:NAME`), else in the environment
under its own name. A value is given to the tool that needs it and kept nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from abi.errors import NotFound, Unsupported, UsageError

if TYPE_CHECKING:
    from abi.settings import Settings

__all__ = ["secret"]


def secret(name: str, settings: Settings, root: Path) -> str:
    """The value behind a name. Raises NotFound where there is none, UsageError for a place that cannot be read."""
    place = settings.secrets.get(name, f"env:{name}")
    scheme, colon, where = place.partition(":")
    if not colon or scheme not in ("env", "file", "keyring"):
        raise UsageError(
            f"The secret {name} has no place to look in that abi knows.",
            hint="Write env:VARIABLE, file:PATH or keyring:NAME under `secrets` in abi.yaml.",
        )
    value = {"env": _environment, "file": _file, "keyring": _keyring}[scheme](where, root)
    if value is None:
        raise NotFound(f"The secret {name} has no value at {scheme}:{where}.", hint="Set it there, then try again.")
    return value


def _environment(variable: str, root: Path) -> str | None:
    return os.environ.get(variable)


def _file(path: str, root: Path) -> str | None:
    """A file of the operator's choice: `abi.yaml` is written by them, so the path may lead out of the workspace."""
    file = root / Path(path).expanduser()
    return file.read_text(encoding="utf-8").strip() if file.is_file() else None


def _keyring(name: str, root: Path) -> str | None:
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise Unsupported("keyring: needs the package keyring.", hint="pip install keyring") from error
    value: str | None = keyring.get_password("abi", name)
    return value
