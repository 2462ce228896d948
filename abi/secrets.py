"""Secrets: names in files, values only in memory.

A name is looked up where `secrets` in `abi.yaml` says (`env:VAR`, `file:PATH`, `keyring:NAME`), and there only. A name
that stands nowhere in it is looked up in the environment, then in the keyring of the system, where the package keyring
is there to ask it: `keyring set abi NAME` puts a value in. A value is given to the tool that needs it and kept nowhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from abi.errors import NotFound, Unsupported, UsageError

if TYPE_CHECKING:
    from abi.settings import Settings

__all__ = ["secret"]

_SERVICE = "abi"


def secret(name: str, settings: Settings, root: Path, *, ask_keyring: bool = True) -> str:
    """The value behind a name. `ask_keyring=False` leaves out the keyring, which may ask a person to unlock it.

    Raises NotFound where there is none, UsageError and Unsupported for a place that cannot be read.
    """
    place = settings.secrets.get(name)
    if place is None:
        value = _environment(name, root)
        if value is None and ask_keyring:
            value = _keyring_if_any(name)
        if value is None:
            raise NotFound(
                f"The secret {name} has no value: abi.yaml says no place, and neither the environment nor the keyring "
                "has it.",
                hint=f"Set the environment variable {name}, or write under `secrets` in abi.yaml where it is.",
            )
        return value
    scheme, colon, where = place.partition(":")
    if not colon or scheme not in ("env", "file", "keyring"):
        raise UsageError(
            f"The secret {name} has no place to look in that abi knows.",
            hint="Write env:VARIABLE, file:PATH or keyring:NAME under `secrets` in abi.yaml.",
        )
    if scheme == "keyring" and not ask_keyring:
        raise NotFound(f"The secret {name} is in the keyring, which is not asked here.")
    value = {"env": _environment, "file": _file, "keyring": _keyring}[scheme](where, root)
    if value is None:
        raise NotFound(f"The secret {name} has no value at {scheme}:{where}.", hint="Set it there, then try again.")
    return value


def _environment(variable: str, root: Path) -> str | None:
    return os.environ.get(variable)


def _file(path: str, root: Path) -> str | None:
    """A file of the operator's choice: `abi.yaml` is written by them, so the path may lead out of the workspace."""
    file = root / Path(path).expanduser()
    try:
        return file.read_text(encoding="utf-8").strip() if file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise UsageError(f"The file {path}, where a secret is kept, cannot be read: {why}.") from None


def _keyring(name: str, root: Path) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise Unsupported(
            "The package keyring, which asks the keyring of the system, is not installed.", hint="pip install keyring"
        ) from error
    try:
        value: str | None = keyring.get_password(_SERVICE, name)
        return value
    except KeyringError as error:
        raise Unsupported(
            f"The keyring of the system cannot be asked: {type(error).__name__}.",
            hint="Unlock it, or name another place under `secrets` in abi.yaml.",
        ) from error


def _keyring_if_any(name: str) -> str | None:
    """What the keyring has, where there is one that can be asked."""
    try:
        return _keyring(name, Path())
    except Unsupported:
        return None
