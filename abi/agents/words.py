"""Words as the offline model compares them: which carry meaning, and which mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["GENERIC", "content_stems", "split_name", "stem", "tokens"]

GENERIC = frozenset(
    """
    a about all also am among an and any anyone anything are around as ask at available away be because
    been being between both but by can could did do does doing done either else ever exactly few find for from
    further get give given gives go goes going got had hand has have having hello help her here hers hi him his
    how i if in into is it its itself just kindly know known let like list look looking lot made make many may
    maybe me mean might more most much must my need now of off ok okay on one ones or other our out own per
    please possible question regarding same say see shall she should show so some somebody someone something
    such sure take tell thank thanks that the their them then there these they thing things this those through
    to today together too try up upon us use using very via want wants was we well went were what whats when
    where which while who whom whose will wish with within would wonder yes yet you your called named exist
    exists existing hold holds contain contains everything altogether total overall currently lists displayed
    display name names info information detail details data graph count number numbers amount come comes coming
    reach reached reachable different various actually really quickly simply respectively
    """.split()
)
"""Words of any question. They do not tell what is asked for; a tool need not speak of them.

Words that turn a question around or bound it (`not`, `without`, `every`, `than`, `before`) are none of them, nor those
that ask for a reason or for what is to come (`why`, `next`, `again`): a tool that does not speak of those would answer
another question.
"""

_FAMILIES = """
    fly flies flew flown flight
    far distance long length
    kilometer kilometre km mile distance
    nonstop direct directly stop straight
    indirect connect connection layover stopover transfer change stop
    busy busier busiest
    large larger largest big biggest
    many number count
    city town
    city town municipality
    locate location situate situated lie place
    near close nearby nearest closest neighbour neighbor
    kind type class sort category
    subclass hierarchy superclass parent child
    individual instance member example
    describe description about
    link connect relate relation path
"""
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


@lru_cache(maxsize=1)
def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _FAMILIES.split("\n"):
        family = {stem(w) for w in line.split()}
        for word in family:
            found.setdefault(word, set()).update(family)
    return {w: frozenset(f) for w, f in found.items()}


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """An English word without its usual endings, in lower case. Two forms of a word give one stem, mostly."""
    word = word.casefold().replace("’", "'").removesuffix("'s").replace("-", "")
    if len(word) <= 3:
        return word
    for ending, instead in (
        ("iest", "y"),
        ("ier", "y"),
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("ing", ""),
        ("edly", ""),
        ("ed", ""),
        ("ly", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiosl":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def tokens(text: str) -> list[tuple[str, int, int]]:
    """Words of a text with where they begin and end."""
    return [(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def split_name(name: str) -> list[str]:
    """The words of an identifier or of an IRI's last part: `find_directRoutes` gives find, direct, Routes."""
    local = re.split(r"[/#:]", name.rstrip("/#"))[-1]
    return [w for w in re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", local).replace("_", " ").replace("-", " ").split() if w]


def content_stems(texts: Iterable[str]) -> frozenset[str]:
    """Stems of the words in the texts that carry meaning, and of those that mean the same."""
    found: set[str] = set()
    synonyms = _synonyms()
    for text in texts:
        for word, _, _ in tokens(text.replace("_", " ")):
            base = stem(word)
            found.add(base)
            found |= synonyms.get(base, frozenset())
    return frozenset(found)
