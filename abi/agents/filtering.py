"""Which of several matching intents stay: by the chat model's judgement, then by the entities that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from abi.agents.intents import Candidate

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    from abi.agents.services import Linker

__all__ = ["keep_by_entities", "keep_by_model"]


class FilterIntents(BaseModel):
    """Say for each numbered intent whether it fits what the person asks for."""

    bool_list: list[bool] = Field(description="One value an intent, in order: true keeps it.")


def keep_by_model(
    model: BaseChatModel,
    request: str,
    candidates: Sequence[Candidate],
    tools: Mapping[str, BaseTool],
    ask: Callable[[Runnable[Any, Any], list[AnyMessage]], Any] = lambda bound, messages: bound.invoke(messages),
) -> list[Candidate]:
    """The candidates that the model keeps, which is asked by `ask`. A missing or malformed judgement keeps all. Raises
    what the model raises."""
    keep_intents = getattr(model, "keep_intents", None)
    if keep_intents is not None:  # the offline model judges by parameters instead of by language
        kept: list[Candidate] = keep_intents(request, candidates, tools)
        return kept
    listed = "\n".join(f"{n}. {c.intent} (leads to {c.target})" for n, c in enumerate(candidates, start=1))
    answer = ask(
        model.bind_tools([FilterIntents]),
        [
            SystemMessage(f"These intents may fit the person's message. Judge each by FilterIntents.\n\n{listed}"),
            HumanMessage(request),
        ],
    )
    calls = getattr(answer, "tool_calls", [])
    judged = calls[0]["args"].get("bool_list") if calls else None
    if not isinstance(judged, list) or len(judged) != len(candidates):
        return list(candidates)
    return [c for c, keep in zip(candidates, judged, strict=True) if keep is True]


def keep_by_entities(linker: Linker, request: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates whose phrase names no entity, or only entities that the message names too."""
    return [c for c in candidates if all(_named(e, linker, request) for e in _entities(linker, c.intent))]


def _entities(linker: Linker, phrase: str) -> list[tuple[str, frozenset[str]]]:
    """Entities of a phrase: (text, IRIs). What the graph knows and is written as a name, and other proper names."""
    found = [
        (m.text, frozenset(c.iri for c in m.candidates))
        for m in _mentions(linker, phrase)
        if any(ch.isupper() or ch.isdigit() for ch in m.text)
    ]
    covered = " ".join(text for text, _ in found)
    for match in re.finditer(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*", phrase):
        if match.group() not in covered:
            found.append((match.group(), frozenset()))
    return found


def _named(entity: tuple[str, frozenset[str]], linker: Linker, request: str) -> bool:
    text, iris = entity
    if text.casefold() in request.casefold():
        return True
    return any(iris & {c.iri for c in m.candidates} for m in _mentions(linker, request)) if iris else False


def _mentions(linker: Linker, text: str) -> list[Any]:
    return list(linker.mentions(text))
