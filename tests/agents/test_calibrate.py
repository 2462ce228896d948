"""The scale of targets: likeness, the learned head, the curve, what is stored, and what is measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from abi.agents.calibrate import calibrate_agents, calibrate_dataset
from abi.agents.definition import AgentDefinition
from abi.agents.head import Head
from abi.agents.intents import AgentIntent, IntentIndex, PhraseVectors
from abi.agents.scale import Calibration
from abi.errors import Unreadable, UsageError
from abi.search.calibration import fit_curve
from abi.search.minilm import MiniLM

THINGS = ["kitchen", "garage", "office", "cellar", "bedroom", "hall", "attic", "garden", "studio", "balcony", "porch"]
CITIES = ["Rome", "Oslo", "Lima", "Cairo", "Tokyo", "Paris", "Quito", "Delhi", "Miami", "Bern", "Kyiv"]
SAID = {
    "lights": [f"switch on the light in the {t}" for t in THINGS] + [f"make the {t} bright" for t in THINGS],
    "flights": [f"book a flight to {c}" for c in CITIES] + [f"I want to fly to {c} tomorrow" for c in CITIES],
    "weather": [f"is it raining in {c}" for c in CITIES] + [f"weather forecast for {c}" for c in CITIES],
}
FOREIGN = [f"who wrote the {n} novel of that poet" for n in ("first", "second", "third", "last")] + [
    "what is the square root of nine",
    "tell me a joke about lawyers",
    "how do I bake bread",
    "my cat is ill",
    "sing a song of sixpence",
    "which team won the cup",
    "recommend a horror movie",
    "how many calories has a banana",
]


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


def definition(name: str = "house", said: dict[str, list[str]] | None = None) -> AgentDefinition:
    intents = [AgentIntent(t, tuple(p), "tool", t) for t, p in (said or SAID).items()]
    return AgentDefinition(name, f"https://example.org/{name}", "", "", intents=tuple(intents))


def dataset(folder: Path, **parts: object) -> Path:
    """Every third phrase is to be tested, the one before to fit with."""
    rows = [(p, t, i % 3) for t, phrases in SAID.items() for i, p in enumerate(phrases)]
    data = {
        "train": [[p, t] for p, t, i in rows if i == 0],
        "val": [[p, t] for p, t, i in rows if i == 1],
        "test": [[p, t] for p, t, i in rows if i == 2],
        "oos_val": [[t, "oos"] for t in FOREIGN[::2]],
        "oos_test": [[t, "oos"] for t in FOREIGN[1::2]],
        **parts,
    }
    path = folder / "data.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_curve_stands_where_the_rules_say() -> None:
    """0.85: right 95 times in 100, and 7 of 100 foreign messages pass; 0.90: 98 times, and 2."""
    rng = np.random.default_rng(1)
    score = rng.uniform(0, 1, 4000)
    right = rng.uniform(0, 1, 4000) < np.clip(0.5 + score / 2, 0, 1)
    foreign = rng.uniform(0, 0.5, 1000)
    value = fit_curve(score, right, foreign)
    similarity, strange = value(score), value(foreign)
    assert right[similarity >= 0.85].mean() >= 0.95
    assert right[similarity >= 0.90].mean() >= 0.98
    assert (strange > 0.85).mean() <= 0.07
    assert (strange > 0.90).mean() <= 0.02
    assert right[(similarity > 0.70) & (similarity < 0.84)].mean() < 0.95
    assert all(a <= b for a, b in zip(sorted(similarity), sorted(similarity)[1:], strict=False))


def test_a_curve_needs_messages_to_be_fitted_to() -> None:
    with pytest.raises(ValueError, match="20 messages"):
        fit_curve(np.ones(19), np.ones(19, bool), np.zeros(0))
    with pytest.raises(ValueError, match="one that is right"):
        fit_curve(np.ones(40), np.zeros(40, bool), np.zeros(0))


def test_a_head_learns_what_centroids_cannot_tell(embedder: MiniLM) -> None:
    said = {"on": [f"turn the {t} lamp on" for t in THINGS], "off": [f"turn the {t} lamp off" for t in THINGS]}
    texts = [p for phrases in said.values() for p in phrases[:8]]
    asked = [p for phrases in said.values() for p in phrases[8:]]
    owner, goal = np.repeat([0, 1], 8), np.repeat([0, 1], 3)
    head = Head.fit(embedder.embed(texts), texts, owner)
    assert (head.scores(embedder.embed(asked), asked).argmax(axis=1) == goal).all()


def test_a_data_set_is_fitted_and_measured(tmp_path: Path, embedder: MiniLM) -> None:
    document = calibrate_dataset(dataset(tmp_path), embedder, Calibration()).document()
    assert {"top1", "correct_and_matched", "out_of_scope_accepted", "thresholds", "curve"} <= set(document)
    assert document["thresholds"] == {"threshold": 0.85, "threshold_neighbor": 0.05, "direct_intent_score": 0.90}
    assert document["top1"] >= 0.9
    assert document["messages"] == 21
    assert document["out_of_scope"] == 6
    assert document["curve"][-1] == [1.0, document["top1"]]
    accepted, correct = zip(*document["curve"], strict=True)
    assert list(accepted) == sorted(accepted)
    assert list(correct) == sorted(correct)
    assert document["recall"] == document["correct_and_matched"] <= document["top1"]


def test_thresholds_are_not_fitted_on_what_they_are_scored_on(tmp_path: Path, embedder: MiniLM) -> None:
    """Another test part moves nothing but what is measured on it: the same messages keep their scores."""
    whole = calibrate_dataset(dataset(tmp_path), embedder, Calibration())
    rows = json.loads((tmp_path / "data.json").read_text())["test"]
    part = calibrate_dataset(dataset(tmp_path, test=rows[:5]), embedder, Calibration())
    assert part.measured.similarity[:5] == pytest.approx(whole.measured.similarity[:5], abs=1e-6)


def test_raw_is_the_plain_cosine_of_the_nearest_phrase(tmp_path: Path, embedder: MiniLM) -> None:
    report = calibrate_dataset(dataset(tmp_path), embedder, Calibration(raw=True))
    assert report.method == "raw"
    data = json.loads((tmp_path / "data.json").read_text())
    train, test = (embedder.embed([t for t, _ in data[part]]) for part in ("train", "test"))
    assert report.measured.similarity[: len(test)] == pytest.approx((test @ train.T).max(axis=1), abs=1e-5)
    index = IntentIndex(definition().intents, PhraseVectors(lambda: embedder), Calibration(raw=True))
    (best, *_) = index.map("switch on all the lamps")
    phrases = embedder.embed(SAID["lights"])
    assert best.score == pytest.approx((phrases @ embedder.embed(["switch on all the lamps"])[0]).max(), abs=1e-3)


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"train": [], "test": []}', '{"train": [["a"]], "test": [["a", "b"]]}', '{"train": 3, "test": [1]}'],
)
def test_what_is_no_data_set_is_refused(tmp_path: Path, embedder: MiniLM, content: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(Unreadable):
        calibrate_dataset(path, embedder, Calibration())


def test_a_fitted_head_is_stored_and_used_at_once(tmp_path: Path, embedder: MiniLM) -> None:
    calibration = Calibration(tmp_path / "calibration")
    index = IntentIndex(definition().intents, PhraseVectors(lambda: embedder), calibration)
    assert index.method == "shipped"
    report = calibrate_agents([definition()], embedder, calibration, FOREIGN)
    assert report.agents["house"]["method"] == "head"
    assert report.stored
    assert index.method == "head"  # the index that is there meets it; nothing is built again
    (best, *_) = index.map("please switch on the light in the terrace")
    assert best.target == "lights"
    assert best.score > 0.8
    assert all(c.score <= 0.85 for c in index.map("my parrot is ill"))
    assert not list((tmp_path / "calibration").glob(".*"))


def test_a_head_is_not_used_for_other_intents(tmp_path: Path, embedder: MiniLM) -> None:
    calibration = Calibration(tmp_path / "calibration")
    calibrate_agents([definition()], embedder, calibration, FOREIGN)
    changed = {**SAID, "lights": [*SAID["lights"][:-1], "another phrase"]}
    index = IntentIndex(definition(said=changed).intents, PhraseVectors(lambda: embedder), calibration)
    assert index.method == "shipped"
    calibrate_agents([definition(said=changed)], embedder, calibration, FOREIGN)
    assert index.method == "head"
    assert len(list((tmp_path / "calibration").glob("*.npz"))) == 1  # the one of before is gone


@pytest.mark.parametrize("name", ["calibration.json", "head"])
def test_what_is_damaged_is_left_aside(tmp_path: Path, embedder: MiniLM, name: str) -> None:
    calibration = Calibration(tmp_path / "calibration")
    calibrate_agents([definition()], embedder, calibration, FOREIGN)
    path = next((tmp_path / "calibration").glob("*.npz" if name == "head" else name))
    path.write_bytes(b"PK\x03\x04 broken")
    index = IntentIndex(definition().intents, PhraseVectors(lambda: embedder), calibration)
    assert index.method == ("shipped" if name == "head" else "head")
    assert index.map("book a flight to Perth")[0].target == "flights"


def test_few_examples_are_scored_by_likeness(tmp_path: Path, embedder: MiniLM) -> None:
    few = {target: phrases[:3] for target, phrases in SAID.items()}
    report = calibrate_agents([definition(said=few)], embedder, Calibration(tmp_path / "c"), FOREIGN)
    assert report.method == "shipped"  # nine messages are too few for a curve of one's own
    assert report.measured.document()["messages"] == 9


def test_nothing_to_calibrate_by_is_said(tmp_path: Path, embedder: MiniLM) -> None:
    one = {target: phrases[:1] for target, phrases in SAID.items()}
    with pytest.raises(UsageError, match="no target of any agent has two"):
        calibrate_agents([definition(said=one)], embedder, Calibration(tmp_path / "c"))


def test_the_phrase_itself_is_a_whole_match(embedder: MiniLM) -> None:
    one = {target: phrases[:1] for target, phrases in SAID.items()}
    index = IntentIndex(definition(said=one).intents, PhraseVectors(lambda: embedder))
    (best, second, *_) = index.map("Book a flight to Rome!")
    assert (best.target, best.score) == ("flights", 1.0)
    assert second.score < 1.0


def test_neighbours_are_targets_and_not_phrases(embedder: MiniLM) -> None:
    candidates = IntentIndex(definition().intents, PhraseVectors(lambda: embedder)).map("book a flight to Perth")
    assert [c.target for c in candidates].count("flights") == 1
    assert len(candidates) == len(SAID)
