"""One contract for all places that keep conversations, and what only PostgreSQL has to prove."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abi.agents.agent import AgentRuntime
from abi.agents.memory import Memory, open_memory
from abi.agents.threads import ANYONE, split_key, thread_key
from abi.errors import NotFound, StoreError, UsageError
from abi.search.embedder import Embedder, get_embedder

from .conftest import BASE, ROUTES, SmallServices
from .postgres_server import PostgresServer, missing

Make = Callable[[], AgentRuntime]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, embedder: Embedder, tmp_path: Path) -> Iterator[Make]:
    """Makes runtimes that keep their conversations in one place, which is empty at first."""
    services = SmallServices(embedder, tmp_path if request.param == "sqlite" else None)
    if request.param == "postgres":
        services.memory_url = request.getfixturevalue("postgres").url
    made: list[AgentRuntime] = []

    def new() -> AgentRuntime:
        made.append(AgentRuntime(services))
        return made[-1]

    for info in new().threads.list(ANYONE):
        made[0].threads.delete(info.thread_id, info.principal)
    yield new
    for runtime in made:
        runtime.close()


@pytest.fixture
def runtime(make: Make) -> AgentRuntime:
    return make()


def test_a_thread_goes_on(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    assert travel.invoke("How many flights from BOI to SEA?", "t").number == 1
    turn = travel.invoke("and to PDX?", "t")
    assert turn.number == 2
    assert turn.tool_calls[0]["arguments"] == {"origin": BASE + "BOI", "destination": BASE + "PDX"}


def test_threads_are_apart(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    travel.invoke("Direct flights from Portland?", "a")
    other = travel.invoke("the second", "b")
    assert other.number == 1
    assert not other.tool_calls


def test_a_thread_belongs_to_its_principal(runtime: AgentRuntime) -> None:
    travel = runtime.agent("travel")
    travel.invoke("How many flights from BOI to SEA?", "t", principal="ann")
    for other in (None, "bob", "ann~t"):
        assert travel.invoke("and to PDX?", "t", principal=other).number == 1
    turn = travel.invoke("and to PDX?", "t", principal="ann")
    assert (turn.number, turn.thread_id) == (2, "t")
    assert turn.turn == f"{BASE}thread/ann~t/turn/2"
    assert [t.thread_id for t in runtime.threads.list("ann")] == ["t"]
    with pytest.raises(NotFound):
        runtime.threads.show("other", "ann")
    with pytest.raises(UsageError, match="several"):
        runtime.threads.show("t", ANYONE)


def test_threads_are_listed_shown_exported_and_deleted(runtime: AgentRuntime) -> None:
    for number in range(3):
        runtime.agent("route_finder").invoke(f"Direct flights from BOI, {'please ' * 20}", f"t{number}")
    runtime.agent("route_finder").invoke("thank you", "t0")
    threads = runtime.threads
    assert [t.thread_id for t in threads.list()] == ["t0", "t2", "t1"]
    assert [t.thread_id for t in threads.list(limit=1)] == ["t0"]
    first = threads.list()[0]
    assert (first.turns, first.agent, first.principal) == (2, "route_finder", None)
    assert first.title.startswith("Direct flights from BOI, please")
    assert first.title.endswith("...")
    shown = threads.show("t0")
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert shown["messages"][1]["tool_calls"][0]["tool"] == "find_direct_routes"
    assert [d["thread_id"] for d in threads.export()] == ["t0", "t2", "t1"]
    threads.delete("t2")
    assert [t.thread_id for t in threads.list()] == ["t0", "t1"]
    with pytest.raises(NotFound):
        threads.delete("t2")
    assert threads.prune(1) == []
    assert sorted(threads.prune(0)) == ["t0", "t1"]
    assert threads.list() == []


def test_many_turns_leave_few_states(runtime: AgentRuntime) -> None:
    for _ in range(11):
        runtime.agent("route_finder").invoke("thank you", "t")
    if type(runtime.memory) is not Memory:
        assert len(list(runtime.memory.saver.list({"configurable": {"thread_id": "t"}}))) <= 10
    assert runtime.threads.show("t")["turns"] == 11


def test_fifty_threads_at_once(runtime: AgentRuntime) -> None:
    """Each asks from an airport of its own, and later only `and to PDX?`."""
    places = ["BOI", "SEA"]
    found: dict[int, str] = {}
    failed: list[BaseException] = []

    def talk(n: int) -> None:
        try:
            agent = runtime.agent("route_finder")
            agent.invoke(f"How many flights from {places[n % 2]} to {places[1 - n % 2]}?", f"t{n}")
            turn = agent.invoke("and to PDX?", f"t{n}")
            found[n] = turn.tool_calls[0]["arguments"]["origin"]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert found == {n: BASE + places[n % 2] for n in range(50)}


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
def test_durability_is_chosen_by_agent(embedder: Embedder, tmp_path: Path, durability: str) -> None:
    """What is saved while a turn still runs is all but the turn at its end."""
    services = SmallServices(embedder, tmp_path)
    services.put(ROUTES.model_copy(update={"annotations": {"durability": durability}}))
    runtime = AgentRuntime(services)
    saved: list[int] = []

    def look(name: str, arguments: object) -> None:
        saved.append(len(runtime.memory.thread_keys()))

    services.run_hook = look
    runtime.agent("route_finder").invoke("Direct flights from BOI", "t")
    assert saved == [0] if durability == "exit" else durability == "async" or saved == [1]
    assert runtime.threads.show("t")["turns"] == 1
    runtime.close()


@pytest.mark.parametrize("thread", ["t", "a~b", "~", "ü/x y", "x" * 200])
@pytest.mark.parametrize("principal", [None, "ann", "a~b", "~", "mailto:a@b.org"])
def test_keys_can_be_read_back_and_never_meet(thread: str, principal: str | None) -> None:
    assert split_key(thread_key(principal, thread)) == (principal, thread)


@pytest.mark.parametrize("thread", ["", "x" * 201, "a\x00b"])
def test_ids_that_are_none(thread: str) -> None:
    with pytest.raises(UsageError):
        thread_key(None, thread)


def _talk(url: str, text: str, answers: multiprocessing.Queue[tuple[int, object]]) -> None:
    services = SmallServices(get_embedder("minilm"))
    services.memory_url = url
    runtime = AgentRuntime(services)
    turn = runtime.agent("travel").invoke(text, "shared")
    answers.put((turn.number, turn.tool_calls[0]["arguments"]))
    runtime.close()


def test_two_processes_go_on_with_each_others_threads(postgres: PostgresServer) -> None:
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    expected = [("How many flights from BOI to SEA?", "BOI", "SEA"), ("and to PDX?", "BOI", "PDX")]
    for number, (text, origin, destination) in enumerate(expected, start=1):
        process = spawn.Process(target=_talk, args=(postgres.url, text, answers))
        process.start()
        assert answers.get(timeout=120) == (number, {"origin": BASE + origin, "destination": BASE + destination})
        process.join()
    answers.close()
    answers.join_thread()


def test_processes_that_start_together_make_the_tables_once(postgres: PostgresServer) -> None:
    import psycopg

    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
    url = postgres.url.replace("/postgres", "/fresh")
    opened: list[Memory] = []
    threads = [threading.Thread(target=lambda: opened.append(open_memory(None, url))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    for memory in opened:
        assert memory.thread_keys() == []
        memory.close()


def test_postgres_comes_before_the_file(postgres: PostgresServer, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "memory.sqlite", postgres.url)
    assert type(memory).__name__ == "PostgresMemory"
    assert not (tmp_path / "memory.sqlite").exists()
    memory.close()


@pytest.mark.parametrize("url", ["postgresql://ann:sesame@127.0.0.1:9/db", "no address"])
def test_a_server_that_is_not_there_is_told_without_its_password(url: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(StoreError, match="cannot be kept: PostgreSQL at") as raised:
        open_memory(None, url)
    assert "sesame" not in raised.value.message
    assert "POSTGRES_URL" in raised.value.hint


def test_a_server_lost_in_mid_turn_fails_the_turn_and_the_thread_goes_on(embedder: Embedder) -> None:
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer()
    services = SmallServices(embedder)
    services.memory_url = server.url
    runtime = AgentRuntime(services)
    try:
        routes = runtime.agent("route_finder")
        routes.invoke("How many flights from BOI to SEA?", "t")

        def lose(name: str, arguments: object) -> None:
            server.stop()

        services.run_hook = lose
        with pytest.raises(StoreError, match="could not be kept"):
            routes.invoke("Direct flights from BOI", "t")
        services.run_hook = lambda name, arguments: None
        server.start()
        turn = routes.invoke("and to PDX?", "t")
        assert turn.number == 2
        assert turn.tool_calls[0]["arguments"] == {"origin": BASE + "BOI", "destination": BASE + "PDX"}
    finally:
        runtime.close()
        server.remove()
