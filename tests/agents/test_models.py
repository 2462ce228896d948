from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from pydantic import ValidationError

from abi import models
from abi.agents.agent import AgentRuntime
from abi.agents.chat_model import ChatModel, EmbeddingModel
from abi.agents.grounded import GroundedChatModel
from abi.errors import Denied, NotFound, Unsupported, UsageError
from abi.models import SHIPPED, ModelEntry, entry_of, split_name
from abi.settings import Settings

from .conftest import SmallServices
from .openai_server import OpenAIServer, says


@pytest.fixture
def made(services: SmallServices) -> Iterator[Callable[[], AgentRuntime]]:
    """Makes runtimes over `services`, as their settings are then, and closes them."""
    runtimes: list[AgentRuntime] = []

    def make() -> AgentRuntime:
        runtimes.append(AgentRuntime(services))
        return runtimes[-1]

    yield make
    for runtime in runtimes:
        runtime.close()


Made = Callable[[], AgentRuntime]


def test_the_offline_model_is_built_in_and_made_once(runtime: AgentRuntime) -> None:
    model = runtime.models.get("offline:grounded")
    assert isinstance(model, GroundedChatModel)
    assert runtime.models.get("offline:grounded") is model


@pytest.mark.parametrize("name", ["", "gpt", ":x", "openai:", "offline:other", "openai:x@httpnothing"])
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
    assert "abi-graph[ollama]" in raised.value.hint
    with pytest.raises(Unsupported) as raised:
        runtime.models.get("together:some/model")
    assert "langchain-together" in raised.value.hint


def test_a_provider_that_nobody_knows(runtime: AgentRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    with pytest.raises(UsageError, match="cannot be made"):
        runtime.models.get("nobody:model")


def test_a_model_that_cannot_be_had_ends_the_turn_with_words(services: SmallServices, runtime: AgentRuntime) -> None:
    turn = runtime.agent("route_finder").invoke("Direct flights from BOI", "t", model="offline:other")
    assert turn.answer.startswith("The model offline:other cannot be used: There is no offline model 'other'.")
    assert turn.grounded is False


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ollama:qwen2.5:3b", ("ollama", "qwen2.5:3b", None)),
        ("openrouter:openai/gpt-4o-mini", ("openrouter", "openai/gpt-4o-mini", None)),
        ("openai:small@http://127.0.0.1:8080/v1", ("openai", "small", "http://127.0.0.1:8080/v1")),
        ("openai:small@https://models.example.org/v1", ("openai", "small", "https://models.example.org/v1")),
        ("openai:me@home", ("openai", "me@home", None)),
    ],
)
def test_names_of_models(name: str, parts: tuple[str, str, str | None]) -> None:
    assert split_name(name) == parts


def test_entries_are_ready_for_openrouter_and_ollama() -> None:
    wanted = {"qwen2.5:3b", "qwen3:8b", "deepseek-r1:8b", "gemma3:4b", "nomic-embed-text"}
    assert wanted <= {split_name(n)[1] for n in SHIPPED if n.startswith("ollama:")}
    assert any(n.startswith("openrouter:") for n in SHIPPED)
    assert SHIPPED["ollama:nomic-embed-text"].dimensions == 768


def test_a_workspaces_entry_comes_before_a_shipped_one() -> None:
    own = {"ollama:qwen3:8b": ModelEntry(model="ollama:qwen3:8b", context_window=8192), "big": ModelEntry(model="a:b")}
    assert entry_of("ollama:qwen3:8b", own).context_window == 8192
    assert entry_of("big", own) == entry_of("a:b", own) == own["big"]
    assert entry_of("ollama:qwen3:8b", {}).context_window == 40_960
    assert entry_of("openai:new", {}) == ModelEntry(model="openai:new")


@pytest.mark.parametrize("entry", [{"model": "x"}, {"model": "a:b", "base_url": "ftp://x"}, {"model": "a:b", "kee": 1}])
def test_entries_that_are_wrong(entry: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings(base_iri="https://example.org/", models={"m": entry})  # type: ignore[dict-item]


def test_a_key_goes_to_its_provider_by_the_name_of_its_secret(
    services: SmallServices, made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    runtime = made()
    with pytest.raises(NotFound, match="OPENROUTER_API_KEY"):
        runtime.models.get("openrouter:openai/gpt-4o-mini")
    (tmp_path / "key").write_text("sesame\n")
    services.settings.secrets["OPENROUTER_API_KEY"] = f"file:{tmp_path}/key"
    model = runtime.models.get("openrouter:openai/gpt-4o-mini")
    assert model.openai_api_key.get_secret_value() == "sesame"  # type: ignore[attr-defined]
    assert model.openai_api_base == "https://openrouter.ai/api/v1"  # type: ignore[attr-defined]
    assert "sesame" not in repr(model)


def test_an_address_of_ones_own_never_gets_a_providers_key(
    services: SmallServices, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.setenv("OPENAI_API_KEY", "precious")
    monkeypatch.setenv("HOUSE_KEY", "house")
    with OpenAIServer([says("a"), says("b")]) as server:
        services.settings.net_allow = [server.root]
        services.settings.models["house"] = ModelEntry(model="openai:m", base_url=server.url, key="HOUSE_KEY")
        runtime = made()
        runtime.models.get(f"openai:m@{server.url}").invoke([HumanMessage("x")])
        runtime.models.get("house").invoke([HumanMessage("x")])
        assert server.keys == ["Bearer none", "Bearer house"]


def test_an_address_in_a_name_must_be_allowed(
    services: SmallServices, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    name = "openai:m@http://127.0.0.1:9/v1"
    with pytest.raises(Denied, match="does not allow"):
        made().models.get(name)
    services.settings.model = name  # the operator's own word
    assert made().models.get(name)


def test_what_code_knows_of_a_model_becomes_an_entry(runtime: AgentRuntime) -> None:
    model = ChatModel(model_id="qwen3:8b", provider="ollama", context_window=40_960, supported_parameters=["stop"])
    runtime.models.register("mine", model)
    assert runtime.models.entry("mine") == ModelEntry(model="ollama:qwen3:8b", context_window=40_960, tools=False)
    assert EmbeddingModel(model_id="m", provider="openai", dimensions=3).entry().dimensions == 3
    offline = runtime.models.get("offline:grounded")
    runtime.models.register("made", ChatModel(model_id="x", provider="y", model=offline))
    assert runtime.models.get("made") is offline


def test_the_chain_of_models(services: SmallServices, made: Made) -> None:
    services.settings.models["first"] = ModelEntry(model="openai:a", fallback=["openai:b", "offline:grounded"])
    services.settings.model_fallback = ["openai:c"]
    registry = made().models
    assert registry.chain("first") == ["first", "openai:b", "offline:grounded"]
    assert registry.chain("openai:x") == ["openai:x", "openai:c"]
    assert registry.chain("offline:grounded") == ["offline:grounded"]


def test_ollama_gets_its_context_and_its_time(
    services: SmallServices, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ollama cuts what is longer than 4,096 tokens without a word unless it is told."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    with OpenAIServer([says("From Ollama.")]) as server:
        services.settings.models["small"] = ModelEntry(
            model="ollama:qwen3:8b", base_url=server.root, context_window=8192, max_tokens=100
        )
        reply = made().models.get("small").invoke([HumanMessage("x")])
        assert reply.content == "From Ollama."
        assert server.requests[0]["options"]["num_ctx"] == 8192
        assert server.requests[0]["options"]["num_predict"] == 100


def test_a_reply_is_limited_in_a_service_that_knows_only_max_tokens(
    services: SmallServices, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    with OpenAIServer([says("x")]) as server:
        services.settings.models["m"] = ModelEntry(model="openai:m", base_url=server.url, max_tokens=7, temperature=0.0)
        made().models.get("m").invoke([HumanMessage("x")])
        assert server.requests[0]["max_tokens"] == 7
        assert server.requests[0]["temperature"] == 0.0


def describe(services: SmallServices, turtle: str) -> None:
    """Put a description of models into the graph, and move its version."""
    import pyoxigraph as ox

    prefix = "@prefix abi: <https://w3id.org/abi/> . @prefix : <https://example.org/models/> .\n"
    quads = [
        ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode("https://example.org/models"))
        for t in ox.parse(prefix + turtle, ox.RdfFormat.TURTLE)
    ]
    services.store.apply([], quads)


def test_models_are_described_in_the_graph(services: SmallServices, runtime: AgentRuntime) -> None:
    assert runtime.models.entry("ollama:tiny").tools
    describe(
        services,
        ':t a abi:ModelDescription ; abi:modelName "ollama:tiny" ; abi:contextWindow 2048 ; abi:callsTools false .'
        ':g a abi:ModelDescription ; abi:modelName "ollama:gemma3:4b" ; abi:contextWindow 1024 .'
        ':e a abi:ModelDescription ; abi:modelName "ollama:vectors" ; abi:vectorLength 12 .',
    )
    tiny = runtime.models.entry("ollama:tiny")
    assert (tiny.context_window, tiny.tools) == (2048, False)
    gemma = runtime.models.entry("ollama:gemma3:4b")
    assert (gemma.context_window, gemma.tools) == (1024, False)  # what is not said is as abi knows it
    assert runtime.models.entry("ollama:vectors").dimensions == 12


def test_settings_come_before_the_graph_and_the_graph_says_no_address(services: SmallServices, made: Made) -> None:
    own = ModelEntry(model="ollama:tiny", context_window=7)
    services.settings = services.settings.model_copy(update={"models": {"mine": own}})
    describe(
        services,
        ':t a abi:ModelDescription ; abi:modelName "ollama:tiny" ; abi:contextWindow 2048 .'
        ':m a abi:ModelDescription ; abi:modelName "mine" ; abi:contextWindow 1 .'
        ':a a abi:ModelDescription ; abi:modelName "openai:m@http://10.0.0.1/v1" ; abi:contextWindow 1 .'
        ':w a abi:ModelDescription ; abi:modelName "ollama:w" ; abi:contextWindow "many" .',
    )
    registry = made().models
    assert registry.entry("ollama:tiny") == registry.entry("mine") == own
    assert registry.entry("openai:m@http://10.0.0.1/v1").context_window is None
    assert registry.entry("ollama:w").context_window is None
