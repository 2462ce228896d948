"""Fits the scale of targets to a workspace's own intents, or to a data set, and measures it on what it has not seen.

What a score is worth is learned from held-out messages, some of which may be foreign: they mean no target. Where a data
set brings messages to fit with (`val`, `oos_val`), these are it; else each example is held out in turn, in FOLDS
parts, and asked of what the others make.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.agents.head import ENOUGH, Head
from abi.agents.intents import PhraseVectors
from abi.agents.scale import Calibration, TargetScale, example_key, likeness
from abi.errors import Unreadable, UsageError
from abi.search.calibration import Curve, fit_curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abi.agents.definition import AgentDefinition
    from abi.agents.services import Services
    from abi.search.embedder import Embedder, Vectors

__all__ = ["CalibrationReport", "calibrate", "calibrate_agents", "calibrate_dataset"]

FOLDS = 4
LEAST = 60
"""Held-out messages that a curve of likeness needs to be fitted; with fewer the one that comes with abi is better."""
THRESHOLDS = {"threshold": 0.85, "threshold_neighbor": 0.05, "direct_intent_score": 0.90}
STRANGE = 20
"""Messages out of scope without which that curve is not fitted: nothing else says what is to be refused."""
Progress = Callable[[str, int, int], None]


@dataclass
class Asked:
    """Held-out messages: the best uncalibrated `score` of each, whether its target was `right`, whether it is `foreign`
    (and so never right)."""

    score: NDArray[np.float64]
    right: NDArray[np.bool_]
    foreign: NDArray[np.bool_]

    @classmethod
    def none(cls) -> Asked:
        import numpy as np

        return cls(np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))

    @classmethod
    def joined(cls, parts: Sequence[Asked]) -> Asked:
        import numpy as np

        if not parts:
            return cls.none()
        return cls(
            np.concatenate([p.score for p in parts]),
            np.concatenate([p.right for p in parts]),
            np.concatenate([p.foreign for p in parts]),
        )

    def part(self, mask: NDArray[np.bool_]) -> Asked:
        return Asked(self.score[mask], self.right[mask], self.foreign[mask])

    def curve(self) -> Curve:
        """Fitted to these. Raises ValueError where they are too few, or none is right."""
        own = ~self.foreign
        return fit_curve(self.score[own], self.right[own], self.score[self.foreign])


@dataclass(frozen=True)
class Measured:
    """What became of messages on the calibrated scale. Shares are of all messages in scope, or of all foreign ones."""

    similarity: NDArray[np.float64]
    right: NDArray[np.bool_]
    foreign: NDArray[np.bool_]

    def document(self) -> dict[str, Any]:
        own = ~self.foreign
        matched, direct = (
            self.similarity > THRESHOLDS["threshold"],
            self.similarity >= THRESHOLDS["direct_intent_score"],
        )
        correct = _share(self.right & matched, own)
        return {
            "messages": int(own.sum()),
            "out_of_scope": int(self.foreign.sum()),
            "top1": _share(self.right, own),
            "correct_and_matched": correct,
            "out_of_scope_accepted": _share(matched, self.foreign),
            "precision": _share(self.right, matched),
            "precision_in_scope": _share(self.right, matched & own),
            "precision_direct": _share(self.right, direct),
            "recall": correct,
            "thresholds": THRESHOLDS,
            "curve": self.tradeoff(),
        }

    def tradeoff(self) -> list[list[float]]:
        """Pairs (share of foreign messages accepted, share of messages in scope that are matched and right)."""
        import numpy as np

        own = ~self.foreign
        if not own.any() or not self.foreign.any():
            return []
        foreign = np.sort(self.similarity[self.foreign])[::-1]
        count, pairs = len(foreign), []
        for accepted in sorted({round(part * count / 100) for part in range(101)}):
            if accepted < count and accepted and foreign[accepted - 1] == foreign[accepted]:
                continue  # no threshold lies between two equal scores
            above = foreign[accepted] if accepted < count else -np.inf
            correct = float((self.right & own & (self.similarity > above)).sum() / own.sum())
            pairs.append([round(accepted / count, 4), round(correct, 4)])
        return pairs


@dataclass
class CalibrationReport:
    """`method`: how the targets were scored (`abi.agents.scale.TargetScale`); mixed where agents differ."""

    method: str
    embedder: str
    measured: Measured
    seconds: float = 0.0
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    stored: bool = False

    def document(self) -> dict[str, Any]:
        return {
            **self.measured.document(),
            "method": self.method,
            "embedder": self.embedder,
            "agents": self.agents,
            "stored": self.stored,
            "seconds": round(self.seconds, 2),
        }


def calibrate(
    services: Services, dataset: Path | None, foreign: Sequence[str], progress: Progress | None = None
) -> CalibrationReport:
    """Fit to all agents of a workspace and store it, or to a data set, which stores nothing."""
    from abi.agents.definition import ROOT, Definitions

    calibration = Calibration.of(services)
    if dataset is not None:
        return calibrate_dataset(dataset, services.embedder, calibration, progress)
    definitions = Definitions(services, services.version())
    root = [] if ROOT in definitions.names else [ROOT]
    agents = [definitions.agent(name) for name in [*definitions.names, *root]]
    return calibrate_agents(agents, services.embedder, calibration, foreign, progress)


def stale_heads(services: Services, report: dict[str, Any]) -> list[str]:
    """Agents whose intents are no longer those that their head was fitted to, or that are gone."""
    from abi.agents.definition import Definitions

    definitions = Definitions(services, services.version())
    stale = []
    for name, agent in report["agents"].items():
        if agent["method"] == "head":
            there = definitions.find(name) is not None
            key = example_key(services.embedder.name, _examples(definitions.agent(name))) if there else ""
            if key != agent["key"]:
                stale.append(name)
    return stale


def calibrate_dataset(
    path: Path, embedder: Embedder, calibration: Calibration, progress: Progress | None = None
) -> CalibrationReport:
    """Fit to a data set's `train` (and `val`, `oos_val`), and measure on its `test` and `oos_test`. Stores nothing.

    Raises Unreadable for a file that is no such data set.
    """
    import numpy as np

    started = time.perf_counter()
    data = _read(path)
    vectors = _Vectors(embedder, progress)
    labels = sorted({label for _, label in data["train"]})
    examples = [[text for text, own in data["train"] if own == label] for label in labels]
    number = {label: i for i, label in enumerate(labels)}
    scale = calibration.scale(examples, vectors)
    if scale.method != "raw":
        kept = [(t, number[own]) for t, own in data.get("val", []) if own in number]
        strange = [t for t, own in data.get("val", []) if own not in number]
        foreign = [*strange, *(t for name in ("oos_val", "oos_train") for t, _ in data.get(name, []))]
        fitted = _fit(examples, vectors, kept, foreign, progress)
        scale = fitted if fitted is not None else scale
    asked = _ask(scale, vectors, [t for t, _ in data["test"]], [number.get(own, -1) for _, own in data["test"]])
    outside = _ask(scale, vectors, [t for t, _ in data.get("oos_test", [])], [-1] * len(data.get("oos_test", [])))
    asked.foreign[:] = False
    both = Asked.joined([asked, outside])
    measured = Measured(np.asarray(scale.curve(both.score), dtype=np.float64), both.right, both.foreign)
    return CalibrationReport(scale.method, embedder.name, measured, time.perf_counter() - started)


def calibrate_agents(
    definitions: Iterable[AgentDefinition],
    embedder: Embedder,
    calibration: Calibration,
    foreign: Sequence[str] = (),
    progress: Progress | None = None,
) -> CalibrationReport:
    """Fit a head for each agent whose intents have enough examples, and one curve for all others; store them.

    `foreign`: messages that no agent is there for. To an agent that gets a head and has no sub-agents, what is said to
    other such agents is foreign as well. What is reported is measured by curves that were fitted without the messages
    that they are measured on.
    Raises UsageError where no target has two examples.
    """
    import numpy as np

    started = time.perf_counter()
    vectors = _Vectors(embedder, progress)
    known = list(definitions)
    every = {d.name: _examples(d) for d in known}
    above = {d.name for d in known if d.agents}
    said = {name: {p for phrases in examples for p in phrases} for name, examples in every.items()}
    heads: dict[str, tuple[Head, Curve]] = {}
    pooled: list[tuple[str, Asked]] = []
    measured: list[Measured] = []
    agents: dict[str, dict[str, Any]] = {}
    for name, examples in every.items():
        if len(examples) < 2:
            continue
        own = said[name]
        strange = list(foreign)
        if name not in above and _enough(examples):  # what is said to its sub-agents is not foreign to a supervisor
            strange += sorted(
                {p for other, phrases in said.items() if other not in {name, *above} for p in phrases} - own
            )
        asked = _held_out(examples, vectors, strange[:2000], progress)
        key = example_key(embedder.name, examples)
        agents[name] = {"targets": len(examples), "examples": len(own), "key": key, "method": "shipped"}
        if calibration.raw:
            agents[name]["method"] = "raw"
        if not _enough(examples) or calibration.raw:
            pooled.append((name, asked))
            continue
        try:
            curve = asked.curve()
        except ValueError:
            pooled.append((name, asked))
            continue
        owner = np.repeat(np.arange(len(examples)), [len(p) for p in examples])
        texts = [p for phrases in examples for p in phrases]
        heads[key] = Head.fit(vectors.matrix(texts), texts, owner, progress), curve
        agents[name]["method"] = "head"
        measured.append(_crossed(asked, curve))
    rest = Asked.joined([asked for _, asked in pooled])
    if not len(rest.score) and not measured:
        raise UsageError(
            "There is nothing to calibrate by: no target of any agent has two example phrases.",
            hint="Add `values` to its intents, or measure on a data set: abi calibrate --dataset FILE.",
        )
    curves: dict[str, Curve] = {}
    if len(rest.score):
        scale = calibration.scale([["a"], ["b"]], vectors) if calibration.raw else None
        if scale is None and int((~rest.foreign).sum()) >= LEAST and len(foreign) >= STRANGE:
            try:
                curves[embedder.name] = rest.curve()
            except ValueError:
                curves.clear()
        if curves:
            measured.append(_crossed(rest, curves[embedder.name]))
            for name, _ in pooled:
                agents[name]["method"] = "fitted"
        else:
            plain = Calibration(raw=calibration.raw).scale([["a"], ["b"]], vectors)
            measured.append(Measured(np.asarray(plain.curve(rest.score)), rest.right, rest.foreign))
            for name, _ in pooled:
                agents[name]["method"] = plain.method
    methods = {a["method"] for a in agents.values()}
    stored = calibration.folder is not None and not calibration.raw
    if stored:
        calibration.store(curves, heads, agents)
    whole = Measured(
        np.concatenate([m.similarity for m in measured]),
        np.concatenate([m.right for m in measured]),
        np.concatenate([m.foreign for m in measured]),
    )
    method = methods.pop() if len(methods) == 1 else "mixed"
    return CalibrationReport(method, embedder.name, whole, time.perf_counter() - started, agents, stored)


def _examples(definition: AgentDefinition) -> list[list[str]]:
    """The phrases of each target, in the order in which an agent's index has them."""
    found: dict[tuple[str, str], list[str]] = {}
    for intent in definition.intents:
        if intent.phrases:
            found.setdefault((intent.type, intent.target), []).extend(intent.phrases)
    return [found[key] for key in sorted(found)]


def _enough(examples: Sequence[Sequence[str]]) -> bool:
    return len(examples) > 1 and 2 * sum(len(p) >= ENOUGH for p in examples) >= len(examples)


def _fit(
    examples: Sequence[Sequence[str]],
    vectors: _Vectors,
    kept: Sequence[tuple[str, int]],
    foreign: Sequence[str],
    progress: Progress | None,
) -> TargetScale | None:
    """The scale fitted to examples, its curve to the messages that were `kept` for it; None where there are too few."""
    scale = _scored(examples, vectors, progress)
    if len(kept) >= LEAST:
        asked = Asked.joined(
            [
                _ask(scale, vectors, [t for t, _ in kept], [i for _, i in kept]),
                _ask(scale, vectors, foreign, [-1] * len(foreign)),
            ]
        )
    else:
        asked = _held_out(examples, vectors, foreign, progress)
    if int((~asked.foreign).sum()) < LEAST:
        return None
    try:
        curve = asked.curve()
    except ValueError:
        return None
    return TargetScale(scale.likeness, curve, "head" if scale.head is not None else "fitted", scale.head)


def _scored(examples: Sequence[Sequence[str]], vectors: _Vectors, progress: Progress | None) -> TargetScale:
    """What scores targets of those examples, without a curve."""
    import numpy as np

    head = None
    if _enough(examples):
        texts = [p for phrases in examples for p in phrases]
        owner = np.repeat(np.arange(len(examples)), [len(p) for p in examples])
        head = Head.fit(vectors.matrix(texts), texts, owner, progress)
    return TargetScale(likeness(examples, vectors), _as_it_is, "", head)


def _held_out(
    examples: Sequence[Sequence[str]], vectors: _Vectors, foreign: Sequence[str], progress: Progress | None
) -> Asked:
    """Each example of a target that has another, and the foreign messages, asked of what the other FOLDS make."""
    parts = []
    for fold in range(FOLDS):
        kept, asked, wanted = [], [], []
        for target, phrases in enumerate(examples):
            out = [p for i, p in enumerate(phrases) if i % FOLDS == fold] if len(phrases) > 1 else []
            kept.append([p for p in phrases if p not in out] or list(phrases))
            if len(set(phrases)) > 1:
                asked += out
                wanted += [target] * len(out)
        outside = [t for i, t in enumerate(foreign) if i % FOLDS == fold]
        if asked or outside:
            scale = _scored(kept, vectors, progress)
            parts += [_ask(scale, vectors, asked, wanted), _ask(scale, vectors, outside, [-1] * len(outside))]
    return Asked.joined(parts)


def _ask(scale: TargetScale, vectors: _Vectors, texts: Sequence[str], wanted: Sequence[int]) -> Asked:
    """`wanted`: the target of each message, -1 for none."""
    import numpy as np

    if not texts:
        return Asked.none()
    scores = scale.scores(vectors.matrix(texts), texts)
    goal = np.asarray(wanted)
    return Asked(scores.max(axis=1).astype(np.float64), scores.argmax(axis=1) == goal, goal < 0)


def _crossed(asked: Asked, whole: Curve) -> Measured:
    """Each half on the scale of a curve that was fitted to the other half; `whole` where a half has too few."""
    import numpy as np

    similarity = np.zeros(len(asked.score))
    half = np.arange(len(asked.score)) % 2 == 0
    for mine in (half, ~half):
        try:
            curve = asked.part(~mine).curve()
        except ValueError:
            curve = whole
        similarity[mine] = curve(asked.score[mine])
    return Measured(similarity, asked.right, asked.foreign)


def _as_it_is(score: NDArray[np.floating]) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(score, dtype=np.float64)


def _share(which: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return round(float(which[among].mean()), 4) if among.any() else None


def _read(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The parts of a data set, each message with its intent."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Unreadable(f"{path} is no JSON: {error}.") from error
    fix = 'Write {"train": [[TEXT, INTENT], ...], "test": [...], "oos_test": [...]}; val and oos_val to fit with.'
    if not isinstance(data, dict) or not data.get("train") or not data.get("test"):
        raise Unreadable(f"{path} is no data set: it needs `train` and `test`.", hint=fix)
    found: dict[str, list[tuple[str, str]]] = {}
    for name in ("train", "val", "test", "oos_train", "oos_val", "oos_test"):
        part = data.get(name) or []
        if not isinstance(part, list):
            raise Unreadable(f"{path}: `{name}` is no list.", hint=fix)
        found[name] = []
        for row in part:
            text = row[0] if isinstance(row, list) and row else row if name.startswith("oos") else None
            if not isinstance(text, str) or (not name.startswith("oos") and len(row) < 2):
                raise Unreadable(f"{path}: {row!r} in `{name}` is no pair of text and intent.", hint=fix)
            found[name].append((text, str(row[1]) if isinstance(row, list) and len(row) > 1 else ""))
    return found


class _Vectors(PhraseVectors):
    """Vectors of many texts, each embedded once, with progress."""

    def __init__(self, embedder: Embedder, progress: Progress | None) -> None:
        super().__init__(lambda: embedder, limit=1_000_000)
        self._progress = progress

    def matrix(self, texts: Sequence[str]) -> Vectors:
        step = 256
        new = [t for t in dict.fromkeys(texts) if t not in self._vectors]
        if len(new) > step:
            for at in range(0, len(new), step):
                if self._progress:
                    self._progress("embed", at, len(new))
                super().matrix(new[at : at + step])
        return super().matrix(texts)
