"""Print how well messages are routed, beside the bounds: `python tests/benchmarks/routing.py [NAME...]`.

`clinc20`, `clinc100`, `small`: `abi calibrate --dataset` on CLINC150 (20 and 100 examples an intent; fitted on `train`,
`val`, `oos_val`, measured on `test`, `oos_test`) and on one phrase an intent, read off the reported curve where so many
messages out of scope are accepted. `map`: CPU milliseconds to map a message to 1,000 and 10,000 intents, its embedding
known. `turn`: of a turn that a raw intent answers, in this process, with 0 and 30 sub-agents. `build`: to build such a
supervisor from triples. Exit code 1 where a bound is not kept.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported: one thread is measured

import numpy as np

DATA = Path(__file__).parents[3] / "shared" / "data" / "routing"


def calibrated(data: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """What `abi calibrate --dataset --json` says in a folder without a workspace, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        before = os.times()
        command = [sys.executable, "-m", "abi.cli.main", "calibrate", "--dataset", str(path), "--json"]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return json.loads(done.stdout), cpu


def at(curve: list[list[float]], accepted: float) -> float:
    return max((correct for share, correct in curve if share <= accepted + 1e-9), default=0.0)


def clinc(examples: int) -> dict[str, Any]:
    data = json.loads((DATA / "clinc150.json").read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    kept = []
    for text, intent in data["train"]:
        seen[intent] = seen.get(intent, 0) + 1
        if seen[intent] <= examples:
            kept.append([text, intent])
    return {**data, "train": kept}


def small() -> dict[str, Any]:
    data = json.loads((DATA / "routing_small.json").read_text(encoding="utf-8"))
    return {
        "train": [[i["phrase"], str(i["id"])] for i in data["intents"]],
        "test": [[p["text"], str(p["intent"])] for p in data["paraphrases"]],
        "oos_test": [[text, ""] for text in data["out_of_scope"]],
    }


def quality(name: str, data: dict[str, Any], accepted: float, bound: float) -> bool:
    report, cpu = calibrated(data)
    value = at(report["curve"], accepted)
    print(
        f"{name:10} {value:6.3f} bound {bound:5.2f} {'ok' if value >= bound else 'UNDER':5} correct and matched at "
        f"{accepted:.2f} of out of scope; at 0.85: {report['correct_and_matched']:.3f}, "
        f"{report['out_of_scope_accepted']:.3f} accepted, precision {report['precision']:.3f}; "
        f"at 0.90 {report['precision_direct']:.3f}; top-1 {report['top1']:.3f}; {report['method']}; {cpu:.0f} s CPU",
        flush=True,
    )
    return value >= bound


def cost(name: str, what: str, milliseconds: float, bound: float) -> bool:
    verdict = "ok" if milliseconds <= bound else "OVER"
    print(f"{name:10} {milliseconds:6.2f} ms bound {bound:5.2f} {verdict:5} {what}", flush=True)
    return milliseconds <= bound


class Unreal:
    """Random unit vectors, always the same for a text: what is measured is the mapping."""

    name, dimensions = "minilm-l6-v2-int8", 384

    def embed(self, texts: list[str]) -> np.ndarray:
        rows = np.stack([np.random.default_rng(abs(hash(t))).standard_normal(384).astype(np.float32) for t in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def similarity(self, cosine: np.ndarray) -> np.ndarray:
        return np.asarray(cosine, dtype=np.float64)


def mapping() -> Iterator[bool]:
    from abi.agents.intents import AgentIntent, IntentIndex, PhraseVectors

    for count, bound in ((1_000, 0.10), (10_000, 1.5)):
        vectors = PhraseVectors(Unreal)
        intents = [AgentIntent(f"i{n}", (f"look number {n} up",), "tool", f"t{n}") for n in range(count)]
        index = IntentIndex(intents, vectors)
        index.map("where is it")
        yield cost("map", f"{count:,} intents, p50", 1000 * _median(lambda: index.map("where is it")), bound)  # noqa: B023


def _median(call: Callable[[], object], times: int = 200) -> float:
    taken = []
    for _ in range(times):
        before = time.process_time()
        call()
        taken.append(time.process_time() - before)
    return statistics.median(taken)


def supervisor(folder: Path, agents: int) -> None:
    (folder / "agents").mkdir(parents=True)
    (folder / "abi.yaml").write_text("base_iri: https://example.org/bench/\ntraces: 'on'\n", encoding="utf-8")
    names = [f"helper_{n}" for n in range(agents)]
    for name in names:
        (folder / "agents" / f"{name}.yaml").write_text(
            f"record_kind: agent\nname: {name}\ndescription: Helps with the matter {name}.\n", encoding="utf-8"
        )
    intents = "".join(f"  - {{values: [talk to {n}, ask {n}], type: agent, target: {n}}}\n" for n in names)
    (folder / "agents" / "boss.yaml").write_text(
        "record_kind: agent\nname: boss\ndescription: Hands requests to its helpers.\n"
        f"agents: [{', '.join(names)}]\nintents:\n"
        "  - {values: [thank you], type: raw, target: You are welcome.}\n" + intents,
        encoding="utf-8",
    )


def turns(*, build: bool) -> Iterator[bool]:
    from abi.agents.agent import AgentRuntime
    from abi.agents.crew import Crew
    from abi.agents.definition import Definitions
    from abi.workspace import Workspace

    for agents, bound in ((0, 8.0), (30, 9.0)):
        with tempfile.TemporaryDirectory() as folder:
            supervisor(Path(folder) / "w", agents)
            with Workspace.open(Path(folder) / "w") as workspace:
                workspace.index()
                boss = workspace.agent("boss")
                boss.invoke("thank you", "warm")
                if not build:
                    number = iter(range(1_000))
                    median = 1000 * _median(lambda: boss.invoke("thank you", f"t{next(number)}"), 40)  # noqa: B023
                    yield cost("turn", f"a raw intent's turn, {agents} sub-agents", median, bound)
                elif agents:
                    runtime = AgentRuntime(workspace._services)

                    def made() -> object:
                        definitions = Definitions(workspace._services, workspace.version())
                        return Crew(workspace._services, definitions, runtime.vectors).member("boss")  # noqa: B023

                    yield cost("build", "a supervisor of 30 sub-agents from triples", 1000 * _median(made, 11), 60.0)
                    runtime.close()


def main() -> int:
    wanted = sys.argv[1:] or ["clinc20", "clinc100", "small", "map", "turn", "build"]
    kept: list[bool] = []
    if "clinc20" in wanted:
        kept.append(quality("clinc20", clinc(20), 0.08, 0.87))
    if "clinc100" in wanted:
        kept.append(quality("clinc100", clinc(100), 0.08, 0.91))
    if "small" in wanted:
        kept.append(quality("small", small(), 0.05, 0.75))
    if "map" in wanted:
        kept += mapping()
    if "turn" in wanted:
        kept += turns(build=False)
    if "build" in wanted:
        kept += turns(build=True)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
