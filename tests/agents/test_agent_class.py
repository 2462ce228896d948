"""Agents that a workspace's Python files define as classes: built from their triples, heard by their methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi.errors import NotFound
from abi.tools.python_process import end_processes
from abi.tools.trust import trust
from abi.workspace import Workspace

TEAM = """\
from pathlib import Path

from abi import Agent, Intent, IntentAgent, IntentType, tool

SAID = Path(__file__).with_name("said.txt")


@tool
def double(number: int) -> int:
    "Twice a number."
    return 2 * number


def note(line):
    with SAID.open("a") as file:
        print(line, file=file)


class Sums(IntentAgent):
    description = "Doubles numbers."

    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        return cls(
            name="sums",
            tools=[double],
            intents=[
                Intent("double a number", IntentType.TOOL, "double"),
                Intent("thanks", IntentType.RAW, "Welcome."),
            ],
            state=agent_shared_state,
            configuration=agent_configuration,
        )

    heard = 0

    def on_human_message(self, message):
        self.heard += 1
        note(f"{self.heard}. {message}")

    def on_ai_message(self, message, agent_name):
        note(f"{agent_name}: {message}")

    @classmethod
    def retains_active_turn(cls, text):
        return "bye" not in text


class Chief(Agent):
    name = "chief"
    description = "Hands sums over."

    def __init__(self, **more):
        super().__init__(agents=[Sums.New()], **more)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("POSTGRES_URL", raising=False)
    root = tmp_path / "w"
    (root / "agents").mkdir(parents=True)
    (root / "abi.yaml").write_text("base_iri: https://example.org/w/\npython_seconds: 20\n")
    (root / "agents" / "team.py").write_text(TEAM)
    with Workspace.open(root) as ws:
        ws.index()
    yield root
    end_processes()


def said(root: Path) -> list[str]:
    file = root / "agents" / "said.txt"
    return file.read_text().splitlines() if file.exists() else []


def test_a_class_is_an_agent_of_the_graph(root: Path) -> None:
    with Workspace.open(root) as ws:
        asked = (
            "SELECT ?c ?t { ?a a abi:AgentSpecification ; abi:className ?c OPTIONAL { ?a abi:hasTool/abi:name ?t } }"
        )
        assert {(r["c"], r.get("t")) for r in ws.query(asked)} == {("Sums", "double"), ("Chief", None)}
        assert ws.agent("Sums").name == ws.agent("sums").name == "sums"  # by its name, and by its class's
        assert ws.agent("chief").definition.agents == ("sums",)
        assert [e.name for e in ws.ls("agents").entries if e.name in ("chief", "sums")] == ["chief", "sums"]
        assert ws.find("agents", "double a number").hits[0].name == "sums"


def test_nothing_of_it_runs_before_trust(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Workspace.open(root) as ws:
        assert ws.chat("thanks", agent="sums").answer == "Welcome."
    assert said(root) == [] and "is not trusted" in caplog.text


def test_its_methods_hear_the_turn(root: Path) -> None:
    trust(root)
    with Workspace.open(root) as ws:
        assert ws.chat("thanks", agent="sums", thread_id="t").answer == "Welcome."
        result = ws.chat("double a number 4", agent="sums", thread_id="t")
        assert [c["result"] for c in result.tool_calls] == [8]
        list(ws.chat_stream("thanks", agent="sums", thread_id="other"))
    # One object hears them all, as it would in Python alone.
    assert [line for line in said(root) if line[0].isdigit()] == ["1. thanks", "2. double a number 4", "3. thanks"]
    assert said(root)[1] == "sums: Welcome." and len(said(root)) == 6


def test_it_says_whether_it_keeps_the_conversation(root: Path) -> None:
    trust(root)
    with Workspace.open(root) as ws:
        assert ws.chat("@sums thanks", agent="chief", thread_id="t").agent == "sums"
        assert ws.chat("thanks", agent="chief", thread_id="t").agent == "sums"
        assert ws.chat("bye for now", agent="chief", thread_id="t").agent == "chief"


@pytest.mark.parametrize(
    "body", ["raise ValueError(message)", "import os; os._exit(3)", "while True: pass", "self.missing"]
)
def test_a_method_that_fails_does_not_end_the_turn(root: Path, caplog: pytest.LogCaptureFixture, body: str) -> None:
    trust(root)
    (root / "abi.yaml").write_text("base_iri: https://example.org/w/\npython_seconds: 8\n")
    file = root / "agents" / "team.py"
    file.write_text(TEAM.replace("        self.heard += 1\n", f"        {body}\n"))
    with Workspace.open(root) as ws:
        ws.index()
        assert ws.chat("thanks", agent="sums").answer == "Welcome."
    assert said(root) == ["sums: Welcome."] and "on_human_message" in caplog.text


def test_an_edit_is_another_agent_and_a_removal_none(root: Path) -> None:
    file = root / "agents" / "team.py"
    file.write_text(TEAM.replace('"Welcome."', '"At your service."'))
    with Workspace.open(root) as ws:
        ws.index()
        assert ws.chat("thanks", agent="sums").answer == "At your service."
        file.write_text("")
        ws.index()
        with pytest.raises(NotFound):
            ws.agent("sums")
        assert not ws.query("ASK { ?a abi:className ?c }")


def test_a_class_that_is_gone_is_not_looked_for_elsewhere(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    trust(root)
    (root / "agents" / "team.py").write_text("class Sums:\n    pass\n")
    with Workspace.open(root) as ws:
        assert ws.chat("thanks", agent="sums").answer == "Welcome."
    assert "has no agent class 'Sums'" in caplog.text
