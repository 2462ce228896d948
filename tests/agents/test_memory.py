from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from abi.agents.agent import AgentRuntime
from abi.agents.memory import KEPT, open_memory
from abi.search.embedder import Embedder

from .conftest import BASE, SmallServices


def test_a_conversation_survives_a_restart(embedder: Embedder, tmp_path: Path) -> None:
    first = AgentRuntime(SmallServices(embedder, tmp_path))
    asked = first.agent("travel").invoke("Direct flights from Portland?", "t")
    assert asked.needs is not None
    first.close()
    second = AgentRuntime(SmallServices(embedder, tmp_path))
    turn = second.agent("travel").invoke("the second", "t")
    assert turn.agent == "route_finder"
    assert turn.number == 2
    assert turn.tool_calls[0]["arguments"]["origin"] == BASE + "PDX"
    second.close()


def test_two_processes_share_threads(embedder: Embedder, tmp_path: Path) -> None:
    one, two = (AgentRuntime(SmallServices(embedder, tmp_path)) for _ in range(2))
    one.agent("travel").invoke("How many flights from BOI to SEA?", "t")
    turn = two.agent("travel").invoke("and to PDX?", "t")
    assert turn.tool_calls[0]["arguments"] == {"origin": BASE + "BOI", "destination": BASE + "PDX"}
    one.close()
    two.close()


def test_a_thread_stays_small(embedder: Embedder, tmp_path: Path) -> None:
    """Results leave the messages when the turn is over, and only the last checkpoints are kept."""
    runtime = AgentRuntime(SmallServices(embedder, tmp_path))
    routes = runtime.agent("route_finder")
    for _ in range(12):
        routes.invoke("Direct flights from BOI", "t")
    runtime.close()
    connection = sqlite3.connect(tmp_path / "memory.sqlite")
    (count, size) = connection.execute("SELECT count(*), max(length(checkpoint)) FROM checkpoints").fetchone()
    connection.close()
    assert count == KEPT
    assert size < 12 * 20_000


def test_any_message_can_be_kept(embedder: Embedder, tmp_path: Path) -> None:
    runtime = AgentRuntime(SmallServices(embedder, tmp_path))
    assert runtime.agent("route_finder").invoke("a lone \ud800 surrogate", "t").answer
    assert runtime.agent("route_finder").invoke("thank you", "t").answer == "You are welcome."
    runtime.close()


def test_what_cannot_be_written_is_kept_in_memory_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING, logger="abi"):
        memory = open_memory(tmp_path / "file" / "memory.sqlite")
    assert type(memory.saver).__name__ == "InMemorySaver"
    assert "kept in memory only" in caplog.text
    memory.close()


def test_a_damaged_file_is_no_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "memory.sqlite").write_bytes(b"no database" * 1000)
    with caplog.at_level(logging.WARNING, logger="abi"):
        memory = open_memory(tmp_path / "memory.sqlite")
    assert type(memory.saver).__name__ == "InMemorySaver"
