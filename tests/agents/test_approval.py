"""Agents that may write: a change is proposed, shown quad by quad, and made only after a yes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from abi.agents.agent import AgentRuntime
from abi.agents.update_graph import agreement
from abi.records.record import AgentSpecification
from abi.search.embedder import Embedder

from .conftest import BASE, FL, ScriptedModel, SmallServices, calling

GRAPH = BASE + "notes"
INSERT = f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <{BASE}BOI> fl:note 'windy' }} }}"
QUAD = f'<{BASE}BOI> <{FL}note> "windy" <{GRAPH}>'
KEEPER = AgentSpecification(name="keeper", description="Keeps the notes.", model="test:script", may_write=True)
READER = AgentSpecification(name="reader", description="Reads the notes.", model="test:script")


class Desk:
    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self.services = SmallServices(embedder, folder)
        self.services.put(KEEPER)
        self.services.put(READER)
        self.runtimes: list[AgentRuntime] = []
        self.model = ScriptedModel(script=[], seen=[], bound=[])
        self.restart()

    def restart(self) -> None:
        """As another process would: nothing is left but the file."""
        self.close()
        self.runtimes.append(AgentRuntime(self.services))
        self.runtimes[-1].models.register("test:script", self.model)

    def close(self) -> None:
        while self.runtimes:
            self.runtimes.pop().close()

    def say(self, text: str, *, agent: str = "keeper", may_write: bool = True, **options: Any) -> Any:
        return self.runtimes[-1].agent(agent).invoke(text, "t", may_write=may_write, **options)

    @property
    def notes(self) -> int:
        return len(list(self.services.store.quads(GRAPH)))


@pytest.fixture
def desk(embedder: Embedder, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(embedder, tmp_path)
    yield made
    made.close()


def write(update: str = INSERT, reason: str = "a remark") -> AIMessage:
    return calling("update_graph", update=update, reason=reason)


def told(desk: Desk) -> str:
    return str(desk.model.seen[-1][-1].content)


def test_a_change_is_shown_quad_by_quad_and_made_after_a_yes(desk: Desk) -> None:
    desk.model.script = [write(), "Noted."]
    asked = desk.say("BOI is windy")
    assert asked.answer == f"Shall I change the graph like this (a remark)?\n\n+ {QUAD} .\n\nAnswer yes or no."
    assert asked.needs == {
        "tool": "update_graph",
        "approval": {"added": [QUAD], "removed": [], "reason": "a remark"},
    }
    assert (asked.grounded, asked.number, desk.notes) == (None, 1, 0)
    turn = desk.say("yes")
    assert (turn.answer, turn.needs, turn.number, turn.message) == ("Noted.", None, 2, "yes")
    assert desk.notes == 1
    assert turn.tool_calls[0]["result"]["added"] == 1


def test_the_proposal_survives_a_restart(desk: Desk) -> None:
    desk.model.script = [write(), "Noted."]
    desk.say("BOI is windy")
    desk.restart()
    assert desk.notes == 0
    assert desk.say("Yes!").answer == "Noted."
    assert desk.notes == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("no", "The person did not approve the change."),
        ("yes, but call it breezy", "The person did not approve the change. They said: yes, but call it breezy"),
    ],
)
def test_anything_but_a_plain_yes_is_no_approval(desk: Desk, answer: str, said: str) -> None:
    desk.model.script = [write(), "As you like.", "Still here."]
    desk.say("BOI is windy")
    assert desk.say(answer).answer == "As you like."
    assert told(desk) == said
    assert desk.notes == 0
    assert desk.say("and now?").answer == "Still here."


def test_what_is_written_is_what_was_shown(desk: Desk) -> None:
    """The update's WHERE is not asked again: what came to the graph since is left alone."""
    update = f"INSERT {{ GRAPH <{GRAPH}> {{ ?a fl:note 'hilly' }} }} WHERE {{ ?a fl:city/fl:state <{BASE}idaho> }}"
    desk.model.script = [write(update), "Noted."]
    assert len(desk.say("Idaho is hilly").needs["approval"]["added"]) == 1
    desk.services.store.update(f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:new> <{FL}city> <{BASE}boise> }} }}")
    desk.say("yes")
    assert [str(q.subject.value) for q in desk.services.store.quads(GRAPH)] == [BASE + "BOI"]


def test_removals_are_shown_too(desk: Desk) -> None:
    desk.services.store.update(INSERT)
    update = "DELETE { GRAPH ?g { ?s fl:note ?o } } WHERE { GRAPH ?g { ?s fl:note ?o } }"
    desk.model.script = [write(update), "Gone."]
    asked = desk.say("forget the notes")
    assert f"- {QUAD} ." in asked.answer
    desk.say("ok")
    assert desk.notes == 0


@pytest.mark.parametrize(("agent", "may_write"), [("keeper", False), ("reader", True), ("reader", False)])
def test_both_the_person_and_the_agent_must_be_allowed(desk: Desk, agent: str, may_write: bool) -> None:
    desk.model.script = [write(), "I cannot."]
    turn = desk.say("BOI is windy", agent=agent, may_write=may_write)
    assert turn.answer == "I cannot."
    assert "update_graph" not in desk.model.bound
    assert told(desk).startswith("There is no tool 'update_graph' here.")
    assert desk.notes == 0


def test_it_is_offered_where_both_are_allowed(desk: Desk) -> None:
    desk.model.script = ["Nothing to do."]
    desk.say("hm")
    assert "update_graph" in desk.model.bound


def test_who_may_not_write_cannot_approve(desk: Desk) -> None:
    desk.model.script = [write(), "Sorry."]
    desk.say("BOI is windy")
    assert desk.say("yes", may_write=False).answer == "Sorry."
    assert told(desk) == "The person may not change the graph."
    assert desk.notes == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"update": "INSERT"}, "line"),
        ({}, "The arguments do not fit: update"),
        ({"update": f"DELETE DATA {{ GRAPH <{GRAPH}> {{ <urn:a> <urn:b> 1 }} }}"}, "changes nothing"),
        ({"update": "LOAD <http://127.0.0.1:9/x>"}, "LOAD"),
        ({"update": "INSERT DATA { GRAPH <urn:x> { <urn:t> a abi:SparqlTemplate } }"}, "rule"),
    ],
    ids=["syntax", "arguments", "nothing", "load", "shapes"],
)
def test_a_change_that_cannot_be_made_is_told_to_the_model_and_nobody_is_asked(
    desk: Desk, arguments: dict[str, Any], said: str
) -> None:
    desk.model.script = [calling("update_graph", **arguments), "I see."]
    assert desk.say("change it").answer == "I see."
    assert said in told(desk)


def test_two_changes_are_asked_for_one_after_the_other(desk: Desk) -> None:
    second = INSERT.replace("windy", "sunny")
    both = AIMessage(
        "",
        tool_calls=[
            {"name": "update_graph", "args": {"update": u}, "id": str(n)} for n, u in enumerate([INSERT, second])
        ],
    )
    desk.model.script = [both, "Done."]
    assert '"windy"' in desk.say("note both").answer
    assert '"sunny"' in desk.say("yes").answer
    assert desk.notes == 0
    assert desk.say("no").answer == "Done."
    assert [q.object.value for q in desk.services.store.quads(GRAPH)] == ["windy"]


@pytest.mark.parametrize("text", ["yes", "Yes!", " ok ", "go ahead.", "oui"])
def test_agreement(text: str) -> None:
    assert agreement(text) is True


@pytest.mark.parametrize("text", ["", "yes and no", "yesterday", "what does it do?", "approve nothing"])
def test_no_agreement(text: str) -> None:
    assert agreement(text) is not True
