"""One Jinja template evaluated in a process of its own, which is ended when it takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abi.errors import ToolFailed
from abi.settings import Settings

__all__ = ["rendered_apart"]

_CHILD = Path(__file__).with_name("render_child.py")
_MEMORY = 512 * 1024 * 1024
# Nothing of the environment but what a Python needs to start: no secret is within a template's reach.
_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "SYSTEMROOT", "PATH")


def rendered_apart(what: str, job: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """What came of a job (`template`, `variables`): `text` or `pieces`, else the `fault` with a `message` and `line`.

    `what` is what a message calls it. Raises ToolFailed where it had to be ended.
    """
    limits = {"bytes": settings.render_bytes, "memory": _MEMORY, "seconds": settings.render_seconds}
    env = {key: os.environ[key] for key in _KEPT_ENVIRONMENT if key in os.environ}
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(_CHILD)],
            input=json.dumps({**job, **limits}, default=str).encode(),
            capture_output=True,
            timeout=settings.render_seconds,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"{what} took longer than {settings.render_seconds:g} s and was ended."
        raise ToolFailed(message, hint="Make its loops shorter, or raise render_seconds.") from None
    except OSError as error:
        raise ToolFailed(f"{what} could not be rendered: {error.strerror or error}.") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {}
    if not isinstance(answer, dict) or not answer:
        return {"fault": "ended", "message": "it used more time or memory than a template may"}
    return answer
