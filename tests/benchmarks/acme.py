"""How many questions about a graph that no tool was written for the offline model answers, and how many wrongly.

    python tests/benchmarks/acme.py [--show]

Loads the ontology and the data of `../shared/data/acme` (42 questions of a published benchmark), derives, asks the
KnowledgeGraphAgent. Right: the values of every gold row are in one row of the tool's result, columns in any order.
Wrong: answered, and not right. Prints one JSON document.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from abi import Workspace

__all__ = ["DATA", "measure"]

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "acme"


def _plain(value: Any) -> str:
    """Numbers by their value, dates by their day, all else as text."""
    try:
        return repr(round(float(value), 6))
    except (TypeError, ValueError):
        return str(value)[:10] if str(value)[4:5] == "-" else str(value)


def is_right(gold: list[list[str]], rows: list[dict[str, Any]]) -> bool:
    found = [Counter(_plain(v) for v in row.values()) for row in rows]
    return all(any(not Counter(map(_plain, wanted)) - row for row in found) for wanted in gold)


def measure(show: bool = False) -> dict[str, Any]:
    """Shares of right answers, of wrong ones among those answered, and what was derived."""
    questions = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        Workspace.init(Path(folder) / "acme", base_iri="https://example.org/acme/")
        with Workspace.open(Path(folder) / "acme") as workspace:
            workspace.index()
            workspace.load([DATA / "insurance.ttl", DATA / "acme.nt"])
            started = time.process_time()
            report = workspace.derive()
            derived = time.process_time() - started
            right = wrong = 0
            for question in questions:
                turn = workspace.chat(question["question"], agent="KnowledgeGraphAgent")
                rows = [r for c in turn.tool_calls for r in (c["rows"] if isinstance(c["rows"], list) else [])]
                answered = bool(turn.grounded)
                fits = answered and is_right(question["rows"], rows)
                right += fits
                wrong += answered and not fits
                if show and not fits:
                    print(
                        f"{'wrong' if answered else 'none'}: {question['question']}\n  {turn.answer}", file=sys.stderr
                    )
    answered = right + wrong
    return {
        "questions": len(questions),
        "right": round(right / len(questions), 3),
        "wrong_among_answered": round(wrong / answered, 3) if answered else 0.0,
        "answered": answered,
        "tools": report.tools,
        "intents": report.intents,
        "derive_cpu_seconds": round(derived, 2),
    }


if __name__ == "__main__":
    print(json.dumps(measure("--show" in sys.argv)))
