"""The embedding model that a record names, or what stands in for it; never another one in silence."""

from __future__ import annotations

import re
from collections.abc import Callable

from abi.errors import AbiError, Unsupported
from abi.records.record import SemanticSearch
from abi.search.embedder import Embedder, get_embedder
from abi.settings import Settings

__all__ = ["record_embedder"]

_OWN = re.compile(r"minilm\Z|[a-z][a-z-]*:.")
"""What a setting would call an embedder; anything else is a name for sentence-transformers."""


def record_embedder(record: SemanticSearch, settings: Settings, secret: Callable[[str], str]) -> Embedder:
    """`embedding_models` in abi.yaml decides first, then the record. Raises Unsupported where neither can be had."""
    where = record.vector_search
    model = where.embedding_model
    stand_in = settings.embedding_models.get(model)
    if stand_in is None and where.embedding_url is not None:
        return _served(record, settings, secret)
    name = stand_in or (model if _OWN.match(model) else f"sentence-transformers:{model}")
    try:
        return get_embedder(name, settings, secret)
    except AbiError as error:
        hint = f'Install it, or say what stands in for it in abi.yaml: embedding_models: {{"{model}": minilm}}.'
        message = f"The embedding model {model} of the tool {record.name} cannot be had: {error.message}"
        raise Unsupported(message, hint=hint if stand_in is None else error.hint) from error


def _served(record: SemanticSearch, settings: Settings, secret: Callable[[str], str]) -> Embedder:
    from abi.models import ModelEntry
    from abi.search.openai_embedder import OpenAIEmbedder

    where = record.vector_search
    names = record.embedding
    if names.auth is None and names.username is not None:
        message = f"The tool {record.name} has a user name for its embedding service, and only keys are supported."
        raise Unsupported(message, hint="Name a key under secrets: `- embedding: {auth: NAME}`.")
    entry = ModelEntry(model=f"openai:{where.embedding_model}", base_url=where.embedding_url, key=names.auth)
    return OpenAIEmbedder(entry, settings, secret)
