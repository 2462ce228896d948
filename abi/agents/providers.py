"""Makes chat models of entries: each provider's package, address and key, through LangChain's `init_chat_model`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abi.errors import NotFound, Unsupported, UsageError
from abi.models import ModelEntry, split_name

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from abi.settings import Settings

__all__ = ["PROVIDERS", "Provider", "close_clients", "make_chat_model", "provider_of"]


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider is reached. `name` is LangChain's for it; `key` is the secret that a call needs by default."""

    package: str
    extra: str | None = None
    name: str | None = None
    base_url: str | None = None
    key: str | None = None


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider("langchain-anthropic", "anthropic", key="ANTHROPIC_API_KEY"),
    "google_genai": Provider("langchain-google-genai", key="GOOGLE_API_KEY"),
    "groq": Provider("langchain-groq", key="GROQ_API_KEY"),
    "mistralai": Provider("langchain-mistralai", key="MISTRAL_API_KEY"),
    "ollama": Provider("langchain-ollama", "ollama"),
    "openai": Provider("langchain-openai", "openai", key="OPENAI_API_KEY"),
    "openrouter": Provider(
        "langchain-openai", "openai", "openai", "https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"
    ),
}
"""Providers that abi knows how to reach; others go through LangChain by their own name and environment."""

_NO_KEY = "none"
"""Sent where a service behind an address of one's own wants no key: OpenAI's client insists on one."""


def provider_of(name: str) -> Provider:
    return PROVIDERS.get(name) or Provider(f"langchain-{name.replace('_', '-')}")


def make_chat_model(entry: ModelEntry, settings: Settings, secret: Callable[[str], str]) -> BaseChatModel:
    """The LangChain model of an entry. Makes no request.

    Raises Unsupported (a package is missing), NotFound (its key has no value), UsageError (LangChain refuses it).
    """
    name, model, address = split_name(entry.model)
    provider = provider_of(name)
    base_url = entry.base_url or address
    options = _limits(name, entry, settings, own_address=bool(base_url or provider.base_url))
    key = _key(entry, provider, secret, own_address=base_url is not None)
    if key is not None:
        options["api_key"] = key
    if base_url or provider.base_url:
        options["base_url"] = base_url or provider.base_url
    try:
        from langchain.chat_models import init_chat_model

        made: BaseChatModel = init_chat_model(model, model_provider=provider.name or name, **options)
    except ImportError:
        install = f"'abi-graph[{provider.extra}]'" if provider.extra else f"langchain {provider.package}"
        raise Unsupported(
            f"The model {entry.model} needs the package {provider.package}.", hint=f"pip install {install}"
        ) from None
    except ValueError as error:
        raise UsageError(f"The model {entry.model} cannot be made: {error}") from None
    return made


def _key(entry: ModelEntry, provider: Provider, secret: Callable[[str], str], *, own_address: bool) -> str | None:
    """A provider's own key goes to that provider only; an address gets the key that its entry names, or none."""
    if entry.key is not None:
        return secret(entry.key)
    if own_address:
        return _NO_KEY if "openai" in provider.package else None
    if provider.key is None:
        return None
    try:
        return secret(provider.key)
    except NotFound as error:
        raise NotFound(
            f"The model {entry.model} needs a key: {error.message}",
            hint=f"Set {provider.key} in the environment, or say under `secrets` in abi.yaml where it is.",
        ) from None


def _limits(name: str, entry: ModelEntry, settings: Settings, *, own_address: bool) -> dict[str, Any]:
    """Time, tries and sizes, under the names that each provider's class gives them."""
    seconds = entry.seconds or settings.model_seconds
    retries = settings.model_retries if entry.retries is None else entry.retries
    options: dict[str, Any] = {}
    if entry.temperature is not None:
        options["temperature"] = entry.temperature
    if name == "ollama":
        options["client_kwargs"] = {"timeout": seconds}
        if entry.context_window:
            options["num_ctx"] = entry.context_window
        if entry.max_tokens:
            options["num_predict"] = entry.max_tokens
        return options
    options |= {"timeout": seconds, "max_retries": retries}
    if provider_of(name).package == "langchain-openai":
        import httpx

        # Clients of its own, which can be closed: LangChain's are shared by the whole process.
        options |= {"http_client": httpx.Client(), "http_async_client": httpx.AsyncClient()}
        options["stream_usage"] = True
        if own_address:
            # Services that speak OpenAI's older language: chat completions, and `max_tokens` by that name.
            options["use_responses_api"] = False
            if entry.max_tokens:
                options["extra_body"] = {"max_tokens": entry.max_tokens}
            return options
    if entry.max_tokens:
        options["max_tokens"] = entry.max_tokens
    return options


async def close_clients(model: BaseChatModel) -> None:
    """Let go of the connections of a model that `make_chat_model` made; on the event loop that its calls ran on."""
    for place in (model, getattr(model, "_client", None), getattr(model, "_async_client", None)):
        for name in ("http_client", "http_async_client", "_client"):
            client: Any = getattr(place, name, None)
            if hasattr(client, "aclose"):
                await client.aclose()
            elif hasattr(client, "is_closed") and hasattr(client, "close"):
                client.close()
