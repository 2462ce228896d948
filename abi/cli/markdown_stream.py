"""Markdown on a terminal while it is written: marks become styles as soon as they are whole, and no word waits."""

from __future__ import annotations

import re

__all__ = ["MarkdownStream"]

_HEADING = re.compile(r"#{1,6} ")
_RESET, _BOLD, _CODE, _DIM = "\x1b[0m", "\x1b[1m", "\x1b[36m", "\x1b[2m"


class MarkdownStream:
    """Takes a text in pieces and gives each as the terminal is to get it. Headings, **bold**, `code`, fences, lists.

    What is no mark stays as it was written. Give it text without control characters.
    """

    def __init__(self) -> None:
        self._held = ""
        self._begins = True
        self._bold = self._code = self._heading = self._fence = False

    def __call__(self, piece: str) -> str:
        self._held += piece
        out = ""
        while self._held:
            taken = self._next(final=False)
            if taken is None:
                break
            out += taken
        return out

    def rest(self) -> str:
        """What was held back in case a mark began there, and the end of all styles."""
        out = ""
        while self._held:
            out += self._next(final=True) or ""
        return out + (_RESET if self._styled else "")

    @property
    def _styled(self) -> bool:
        return self._bold or self._code or self._heading or self._fence

    def _next(self, *, final: bool) -> str | None:
        """The next mark or character as it is shown; None where the text may go on either way."""
        text = self._held
        if self._begins and not final and _may_begin(text):
            return None
        if text.startswith("\n"):
            self._begins, ended = True, self._heading or self._bold or self._code
            self._heading = self._bold = self._code = False
            return self._take(1, (_RESET if ended and not self._fence else "") + "\n")
        if self._begins and text.startswith("```"):
            line, newline, _ = text.partition("\n")
            if not newline and not final:
                return None
            self._fence = not self._fence
            return self._take(len(line) + len(newline), _DIM if self._fence else _RESET)
        if self._fence:
            self._begins = False
            end = text.find("\n")
            return self._take(len(text) if end < 0 else end, text if end < 0 else text[:end])
        if self._begins and (mark := _HEADING.match(text)) is not None:
            self._begins, self._heading = False, True
            return self._take(mark.end(), _BOLD)
        if self._begins and text[:2] in ("- ", "* "):
            self._begins = False
            return self._take(2, "\N{BULLET} ")
        if self._begins and text[0] == " ":
            return self._take(1, " ")
        self._begins = False
        if text.startswith("`"):
            self._code = not self._code
            return self._take(1, _CODE if self._code else self._outside_code())
        if text.startswith("**") and not self._code:
            self._bold = not self._bold
            return self._take(2, _BOLD if self._bold else _RESET + (_BOLD if self._heading else ""))
        if text == "*" and not final:
            return None
        plain = re.match(r"[^\n`*]+", text)
        return self._take(len(plain[0]), plain[0]) if plain is not None else self._take(1, text[0])

    def _outside_code(self) -> str:
        return _RESET + (_BOLD if self._bold or self._heading else "")

    def _take(self, length: int, shown: str) -> str:
        self._held = self._held[length:]
        return shown


def _may_begin(text: str) -> bool:
    """Whether a line may begin with a mark that is not whole yet."""
    return text in ("-", "*") or re.fullmatch(r"#{1,6}|`{1,3}", text) is not None
