"""The words of a question that ask for an operation, in the two languages that the offline model reads."""

from __future__ import annotations

from abi.agents.words import GENERIC, stem

__all__ = ["ASCENDING", "COMPARISONS", "FILLERS", "GROUPING", "OPERATIONS", "STRICT", "known_words"]

OPERATIONS: dict[tuple[str, ...], str] = {
    ("how", "many"): "count",
    ("total", "number", "of"): "count",
    ("number", "of"): "count",
    ("count", "of"): "count",
    ("count", "the"): "count",
    ("no", "of"): "count",
    ("combien", "de"): "count",
    ("combien", "d"): "count",
    ("nombre", "de"): "count",
    ("total", "amount", "of"): "sum",
    ("sum", "of"): "sum",
    ("total", "of"): "sum",
    ("total",): "sum",
    ("overall",): "sum",
    ("somme", "de"): "sum",
    ("average", "amount", "of"): "avg",
    ("average",): "avg",
    ("mean",): "avg",
    ("avg",): "avg",
    ("moyenne", "de"): "avg",
    ("highest",): "max",
    ("largest",): "max",
    ("biggest",): "max",
    ("greatest",): "max",
    ("maximum",): "max",
    ("max",): "max",
    ("latest",): "max",
    ("most", "recent"): "max",
    ("most",): "most",
    ("lowest",): "min",
    ("smallest",): "min",
    ("minimum",): "min",
    ("min",): "min",
    ("earliest",): "min",
    ("oldest",): "min",
    ("fewest",): "fewest",
    ("least",): "fewest",
}
"""Words to an operation; the longest wins. `most` and `fewest` count what follows and rank by it."""

COMPARISONS: dict[tuple[str, ...], str] = {
    ("more", "than"): ">",
    ("greater", "than"): ">",
    ("higher", "than"): ">",
    ("larger", "than"): ">",
    ("over",): ">",
    ("above",): ">",
    ("exceeding",): ">",
    ("after",): ">",
    ("plus", "de"): ">",
    ("at", "least"): ">=",
    ("since",): ">=",
    ("au", "moins"): ">=",
    ("less", "than"): "<",
    ("fewer", "than"): "<",
    ("lower", "than"): "<",
    ("smaller", "than"): "<",
    ("under",): "<",
    ("below",): "<",
    ("before",): "<",
    ("moins", "de"): "<",
    ("at", "most"): "<=",
    ("up", "to"): "<=",
    ("until",): "<=",
    ("between",): "between",
}

GROUPING = frozenset("by per each every grouped respectively par chaque".split())
ASCENDING = frozenset({"min", "fewest"})

_SUPPORT = "make made take taken place placed pay paid put hold held bear borne give given get got do done had having"
_RELATING = "corresponding associated related respective belonging connected linked concerning regarding together"
_ASKING = (
    "return returns provide compute calculate retrieve report id ids identifier identifiers value values record "
    "records entry entries"
)
_FRENCH = (
    "le la les l un une des de du d en et ou par pour dans sur au aux est sont ont a ai avons y quel quelle quels "
    "quelles qui que donne donner liste lister montre montrer affiche tous toutes tout chaque leur leurs nous combien"
)
FILLERS = frozenset({*GENERIC, *f"{_SUPPORT} {_RELATING} {_ASKING} {_FRENCH}".split(), *GROUPING, "equal"}) - frozenset(
    "between most more least up".split()
)
"""Words that add nothing to what is asked: a premium that was paid, a claim that was made, the corresponding policy.

English makes many verbs of a noun with one that means little (make a claim, place an order, pay a premium): those are
the support verbs. A verb with a meaning of its own (cancel, renew) is none of them.
"""

STRICT = frozenset(
    "most more least less fewest fewer not no without only first last latest earliest never except between before "
    "after since until than unlike neither nor none".split()
)
"""Words that turn a question around: where no operation took them up, the question is not understood."""


def known_words() -> frozenset[str]:
    """Stems that need no mending: a slip of the pen is looked for in other words only."""
    plain = {w for k in (*OPERATIONS, *COMPARISONS) for w in k}
    return frozenset(stem(w) for w in {*FILLERS, *STRICT, *plain})
