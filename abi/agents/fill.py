"""From what a message names to the arguments of a tool: by class, by cue words, by order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from typing import Any

from abi import terms
from abi.agents.cards import ToolCard
from abi.agents.reading import Found, Reading
from abi.agents.typed import extract
from abi.agents.words import split_name, stem, tokens
from abi.agents.world import World
from abi.records.record import Parameter

__all__ = ["Filling", "fill", "one_value", "role_of"]

_FROM = frozenset("from leaving departing leave depart origin source start starting begin beginning first".split())
_TO = frozenset("to into towards toward until reach reaching arriving destination target end goal second last".split())
_CUES = frozenset("from to into towards toward between and in at near of via through for with by".split())
_CLASSES = frozenset({terms.OWL_CLASS, terms.RDFS_CLASS})
_WHOLE = 0.9
"""From this score on, a mention is a thing's whole name."""
_TIE = 0.02
_NEAR = 0.15
_OPTIONS = 12


@dataclass
class Filling:
    """Arguments found, what of the message they use, and what stays open.

    `ambiguous`: a parameter and the entities that its mention may be. `unknown`: a parameter and a name that the
    graph does not hold.
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    used: list[Found] = field(default_factory=list)
    missing: list[Parameter] = field(default_factory=list)
    ambiguous: list[tuple[Parameter, list[tuple[str, str]]]] = field(default_factory=list)
    unknown: list[tuple[Parameter, Found]] = field(default_factory=list)
    cued: int = 0
    """How many arguments were found by a cue word, not by order alone."""
    derived: int = 0
    """How many stand beside what the message names, and are not named by it."""


def fill(card: ToolCard, reading: Reading, world: World, given: dict[str, Any] | None = None) -> Filling:
    """Fill a tool's parameters from a message. What is `given` already is only replaced by what the message cues."""
    filling = Filling(arguments=dict(given or {}))
    by_class = [p for p in card.fillable if p.value_class]
    _fill_entities(by_class, reading, world, filling)
    for parameter in card.fillable:
        if parameter.value_class or parameter.name in filling.arguments:
            continue
        value = extract(parameter, card, reading, filling.used)
        if value is not None:
            filling.arguments[parameter.name] = value.value
            filling.used.append(value)
    open_names = {p.name for p, _ in filling.ambiguous}
    filling.missing = [p for p in card.required if p.name not in filling.arguments and p.name not in open_names]
    strangers = [f for f in reading.of("unknown") if f not in filling.used]
    for parameter, stranger in zip((p for p in filling.missing if p.value_class), strangers, strict=False):
        filling.unknown.append((parameter, stranger))
    return filling


def one_value(parameter: Parameter, card: ToolCard, reading: Reading, world: World) -> Filling:
    """Read a message as the value of one parameter, as after a question for it."""
    alone = ToolCard(card.name, card.target, card.description, (parameter,), card.phrases)
    filling = fill(alone, reading, world)
    if parameter.name not in filling.arguments and not filling.ambiguous and not parameter.value_class:
        text = reading.text.strip().strip("\"'“”.")
        if parameter.datatype in (None, terms.XSD_STRING) and not parameter.enum and not parameter.pattern and text:
            filling.arguments[parameter.name] = text
            filling.missing = []
    return filling


def _fill_entities(parameters: Sequence[Parameter], reading: Reading, world: World, filling: Filling) -> None:
    pieces = [f for f in reading.found if f.candidates or f.kind == "iri"]
    options: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for index, piece in enumerate(pieces):
        for parameter in parameters:
            fitting = _fitting(piece, str(parameter.value_class), world)
            if fitting:
                options[index, parameter.name] = fitting
    best: tuple[float, list[tuple[Parameter, int]]] = (0.0, [])
    for chosen in _assignments(parameters, range(min(len(pieces), 6))):
        if all((index, p.name) in options for p, index in chosen) and _apart([options[i, p.name] for p, i in chosen]):
            score = sum(_worth(p, pieces[index], reading, bool(filling.arguments.get(p.name))) for p, index in chosen)
            named = [{c.iri for c in pieces[i].candidates} & {o[0] for o in options[i, p.name]} for p, i in chosen]
            score -= sum(not n for n in named)
            score -= 0.01 * sum(a > b for a, b in zip([i for _, i in chosen], [i for _, i in chosen][1:], strict=False))
            if score > best[0]:
                best = (score, chosen)
    for parameter, index in best[1]:
        fitting = options[index, parameter.name]
        filling.used.append(pieces[index])
        own = {c.iri for c in pieces[index].candidates}
        filling.derived += not own & {iri for iri, _ in fitting} and pieces[index].kind != "iri"
        filling.cued += _cue(parameter, pieces[index], reading) > 0
        if len(fitting) == 1:
            filling.arguments[parameter.name] = fitting[0][0]
        else:
            filling.arguments.pop(parameter.name, None)
            filling.ambiguous.append((parameter, fitting))


def _apart(chosen: Sequence[list[tuple[str, str]]]) -> bool:
    """Whether no two parameters would get one and the same thing: a message names it once."""
    single = [options[0][0] for options in chosen if len(options) == 1]
    return len(single) == len(set(single))


def _assignments(parameters: Sequence[Parameter], indexes: Sequence[int]) -> list[list[tuple[Parameter, int]]]:
    """Every way to give some of the pieces to some of the parameters, one to one."""
    ways: list[list[tuple[Parameter, int]]] = []
    few = list(parameters)[:5]
    for count in range(1, min(len(few), len(indexes)) + 1):
        for pieces in permutations(indexes, count):
            for start in _subsets(few, count):
                ways.append(list(zip(start, pieces, strict=True)))
    return ways


def _subsets(items: list[Parameter], count: int) -> list[list[Parameter]]:
    if count == 0:
        return [[]]
    return [[item, *rest] for i, item in enumerate(items) for rest in _subsets(items[i + 1 :], count - 1)]


def _worth(parameter: Parameter, piece: Found, reading: Reading, given: bool) -> float:
    worth = 10.0 if parameter.required and not given else 6.0
    return worth + _cue(parameter, piece, reading)


def _cue(parameter: Parameter, piece: Found, reading: Reading) -> float:
    """How well the words around a piece point at a parameter: above 0 for it, below 0 for another one."""
    before = reading.before(piece.start)
    own = _own_stems(parameter.name)
    near = before[:2] + reading.after(piece.end, 1)
    if own & {stem(w) for w in near} - {stem(c) for c in _CUES}:
        return 4.0
    cue = next((w for w in before if w in _CUES or w in _FROM or w in _TO), None)
    role = role_of(parameter)
    if cue in _FROM and cue != "first":
        return {"from": 3.0, "to": -4.0}.get(role, 0.0)
    if cue in _TO and cue not in ("second", "last"):
        return {"to": 3.0, "from": -4.0}.get(role, 0.0)
    if cue == "between":
        return {"from": 1.0, "to": -1.0}.get(role, 0.0)
    if cue == "and" and re.search(r"\bbetween\b", reading.text[: piece.start], re.IGNORECASE):
        return {"to": 1.0, "from": -1.0}.get(role, 0.0)
    if cue in own:
        return 2.0
    return 0.0


@lru_cache(maxsize=2000)
def _own_stems(name: str) -> frozenset[str]:
    return frozenset(stem(w) for w in split_name(name))


def role_of(parameter: Parameter) -> str:
    """`from`, `to` or nothing: what a parameter is by its name, else by its description."""
    return _role(parameter.name.replace("_", " "), parameter.description)


@lru_cache(maxsize=2000)
def _role(name: str, description: str) -> str:
    for text, cues in ((name, _TO), (description, _TO - {"to"})):
        words = {w.casefold() for w, _, _ in tokens(text)}
        starts, ends = bool(words & _FROM), bool(words & cues)
        if starts != ends:
            return "from" if starts else "to"
    return ""


def _fitting(piece: Found, value_class: str, world: World) -> list[tuple[str, str]]:
    """The entities that a piece can be where a class is asked for, as (IRI, label).

    Its own whole names first; else what stands beside an entity of another class that has that whole name (the
    airports of a city); else the entities that have the piece in their name.
    """
    if piece.kind == "iri":
        return [(str(piece.value), piece.text)]
    own = [c for c in piece.candidates if world.fits(c, value_class)]
    whole = [c for c in own if c.score >= _WHOLE]
    if whole:
        return _distinct((c.iri, c.label) for c in whole if c.score >= whole[0].score - _TIE)
    beside: dict[str, str] = {}
    for other in piece.candidates[:4]:
        if other.score >= _WHOLE and other.cls not in _CLASSES and other not in own:
            beside |= dict(world.beside(other.iri, value_class))
    if beside:
        return _distinct(beside.items())
    return _distinct((c.iri, c.label) for c in own if c.score >= own[0].score - _NEAR)


def _distinct(options: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(dict(options).items())[:_OPTIONS]
