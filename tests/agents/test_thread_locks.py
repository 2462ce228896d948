"""Several processes on one thread: no turn is lost, and none waits for a process that is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

import pytest

from abi.agents.agent import AgentRuntime
from abi.agents.memory import Memory, open_memory
from abi.agents.thread_locks import FileLocks, Locks, ProcessLocks, held
from abi.errors import Busy
from abi.search.embedder import Embedder, get_embedder

from .conftest import SmallServices
from .postgres_server import PostgresServer, missing

SPAWN = multiprocessing.get_context("spawn")
TURNS = 8
Place = tuple[Path | None, str | None]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Folder and address of what keeps conversations."""
    if request.param == "sqlite":
        return tmp_path, None
    return None, request.getfixturevalue("postgres").url


def _runtime(place: Place) -> AgentRuntime:
    services = SmallServices(get_embedder("minilm"), place[0])
    services.memory_url = place[1]
    return AgentRuntime(services)


def _talk(place: Place, thread: str, together: Barrier) -> None:
    runtime = _runtime(place)
    agent = runtime.agent("route_finder")
    agent.invoke("thank you", f"warm-{os.getpid()}")
    together.wait(timeout=120)
    for number in range(TURNS):
        agent.invoke(f"thank you {os.getpid()} {number}", thread)
    runtime.close()


def _hold(place: Place, key: str, taken: Event) -> None:
    memory = _memory(place)
    with held(memory.locks, key, seconds=60):
        taken.set()
        signal.pause()


def _memory(place: Place) -> Memory:
    return open_memory(place[0] / "memory.sqlite" if place[0] else None, place[1])


def test_processes_that_talk_in_one_thread_lose_no_turn(place: Place) -> None:
    together = SPAWN.Barrier(3)
    talkers = [SPAWN.Process(target=_talk, args=(place, "shared", together)) for _ in range(3)]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    assert [t.exitcode for t in talkers] == [0, 0, 0]
    runtime = _runtime(place)
    shown = runtime.threads.show("shared")
    runtime.close()
    assert shown["turns"] == 3 * TURNS
    said = [m["text"] for m in shown["messages"] if m["role"] == "user"]
    assert len(set(said)) == 3 * TURNS
    assert [m["role"] for m in shown["messages"][:2]] == ["user", "assistant"]


def test_what_a_killed_process_held_is_free(place: Place) -> None:
    taken = SPAWN.Event()
    holder = SPAWN.Process(target=_hold, args=(place, "dead", taken))
    holder.start()
    assert taken.wait(timeout=120)
    memory = _memory(place)
    assert memory.locks.take("dead") is None
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with held(memory.locks, "dead", seconds=60) as free:
        assert free
    memory.close()


@pytest.fixture(params=["process", "file", "postgres"])
def locks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Locks]:
    if request.param == "process":
        yield ProcessLocks()
    elif request.param == "file":
        yield FileLocks(tmp_path / "turns")
    else:
        memory = open_memory(None, request.getfixturevalue("postgres").url)
        yield memory.locks
        memory.close()


def test_one_holds_a_key_and_others_hold_others(locks: Locks) -> None:
    first = locks.take("a")
    assert first is not None
    assert locks.take("a") is None
    other = locks.take("b ~\ud800/..")
    assert other is not None
    other()
    first()
    again = locks.take("a")
    assert again is not None
    again()


def test_many_that_count_lose_no_count(locks: Locks) -> None:
    count = 0

    def add() -> None:
        nonlocal count
        for _ in range(20):
            with held(locks, "count", seconds=120):
                seen = count
                threading.Event().wait(0.0005)
                count = seen + 1

    threads = [threading.Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == 120


def test_who_waits_can_be_stopped_and_does_not_wait_for_ever(locks: Locks) -> None:
    release = locks.take("a")
    assert release is not None
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with held(locks, "a", stopped=stop.is_set, seconds=120) as free:
        assert not free
    with pytest.raises(Busy, match="Another turn"), held(locks, "a", seconds=0.05):
        pass
    release()


def test_a_file_is_there_only_while_its_thread_has_a_turn(tmp_path: Path) -> None:
    locks = FileLocks(tmp_path / "turns")
    with held(locks, "a", seconds=1):
        assert len(list((tmp_path / "turns").iterdir())) == 1
    assert list((tmp_path / "turns").iterdir()) == []


def test_a_turn_that_waits_for_another_can_be_stopped(embedder: Embedder, tmp_path: Path) -> None:
    runtime = AgentRuntime(SmallServices(embedder, tmp_path))
    release = runtime.memory.locks.take("t")
    assert release is not None
    stop = threading.Event()
    stop.set()
    with pytest.raises(Busy, match="Stopped"):
        runtime.agent("route_finder").invoke("thank you", "t", stop=stop)
    release()
    assert runtime.agent("route_finder").invoke("thank you", "t").number == 1
    runtime.close()
