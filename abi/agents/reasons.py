"""Why a message went where it went, in sentences: one for each decision of its routing, kept in the trace.

Scores are told with four digits, as the candidates have them: a reason must not say of 0.8499 that it is 0.85.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abi.agents.intents import Candidate, Decision, Thresholds

__all__ = ["because", "of_filter", "of_mapping"]


def because(turn: dict[str, Any], sentence: str) -> None:
    """Add the reason of one more decision to the working values of a turn."""
    turn["why"] = [*turn.get("why", ()), sentence]


def of_mapping(agent: str, known: Sequence[Candidate], decision: Decision, thresholds: Thresholds) -> str:
    """What the thresholds of an agent made of the scores of its intents."""
    if not known:
        return f"{agent} has no intent that could be followed."
    ranked = sorted(known, key=lambda c: (-c.score, c.target))
    best = _named(ranked[0])
    if decision.step == "none":
        return f"No intent of {agent} is above {thresholds.match:g}: the nearest is {best}."
    beaten = "no other is near" if len(ranked) < 2 else f"the next is {_named(ranked[1])}"
    if decision.step == "direct":
        return f"{best} reaches {thresholds.direct:g} alone; {beaten}."
    if decision.step == "single":
        return f"{best} is above {thresholds.direct:g} and ahead by {thresholds.neighbor:g} or more; {beaten}."
    if len(decision.kept) == 1:
        return f"{best} is above {thresholds.match:g}, but below {thresholds.direct:g}: it is looked at again."
    close = ", ".join(_named(c) for c in decision.kept)
    return f"{len(decision.kept)} intents lie closer than {thresholds.neighbor:g}: {close}."


def of_filter(what: str, before: Sequence[Candidate], after: Sequence[Candidate]) -> str:
    """What a filter, named by `what`, left of the intents."""
    left = ", ".join(f"`{c.intent}`" for c in after)
    if len(after) == len(before):
        return f"{what} kept all of them." if len(before) > 1 else f"{what} kept it."
    return f"{what} kept {left}." if after else f"{what} kept none."


def _named(candidate: Candidate) -> str:
    return f"`{candidate.intent}` ({candidate.score:.4g})"
