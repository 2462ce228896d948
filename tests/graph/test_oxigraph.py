"""What only the store on disk has: its lock, its snapshots, its power cuts and its full disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from abi.errors import StoreError, StoreLocked, StoreMissing, Unsupported
from abi.graph.oxigraph import OxigraphStore

EX = "https://example.org/"


def quad(s: str, o: str, g: str = "g") -> ox.Quad:
    return ox.Quad(ox.NamedNode(EX + s), ox.NamedNode(EX + "p"), ox.Literal(o), ox.NamedNode(EX + g))


def child(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_missing(tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(StoreMissing, match="no graph"):
            OxigraphStore.open(tmp_path / "none", read_only=read_only)
    assert not (tmp_path / "none").exists()


def test_it_is_all_there_after_reopening(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "g", create=True) as store:
        store.apply([], [quad("a", "1")])
    with OxigraphStore.open(tmp_path / "g") as store:
        assert store.version() == 1
        assert store.schema_version() == 1
        assert [q.object.value for q in store.quads(EX + "g")] == ["1"]


def test_a_snapshot_beside_a_writer(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "g", create=True) as writer:
        writer.apply([], [quad("a", "1")])
        with OxigraphStore.open(tmp_path / "g", read_only=True) as reader:
            before = reader.signature()
            assert reader.signature() == before
            writer.apply([], [quad("b", "2")])
            assert reader.signature() != before
            assert reader.version() == 1
            reader.refresh()
            assert reader.version() == 2
            writer.flush()
            writer.apply([], [quad("c", "3")])
            reader.refresh()
            assert len(list(reader.quads(EX + "g"))) == 3
            with pytest.raises(Unsupported):
                reader.apply([], [quad("d", "4")])
            with pytest.raises(Unsupported):
                reader.update("DROP ALL")


def test_the_lock_explains_itself_in_one_process(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "g", create=True), pytest.raises(StoreLocked, match="this process") as caught:
        OxigraphStore.open(tmp_path / "g")
    assert "Wait" in caught.value.hint
    OxigraphStore.open(tmp_path / "g").close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who holds a lock")
def test_the_lock_names_the_other_process(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from abi.graph.oxigraph import OxigraphStore
        store = OxigraphStore.open(Path(sys.argv[1]), create=True)
        print("open", flush=True)
        sys.stdin.readline()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "g")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "open\n"
    with pytest.raises(StoreLocked, match=f"process {process.pid} "):
        OxigraphStore.open(tmp_path / "g")
    process.communicate("\n", timeout=30)


def test_flush_now_and_flush_later(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "now", create=True, flush_seconds=0) as store:
        store.apply([], [quad("a", "1")])
        assert store._timer is None
    with OxigraphStore.open(tmp_path / "later", create=True, flush_seconds=0.05) as store:
        store.apply([], [quad("a", "1")])
        assert store._timer is not None
        deadline = time.monotonic() + 10
        while store._timer is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert store._timer is None


def test_kill_leaves_each_change_whole_or_absent(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        import pyoxigraph as ox
        from abi.graph.oxigraph import OxigraphStore
        N = ox.NamedNode
        store = OxigraphStore.open(Path(sys.argv[1]), create=True)
        def quads(n):
            return [ox.Quad(N(f"urn:s{i}"), N("urn:p"), ox.Literal(n), N("urn:g")) for i in range(50)]
        n = store.apply(list(store.quads("urn:g")), quads(store.version() + 1))
        print("go", flush=True)
        while True:
            n = store.apply(list(store.quads("urn:g")), quads(n + 1))
    """
    seen = 0
    for _ in range(4):
        process = child(code, str(tmp_path / "g"))
        assert process.stdout and process.stdout.readline() == "go\n", process.communicate()
        time.sleep(0.15)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        with OxigraphStore.open(tmp_path / "g") as store:
            values = [q.object.value for q in store.quads("urn:g")]
            version = store.version()
        assert version > seen, "the child wrote something each time"
        assert values == [str(version)] * 50
        seen = version


@pytest.mark.skipif(sys.platform == "win32", reason="needs a file size limit")
def test_a_full_disk_has_clear_words(tmp_path: Path) -> None:
    # A limit on the size of files stands in for the full disk: the same code path, and no mount is needed.
    code = """
        import resource, signal, sys
        from pathlib import Path
        import pyoxigraph as ox
        from abi.errors import StoreError
        from abi.graph.oxigraph import OxigraphStore
        store = OxigraphStore.open(Path(sys.argv[1]), create=True)
        N = ox.NamedNode
        def quads(n):
            text = ox.Literal(f"{n} " + "x" * 500)
            return [ox.Quad(N(f"urn:s{i}"), N("urn:p"), text, N(f"urn:g{n}")) for i in range(300)]
        store.apply([], quads(1))
        store.flush()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        try:
            for n in range(2, 50):
                store.apply([], quads(n))
        except StoreError as error:
            print(error.message, flush=True)
    """
    process = child(code, str(tmp_path / "g"))
    out, err = process.communicate(timeout=60)
    assert "the disk is full" in out, (out, err)
    with OxigraphStore.open(tmp_path / "g") as store:
        for n in range(1, store.version() + 1):
            assert len(list(store.quads(f"urn:g{n}"))) == 300
        assert list(store.quads(f"urn:g{store.version() + 1}")) == []


def test_a_disk_that_is_full_after_a_change_keeps_it_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def flush(self) -> None:
            raise OSError("IO error: No space left on device: While appending to file: 000012.sst")

    quad = ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal("x"), ox.NamedNode("urn:g"))
    with OxigraphStore.open(tmp_path / "g", create=True) as store:
        store.apply([], [quad])
        with monkeypatch.context() as patched, pytest.raises(StoreError, match="the disk is full") as caught:
            patched.setattr(store, "_store", Full())
            store.flush()
    assert "All changes up to this one are kept" in caught.value.hint
    with OxigraphStore.open(tmp_path / "g") as store:
        assert list(store.quads("urn:g")) == [quad]


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "CURRENT").write_text("nonsense")
    with pytest.raises(StoreError):
        OxigraphStore.open(tmp_path / "g")
