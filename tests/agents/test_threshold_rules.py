"""The rules of routing by the names that they are stated under, each as one test."""

from __future__ import annotations

import pytest

from abi.agents.intents import Candidate, Thresholds, decide


def several(*scores: float) -> list[Candidate]:
    return [Candidate(f"phrase {n}", f"intent {n}", f"target {n}", "tool", score) for n, score in enumerate(scores)]


def kept(*scores: float) -> list[float]:
    return [c.score for c in decide(several(*scores), Thresholds()).kept]


def test_defaults_threshold_0_85_direct_0_90_neighbor_0_05() -> None:
    assert Thresholds() == Thresholds(match=0.85, neighbor=0.05, direct=0.90)


@pytest.mark.parametrize(("score", "matches"), [(0.85, False), (0.8501, True), (0.8499, False)])
def test_intents_scoring_above_threshold_match(score: float, matches: bool) -> None:
    assert (kept(score) == [score]) is matches


def test_one_intent_at_direct_score_ahead_of_the_rest_goes_straight_to_the_router() -> None:
    for scores in ((0.90,), (0.90, 0.89), (0.95, 0.949, 0.94)):
        decision = decide(several(*scores), Thresholds())
        assert (decision.step, [c.score for c in decision.kept]) == ("direct", [scores[0]])


def test_a_tie_is_never_direct() -> None:
    for score in (0.90, 0.95, 1.0):
        decision = decide(several(score, score), Thresholds())
        assert (decision.step, len(decision.kept)) == ("several", 2)


def test_otherwise_the_intents_within_threshold_neighbor_of_the_best_stay() -> None:
    assert kept(0.89, 0.88, 0.855, 0.60) == [0.89, 0.88, 0.855]
    assert kept(0.95, 0.95, 0.91, 0.90) == [0.95, 0.95, 0.91]  # 0.05 itself is too far


def test_with_none_the_model_answers() -> None:
    assert decide(several(0.85, 0.5), Thresholds()).step == "none"
    assert decide([], Thresholds()).step == "none"


def test_a_single_match_below_the_direct_score_is_filtered_first() -> None:
    assert decide(several(0.89), Thresholds()).step == "several"
