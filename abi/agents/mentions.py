"""What a message names, asked of the linker once, and the message in general terms."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from abi import terms
from abi.agents.words import GENERIC, split_name, tokens

if TYPE_CHECKING:
    from abi.agents.services import Linker
    from abi.search.linker import Mention

__all__ = ["Mentions", "general_form", "is_follow_up"]

_KEPT = 256
_SURE = 0.9
_CLASSES = frozenset({terms.OWL_CLASS, terms.RDFS_CLASS})


_SAID = 3
"""Everyday words that a message needs beside its names to be put in general terms."""
_FOLLOWS = re.compile(r"^\s*(?:and|what about|how about|or|same|the same|then|now|also|but)\b", re.IGNORECASE)


def is_follow_up(text: str) -> bool:
    """Whether a message begins as one that goes on from what was said before."""
    return _FOLLOWS.match(text) is not None


class Mentions:
    """A linker that remembers the last messages, as long as the graph does not move."""

    def __init__(self, linker: Callable[[], Linker], version: Callable[[], int]) -> None:
        self._linker = linker
        self._version = version
        self._seen: dict[tuple[int, str], list[Mention]] = {}
        self._lock = threading.Lock()

    def mentions(self, message: str) -> list[Mention]:
        key = (self._version(), message)
        with self._lock:
            if key in self._seen:
                return self._seen[key]
        found = list(self._linker().mentions(message))
        with self._lock:
            self._seen[key] = found
            while len(self._seen) > _KEPT:
                self._seen.pop(next(iter(self._seen)))
        return found

    def general(self, message: str) -> str:
        return general_form(message, self.mentions(message))


def general_form(text: str, mentions: list[Mention]) -> str:
    """The message with each entity replaced by the name of its class, as the phrases of intents speak.

    `flights from Boise to SEA` becomes `flights from a city to an airport`. A message that hardly
    says more than names (`and from Seattle?`) stays as it is.
    """
    things = [m for m in mentions if m.candidates[0].cls and m.candidates[0].cls not in _CLASSES]
    said = [w.casefold() for w, s, e in tokens(text) if not any(m.start <= s and e <= m.end for m in things)]
    if all(w in GENERIC for w in said) and (len(said) < _SAID or is_follow_up(text)):
        return text
    last, out = 0, []
    for mention in things:
        if mention.candidates[0].score < _SURE:
            continue
        name = " ".join(split_name(mention.candidates[0].cls)).casefold()
        article = "an" if name[:1] in set("aeiou") else "a"
        out += [text[last : mention.start], f"{article} {name}"]
        last = mention.end
    return "".join([*out, text[last:]])
