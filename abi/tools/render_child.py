"""Renders one Jinja template in a process of its own: reads a job as JSON on stdin, writes the outcome as JSON.

Run as a file, in isolated mode; imports Jinja and nothing of abi, so that it starts fast and has nothing to give away.
"""

from __future__ import annotations

import json
import math
import sys
import traceback
from typing import Any


def main() -> None:
    job = json.load(sys.stdin)
    _limit(job["memory"], job["seconds"])
    json.dump(_outcome(job), sys.stdout)


def _limit(memory: int, seconds: float) -> None:
    try:
        import resource
    except ImportError:  # not on Windows; there the parent's clock alone ends it
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    cpu = math.ceil(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _outcome(job: dict[str, Any]) -> dict[str, Any]:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
    try:
        template = environment.from_string(job["template"])
        pieces: list[str] = []
        size = 0
        for piece in template.generate(job["variables"]):
            size += len(piece.encode("utf-8", "surrogatepass"))
            if size > job["bytes"]:
                return {"fault": "long", "message": ""}
            pieces.append(piece)
    except jinja2.UndefinedError as error:
        return {"fault": "undefined", "message": error.message or str(error)}
    except jinja2.TemplateSyntaxError as error:
        return {"fault": "syntax", "message": error.message or str(error), "line": error.lineno}
    except MemoryError:
        return {"fault": "ended", "message": "it used more memory than a prompt may"}
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<template>"]
        return {"fault": "failed", "message": f"{type(error).__name__}: {error}", "line": lines[-1] if lines else None}
    return {"text": "".join(pieces)}


if __name__ == "__main__":
    main()
