"""The chat models of a workspace by name, each made once. `offline:grounded` is built in: no key, no network."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from abi import models
from abi.agents.model_loop import ModelLoop
from abi.agents.providers import close_clients, make_chat_model
from abi.errors import Denied, UsageError
from abi.models import ModelEntry, entry_of, split_name

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from abi.agents.chat_model import ChatModel
    from abi.agents.intents import PhraseVectors
    from abi.agents.mentions import Mentions
    from abi.agents.services import Services

__all__ = ["GROUNDED", "ModelRegistry"]

GROUNDED = "offline:grounded"


class ModelRegistry:
    """Makes each chat model once. `register` puts a model of one's own under a name, as tests do."""

    def __init__(self, services: Services, vectors: PhraseVectors, mentions: Mentions) -> None:
        self._services = services
        self._mentions = mentions
        self._vectors = vectors
        self._made: dict[str, BaseChatModel] = {}
        self._entries: dict[str, ModelEntry] = dict(services.settings.models)
        self._known: tuple[int, dict[str, ModelEntry]] = (-1, {})
        self._lock = threading.Lock()
        self.loop = ModelLoop()

    def register(self, name: str, model: BaseChatModel | ChatModel) -> None:
        """Put a LangChain model, or a ChatModel with what is known of it, under a name."""
        from abi.agents.chat_model import ChatModel

        with self._lock:
            if isinstance(model, ChatModel):
                self._entries[name] = model.entry()
                self._made.pop(name, None)
                if model.model is not None:
                    self._made[name] = model.model
            else:
                self._made[name] = model

    def get(self, name: str) -> BaseChatModel:
        """The model of that name. Raises UsageError, Unsupported (package missing), NotFound (no key) or Denied
        (requests forbidden, or an address that the workspace does not allow)."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]

    def entry(self, name: str) -> ModelEntry:
        """What the registry knows of a model: by the settings, else by the graph, else what comes with abi. Raises
        UsageError for what is no name of a model."""
        own = name in self._entries or any(e.model == name for e in self._entries.values())
        described = None if own or name == GROUNDED else self._described().get(name)
        if described is not None:
            return described
        try:
            return entry_of(name, self._entries)
        except ValueError:
            raise UsageError(
                f"{name!r} is no chat model.", hint=f"Write provider:model, for example {GROUNDED}."
            ) from None

    def chain(self, name: str) -> list[str]:
        """The model and those that are tried after it, in order, each once."""
        settings = self._services.settings
        names = [name]
        if name != GROUNDED:
            names += self.entry(name).fallback or settings.model_fallback
        return list(dict.fromkeys(names))

    def close(self) -> None:
        """Let go of the connections of all models."""
        with self._lock:
            made, self._made = list(self._made.values()), {}
        for model in made:
            if hasattr(model, "http_client") or hasattr(model, "_async_client"):
                self.loop.run(close_clients(model))
        self.loop.close()

    def _described(self) -> dict[str, ModelEntry]:
        """The models that the graph describes, read again when it has moved."""
        version = self._services.version()
        if self._known[0] != version:
            from abi.agents.model_descriptions import described_models

            self._known = version, described_models(self._services.store.query)
        return self._known[1]

    def _make(self, name: str) -> BaseChatModel:
        entry = self.entry(name)
        provider, model, address = split_name(entry.model)
        if entry.model == GROUNDED:
            from abi.agents.grounded import GroundedChatModel

            return GroundedChatModel(services=self._services, vectors=self._vectors, mentions=self._mentions)
        if provider == "offline":
            raise UsageError(f"There is no offline model {model!r}.", hint=f"The offline model is {GROUNDED}.")
        if not models.ALLOW_MODEL_REQUESTS:
            raise Denied(f"Requests to models are switched off here, and {name} would make one.")
        if address is not None and entry not in self._entries.values() and name != self._services.settings.model:
            self._require_allowed(name, address)
        return make_chat_model(entry, self._services.settings, self._services.secret)

    def _require_allowed(self, name: str, address: str) -> None:
        """An address in a name may come from a request or from the graph: it must be one that the operator lists."""
        from abi.allow_list import AllowList

        if not AllowList(self._services.settings.net_allow).allows(address):
            raise Denied(
                f"The model {name} is at an address that this workspace does not allow.",
                hint="Give it an entry under `models` in abi.yaml, or list its host under net_allow.",
            )
