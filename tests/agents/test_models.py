from __future__ import annotations

import sys

import pytest

from abi.agents import models
from abi.agents.agent import AgentRuntime
from abi.agents.grounded import GroundedChatModel
from abi.errors import Denied, Unsupported, UsageError

from .conftest import SmallServices


def test_the_offline_model_is_built_in_and_made_once(runtime: AgentRuntime) -> None:
    model = runtime.models.get("offline:grounded")
    assert isinstance(model, GroundedChatModel)
    assert runtime.models.get("offline:grounded") is model


@pytest.mark.parametrize("name", ["", "gpt", ":x", "openai:", "offline:other"])
def test_names_that_are_no_model(runtime: AgentRuntime, name: str) -> None:
    with pytest.raises(UsageError):
        runtime.models.get(name)


def test_requests_can_be_forbidden(runtime: AgentRuntime) -> None:
    with pytest.raises(Denied, match="switched off"):
        runtime.models.get("openai:gpt-5")
    assert runtime.models.get("offline:grounded")


def test_a_missing_package_is_named(runtime: AgentRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(Unsupported) as raised:
        runtime.models.get("ollama:qwen3:8b")
    assert "langchain-ollama" in raised.value.hint


def test_a_model_that_cannot_be_had_ends_the_turn_with_words(services: SmallServices, runtime: AgentRuntime) -> None:
    turn = runtime.agent("route_finder").invoke("Direct flights from BOI", "t", model="offline:other")
    assert turn.answer.startswith("The model offline:other cannot be used: There is no offline model 'other'.")
    assert turn.grounded is False
