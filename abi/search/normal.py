"""How texts are compared: words without case, accents, punctuation or possessive s."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["STOP_WORDS", "Word", "content_words", "normal", "words_of"]

_WORD = re.compile(r"\w+(?:['’]\w+)*", re.UNICODE)
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)

STOP_WORDS = frozenset(
    """
    a about again all also am an and any are as at be been being but by can cannot could did do does for from
    get give go going had has have hers him his how i if in into is it its just let like list many may me
    more most much my need no not of off on only or other our out over please she should show so some tell
    than that the their them then there these they this those through to too under until up us very via want
    was we were what when where which while who whom whose why will with would you your he her here both
    between each after before during ok oh
    """.split()
)
"""Words that say nothing about what is meant."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: `text[start:end]`, and its normal form."""

    start: int
    end: int
    normal: str


def _fold(text: str) -> str:
    if text.isascii():
        return text.casefold()
    # Twice, since folding case can make what decomposes again.
    for _ in range(2):
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in decomposed if c == "'" or _WORD.match(c)).casefold()
    return text


def words_of(text: str) -> list[Word]:
    """The words of a text, in order; underscores part words, apostrophes do not (`O'Hare` is `ohare`)."""
    found = []
    for match in _WORD.finditer(text.replace("_", " ")):
        bare = _fold(_POSSESSIVE.sub("", match.group())).replace("'", "").replace("’", "")
        if bare:
            found.append(Word(match.start(), match.end(), bare))
    return found


def normal(text: str) -> str:
    """The text's words in normal form, with one space between: equal for texts that a reader takes for the same."""
    return " ".join(word.normal for word in words_of(text))


def content_words(text: str) -> list[str]:
    """Normal words without stop words, each once; all of them where there are only stop words."""
    every = list(dict.fromkeys(word.normal for word in words_of(text)))
    return [word for word in every if word not in STOP_WORDS] or every
