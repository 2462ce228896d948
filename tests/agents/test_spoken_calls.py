from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.agents.spoken_calls import spoken_calls
from abi.agents.thoughts import ThoughtFilter

FIND = {"name": "find", "args": {"a": 1}, "id": "spoken-0", "type": "tool_call"}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('<tool_call>{"name": "find", "arguments": {"a": 1}}</tool_call>', ""),
        ('Let me see. <tool_call>\n{"name": "find", "parameters": {"a": 1}}\n</tool_call>', "Let me see."),
        ('<tool_call>{"name": "find", "arguments": "{\\"a\\": 1}"}', ""),
        ('<function=find>{"a": 1}</function>', ""),
        ('<tool_call><function=find>{"a": 1}</function></tool_call>', ""),
        ('[TOOL_CALLS] [{"name": "find", "arguments": {"a": 1}}] and on', "and on"),
        ('[TOOL_CALLS]{"name": "find", "arguments": {"a": 1}}', ""),
    ],
)
def test_calls_in_the_marks_of_models(text: str, rest: str) -> None:
    assert spoken_calls(text, {"find"}) == (rest, [FIND])


def test_several() -> None:
    text = '<tool_call>{"name": "find"}</tool_call><tool_call>{"name": "other", "arguments": {}}</tool_call>'
    rest, calls = spoken_calls(text, {"find", "other"})
    assert rest == ""
    assert [(c["name"], c["args"], c["id"]) for c in calls] == [("find", {}, "spoken-0"), ("other", {}, "spoken-1")]


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        '{"name": "find", "arguments": {}}',
        '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
        "<tool_call>no json</tool_call>",
        '<tool_call>{"name": "find", "arguments": [1]}</tool_call>',
        "[TOOL_CALLS] [",
        '[TOOL_CALLS] [{"name": "find"}, {"name": "unknown"}]',
        "<function=find>",
        "<tool_call>" * 3000 + "[" * 3000,
    ],
)
def test_what_is_no_call_of_an_offered_tool_stays_text(text: str) -> None:
    assert spoken_calls(text, {"find"}) == (text, [])


@given(st.text(alphabet='<tool_cal/>{}[]":,fundi= \\T', max_size=60))
def test_any_text(text: str) -> None:
    rest, calls = spoken_calls(text, {"find"})
    assert calls or rest == text


def test_a_call_is_not_said_while_it_comes() -> None:
    said = ThoughtFilter()
    text = 'One <th<think>x</think> two <tool_call>{"name": "find"}</tool_call>'
    assert "".join(said(c) for c in text) + said.rest() == "One <thtwo "
