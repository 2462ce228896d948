"""A finding: one thing that is wrong with an input, said to the person who has to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Finding", "Severity", "exit_code", "has_errors"]

Severity = Literal["error", "warning"]

_UNREADABLE = re.compile(r"yaml-.*|.*-(encoding|large|syntax|unreadable)")
"""Codes that say: this input could not even be read or parsed."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """What, where and how to mend it.

    `path` is relative to the workspace, with forward slashes; empty where the finding is about the graph itself.
    `line` counts from 1; 0 where no line is known. `field` is a dotted path into the input (`parameters.origin.class`).
    `code` is stable: `<subject>-<fault>`, for example `name-duplicate`. An `error` stops a write, a `warning` does not.
    """

    path: str
    line: int
    field: str
    severity: Severity
    code: str
    message: str
    fix: str = ""

    def document(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path or "graph"
        field = f" [{self.field}]" if self.field else ""
        fix = f" {self.fix}" if self.fix else ""
        stop = "" if self.message.endswith((".", "!", "?", ":")) or field or not fix else "."
        return f"{where}: {self.severity}: {self.message}{stop}{field}{fix}"


def has_errors(findings: Iterable[Finding], *, strict: bool = False) -> bool:
    """True where the findings stop a write (`strict`: warnings stop it too)."""
    return any(strict or f.severity == "error" for f in findings)


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """What a command with these findings exits with: 3 unreadable input (wins over 1), 1 other errors, else 0."""
    stopping = [f for f in findings if strict or f.severity == "error"]
    if any(f.severity == "error" and _UNREADABLE.fullmatch(f.code) for f in stopping):
        return 3
    return 1 if stopping else 0
