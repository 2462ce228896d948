"""Models that think aloud: what stands between `<think>` and `</think>` is no part of their answer.

Neither is, while it comes, a call that a model writes between `<tool_call>` and `</tool_call>`.
"""

from __future__ import annotations

import re

__all__ = ["ThoughtFilter", "without_thoughts"]

_OPEN, _CLOSE = "<think>", "</think>"
_MARKS = {_OPEN: _CLOSE, "<tool_call>": "</tool_call>"}
_THOUGHT = re.compile(rf"{_OPEN}.*?(?:{_CLOSE}\s*|\Z)", re.DOTALL)


def without_thoughts(text: str) -> str:
    """The text without its thoughts; one that is never closed goes to the end."""
    return _THOUGHT.sub("", text) if _OPEN in text else text


class ThoughtFilter:
    """The same for a text in pieces: gives of each piece what can be said by now."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = ""
        """The mark that ends what is left out now; empty outside."""
        self._trim = False

    def __call__(self, piece: str) -> str:
        self._held += piece
        said = ""
        while self._held:
            marks = [self._inside] if self._inside else [*_MARKS]
            mark = min(marks, key=lambda m: (self._held.find(m) % (len(self._held) + 1), m))
            head, found, rest = self._held.partition(mark)
            kept = 0 if found else max(_begun(self._held, m) for m in marks)
            if not found:
                head, rest = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
            if not self._inside:
                if self._trim:
                    head = head.lstrip()
                    self._trim = not head
                said += head
            self._held = rest
            if not found:
                break
            self._trim = bool(self._inside)
            self._inside = "" if self._inside else _MARKS[mark]
        return said

    def rest(self) -> str:
        """What was held back in case a mark began there."""
        said, self._held = ("" if self._inside else self._held), ""
        return said


def _begun(text: str, mark: str) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    return next((n for n in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:n])), 0)
