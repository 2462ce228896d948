"""Fits the shipped curve of `abi.search.calibration.MINILM`, and measures it on messages that it was not fitted on.

    python tests/benchmarks/fit_calibration.py [path of clinc150.json]

CLINC150 (clinc/oos-eval, CC BY 3.0) is the data: 150 intents, out-of-scope messages, in three disjoint parts.
The fit draws agents of 5, 10, 20 and 40 intents with 1, 3 or 10 example phrases each from `train`, and asks them
messages from `val`: as many of their own intents as of none (half of these from the other intents, half from
`oos_val`). A match is the nearest phrase; it is right where its intent is the message's.

    cosine                    similarity
    0.15, 0.25, 0.35, 0.45    the share of right matches at that cosine (a window of 0.1)
    where 95 of 100 matches   0.85
    at or above are right
    where 98 of 100 are       0.90
    1                         1

The measurement does the same with `test` and `oos_test`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

from abi.search.calibration import MINILM
from abi.search.minilm import MiniLM

AGENTS = [(intents, phrases) for intents in (5, 10, 20, 40) for phrases in (1, 3, 10)]
DRAWS = 40
PER_SHAPE = 6000
DATA = Path(__file__).parents[3] / "shared" / "data" / "routing" / "clinc150.json"


class Part:
    """Texts of one part of the data, embedded: `vectors` (n, d) and `labels` (n,)."""

    def __init__(self, embedder: MiniLM, pairs: list[list[str]]) -> None:
        self.vectors = embedder.embed([text for text, _ in pairs])
        self.labels = np.array([label for _, label in pairs])


def few_of_each(pairs: list[list[str]], limit: int) -> list[list[str]]:
    seen: dict[str, int] = {}
    kept = []
    for text, label in pairs:
        seen[label] = seen.get(label, 0) + 1
        if seen[label] <= limit:
            kept.append([text, label])
    return kept


def matches(train: Part, asked: Part, foreign: Part, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The best cosine of each message and whether its match is right, over all shapes of agents alike."""
    rng = np.random.default_rng(seed)
    intents = sorted(set(train.labels))
    cosines, rights = [], []
    for size, phrases in AGENTS:
        best, right = [], []
        for _ in range(DRAWS):
            chosen = rng.choice(intents, size, replace=False)
            rows = np.concatenate(
                [rng.choice(np.flatnonzero(train.labels == i), phrases, replace=False) for i in chosen]
            )
            inside = np.isin(asked.labels, chosen)
            own = rng.choice(np.flatnonzero(inside), min(int(inside.sum()), 200), replace=False)
            near = rng.choice(np.flatnonzero(~inside), len(own) // 2)
            far = rng.choice(len(foreign.labels), len(own) - len(near))
            messages = np.concatenate([asked.vectors[own], asked.vectors[near], foreign.vectors[far]])
            scores = messages @ train.vectors[rows].T
            hit = train.labels[rows][scores.argmax(axis=1)[: len(own)]] == asked.labels[own]
            best.append(scores.max(axis=1))
            right.append(np.concatenate([hit, np.zeros(len(near) + len(far), dtype=bool)]))
        pool_best, pool_right = np.concatenate(best), np.concatenate(right)
        sample = rng.choice(len(pool_best), PER_SHAPE, replace=len(pool_best) < PER_SHAPE)
        cosines.append(pool_best[sample])
        rights.append(pool_right[sample])
    return np.concatenate(cosines), np.concatenate(rights)


def threshold(cosine: np.ndarray, right: np.ndarray, share: float) -> float:
    """The lowest cosine at or above which that share of the matches is right."""
    order = np.argsort(-cosine)
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    return float(cosine[order][np.flatnonzero(precision >= share)[-1]])


def fit(cosine: np.ndarray, right: np.ndarray) -> list[tuple[float, float]]:
    knots = [(0.0, 0.0)]
    for middle in (0.15, 0.25, 0.35, 0.45):
        window = np.abs(cosine - middle) < 0.05
        knots.append((middle, round(float(right[window].mean()), 2)))
    # Rounded up: a threshold that promises 95 of 100 errs on the side of asking.
    knots.append((math.ceil(threshold(cosine, right, 0.95) * 100) / 100, 0.85))
    knots.append((math.ceil(threshold(cosine, right, 0.98) * 100) / 100, 0.90))
    knots.append((1.0, 1.0))
    return knots


def measure(name: str, cosine: np.ndarray, right: np.ndarray) -> None:
    similarity = MINILM(cosine)
    for at in (0.30, 0.50, 0.85, 0.90):
        taken = similarity >= at
        print(
            f"{name} similarity >= {at:.2f}: {right[taken].mean():.3f} of the matches are right, "
            f"{right[taken].sum() / (len(right) / 2):.2f} of the in-scope messages are matched"
        )


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    data = json.loads(path.read_text(encoding="utf-8"))
    embedder = MiniLM()
    train = Part(embedder, few_of_each(data["train"], 20))
    cosine, right = matches(train, Part(embedder, data["val"]), Part(embedder, data["oos_val"]), seed=1)
    print("fitted on val:", fit(cosine, right))
    print("shipped:      ", list(MINILM.knots))
    measure("val ", cosine, right)
    held_out = matches(train, Part(embedder, data["test"]), Part(embedder, data["oos_test"]), seed=2)
    measure("test", *held_out)


if __name__ == "__main__":
    main()
