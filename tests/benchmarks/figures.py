"""Print the project's figures beside their bounds: `python tests/benchmarks/figures.py [NAME...]`.

CPU seconds (user and system) of whole child processes, with those they waited for, so that a busy machine changes
them little; peak resident memory of the child; medians of in-process calls where a warm figure is meant, which a busy
machine does change: beside them stands what they took of the processor. Modules are compiled beforehand, as an
installer does. Exit code 1 where a figure is over its bound.
"""

from __future__ import annotations

import compileall
import itertools
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from workspaces import ALL_KINDS, make_workspace, sparql_query

RECORDS = 1_000
STORE_RECORDS = 10_000
QUESTIONS = (
    "Which airports can I reach directly from Boise?",
    "How many flights go from SEA to BOI?",
    "How far is it from Boise to Seattle?",
    "Which are the busiest airports?",
)


@dataclass(frozen=True)
class Figure:
    name: str
    what: str
    bound: float
    unit: str
    value: float

    @property
    def holds(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        verdict = "ok" if self.holds else "OVER"
        return f"{self.name:14} {self.value:9.3f} {self.unit:3} bound {self.bound:7g} {verdict:5} {self.what}"


@dataclass(frozen=True)
class Cost:
    cpu: float
    peak_mb: float


def cost_of(*arguments: str, directory: Path, codes: tuple[int, ...] = (0,)) -> Cost:
    """Run `abi ARGUMENTS` there: CPU seconds and peak resident MB of it and of what it waited for."""
    program = shutil.which("abi", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        raise SystemExit("There is no `abi` beside this Python; install the project first.")
    quiet = os.open(os.devnull, os.O_WRONLY)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pid = os.fork()
    if pid == 0:
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(directory)
        os.execve(program, [program, *arguments], environment)
    os.close(quiet)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in codes:
        raise SystemExit(f"abi {' '.join(arguments)} exited with {os.waitstatus_to_exitcode(status)}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True)
class Warm:
    """Medians of one call in this process, in milliseconds: what a clock on the wall says, and of the processor."""

    wall: float
    cpu: float

    def figure(self, name: str, what: str, bound: float) -> Figure:
        return Figure(name, f"{what} ({self.cpu:.1f} of the processor)", bound, "ms", self.wall)


def warm(call: Callable[[], object], times: int) -> Warm:
    """After two calls that warm up."""
    call()
    call()
    wall, cpu = [], []
    for _ in range(times):
        start, used = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return Warm(statistics.median(wall) * 1000, statistics.median(cpu) * 1000)


class Bench:
    """The workspaces that the figures share; each is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        import abi

        compileall.compile_dir(Path(abi.__file__).parent, quiet=2)
        # Workspaces are trusted for these runs only.
        os.environ["ABI_CONFIG_DIR"] = str(folder / "config")

    @cached_property
    def indexed(self) -> tuple[Path, Cost]:
        root = make_workspace(self.folder / "thousand", RECORDS)
        return root, cost_of("index", directory=root)

    @cached_property
    def example(self) -> tuple[Path, Cost]:
        from abi.files import shipped

        root = self.folder / "flights"
        shutil.copytree(shipped("data", "flights"), root, ignore=shutil.ignore_patterns(".abi"))
        cost_of("trust", directory=root)
        return root, cost_of("index", directory=root)

    # the figures

    def help(self) -> list[Figure]:
        cost = min(cost_of("--help", directory=self.folder).cpu for _ in range(3))
        return [Figure("help", "abi --help", 0.20, "s", cost)]

    def find(self) -> list[Figure]:
        root, _ = self.indexed
        costs = [cost_of("find", "tools", "delayed flights between airports", directory=root) for _ in range(3)]
        return [
            Figure("find", f"abi find tools, cold, {RECORDS:,} records", 0.8, "s", min(c.cpu for c in costs)),
            Figure("find-memory", "the same, peak memory", 350, "MB", max(c.peak_mb for c in costs)),
        ]

    def warm_find(self) -> list[Figure]:
        from abi import Workspace

        root, _ = self.indexed
        words = iter(range(10_000))
        with Workspace.open(root, read_only=True) as workspace:
            # another text each time: nothing may answer from a cache of queries
            taken = warm(lambda: workspace.find("tools", f"late shipments {next(words)}"), 50)
        return [taken.figure("warm_find", f"find in process, {RECORDS:,} records, p50", 8)]

    def index(self) -> list[Figure]:
        return [Figure("index", f"abi index, {RECORDS:,} records, from nothing", 14, "s", self.indexed[1].cpu)]

    def all_kinds(self) -> list[Figure]:
        root = make_workspace(self.folder / "all-kinds", RECORDS, kinds=ALL_KINDS)
        cost = cost_of("index", directory=root)
        return [Figure("all_kinds", f"abi index, {RECORDS:,} records of all ten kinds", 16, "s", cost.cpu)]

    def reindex(self) -> list[Figure]:
        root, _ = self.indexed
        cost = min(cost_of("index", directory=root).cpu for _ in range(2))
        return [Figure("reindex", f"abi index, nothing changed, {RECORDS:,} records", 0.8, "s", cost)]

    def index_one(self) -> list[Figure]:
        root, _ = self.indexed
        path = sorted((root / "tools").glob("*.rq"))[0]
        costs = []
        for number in range(2):
            path.write_text(path.read_text(encoding="utf-8").replace("with their", f"with {number} their"))
            costs.append(cost_of("index", directory=root).cpu)
        return [Figure("index_one", f"abi index, one changed file among {RECORDS:,}", 1.0, "s", min(costs))]

    def write(self) -> list[Figure]:
        """The same record of a store, its description changed each time; CPU of the gate and the update."""
        return [
            Figure("write", f"one validated write, store of {count:,} records", 5, "ms", self._write_in(count))
            for count in (STORE_RECORDS // 10, STORE_RECORDS)
        ]

    def _write_in(self, count: int) -> float:
        from abi.files import shipped
        from abi.graph.change import Change
        from abi.graph.gate import Gate
        from abi.graph.mapping import provenance_quads, record_quads
        from abi.graph.names import Names, source_graph
        from abi.graph.oxigraph import OxigraphStore
        from abi.records.record import Source

        base = "https://example.org/bench/"
        names = Names(base)
        place = self.folder / f"store-{count}"
        with OxigraphStore.open(place, create=True) as store:
            quads = []
            for number in range(count):
                record, path = sparql_query(number), f"tools/{number}.rq"
                quads += record_quads(record, source_graph(base, path), names)
                quads += provenance_quads([record], Source(path=path, content_hash="0" * 64), base)
            store.apply([], quads)
            store.flush()
        with OxigraphStore.open(place) as store:  # again, so that nothing of the filling is still at work
            gate = Gate(store, [shipped("shapes")], base=base)
            graph = source_graph(base, f"tools/{count // 2}.rq")
            record = sparql_query(count // 2)

            def change(number: int) -> float:
                changed = record.model_copy(update={"description": f"Other words, the {number}th."})
                start = time.process_time()
                gate.write(Change(replace={graph: record_quads(changed, graph, names)}))
                return time.process_time() - start

            change(0)  # parses the shapes
            return statistics.median(change(number) for number in range(1, 100)) * 1000

    def example_index(self) -> list[Figure]:
        return [Figure("example_index", "abi index, the example workspace, from nothing", 8, "s", self.example[1].cpu)]

    def python_run(self) -> list[Figure]:
        root, _ = self.example
        call = ("run", "distance", "--arg", "origin=BOI", "--arg", "destination=SEA")
        cost = min(cost_of(*call, directory=root).cpu for _ in range(3))
        return [Figure("python_run", "abi run of a python_function, cold", 0.6, "s", cost)]

    def filtered_find(self) -> list[Figure]:
        """With an annotation that a quarter of the records have, and with one that one in a thousand has."""
        return [
            taken.figure("filtered_find", f"warm find, {predicate}, {count:,} records, p50", bound)
            for count, bound in ((RECORDS, 8), (100 * RECORDS, 30))
            for predicate, taken in self._filtered(count, ('domain = "travel"', 'rare = "yes"'))
        ]

    def _filtered(self, count: int, predicates: tuple[str, ...]) -> Iterator[tuple[str, Warm]]:
        from test_find_benchmark import QUERIES, annotated, put_vectors, store_of

        from abi.search.find import find
        from abi.search.index import SearchIndex
        from abi.search.minilm import MiniLM

        documents = list(annotated(count))
        store, embedder, queries = store_of(documents), MiniLM(), itertools.cycle(QUERIES)
        with SearchIndex() as index:
            index.sync(documents, [], 1)
            put_vectors(index, documents, embedder)
            for predicate in predicates:
                search = partial(find, index, store.query, embedder, kind="tools", annotations=predicate)
                yield predicate, warm(lambda: search(next(queries)), 50)  # noqa: B023 - called at once

    def chat(self) -> list[Figure]:
        from abi import Workspace

        root, _ = self.example
        turns = iter(range(10_000))
        with Workspace.open(root, read_only=True) as workspace:
            taken = warm(lambda: workspace.chat(QUESTIONS[next(turns) % len(QUESTIONS)], thread_id="bench"), 40)
        return [taken.figure("chat", "a turn with offline:grounded, warm, p50", 40)]


FIGURES = {
    name: getattr(Bench, name)
    for name in (
        "help",
        "index",
        "all_kinds",
        "reindex",
        "index_one",
        "find",
        "warm_find",
        "filtered_find",
        "write",
        "example_index",
        "python_run",
        "chat",
    )
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"There is no figure {', '.join(unknown)}; there are {', '.join(FIGURES)}.", file=sys.stderr)
        return 2
    over = 0
    with tempfile.TemporaryDirectory(prefix="abi-figures-") as folder:
        bench = Bench(Path(folder))
        for name in names or FIGURES:
            for figure in FIGURES[name](bench):
                print(figure, flush=True)
                over += not figure.holds
        waiting, cores = os.getloadavg()[0], os.cpu_count() or 1
        if waiting > cores:
            print(f"{waiting:.0f} processes shared {cores} cores: figures of an idle machine are lower.")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
