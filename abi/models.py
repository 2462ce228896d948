"""What chat and embedding models a workspace knows: their names, limits and keys. Nothing here makes a request.

A model is named `provider:model`, like `openrouter:openai/gpt-4o-mini` or `ollama:qwen3:8b`; one behind an address of
one's own `openai:MODEL@http://127.0.0.1:8080/v1`. What a name alone cannot say stands under `models:` in `abi.yaml`:

    models:
      house:
        model: openai:qwen3-8b
        base_url: http://10.0.0.7:8000/v1
        key: HOUSE_KEY
        context_window: 32768
        fallback: [openrouter:openai/gpt-4o-mini]
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ["ALLOW_MODEL_REQUESTS", "SHIPPED", "ModelEntry", "entry_of", "split_name"]

ALLOW_MODEL_REQUESTS = True
"""Set to False in tests: then a model that would make requests is refused before it is made."""


def split_name(name: str) -> tuple[str, str, str | None]:
    """Provider, model and address (None without one) of a name. Raises ValueError for what is no name of a model."""
    named, at, rest = name.partition("@http")
    provider, colon, model = named.partition(":")
    if not colon or not provider or not model or (at and not rest.startswith(("://", "s://"))):
        raise ValueError(f"{name!r} is no model; write provider:model")
    return provider, model, f"http{rest}" if at else None


class ModelEntry(BaseModel):
    """One model of the registry. Times are seconds; None takes the setting or the provider's default."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="provider:model.")
    base_url: str | None = Field(default=None, description="Address of an OpenAI-compatible service, with its /v1.")
    key: str | None = Field(default=None, description="Name of the secret that holds the key.")
    context_window: int | None = Field(default=None, gt=0, description="Tokens that the model reads at most.")
    max_tokens: int | None = Field(default=None, gt=0, description="Tokens that one reply has at most.")
    temperature: float | None = Field(default=None, ge=0, le=2)
    seconds: float | None = Field(default=None, gt=0, description="Time limit of one call; default: model_seconds.")
    retries: int | None = Field(default=None, ge=0, description="Tries after a failed one; default: model_retries.")
    tools: bool = Field(default=True, description="Whether it calls tools through the provider's own interface.")
    fallback: list[str] = Field(default=[], description="Models that are tried, in order, where this one fails.")
    dimensions: int | None = Field(default=None, gt=0, description="Length of an embedding model's vectors.")

    @field_validator("model")
    @classmethod
    def _named(cls, value: str) -> str:
        split_name(value)
        return value

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("base_url begins with http:// or https://")
        return value


SHIPPED: dict[str, ModelEntry] = {
    entry.model: entry
    for entry in (
        ModelEntry(model="openrouter:openai/gpt-4o-mini", context_window=128_000),
        ModelEntry(model="openrouter:anthropic/claude-sonnet-4", context_window=200_000),
        ModelEntry(model="openrouter:openrouter/auto"),
        # Ollama reads 4,096 tokens unless it is told more, and cuts what is longer without a word.
        ModelEntry(model="ollama:qwen2.5:3b", context_window=32_768),
        ModelEntry(model="ollama:qwen3:8b", context_window=40_960),
        ModelEntry(model="ollama:deepseek-r1:8b", context_window=65_536),
        ModelEntry(model="ollama:gemma3:4b", context_window=65_536, tools=False),
        ModelEntry(model="ollama:nomic-embed-text", context_window=2_048, dimensions=768),
    )
}
"""Entries that need no line in `abi.yaml`. A workspace's own of the same name takes their place."""


def entry_of(name: str, own: dict[str, ModelEntry]) -> ModelEntry:
    """The entry that a name stands for: the workspace's, a shipped one, else one made of the name. Raises ValueError.

    `own` are the workspace's entries. A name that is no entry's is looked for among the models of its entries too.
    """
    for entries in (own, SHIPPED):
        if name in entries:
            return entries[name]
        for entry in entries.values():
            if entry.model == name:
                return entry
    return ModelEntry(model=name)
