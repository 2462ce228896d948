"""A conversation on a real terminal, whose model is a scripted service."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agents.openai_server import OpenAIServer, Step, drips, says


class Terminal:
    """`abi` on a pseudo-terminal."""

    def __init__(self, *arguments: str | Path, env: dict[str, str]) -> None:
        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "abi.cli.main", *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **env, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def type(self, line: str) -> None:
        os.write(self._own, f"{line}\n".encode())

    def wait_for(self, text: str, seconds: float = 60.0) -> str:
        """All that was printed up to this text, from where the last wait ended."""
        until = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < until, f"no {text!r} in {self.seen!r}"
            if select.select([self._own], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self._own, 65536).decode(errors="replace")
                except OSError:  # the other end is closed
                    assert text in self.seen, self.seen
        head, _, self.seen = self.seen.partition(text)
        return head

    def close(self) -> int:
        code = self.process.wait(30)
        os.close(self._own)
        return code


def tells(body: dict[str, Any]) -> Step:
    """Slowly a long story; to all else one line. Intents it keeps as they are: how a message is routed is not asked."""
    if any(t["function"]["name"] == "FilterIntents" for t in body.get("tools", ())):
        return says("none of my business")
    asked = [m["content"] for m in body["messages"] if m["role"] == "user"][-1]
    return drips("alpha beta gamma " * 100, 0.05) if "story" in asked else says("Still here, on one line.")


def test_words_come_as_they_are_written_and_ctrl_c_ends_the_turn_only(workspace: Path) -> None:
    with OpenAIServer(tells) as server:
        with (workspace / "abi.yaml").open("a") as settings:
            settings.write(f"models:\n  slow: {{model: 'openai:m', base_url: '{server.url}'}}\n")
        terminal = Terminal("-C", workspace, "chat", "guide", "--model", "slow", env={})
        try:
            terminal.wait_for("Ask the graph.")
            terminal.type("tell me a very long story")
            terminal.wait_for("alpha beta gamma")
            terminal.process.send_signal(signal.SIGINT)
            terminal.wait_for("[stopped]", 20)
            assert server.broken_off.wait(10)
            terminal.type("are you there at all?")
            terminal.wait_for("Still here, on one line.")
            assert "Still here" not in terminal.seen
            terminal.type("/quit")
            assert terminal.close() == 0
        finally:
            terminal.process.kill()
            terminal.process.wait()


def test_the_commands_of_a_conversation(workspace: Path) -> None:
    terminal = Terminal("-C", workspace, "chat", env={})
    try:
        terminal.wait_for("Ask the graph.")
        for line, answer in (
            ("/help", "Ctrl-C stops a turn."),
            ("/why", "Nothing was asked yet."),
            ("/thread", "The conversation begins with the first message."),
            ("/graph", "triples, version"),
            ("/model", "offline:grounded"),
            ("/agents nobody", "There is no agent 'nobody'"),
            ("/agents guide", "You are talking to guide."),
            ("/model offline:grounded", "offline:grounded"),
            ("/thread t7", "t7"),
        ):
            terminal.type(line)
            terminal.wait_for("\r\n")
            terminal.wait_for(answer)
        terminal.type("/thread new")
        terminal.wait_for("The conversation begins")
        terminal.type("/quit")
        assert terminal.close() == 0
        assert "/agents guide" in (workspace / ".abi" / "chat-history").read_text()
    finally:
        terminal.process.kill()
        terminal.process.wait()


def test_calls_are_folded_and_why_unfolds_them(workspace: Path) -> None:
    terminal = Terminal("-C", workspace, "chat", env={})
    try:
        terminal.wait_for("Ask the graph.")
        terminal.type("@KnowledgeGraphAgent how many triples does the graph have?")
        shown = terminal.wait_for(" ms")
        assert "graph_statistics" in shown
        shown = terminal.wait_for("> ")
        assert "SELECT" not in shown
        terminal.type("/why")
        terminal.wait_for("by ")
        terminal.wait_for("SELECT")
        terminal.type("/quit")
        assert terminal.close() == 0
    finally:
        terminal.process.kill()
        terminal.process.wait()
