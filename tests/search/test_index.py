from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from abi.errors import StoreError
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.search.documents import Document, read_documents
from abi.search.index import SCHEMA, SearchIndex
from abi.search.minilm import MiniLM
from abi.settings import Settings

BASE = "https://example.org/flights/"


def document(name: str, description: str = "Something.") -> Document:
    return Document(
        f"{BASE}tool/{name}", "tool", "sparql_query", name, name, description, passages=(f"{name}: {description}",)
    )


class Counting(MiniLM):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts):  # type: ignore[no-untyped-def]
        self.texts += texts
        return super().embed(texts)


def content(index: SearchIndex) -> dict[str, list[object]]:
    """All that is in the index, but for the numbers of its rows."""
    return {
        "documents": sorted(index.rows("SELECT iri, kind, name, description, annotations, source FROM documents")),
        "labels": sorted(index.rows("SELECT d.iri, l.normal FROM labels l JOIN documents d ON d.id = l.document")),
        "words": sorted(index.rows("SELECT w.word, l.text FROM words w JOIN labels l ON l.id = w.label")),
        "classes": sorted(index.rows("SELECT d.iri, c.class FROM classes c JOIN documents d ON d.id = c.document")),
        "passages": sorted(index.rows("SELECT d.iri, p.text FROM passages p JOIN documents d ON d.id = p.document")),
        "full_text": sorted(index.rows("SELECT d.iri, f.name FROM full_text f JOIN documents d ON d.id = f.rowid")),
    }


def test_a_new_index_is_of_no_version(tmp_path: Path) -> None:
    with SearchIndex(tmp_path / "deep" / "search.sqlite") as index:
        assert (index.version, len(index)) == (-1, 0)


def test_what_is_written_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SearchIndex(path) as index:
        assert index.sync([document("a"), document("b")], [], 4) == 2
    with SearchIndex(path) as index:
        assert (index.version, len(index)) == (4, 2)


def test_only_differences_are_written(index: SearchIndex, store: OxigraphStore, settings: Settings) -> None:
    change = index.rows("SELECT max(id) FROM documents")
    assert index.rebuild(store.query, settings, 9) == 0
    assert index.version == 9
    assert index.rows("SELECT max(id) FROM documents") == change
    documents = read_documents(store.query, settings)
    assert index.sync([replace(documents[0], description="Else."), documents[1]], [documents[2].iri, "urn:x"], 10) == 2
    assert len(index) == len(documents) - 1


def test_following_a_change_gives_what_a_rebuild_gives(
    index: SearchIndex, store: OxigraphStore, settings: Settings
) -> None:
    version = store.version()
    tool, origin = f"{BASE}tool/find_direct_routes", f"{BASE}tool/find_direct_routes/parameter/origin"
    store.update(
        f'DELETE {{ GRAPH ?g {{ <{origin}> abi:name ?n }} }} INSERT {{ GRAPH ?g {{ <{origin}> abi:name "start" }} }} '
        f"WHERE {{ GRAPH ?g {{ <{origin}> abi:name ?n }} }} ; DELETE WHERE {{ GRAPH ?g {{ <{BASE}SEA> ?p ?o }} }} ; "
        f'INSERT DATA {{ GRAPH <{BASE}g> {{ <{BASE}LAX> a <{BASE}Airport> ; rdfs:label "Los Angeles" }} }}'
    )
    changed = index.refresh(store.query, settings, version + 1, {origin, f"{BASE}SEA", f"{BASE}LAX"}, version)
    assert (changed, index.version) == (3, version + 1)
    assert index.rows("SELECT f.text FROM full_text f JOIN documents d ON d.id = f.rowid WHERE d.iri = ?", (tool,)) == [
        ("start",)
    ]
    with SearchIndex() as whole:
        whole.rebuild(store.query, settings, version + 1)
        assert content(index) == content(whole)


def test_a_gap_in_versions_means_a_rebuild(index: SearchIndex, store: OxigraphStore, settings: Settings) -> None:
    store.update(f'INSERT DATA {{ GRAPH <{BASE}g> {{ <{BASE}LAX> a <{BASE}Airport> ; rdfs:label "Los Angeles" }} }}')
    assert index.refresh(store.query, settings, 50, {f"{BASE}SEA"}, since=49) == 1
    assert index.rows("SELECT 1 FROM documents WHERE iri = ?", (f"{BASE}LAX",)) == [(1,)]


def test_an_empty_index_is_of_no_version_to_follow(store: OxigraphStore, settings: Settings) -> None:
    with SearchIndex() as index:
        assert index.refresh(store.query, settings, 5, (), since=-1) > 10
        assert index.version == 5


def test_a_change_between_look_and_write_means_a_rebuild(
    store: OxigraphStore, settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "search.sqlite"
    with SearchIndex(path) as ours, SearchIndex(path) as theirs:
        ours.rebuild(store.query, settings, 5)

        def slow(text: str) -> Rows:
            if theirs.version == 5:
                theirs.sync([], [f"{BASE}SEA"], 4)
            return store.query(text)

        ours.refresh(slow, settings, 6, {f"{BASE}BOI"}, since=5)
        assert ours.version == 6
        assert ours.rows("SELECT count(*) FROM documents WHERE iri = ?", (f"{BASE}SEA",)) == [(1,)]


def test_only_new_texts_are_embedded() -> None:
    counting = Counting()
    with SearchIndex() as index:
        index.sync([document("a"), document("b")], [], 1)
        assert index.embed(counting) == 2
        index.sync([document("a"), document("c")], [f"{BASE}tool/b"], 2)
        assert index.embed(counting) == 1
        assert index.embed(counting) == 0
    assert counting.texts == ["a: Something.", "b: Something.", "c: Something."]


def test_vectors_follow_the_index(embedder: MiniLM) -> None:
    with SearchIndex() as index:
        assert index.vectors(embedder).matrix.shape == (0, 384)
        index.sync([document("a"), document("b")], [], 1)
        table = index.vectors(embedder)
        assert table.matrix.shape == (2, 384)
        assert index.vectors(embedder) is table
        assert np.allclose(table.matrix, embedder.embed(["a: Something.", "b: Something."]), atol=1e-5)
        index.sync([], [f"{BASE}tool/a"], 2)
        assert index.vectors(embedder).matrix.shape == (1, 384)


def test_another_process_sees_what_this_one_wrote(tmp_path: Path, embedder: MiniLM) -> None:
    with SearchIndex(tmp_path / "s.sqlite") as ours, SearchIndex(tmp_path / "s.sqlite") as theirs:
        ours.sync([document("a")], [], 1)
        assert theirs.vectors(embedder).matrix.shape == (1, 384)
        ours.sync([document("b")], [], 2)
        assert theirs.vectors(embedder).matrix.shape == (2, 384)


def test_vectors_of_any_texts(embedder: MiniLM) -> None:
    counting = Counting()
    with SearchIndex() as index:
        index.sync([document("a")], [], 1)
        index.embed(embedder)
        vectors = index.vectors_of(["new", "a: Something.", "new"], counting)
        assert counting.texts == ["new", "new"]
        assert np.allclose(vectors, embedder.embed(["new", "a: Something.", "new"]), atol=1e-5)
        assert index.vectors_of([], counting).shape == (0, 384)


def test_a_rebuild_forgets_vectors_that_nothing_has(
    index: SearchIndex, store: OxigraphStore, settings: Settings, embedder: MiniLM
) -> None:
    index.sync([document("gone")], [], 2)
    index.embed(embedder)
    index.rebuild(store.query, settings, 3)
    assert index.rows("SELECT count(*) FROM vectors") == index.rows("SELECT count(DISTINCT hash) FROM passages")


@pytest.mark.parametrize("damage", [b"no database at all, but long enough to look like one" * 10, b""])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "search.sqlite"
    path.write_bytes(damage)
    with SearchIndex(path) as index:
        assert index.version == -1


def test_another_schema_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SearchIndex(path) as index:
        index.sync([document("a")], [], 7)
        index.connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    with SearchIndex(path) as index:
        assert (index.version, len(index)) == (-1, 0)


def test_damage_found_later_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SearchIndex(path) as index:
        index.connection.execute("DROP TABLE labels")
        with pytest.raises(StoreError, match="cannot be read") as caught:
            index.rows("SELECT * FROM labels")
        assert "Delete the file" in caught.value.hint


def test_a_locked_index_is_said(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with SearchIndex(path) as index:
        index.connection.execute("PRAGMA busy_timeout = 10")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="cannot be written"):
            index.sync([document("a")], [], 1)
        other.execute("ROLLBACK")
        other.close()
        assert index.sync([document("a")], [], 1) == 1


def _write_forever(path: str) -> None:
    with SearchIndex(Path(path)) as index:
        number = 0
        while True:
            number += 1
            index.sync([document(f"t{i}", f"Of version {number}.") for i in range(20)], [], number)


def test_a_killed_writer_leaves_one_version(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    SearchIndex(path).close()
    for _ in range(3):
        writer = multiprocessing.get_context("spawn").Process(target=_write_forever, args=(str(path),))
        writer.start()
        with SearchIndex(path) as index:
            before = index.version
            deadline = time.monotonic() + 60
            while index.version == before and time.monotonic() < deadline:
                time.sleep(0.01)
            assert writer.pid is not None
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
            version = index.version
            assert {row[0] for row in index.rows("SELECT description FROM documents")} == {f"Of version {version}."}
            assert index.rows("SELECT count(*) FROM passages") == [(20,)]
            assert index.rows("PRAGMA integrity_check") == [("ok",)]
