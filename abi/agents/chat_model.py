"""What is known of a model, as Python code states it: `ChatModel` and `EmbeddingModel`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from abi.models import ModelEntry

__all__ = ["ChatModel", "EmbeddingModel", "Model"]


@dataclass(kw_only=True)
class Model:
    """A model of a provider. `model` is the LangChain object where one is at hand; else it is made of the rest."""

    model_id: str
    provider: str
    model: Any = None
    name: str = ""
    owner: str = ""
    description: str = ""
    image: str = ""
    created_at: datetime | None = None
    canonical_slug: str = ""
    hugging_face_id: str = ""
    pricing: dict[str, Any] = field(default_factory=dict)
    architecture: dict[str, Any] = field(default_factory=dict)
    top_provider: dict[str, Any] = field(default_factory=dict)
    per_request_limits: dict[str, Any] | None = None
    supported_parameters: list[str] = field(default_factory=list)
    default_parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """`provider:model`."""
        return f"{self.provider}:{self.model_id}"


@dataclass(kw_only=True)
class ChatModel(Model):
    """A chat model. `context_window` is in tokens."""

    context_window: int | None = None

    def entry(self) -> ModelEntry:
        known = self.default_parameters
        tools = not self.supported_parameters or "tools" in self.supported_parameters
        return ModelEntry(
            model=str(self),
            context_window=self.context_window,
            temperature=known.get("temperature"),
            max_tokens=known.get("max_tokens"),
            tools=tools,
        )


@dataclass(kw_only=True)
class EmbeddingModel(Model):
    """An embedding model. `dimensions` is the length of its vectors."""

    dimensions: int | None = None
    context_window: int | None = None

    def entry(self) -> ModelEntry:
        return ModelEntry(model=str(self), context_window=self.context_window, dimensions=self.dimensions)
