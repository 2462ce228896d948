"""The thresholds, step by step as they are documented; ties; one score a target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.agents.intents import AgentIntent, Candidate, IntentIndex, PhraseVectors, Thresholds, decide


def candidate(score: float, target: str = "a", type_: str = "tool") -> Candidate:
    return Candidate(f"phrase of {target}", target, target, type_, score)  # type: ignore[arg-type]


def step(*scores: float) -> tuple[str, int]:
    decision = decide([candidate(s, f"t{i}") for i, s in enumerate(scores)], Thresholds())
    return decision.step, len(decision.kept)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((), ("none", 0)),
        ((0.85,), ("none", 0)),  # a match is above the threshold, not at it
        ((0.86,), ("several", 1)),  # one match, below the direct score: filtered and checked
        ((0.90,), ("direct", 1)),
        ((0.95, 0.94), ("direct", 1)),  # ahead of the rest, however little
        ((0.95, 0.95), ("several", 2)),  # a tie is never direct
        ((0.95, 0.95, 0.91), ("several", 3)),
        ((0.95, 0.95, 0.90), ("several", 2)),  # exactly the neighbour's distance is too far
        ((0.89, 0.86), ("several", 2)),
        ((0.89, 0.40), ("several", 1)),
    ],
)
def test_thresholds(scores: tuple[float, ...], expected: tuple[str, int]) -> None:
    assert step(*scores) == expected


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 1))
def test_what_is_kept_matches_and_is_near_the_best(
    scores: list[float], match: float, neighbor: float, direct: float
) -> None:
    given_candidates = [candidate(s, f"t{i}") for i, s in enumerate(scores)]
    decision = decide(given_candidates, Thresholds(match, neighbor, direct))
    assert all(c.score > match for c in decision.kept)
    assert bool(decision.kept) == any(s > match for s in scores)
    if decision.step == "direct":
        assert scores.count(max(scores)) == 1
    if decision.step == "several" and len(decision.kept) > 1:
        assert all(max(scores) - c.score < neighbor + 1e-5 for c in decision.kept)


class Fixed:
    """Vectors by table: what is compared here is the mapper, not a model."""

    name, dimensions = "fixed", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        angle = {"near": 0.1, "nearer": 0.05, "far": 1.2, "message": 0.0}
        return np.array([[np.cos(angle[t]), np.sin(angle[t])] for t in texts], dtype=np.float32)

    def similarity(self, cosine):
        return np.asarray(cosine, dtype=np.float64)


def test_phrases_are_embedded_once_and_scored_by_target() -> None:
    embedder = Fixed()
    vectors = PhraseVectors(lambda: embedder)
    intents = [
        AgentIntent("one", ("near", "nearer"), "tool", "x"),
        AgentIntent("two", ("far",), "tool", "y"),
        AgentIntent("three", ("near",), "raw", "x"),  # the same words as a reply are another target
    ]
    index = IntentIndex(intents, vectors)
    best = index.map("message")
    assert [(c.type, c.target, c.intent) for c in best] == [
        ("tool", "x", "nearer"),
        ("raw", "x", "near"),
        ("tool", "y", "far"),
    ]
    index.map("message")
    assert sorted(embedder.asked) == ["far", "message", "near", "nearer"]


def test_the_nearer_of_message_and_general_form_counts() -> None:
    index = IntentIndex([AgentIntent("one", ("near",), "tool", "x")], PhraseVectors(Fixed))
    (alone,) = index.map("far")
    (both,) = index.map("far", "message")
    assert both.score > alone.score
