"""Numbered choices: how they are asked and how an answer is read, by number, by ordinal or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ORDINALS", "Picked", "ask_again", "intents_question", "pick"]

ORDINALS = {
    word: number
    for number, words in enumerate(
        [
            "first one 1st",
            "second two 2nd",
            "third three 3rd",
            "fourth four 4th",
            "fifth five 5th",
            "sixth six 6th",
            "seventh seven 7th",
            "eighth eight 8th",
            "ninth nine 9th",
            "tenth ten 10th",
        ],
        start=1,
    )
    for word in words.split()
}
_FILLER = {
    "the",
    "option",
    "number",
    "no",
    "please",
    "i",
    "mean",
    "choose",
    "take",
    "want",
    "choice",
    "it",
    "is",
    "one",
}
_NUMBER = re.compile(r"^[#(]?(\d{1,4})[.):]?$")


@dataclass(frozen=True, slots=True)
class Picked:
    """`index` into the options, counted from 0; None with `out_of_range` where a number names none of them."""

    index: int | None
    out_of_range: bool = False


def pick(answer: str, options: Sequence[str]) -> Picked:
    """Which of the options an answer means; `index` None where it means none of them."""
    spoken = [_plain(o) for o in options]
    plain = _plain(answer)
    if plain in spoken and spoken.count(plain) == 1:
        return Picked(spoken.index(plain))
    words = [w.strip(".,!?") for w in answer.casefold().split()]
    if len(words) <= 6:
        core = [w for w in words if w not in _FILLER] or [w for w in words if w in ORDINALS]
        if core == ["last"] and options:
            return Picked(len(options) - 1)
        if len(core) == 1:
            digits = _NUMBER.match(core[0])
            number = int(digits.group(1)) if digits else ORDINALS.get(core[0])
            if number is not None:
                return Picked(number - 1) if 1 <= number <= len(options) else Picked(None, out_of_range=True)
    held = [i for i, o in enumerate(spoken) if plain and _within(plain, o)]
    if len(held) == 1:
        return Picked(held[0])
    named = [i for i, o in enumerate(spoken) if o and _within(o, plain)]
    return Picked(named[0]) if len(named) == 1 else Picked(None)


def intents_question(options: Sequence[tuple[str, str, float]]) -> str:
    """The question for (name, phrase, score) options, best first; in the words that ABI uses."""
    lines = ["I found multiple intents that could handle your request:", ""]
    for number, (name, phrase, score) in enumerate(options, start=1):
        lines += [f"{number}. **{name}** (confidence: {score * 100:.1f}%)", f"   Intent: {phrase}", ""]
    lines.append("Please choose an intent by number (e.g., '1' or '2')")
    return "\n".join(lines)


def ask_again(count: int, question: str) -> str:
    return f"There is no such choice: choose a number from 1 to {count}.\n\n{question}"


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())


def _within(part: str, whole: str) -> bool:
    return f" {part} " in f" {whole} "
