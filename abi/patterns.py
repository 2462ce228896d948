"""Regular expressions that files bring along: the `pattern` of a parameter or of a JSON Schema.

Rust's engine takes linear time, whatever the pattern, but knows no look-around and no back-references. What needs them
goes to an engine that backtracks, within a limit of time. In both, `$` is the end of the text, as ECMA-262 has it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

from abi.errors import ArgumentError

__all__ = ["MATCH_SECONDS", "Pattern", "bounded", "compiled"]

MATCH_SECONDS = 1.0
"""What all matches that backtrack may take in one check of a value."""
_left: ContextVar[list[float] | None] = ContextVar("abi_match_seconds", default=None)
_WORD = re.compile(r"\\k<(\w+)>|\\.|\[\^?(?:\\.|[^\]\\])*\]?|\$", re.DOTALL)


class Pattern:
    """One pattern, to be found anywhere in a text. Raises ValueError where neither engine takes it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._linear: SchemaValidator | None = None
        try:
            self._linear = SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
            return
        except SchemaError as error:
            why = str(error)
        import regex

        try:
            self._backtracking = regex.compile(_WORD.sub(_as_regex, text))
        except (regex.error, RecursionError, OverflowError, MemoryError) as error:
            raise ValueError(str(error) or why) from error

    def matches(self, text: str) -> bool:
        """Whether it is found. Raises ArgumentError where that takes too long."""
        if self._linear is not None:
            return self._linear.isinstance_python(text)
        with bounded():
            left = _left.get()
            assert left is not None
            began = time.monotonic()
            try:
                return self._backtracking.search(text, timeout=max(left[0], 1e-3)) is not None
            except TimeoutError:
                raise ArgumentError(
                    f"Whether a text of {len(text):,} characters matches {self.text[:200]!r} is not known: "
                    f"it takes longer than {MATCH_SECONDS:g} s.",
                    hint="Write the pattern without look-around and back-references: then it takes linear time.",
                ) from None
            finally:
                left[0] -= time.monotonic() - began


def _as_regex(word: re.Match[str]) -> str:
    if word[1]:
        return f"(?P={word[1]})"
    return r"\Z" if word[0] == "$" else word[0]


@contextmanager
def bounded() -> Iterator[None]:
    """All matches inside share one limit of time, those of an outer `bounded` with it."""
    if _left.get() is not None:
        yield
        return
    token = _left.set([MATCH_SECONDS])
    try:
        yield
    finally:
        _left.reset(token)


@lru_cache(maxsize=1024)
def compiled(text: str) -> Pattern:
    return Pattern(text)
