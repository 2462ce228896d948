"""Search: a warm find over 1,000 records (bound: 8 ms, median), with an annotation filter over 1,000 and over 100,000
(bounds: 8 and 30 ms), linking a message to 10,000 labels (10 ms), indexing
9,000 individuals (1 s of CPU), and a cold process that finds (the whole `abi find`: 0.8 s of CPU, 350 MB).

Run with: pytest tests/benchmarks/test_find_benchmark.py --benchmark-only
"""

from __future__ import annotations

import itertools
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workspaces import description

from abi import terms
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.search.documents import Document
from abi.search.find import Hit, find
from abi.search.index import SearchIndex, _hash
from abi.search.linker import Linker
from abi.search.minilm import MiniLM
from abi.settings import Settings

BASE = "https://example.org/bench/"
QUERIES = (
    "delayed flights between regional airports",
    "which invoices are overdue",
    "rank the busiest bridges",
    "samples that are missing from a trial",
    "compare annual meter readings",
)
SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi wo xu yal zen bor dun kir mal nor pel ros tan vel".split()
COLD = """
import resource, sys
from pathlib import Path
from abi.search.embedder import get_embedder
from abi.search.find import Hit, find
from abi.search.index import SearchIndex, _hash
hits = find(SearchIndex(Path(sys.argv[1])), None, get_embedder("minilm"), "overdue invoices", kind="tools")
assert len(hits) == 5
use = resource.getrusage(resource.RUSAGE_SELF)
# Not ru_maxrss: it begins with the memory of the process that started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(use.ru_utime + use.ru_stime, int(peak) / 1024)
"""


def no_query(text: str) -> Rows:
    raise AssertionError("no filter was given")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An index of 1,000 records with descriptions of about twenty words, embedded."""
    path = tmp_path_factory.mktemp("search") / "search.sqlite"
    rng = random.Random(7)
    documents = []
    for number in range(1_000):
        about, name = description(rng), f"tool_{number}"
        iri = f"{BASE}tool/{name}"
        documents.append(Document(iri, "tool", "sparql_query", name, name, about, "text", (f"{name}: {about} (text)",)))
    with SearchIndex(path) as index:
        index.sync(documents, [], 1)
        started = time.process_time()
        index.embed(MiniLM())
        print(f"\nembedding 1,000 records: {time.process_time() - started:.2f} s of CPU")
    yield path


def place_name(rng: random.Random) -> str:
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))).capitalize() for _ in range(rng.randint(1, 3))]
    return " ".join([*words, rng.choice(["Airport", "Field", "International", "Station"])])


def test_warm_find(benchmark: Any, records: Path) -> None:
    embedder = MiniLM()
    with SearchIndex(records) as index:
        queries = itertools.cycle(QUERIES)
        find(index, no_query, embedder, "warm", kind="tools")
        benchmark.pedantic(
            lambda: find(index, no_query, embedder, next(queries), kind="tools"), rounds=200, iterations=1
        )
        print(f"\nwarm find, median: {benchmark.stats.stats.median * 1000:.1f} ms (bound 8)")


DOMAINS = ("travel", "finance", "sport", "art")


def annotated(count: int) -> Iterator[Document]:
    """A quarter of them is of each domain, one in a thousand is rare."""
    rng = random.Random(7)
    for number in range(count):
        about, name = description(rng), f"tool_{number}"
        annotations = (("domain", DOMAINS[number % 4]), ("rare", "no" if number % 1_000 else "yes"))
        yield Document(
            f"{BASE}tool/{name}",
            "tool",
            "sparql_query",
            name,
            name,
            about,
            "text",
            (f"{name}: {about} (text)",),
            annotations=annotations,
        )


def store_of(documents: list[Document]) -> OxigraphStore:
    """What the graph holds of them, as far as a filter asks for it."""
    import pyoxigraph as ox

    lines = []
    for d in documents:
        parts = [f"<{d.iri}/annotation/{key}>" for key, _ in d.annotations]
        lines.append(f"<{d.iri}> a <{terms.SPARQL_TEMPLATE}> ; <{terms.NAME}> '{d.name}' .")
        for part, (key, value) in zip(parts, d.annotations, strict=True):
            lines.append(f"<{d.iri}> <{terms.HAS_ANNOTATION}> {part} . {part} <{terms.KEY}> '{key}' ; ")
            lines.append(f"<{terms.VALUE}> '{value}' .")
    store = OxigraphStore.memory()
    store.inner.bulk_load("\n".join(lines).encode(), ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(f"{BASE}g"))
    return store


def put_vectors(index: SearchIndex, documents: list[Document], embedder: MiniLM) -> None:
    """Vectors straight into the index: of the first thousand their own, of the others those, moved a little.

    To embed 100,000 texts would take minutes and change nothing about a find.
    """
    import numpy as np

    own = embedder.embed([d.passages[0] for d in documents[:1_000]])
    moved = np.random.default_rng(7)
    with index._writing() as connection:
        for start in range(0, len(documents), 1_000):
            part = documents[start : start + 1_000]
            noise = 0.03 * moved.standard_normal((len(part), embedder.dimensions)) if start else 0
            vectors = own[: len(part)] + noise
            vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
            connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)",
                [(_hash(d.passages[0]), embedder.name, v.tobytes()) for d, v in zip(part, vectors, strict=True)],
            )


@pytest.mark.parametrize(("count", "bound"), [(1_000, 8), (100_000, 30)])
def test_warm_find_with_a_filter(benchmark: Any, count: int, bound: int) -> None:
    documents = list(annotated(count))
    store, embedder = store_of(documents), MiniLM()
    with SearchIndex() as index:
        index.sync(documents, [], 1)
        put_vectors(index, documents, embedder)
        queries = itertools.cycle(QUERIES)
        taken: dict[str, list[float]] = {}

        def search(predicate: str | None, where: str | None = None) -> list[Hit]:
            started = time.perf_counter()
            hits = find(index, store.query, embedder, next(queries), kind="tools", annotations=predicate, where=where)
            taken.setdefault(str(predicate or where), []).append(time.perf_counter() - started)
            return hits

        filters = ('domain = "travel"', 'rare = "yes"', 'NOT domain = "art"', None)
        for predicate in filters:
            for _ in range(25):
                search(predicate)
        for _ in range(5):
            search(None, f"?record <{terms.HAS_ANNOTATION}> ?a . ?a <{terms.VALUE}> 'sport'")
        assert all(hit.annotations["domain"] == "travel" for hit in search(filters[0]))
        benchmark.pedantic(lambda: search(filters[0]), rounds=50, iterations=1)
        print(f"\nwarm find over {count:,} records, median, with a filter (bound {bound} ms):")
        for name, seconds in taken.items():
            print(f"  {name}: {statistics.median(seconds[5:] or seconds) * 1000:.1f} ms")


def test_cold_find(benchmark: Any, records: Path) -> None:
    def cold() -> str:
        command = [sys.executable, "-c", COLD, str(records)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    seconds, megabytes = map(float, benchmark.pedantic(cold, rounds=5, iterations=1).split())
    print(f"\ncold find: {seconds:.2f} s of CPU, {megabytes:.0f} MB (bounds of the whole command: 0.8 s, 350 MB)")


def test_linking(benchmark: Any) -> None:
    rng = random.Random(7)
    names = [place_name(rng) for _ in range(10_000)]
    documents = [
        Document(f"{BASE}place/{n}", "entity", "entity", name, name, labels=(("label", name),), classes=(f"{BASE}P",))
        for n, name in enumerate(names)
    ]
    with SearchIndex() as index:
        index.sync(documents, [], 1)
        linker = Linker(index)
        messages = itertools.cycle(
            [
                f"how many direct flights go from {a} to {b[:-3]}x{b[-2:]} on mondays"
                for a, b in itertools.pairwise(names)
            ]
        )
        assert linker.mentions(next(messages))
        benchmark.pedantic(lambda: linker.mentions(next(messages)), rounds=200, iterations=1)
        print(f"\nlinking a message to 10,000 labels, median: {benchmark.stats.stats.median * 1000:.1f} ms (bound 10)")


def test_indexing_individuals(benchmark: Any) -> None:
    rng = random.Random(7)
    triples = "\n".join(
        f'<{BASE}place/{n}> a <{BASE}Place> ; rdfs:label "{place_name(rng)}" ; skos:notation "P{n}" .'
        for n in range(9_000)
    )
    store = OxigraphStore.memory()
    store.update(f"INSERT DATA {{ GRAPH <{BASE}g> {{ {triples} }} }}")
    settings, spent = Settings(base_iri=BASE), []

    def build() -> None:
        with SearchIndex() as index:
            started = time.process_time()
            assert index.rebuild(store.query, settings, 1) == 9_000
            spent.append(time.process_time() - started)

    benchmark.pedantic(build, rounds=3, iterations=1)
    print(f"\nindexing 9,000 individuals: {min(spent):.2f} s of CPU (bound 1)")
