"""What a turn of an agent costs beside its model, and what it leaves on disk.

    python -m tests.benchmarks.turns

The model answers at once, from this process. CPU seconds of the process, the median of many turns:

| what | bound |
|---|---|
| a model turn's overhead over the bare model call, SQLite memory | 12 ms CPU |
| memory of an idle thread on disk, a turn | 20 KB |
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage

from abi.agents.agent import AgentRuntime
from abi.records.record import AgentSpecification
from abi.search.embedder import get_embedder
from tests.agents.conftest import ScriptedModel, SmallServices

TURNS = 60
THREADS = 20


def measure(folder: Path) -> dict[str, float]:
    services = SmallServices(get_embedder("minilm"), folder)
    services.put(
        AgentSpecification(
            name="pilot", description="Knows the routes.", model="test:script", tools=["flights_between"]
        )
    )
    runtime = AgentRuntime(services)
    model = ScriptedModel(script=[AIMessage("An answer of some words.") for _ in range(10_000)], seen=[], bound=[])
    runtime.models.register("test:script", model)
    agent = runtime.agent("pilot")
    for number in range(5):
        agent.invoke("Where to?", f"warm{number}")
    spent: list[float] = []
    for number in range(TURNS):
        started = time.process_time()
        agent.invoke("Where to?", f"t{number % THREADS}")
        spent.append(time.process_time() - started)
    bare: list[float] = []
    for _ in range(TURNS):
        started = time.process_time()
        model.invoke([HumanMessage("Where to?")])
        bare.append(time.process_time() - started)
    runtime.close()
    size = sum(f.stat().st_size for f in folder.iterdir() if f.name.startswith("memory.sqlite") and f.is_file())
    return {
        "turn_ms": round(statistics.median(spent) * 1000, 2),
        "bare_ms": round(statistics.median(bare) * 1000, 2),
        "overhead_ms": round((statistics.median(spent) - statistics.median(bare)) * 1000, 2),
        "disk_kb_a_turn": round(size / 1024 / (TURNS + 5), 1),
    }


def long_threads(folder: Path, turns: int = 30) -> float:
    """KB on disk a turn of one thread whose turns call a tool, offline."""
    services = SmallServices(get_embedder("minilm"), folder)
    runtime = AgentRuntime(services)
    for number in range(turns):
        runtime.agent("route_finder").invoke(
            "Direct flights from BOI" if number % 2 else "Direct flights from SEA", "t"
        )
    runtime.close()
    size = sum(f.stat().st_size for f in folder.iterdir() if f.name.startswith("memory.sqlite") and f.is_file())
    return round(size / 1024 / turns, 1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        print(json.dumps({**measure(Path(one)), "disk_kb_a_turn_of_30": long_threads(Path(two))}))
