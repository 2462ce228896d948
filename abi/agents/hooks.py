"""What listens to a turn: methods of an agent's class, and callbacks. What fails there does not end the turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from abi.errors import AbiError

__all__ = ["told"]

_log = logging.getLogger("abi")


def told(hook: Callable[..., Any] | None, *arguments: str) -> None:
    """Call a hook, where there is one. A failure is logged."""
    if hook is None:
        return
    try:
        hook(*arguments)
    except AbiError as error:
        _log.warning("A hook failed: %s", error)
    except Exception as error:
        _log.warning("A hook failed: %s", error, exc_info=True)
