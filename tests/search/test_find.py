from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from abi.errors import QuerySyntaxError, UsageError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.search.documents import Document
from abi.search.find import FLOOR, Hit, closest_of, find
from abi.search.index import SearchIndex
from abi.search.minilm import MiniLM

BASE = "https://example.org/flights/"


class Finder:
    def __init__(self, index: SearchIndex, store: OxigraphStore, embedder: MiniLM) -> None:
        self.index, self.store, self.embedder = index, store, embedder
        self.queries: list[str] = []

    def query(self, text: str) -> Rows:
        self.queries.append(text)
        return self.store.query(text)

    def __call__(self, text: str | None = None, **options: object) -> list[Hit]:
        return find(self.index, self.query, self.embedder, text, **options)  # type: ignore[arg-type]

    def names(self, text: str | None = None, **options: object) -> list[str]:
        return [hit.name for hit in self(text, **options)]


@pytest.fixture
def finder(index: SearchIndex, store: OxigraphStore, embedder: MiniLM) -> Finder:
    return Finder(index, store, embedder)


def test_the_nearest_tool_comes_first(finder: Finder) -> None:
    hits = finder("flights between two airports with a layover", kind="tools")
    assert hits[0] == Hit(
        name="find_indirect_routes",
        kind="sparql_query",
        iri=f"{BASE}tool/find_indirect_routes",
        score=hits[0].score,
        description="Journeys between two airports with one change of plane.",
        annotations={"domain": "travel", "gdpr": "false"},
        source="tools/find_indirect_routes.rq:3",
    )
    assert 0.5 < hits[0].score <= 1
    assert finder.queries == []
    assert finder.names("how many miles is it from A to B", kind="tools")[0] == "distance"
    assert finder.names("who has not paid us", kind="tools")[0] == "unpaid_invoices"


def test_score_is_the_calibrated_similarity(finder: Finder, embedder: MiniLM) -> None:
    text = "a change of plane"
    passage = "find indirect routes: Journeys between two airports with one change of plane. (origin, destination)"
    one, two = embedder.embed([text, passage])
    (hit,) = finder(text, kind="tools", limit=1)
    assert hit.score == pytest.approx(float(embedder.similarity(one @ two)), abs=1e-4)


def test_kinds(finder: Finder) -> None:
    text = "routes between airports"
    assert finder.names(text, kind="prompts") == ["route_prompt"]
    assert finder.names(text, kind="agents") == ["route_finder"]
    assert {h.kind for h in finder(text, kind="records", limit=0)} >= {"sparql_query", "jinja_prompt", "agent"}
    assert finder(text, limit=0) == finder(text, kind="records", limit=0)
    assert finder.names("thanks a lot", kind="intents") == ["thanks"]
    assert finder.names("what flights go from my airport", kind="intent")[0] == "direct"
    with pytest.raises(UsageError, match="no kind"):
        finder(text, kind="things")


@pytest.mark.parametrize(
    "nonsense",
    ["xyzzy", "asdf qwer zxcv", "colorless green ideas sleep furiously", "lorem ipsum dolor sit amet", "!!!"],
)
@pytest.mark.parametrize("kind", ["records", "tools", "entities"])
def test_nonsense_finds_nothing(finder: Finder, nonsense: str, kind: str) -> None:
    assert finder(nonsense, kind=kind) == []


def test_min_score_is_strict_and_the_floor_lets_exact_words_through(finder: Finder) -> None:
    low = finder("crow", kind="tools")
    assert [h.name for h in low] == ["distance"]
    assert finder("crow", kind="tools", min_score=max(FLOOR, low[0].score + 0.01)) == []
    assert len(finder("crow", kind="tools", min_score=0.0, limit=0)) == 4


def test_name(finder: Finder) -> None:
    (hit,) = finder(name="find_direct_routes")
    assert (hit.iri, hit.score) == (f"{BASE}tool/find_direct_routes", 1.0)
    assert finder.names(name="prompt/route_prompt") == ["route_prompt"]
    assert finder(name="tool/route_prompt") == []
    assert finder(name="find_direct") == []
    assert finder(name="route_prompt", kind="tools") == []
    assert finder.names(name=f"{BASE}tool/distance") == ["distance"]


def test_a_name_honours_the_filters(finder: Finder) -> None:
    assert finder.names(name="find_direct_routes", annotations='gdpr = "true"') == ["find_direct_routes"]
    assert finder(name="find_direct_routes", annotations='gdpr = "false"') == []
    assert finder(name="find_direct_routes", where="?record abi:hasParameter/abi:name 'destination'") == []


def test_annotations_and_where(finder: Finder) -> None:
    text = "routes between airports"
    assert finder.names(text, kind="tools", annotations='gdpr = "true"') == ["find_direct_routes"]
    assert finder.names(text, kind="tools", where="?record abi:hasParameter/abi:name 'destination'") == [
        "find_indirect_routes"
    ]
    both = finder.names(text, annotations='domain = "travel"', where="?a abi:hasTool ?record")
    assert both == ["find_direct_routes"]
    assert "distance" in finder.names("how far", kind="tools", annotations='NOT domain = "travel"', min_score=0.0)
    with pytest.raises(UsageError, match="column"):
        finder(text, annotations="x=1")
    with pytest.raises(UsageError, match="does not name"):
        finder(text, kind="entities", where="?a ?b ?c")
    with pytest.raises(QuerySyntaxError):
        finder(text, where="?record abi:name")


def test_without_text_the_filters_list(finder: Finder) -> None:
    hits = finder(kind="tools", annotations='domain = "travel"', limit=0)
    assert [(h.name, h.score) for h in hits] == [("find_direct_routes", 1.0), ("find_indirect_routes", 1.0)]
    assert finder.names("  ", kind="tools", limit=2) == ["distance", "find_direct_routes"]


def test_a_truncated_filter_is_refused(finder: Finder) -> None:
    def cut(text: str) -> Rows:
        return Rows("select", ["record"], truncated=True)

    with pytest.raises(UsageError, match="more than 0"):
        find(finder.index, cut, finder.embedder, "x", where="?record ?p ?o")


def test_entities_by_exactness(finder: Finder) -> None:
    def scored(text: str) -> list[tuple[str, float]]:
        return [(h.iri.removeprefix(BASE), round(h.score, 2)) for h in finder(text, kind="entity")]

    assert scored("SEA")[0] == ("SEA", 1.0)
    assert scored("seattle tacoma international")[0] == ("SEA", 1.0)
    assert scored("sea-tac") == [("SEA", 1.0)]
    assert scored("Portland")[:2] == [("portland_me", 1.0), ("portland_or", 1.0)]
    assert scored("Portland International")[:2] == [("PDX", 1.0), ("PWM", 0.72)]
    assert scored("boise terminal") == [("BOI", 0.72), ("boise", 0.6)]
    assert scored("military") == [("SEA", 0.3)]
    assert scored("Bosie Air Terminal") == [("BOI", 0.9), ("boise", 0.41)]
    assert [h.kind for h in finder("where planes land", kind="entities", limit=1)] == ["class"]
    assert finder.names(name="boise air terminal", kind="entities") == ["Boise Air Terminal"]
    assert finder.names(kind="entities", where=f"?record a <{BASE}City>", limit=0) == [
        "Boise", "Or", "Portland", "Portland",
    ]  # fmt: skip
    assert finder("Portland", kind="entities", annotations='x = "y"') == []


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.1] * 10, 10),
        ([0.999, 0.6, 0.6, 0.5, 0.3, 0.0], 1),
        ([0.999, 0.9989, 0.6, 0.6, 0.5, 0.3, 0.0], 2),
        ([0.5, 0.49, 0.47], 3),
        ([0.4], 1),
        ([0.9, 0.85, 0.8, 0.2], 3),
    ],
)
def test_closest(scores: list[float], kept: int) -> None:
    assert sum(score >= closest_of(scores) for score in scores) == kept


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_closest_never_leaves_nothing(scores: list[float]) -> None:
    assert closest_of(scores) in scores


def test_closest_cuts_results(finder: Finder) -> None:
    wide = finder("airports reached without a stop", kind="tools", min_score=0.0, limit=0)
    near = finder("airports reached without a stop", kind="tools", min_score=0.0, limit=0, closest=True)
    assert near == wide[: len(near)]
    assert 0 < len(near) < len(wide)
    assert finder("xyzzy", closest=True) == []


@pytest.mark.parametrize("options", [{"limit": -1}, {"min_score": 1.5}, {"min_score": -0.1}, {"name": "x"}])
def test_wrong_options(finder: Finder, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        finder("text", **options)


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.text(max_size=40))
def test_any_text_can_be_searched(finder: Finder, text: str) -> None:
    for kind in ("tools", "entities"):
        for hit in finder(text, kind=kind):
            assert 0 <= hit.score <= 1
    finder(name=text)


def test_a_name_loads_no_model() -> None:
    import subprocess

    code = (
        "import sys\nfrom abi.search.find import find\nfrom abi.search.index import SearchIndex\n"
        "from abi.search.linker import Linker\nfrom abi.search.minilm import MiniLM\n"
        "index = SearchIndex()\nfind(index, None, MiniLM(), name='x')\nLinker(index).mentions('to Boise')\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'rdflib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_json_shape(finder: Finder) -> None:
    (hit,) = finder(name="distance")
    assert hit.document() == {
        "name": "distance",
        "kind": "python_function",
        "iri": f"{BASE}tool/distance",
        "score": 1.0,
        "description": "How far two places are apart, as the crow flies, in kilometres.",
        "annotations": {},
        "source": "tools/distance.rq:3",
    }


def many(count: int) -> SearchIndex:
    """Tools that are about numbers; one in a hundred is rare, half of them are even."""
    index = SearchIndex()
    documents = []
    for n in range(count):
        about = f"Counts the invoices of customer number {n} that are overdue."
        annotations = (("parity", "odd" if n % 2 else "even"), ("rare", "yes" if n % 100 == 7 else "no"))
        documents.append(
            Document(
                f"{BASE}tool/t{n}",
                "tool",
                "sparql_query",
                f"t{n}",
                f"t{n}",
                about,
                "",
                (about,),
                annotations=annotations,
            )
        )
    index.sync(documents, [], 1)
    return index


@pytest.mark.parametrize("block", [1, 8, 64])
@pytest.mark.parametrize("most", [5, 50, 2_000])
def test_both_ways_to_filter_find_the_same(
    block: int, most: int, embedder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("abi.search.find.BLOCK", block)
    monkeypatch.setattr("abi.search.find.MOST_CHECKED", most)

    def never(text: str) -> Rows:
        raise AssertionError("annotations of records are in the index")

    text = "unpaid bills, client by client"  # no word of theirs, so that nothing but similarity orders
    with many(300) as index:
        for predicate in ('parity = "even"', 'rare = "yes"', 'NOT parity = "even" AND NOT rare = "no"', 'rare = "x"'):
            # `limit` 0 asks the filter first.
            every = find(index, never, embedder, text, kind="tools", annotations=predicate, limit=0)
            some = find(index, never, embedder, text, kind="tools", annotations=predicate, limit=4)
            assert [h.score for h in some] == pytest.approx([h.score for h in every[:4]], abs=1e-5)
            assert {h.iri for h in some} <= {h.iri for h in every}


def test_a_pattern_is_checked_for_the_best_only(finder: Finder) -> None:
    hits = finder.names("airports and routes", kind="tools", where="?record abi:name ?n", limit=1)
    assert len(hits) == 1
    assert len(finder.queries) == 1 and "VALUES ?record {" in finder.queries[0]


def test_an_annotation_and_a_pattern_together(finder: Finder) -> None:
    found = finder.names(
        "flights between airports", kind="tools", annotations='domain = "travel"', where="?record abi:hasParameter ?p"
    )
    assert set(found) <= {"find_direct_routes", "find_indirect_routes", "distance"} and found
