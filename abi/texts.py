"""Texts from outside that are no whole ones: half of a surrogate pair, of JSON or of a terminal, fits into no UTF-8."""

from __future__ import annotations

from abi.errors import UsageError

__all__ = ["need_whole"]


def need_whole(what: str, text: str | None) -> None:
    """Raises UsageError where a text holds a lone surrogate. `what` begins the message."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} holds half of a character (a lone surrogate).", hint="Send it as UTF-8.") from None
