"""Renders one Jinja template in a process of its own: reads a job as JSON on stdin, writes the outcome as JSON.

Run as a file, in isolated mode; imports Jinja and nothing of abi, so that it starts fast and has nothing to give away.
"""

from __future__ import annotations

import json
import math
import os
import re
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

    apart = job.get("pieces", False)
    undefined = jinja2.Undefined if apart else jinja2.StrictUndefined
    environment = ImmutableSandboxedEnvironment(undefined=undefined, autoescape=False)
    values: list[Any] = []
    try:
        template = _marking(environment, job["template"], values) if apart else environment.from_string(job["template"])
        pieces: list[str] = []
        size = 0
        for piece in template.generate(job["variables"]):
            size += len(piece.encode("utf-8", "surrogatepass"))
            size += len(values[-1][0] or "") if values else 0
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
    text = "".join(pieces)
    return {"pieces": _cut(text, values)} if apart else {"text": text}


_MARK = os.urandom(12).hex()


def _marking(environment: Any, source: str, values: list[Any]) -> Any:
    """The template, which gives a mark in place of each value and adds the value to `values`, with the names of the
    variables that it was made of."""
    import jinja2
    from jinja2 import nodes

    def mark(value: Any, names: str) -> str:
        missing = value is None or isinstance(value, jinja2.Undefined)
        values.append([None if missing else str(value), names.split()])
        return f"{_MARK}:{len(values) - 1};"

    environment.filters[_MARK] = mark
    tree = environment.parse(source)
    for output in tree.find_all(nodes.Output):
        for at, part in enumerate(output.nodes):
            if not isinstance(part, nodes.TemplateData):
                own = [part] if isinstance(part, nodes.Name) else []
                names = " ".join(dict.fromkeys(n.name for n in [*own, *part.find_all(nodes.Name)]))
                output.nodes[at] = nodes.Filter(part, _MARK, [nodes.Const(names)], [], None, None)
    tree.set_environment(environment)
    code = environment.compile(tree)
    return jinja2.Template.from_code(environment, code, environment.make_globals(None))


def _cut(text: str, values: list[Any]) -> list[Any]:
    pieces: list[Any] = []
    for at, part in enumerate(re.split(f"{_MARK}:([0-9]+);", text)):
        pieces.append(values[int(part)] if at % 2 else [part, None])
    return pieces


if __name__ == "__main__":
    main()
