"""Chat models by `provider:model` strings. `offline:grounded` is built in and needs no key and no network."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from abi.errors import Denied, Unsupported, UsageError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from abi.agents.intents import PhraseVectors
    from abi.agents.mentions import Mentions
    from abi.agents.services import Services

__all__ = ["ALLOW_MODEL_REQUESTS", "GROUNDED", "PROVIDERS", "ModelRegistry"]

ALLOW_MODEL_REQUESTS = True
"""Set to False in tests: then any model but the offline ones is refused before it is made."""

GROUNDED = "offline:grounded"

PROVIDERS: dict[str, str] = {
    "anthropic": "langchain-anthropic",
    "google_genai": "langchain-google-genai",
    "groq": "langchain-groq",
    "mistralai": "langchain-mistralai",
    "ollama": "langchain-ollama",
    "openai": "langchain-openai",
    "openrouter": "langchain-openai",
}
"""Provider to the package that a person installs to use it; others go through LangChain by their own name."""

_OPENROUTER = "https://openrouter.ai/api/v1"


class ModelRegistry:
    """Makes each chat model once. `register` puts a model of one's own under a name, as tests do."""

    def __init__(self, services: Services, vectors: PhraseVectors, mentions: Mentions) -> None:
        self._services = services
        self._mentions = mentions
        self._vectors = vectors
        self._made: dict[str, BaseChatModel] = {}
        self._lock = threading.Lock()

    def register(self, name: str, model: BaseChatModel) -> None:
        with self._lock:
            self._made[name] = model

    def get(self, name: str) -> BaseChatModel:
        """The model of that name. Raises UsageError, Unsupported (package missing) or Denied (requests forbidden)."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]

    def _make(self, name: str) -> BaseChatModel:
        provider, colon, model = name.partition(":")
        if not colon or not provider or not model:
            raise UsageError(f"{name!r} is no chat model.", hint=f"Write provider:model, for example {GROUNDED}.")
        if name == GROUNDED:
            from abi.agents.grounded import GroundedChatModel

            return GroundedChatModel(services=self._services, vectors=self._vectors, mentions=self._mentions)
        if provider == "offline":
            raise UsageError(f"There is no offline model {model!r}.", hint=f"The offline model is {GROUNDED}.")
        if not ALLOW_MODEL_REQUESTS:
            raise Denied(f"Requests to models are switched off here, and {name} would make one.")
        return _from_langchain(provider, model, name)


def _from_langchain(provider: str, model: str, name: str) -> BaseChatModel:
    package = PROVIDERS.get(provider, f"langchain-{provider.replace('_', '-')}")
    try:
        from langchain.chat_models import init_chat_model  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise Unsupported(
            f"The model {name} needs LangChain's model packages, which are not installed.",
            hint=f"pip install langchain {package}",
        ) from None
    options: dict[str, Any] = {}
    if provider == "openrouter":
        import os

        provider, options = "openai", {"base_url": _OPENROUTER, "api_key": os.environ.get("OPENROUTER_API_KEY")}
    try:
        made: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    except ImportError:
        raise Unsupported(f"The model {name} needs {package}.", hint=f"pip install {package}") from None
    except ValueError as error:
        raise UsageError(f"The model {name} cannot be made: {error}") from None
    return made
