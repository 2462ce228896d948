"""`offline:grounded`: a chat model that needs no language model. It calls tools and says what their rows say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from abi.agents.asking import Asked, ask, ask_between, call, resume, say
from abi.agents.cards import ToolCard, card_of_record, card_of_schema
from abi.agents.choose import Chooser, Fit
from abi.agents.compose import abilities, answer_of, answer_of_query, refusal
from abi.agents.composer import Composed, Composer
from abi.agents.fill import fill
from abi.agents.handoff import REQUEST_HELP, HandoffTool
from abi.agents.intents import Candidate, PhraseVectors
from abi.agents.langchain_tools import CatalogTool
from abi.agents.mentions import is_follow_up
from abi.agents.ontology_draft import draft
from abi.agents.query_graph import QUERY_GRAPH
from abi.agents.reading import Reading, read
from abi.agents.turn import is_question, text_of
from abi.agents.update_graph import PROPOSE_TURTLE
from abi.agents.world import World
from abi.errors import AbiError

__all__ = ["GroundedChatModel"]

_CLOSE = 0.08
"""Tools whose fits are nearer than this are for the person to choose between."""
_ABILITIES = re.compile(
    r"\bwhat (?:else )?(?:can|could|do|are) (?:you|i)\b.*\b(?:do|ask|know|able|answer)\b|^\W*help\W*$", re.I
)


@dataclass
class _Desk:
    """What lies on the model's table for one call."""

    tools: dict[str, BaseTool]
    cards: list[ToolCard]
    system: dict[str, Any] = field(default_factory=dict)

    def card(self, name: str) -> ToolCard | None:
        return next((c for c in self.cards if c.name == name), None)

    @property
    def graph_tool(self) -> str | None:
        """What to call with a question about the data: queries, where tools were derived from it, or an agent."""
        derived = next((c for c in self.cards if c.derived), None)
        return None if derived is None else QUERY_GRAPH if derived.target == derived.name else derived.target


class GroundedChatModel(BaseChatModel):
    """Chooses a tool, fills it from the message, asks where something is missing, answers from the rows.

    `services` is the workspace's; `vectors` keeps the vectors of phrases, `mentions` what messages name. An answer's
    `additional_kwargs` tell `grounded`, `needs` (an open question) and `unanswered` (no tool fits).
    """

    services: Any
    vectors: Any
    mentions: Any
    _world: World = PrivateAttr()
    _chooser: Chooser = PrivateAttr()
    _composer: Composer = PrivateAttr()
    _cards: dict[int, tuple[BaseTool, tuple[ToolCard, ...]]] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        vectors: PhraseVectors = self.vectors
        self._world = World(self.services)
        self._chooser = Chooser(vectors, self._world)
        self._composer = Composer(self.services)

    @property
    def _llm_type(self) -> str:
        return "offline-grounded"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Only LangChain tools can be bound: what a tool is about is read from its record or schema."""
        return self.bind(tools=[t for t in tools if isinstance(t, BaseTool)], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: Sequence[BaseTool] = (),
        **_: Any,
    ) -> ChatResult:
        system = next((m for m in messages if isinstance(m, SystemMessage)), None)
        desk = self._desk(tools, dict(system.additional_kwargs) if system is not None else {})
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, desk))])

    def keep_intents(
        self, request: str, candidates: Sequence[Candidate], tools: dict[str, BaseTool]
    ) -> list[Candidate]:
        """Of the intents that lead to tools and agents, those whose tools take the message best; none if none can.

        An agent is judged by the best tool under it. An intent that leads to a reply stays beside them.
        """
        desk = self._desk(list(tools.values()), {})
        reading = self._read(request, desk)
        agents = {t.name: t.target for t in tools.values() if isinstance(t, HandoffTool)}
        best: dict[str, float] = {}
        for fit in self._chooser.rank(reading, desk.cards):
            target = agents.get(fit.card.target, fit.card.name)
            if fit.acceptable:
                best[target] = max(fit.score, best.get(target, fit.score))
        judged = [c for c in candidates if c.type != "raw"]
        top = max((best[c.target] for c in judged if c.target in best), default=0.0)
        return [c for c in candidates if c.type == "raw" or best.get(c.target, -9.0) >= top - _CLOSE]

    def _reply(self, messages: Sequence[BaseMessage], desk: _Desk) -> AIMessage:
        at = max((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
        if at < 0:
            return say("There is no question.", grounded=None)
        request, before, since = text_of(messages[at]), messages[:at], messages[at + 1 :]
        results = [m for m in since if isinstance(m, ToolMessage)]
        if since and isinstance(since[-1], ToolMessage):
            made = {str(c["id"]): dict(c["args"]) for m in since if isinstance(m, AIMessage) for c in m.tool_calls}
            return self._answer(results, made, request, desk)
        if since and isinstance(since[-1], AIMessage) and text_of(since[-1]):
            return AIMessage(content="")  # a sub-agent has answered; there is nothing to add
        return self._begin(request, before, desk)

    def _begin(self, request: str, before: Sequence[BaseMessage], desk: _Desk) -> AIMessage:
        """The first call for a message: go on with an open question or an earlier call, or choose a tool."""
        reading = self._read(request, desk)
        injected = {i["target"]: float(i["score"]) for i in desk.system.get("intents", []) if i["type"] == "tool"}
        last = before[-1] if before else None
        open_question = Asked.of(last.additional_kwargs.get("needs") or {}) if isinstance(last, AIMessage) else None
        fits = self._chooser.rank(reading, desk.cards, injected) if desk.cards else []
        if open_question is not None and not injected:
            card = desk.card(open_question.tool)
            fresh = bool(fits) and fits[0].acceptable and is_question(request)
            if card is not None and not (fresh and fits[0].card.name != card.name):
                resumed = resume(open_question, card, reading, self._world)
                if resumed is not None:
                    return resumed if isinstance(resumed, AIMessage) else call(card.target, resumed)
        drafted = self._draft(request, desk)
        if drafted is not None:
            return drafted
        follow_up = self._follow_up(reading, before, desk, injected)
        if follow_up is not None:
            return follow_up
        if _ABILITIES.search(request):
            return say(self._abilities(desk), grounded=None)
        own = [f for f in fits if not f.card.derived and f.acceptable]
        composed = None if own and (own[0].injected or not _asks_itself(desk)) else self._compose(request, desk)
        if composed is not None and composed.query is not None and desk.graph_tool is not None:
            inside = desk.graph_tool == QUERY_GRAPH
            return call(desk.graph_tool, {"query": composed.query} if inside else {})
        if composed is not None:  # what was derived answers less exactly than the question is asked
            fits = [f for f in fits if not f.card.derived]
        bare = len(reading.entities) == 1 and all(w in reading.entities[0].text.split() for w, _, _ in reading.words)
        if bare and not injected and REQUEST_HELP not in desk.tools:
            return say(f"What do you want to know about {reading.text}? {self._abilities(desk)}", grounded=None)
        if fits and fits[0].acceptable:
            return self._take(fits[0], request)
        return self._refuse(fits, reading, desk, composed)

    def _draft(self, request: str, desk: _Desk) -> AIMessage | None:
        """Where somebody describes new classes or properties, and this agent or one under it may propose them."""
        under = next((t for t in desk.tools.values() if isinstance(t, HandoffTool) and t.drafts), None)
        if under is None and not desk.system.get("drafts"):
            return None
        try:
            drafted = draft(request, self.services.query, self.services.settings.base_iri)
        except AbiError:
            return None
        if drafted is None:
            return None
        if not desk.system.get("drafts"):
            assert under is not None
            return call(under.name, {})
        if drafted.questions:
            return say("\n".join(drafted.questions), grounded=None)
        if PROPOSE_TURTLE not in desk.tools:
            text = "This conversation may not change the graph, so that nothing is proposed (`abi chat --write`)."
            return say(f"{text} It would be:\n\n{drafted.turtle}", grounded=None)
        return call(PROPOSE_TURTLE, {"turtle": drafted.turtle, "reason": f"new: {', '.join(drafted.names)}"})

    def _compose(self, request: str, desk: _Desk) -> Composed | None:
        """A query of its own, where tools were derived from the graph; None where queries are not allowed here."""
        if desk.graph_tool is None or not self.services.settings.agent_queries:
            return None
        try:
            return self._composer.compose(request)
        except AbiError:
            return None

    def _take(self, fit: Fit, request: str) -> AIMessage:
        card, filling = fit.card, fit.filling
        if card.target != card.name:  # it is under another agent: that agent fills it, and asks what is open
            return call(card.target, {})
        if filling.ambiguous or filling.missing:
            return ask(card, filling, request, self._world)
        return call(card.target, filling.arguments)

    def _refuse(
        self, fits: Sequence[Fit], reading: Reading, desk: _Desk, composed: Composed | None = None
    ) -> AIMessage:
        if REQUEST_HELP in desk.tools:
            return call(REQUEST_HELP, {"reason": f"no tool fits: {reading.text}"})
        if composed is not None and composed.choices and _asks_itself(desk):
            return say(f"I am not sure what you mean: {', or '.join(composed.choices)}?", grounded=None)
        nearest = sorted(fits, key=lambda f: -f.similarity)
        words = fits[0].uncovered if fits else []
        if fits:
            words = min((f.uncovered for f in nearest[:3]), key=len)
        strange = next((f for f in nearest if f.strange), None)
        names = [found.text for _, found in strange.filling.unknown] if strange is not None else []
        if composed is not None and _asks_itself(desk):
            words, names = list(composed.words) or words, []
        known = [f.text.casefold() for f in reading.entities]
        strange_words = [w for w in words if not any(w.casefold() in k for k in known)]
        if known and not strange_words and not names:  # all is known; only nothing here tells what was asked
            words = []
        elif strange_words:
            words = strange_words
        text = refusal(words, [f.card for f in nearest], desk.system.get("others", ()), names)
        return say(text, grounded=False, unanswered=True)

    def _follow_up(
        self, reading: Reading, before: Sequence[BaseMessage], desk: _Desk, injected: dict[str, float]
    ) -> AIMessage | None:
        """`and from Seattle?` after a call: the same call with one argument replaced."""
        calls = [c for m in before if isinstance(m, AIMessage) for c in m.tool_calls]
        card = desk.card(calls[-1]["name"]) if calls else None
        if card is None or not (is_follow_up(reading.text) or len(reading.words) <= 3):
            return None
        if reading.content([f for f in reading.found if f.kind != "unknown"]) and injected.keys() - {card.name}:
            return None  # it speaks of something else
        given = {k: v for k, v in calls[-1]["args"].items() if v is not None}
        filling = fill(card, reading, self._world, given)
        stems = self._chooser.stems(card)
        left = [w for w, _, _ in reading.content(filling.used) if not self._chooser.covers(stems, w)]
        changed = {k for k, v in filling.arguments.items() if given.get(k) != v} or bool(filling.ambiguous)
        if left or not filling.used or not changed:
            return None
        if card.target != card.name:
            return call(card.target, {})
        if filling.ambiguous or filling.missing:
            return ask(card, filling, reading.text, self._world)
        return call(card.target, filling.arguments)

    def _abilities(self, desk: _Desk) -> str:
        if _asks_itself(desk):
            listed = "\n".join(f"- {e}" for e in self._composer.examples())
            if listed:
                return f"You can ask me about what the graph holds, for example:\n{listed}"
        return abilities(desk.cards, desk.system.get("others", ())) or "I have no tools to answer with."

    def _answer(
        self, results: Sequence[ToolMessage], made: dict[str, dict[str, Any]], request: str, desk: _Desk
    ) -> AIMessage:
        """Say what the tools' results say. A failed call is told as it failed."""
        parts, grounded = [], True
        for message in results:
            artifact = message.artifact if isinstance(message.artifact, dict) else {}
            card = desk.card(message.name or "")
            if message.status == "error" or "document" not in artifact:
                faults = artifact.get("error", {}).get("details", {}).get("faults", [])
                unclear = next((f for f in faults if f.get("candidates")), None)
                if card is not None and unclear is not None:
                    return ask_between(card, unclear, made.get(message.tool_call_id, {}), request)
                parts.append(("Nothing was written. " if message.name == PROPOSE_TURTLE else "") + text_of(message))
                grounded = False
                continue
            if message.name == PROPOSE_TURTLE:
                written = artifact["document"]["result"]
                parts.append(f"Written: {written['added']} triples; the graph is at version {written['version']} now.")
                continue
            if message.name == QUERY_GRAPH:
                parts.append(answer_of_query(artifact["document"], artifact.get("citations", [])))
                continue
            parts.append(answer_of(card, artifact["document"], artifact.get("citations", []), artifact.get("answer")))
        return say("\n\n".join(parts), grounded=grounded)

    def _read(self, request: str, desk: _Desk) -> Reading:
        self._world.follow()
        return read(request, self.mentions, known=self._chooser.known(desk.cards))

    def _desk(self, tools: Sequence[BaseTool], system: dict[str, Any]) -> _Desk:
        cards = [card for tool in tools for card in self._cards_of(tool)]
        return _Desk({t.name: t for t in tools}, cards, system)

    def _cards_of(self, tool: BaseTool) -> tuple[ToolCard, ...]:
        kept = self._cards.get(id(tool))
        if kept is None or kept[0] is not tool:
            if isinstance(tool, CatalogTool):
                cards: tuple[ToolCard, ...] = (card_of_record(tool.record, tool.phrases),)
            elif isinstance(tool, HandoffTool):
                from dataclasses import replace

                cards = tuple(replace(leaf, target=tool.name) for leaf in tool.leaves)
            elif tool.name in (REQUEST_HELP, QUERY_GRAPH, PROPOSE_TURTLE):
                cards = ()
            else:
                cards = (card_of_schema(tool.name, tool.description, tool.get_input_jsonschema()),)
            if len(self._cards) > 5000:
                self._cards.clear()
            self._cards[id(tool)] = kept = (tool, cards)
        return kept[1]


def _asks_itself(desk: _Desk) -> bool:
    """Whether this agent answers about the data itself, and no agent under it does."""
    return desk.graph_tool == QUERY_GRAPH
