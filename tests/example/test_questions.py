"""The example workspace is asked what a newcomer would ask; right answers are worked out apart from it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flights_facts import WORKSPACE, facts
from questions import AMBIGUOUS, ANSWERED, ELSEWHERE, HELD_OUT, INCOMPLETE, SMALL_TALK, UNANSWERABLE, Ambiguous, Asked

from abi import Workspace

HELD_OUT_RIGHT = 6
"""How many of the held-out questions came out right when they were first asked, and must from then on."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A copy of the example, indexed from nothing and trusted."""
    folder = tmp_path_factory.mktemp("example") / "flights"
    shutil.copytree(WORKSPACE, folder, ignore=shutil.ignore_patterns(".abi", "__pycache__"))
    with Workspace.open(folder) as opened:
        opened.trust()
        report = opened.index()
        assert not [f for f in report.findings if f.severity == "error"], report.findings
        yield opened


def ask(workspace: Workspace, message: str, thread: str) -> dict[str, Any]:
    return dict(workspace.agent("travel").invoke(message, thread_id=thread).document())


def wrong(turn: dict[str, Any], asked: Asked) -> str:
    """What is wrong with a turn; empty where it is right."""
    if asked.tool is None:
        return states_a_fact(turn)
    tools = [call["tool"] for call in turn["tool_calls"] if not call["tool"].startswith("transfer_to_")]
    if tools != [asked.tool]:
        return f"called {tools}, not {asked.tool}: {turn['answer']}"
    if turn["grounded"] is not True:
        return f"grounded is {turn['grounded']}: {turn['answer']}"
    at = 0
    for text in asked.says(facts()):
        found = turn["answer"].find(text, at)
        if found < 0:
            return f"{text!r} is missing, or not in its place: {turn['answer']}"
        at = found + len(text)
    return unfounded(turn)


def unfounded(turn: dict[str, Any]) -> str:
    """Numbers of the answer that are in no row, no argument and no count: there must be none."""
    held = json.dumps(turn["tool_calls"], default=str)
    loose = [n for n in re.findall(r"\d+(?:\.\d+)?", turn["answer"]) if n not in held]
    return f"{loose} stand in no row: {turn['answer']}" if loose else ""


def states_a_fact(turn: dict[str, Any]) -> str:
    """A turn that had nothing to go by says so, calls nothing, cites nothing and names no number of its own."""
    if turn["grounded"] is not False:
        return f"grounded is {turn['grounded']}: {turn['answer']}"
    if turn["tool_calls"] or turn["citations"]:
        return f"called {turn['tool_calls']}, cited {turn['citations']}: {turn['answer']}"
    numbers = set(re.findall(r"\d+", turn["answer"])) - {"2008", "2020"}
    return f"states {numbers}: {turn['answer']}" if numbers else ""


@pytest.mark.parametrize("asked", ANSWERED, ids=lambda a: a.question)
def test_answered_as_the_files_say(workspace: Workspace, asked: Asked) -> None:
    assert wrong(ask(workspace, asked.question, f"answered {asked.question}"), asked) == ""


@pytest.mark.parametrize("asked", UNANSWERABLE, ids=lambda a: a.question)
def test_what_the_data_cannot_answer_is_not_answered(workspace: Workspace, asked: Asked) -> None:
    assert states_a_fact(ask(workspace, asked.question, f"not {asked.question}")) == ""


@pytest.mark.parametrize("asked", [*AMBIGUOUS, INCOMPLETE], ids=lambda a: a.question)
def test_an_unclear_question_is_asked_back_and_then_answered(workspace: Workspace, asked: Ambiguous) -> None:
    thread = f"unclear {asked.question}"
    turn = ask(workspace, asked.question, thread)
    assert turn["grounded"] is None, turn["answer"]
    assert turn["needs"], turn
    assert turn["tool_calls"] == []
    for choice in asked.choices:
        assert choice in turn["answer"] or choice in json.dumps(turn["needs"]), turn
    settled = ask(workspace, asked.then, thread)
    assert wrong(settled, Asked(asked.question, asked.tool, asked.says)) == ""


@pytest.mark.parametrize("message", SMALL_TALK)
def test_small_talk(workspace: Workspace, message: str) -> None:
    turn = ask(workspace, message, f"talk {message}")
    assert turn["answer"].startswith(SMALL_TALK[message])
    assert turn["grounded"] is None
    assert turn["tool_calls"] == []


def test_a_namesake_elsewhere_is_asked_about(workspace: Workspace) -> None:
    turn = ask(workspace, ELSEWHERE, "elsewhere")
    assert turn["grounded"] is not True
    assert turn["tool_calls"] == []


def test_held_out_questions(workspace: Workspace) -> None:
    turns = {a: ask(workspace, a.question, f"held out {a.question}") for a in HELD_OUT}
    assert [turn for turn in turns.values() if unfounded(turn)] == []
    faults = {a.question: wrong(turn, a) for a, turn in turns.items()}
    right = [question for question, fault in faults.items() if not fault]
    assert len(right) >= HELD_OUT_RIGHT, "\n".join(f"{q}: {fault}" for q, fault in faults.items() if fault)


def test_the_demo_asks_one_question_of_each_kind(workspace: Workspace) -> None:
    import yaml

    entries = yaml.safe_load((WORKSPACE / "demo.yaml").read_text(encoding="utf-8"))
    known = {a.question: a for a in [*ANSWERED, *UNANSWERABLE]}
    tools = [known[entry["question"]].tool for entry in entries]
    assert tools == ["find_direct_routes", "find_indirect_routes", "flights_between", "distance", None]
    for entry in entries:
        turn = workspace.agent(entry["agent"]).invoke(entry["question"], thread_id=f"demo {entry['question']}")
        assert wrong(dict(turn.document()), known[entry["question"]]) == ""


def test_an_edited_agent_answers_otherwise(workspace: Workspace, tmp_path: Path) -> None:
    """One triple of the agent, one answer: no code, no restart."""
    guide = "https://example.org/flights/agent/airport_guide"
    change = f"""
        PREFIX abi: <https://w3id.org/abi/>
        DELETE {{ GRAPH ?g {{ <{guide}/intent/hello> abi:reply ?old }} }}
        INSERT {{ GRAPH ?g {{ <{guide}/intent/hello> abi:reply "Welcome aboard." }} }}
        WHERE {{ GRAPH ?g {{ <{guide}/intent/hello> abi:reply ?old }} }}"""
    agent = workspace.agent("airport_guide")
    before = agent.invoke("hello", thread_id="edit").document()["answer"]
    workspace.update(change)
    after = workspace.agent("airport_guide").invoke("hello", thread_id="edit").document()["answer"]
    assert (before.split(".")[0], after) == ("Hello", "Welcome aboard.")
