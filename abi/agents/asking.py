"""Questions of the offline model: one at a time, for an argument that is missing or a mention that is ambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage

from abi.agents.cards import ToolCard
from abi.agents.choice import pick
from abi.agents.fill import Filling, one_value
from abi.agents.reading import Reading
from abi.agents.words import split_name
from abi.agents.world import World
from abi.records.record import Parameter

__all__ = ["Asked", "ask", "ask_between", "call", "resume", "say"]

Option = tuple[str, str]
"""A value (an IRI mostly) and what it is called."""


@dataclass
class Asked:
    """An open question, as the asking message carries it (`needs`): plain values only.

    `open`: questions that wait behind this one, as (argument, options).
    """

    tool: str
    argument: str
    arguments: dict[str, Any]
    request: str
    options: list[Option] = field(default_factory=list)
    open: list[tuple[str, list[Option]]] = field(default_factory=list)

    def needs(self) -> dict[str, Any]:
        choices = [{"number": n, "iri": v, "label": label} for n, (v, label) in enumerate(self.options, start=1)]
        return {
            "kind": "argument",
            "tool": self.tool,
            "argument": self.argument,
            "arguments": self.arguments,
            "request": self.request,
            "choices": choices,
            "open": [[a, [list(o) for o in options]] for a, options in self.open],
        }

    @classmethod
    def of(cls, needs: dict[str, Any]) -> Asked | None:
        if needs.get("kind") != "argument":
            return None
        return cls(
            needs["tool"],
            needs["argument"],
            dict(needs["arguments"]),
            needs["request"],
            [(c["iri"], c["label"]) for c in needs["choices"]],
            [(a, [(o[0], o[1]) for o in options]) for a, options in needs["open"]],
        )


def say(text: str, *, grounded: bool | None, **more: Any) -> AIMessage:
    """An answer. `grounded` as the chat document has it."""
    return AIMessage(content=text, additional_kwargs={"grounded": grounded, **more})


def call(name: str, arguments: dict[str, Any]) -> AIMessage:
    """A call of one tool."""
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": uuid4().hex}])


def ask(card: ToolCard, filling: Filling, request: str, world: World) -> AIMessage:
    """Ask for the first argument that is open, and keep the others for later."""
    waiting: list[tuple[str, list[Option]]] = [(p.name, options) for p, options in filling.ambiguous]
    waiting += [(p.name, []) for p in filling.missing]
    unknown = {p.name: f.text for p, f in filling.unknown}
    return _next(card, Asked(card.name, "", dict(filling.arguments), request, [], waiting), world, unknown)


def ask_between(card: ToolCard, fault: dict[str, Any], arguments: dict[str, Any], request: str) -> AIMessage:
    """Ask which of several entities an argument means, after the tool has refused it as ambiguous.

    `fault`: `argument` and `candidates` of (iri, label), as the tool's error tells them.
    """
    options = [(str(c["iri"]), str(c["label"])) for c in fault["candidates"]]
    name = str(fault["argument"])
    asked = Asked(card.name, name, {k: v for k, v in arguments.items() if k != name}, request, options)
    return say(_between(name, options), grounded=None, needs=asked.needs())


def resume(asked: Asked, card: ToolCard, reading: Reading, world: World) -> dict[str, Any] | AIMessage | None:
    """Take a message as the answer to an open question.

    The arguments, where the tool can be called now; the next question, or the same again; None where the message
    does not answer it.
    """
    parameter = next((p for p in card.fillable if p.name == asked.argument), None)
    if parameter is None:
        return None
    arguments = dict(asked.arguments)
    if asked.options:
        picked = pick(reading.text, [label for _, label in asked.options])
        if picked.out_of_range:
            text = f"There is no such choice: choose a number from 1 to {len(asked.options)}.\n\n"
            return say(text + _between(asked.argument, asked.options), grounded=None, needs=asked.needs())
        if picked.index is not None:
            arguments[parameter.name] = asked.options[picked.index][0]
        else:
            beside = _beside(asked.options, reading, world)
            if len(beside) == 1:
                arguments[parameter.name] = beside[0]
    if parameter.name not in arguments:
        filling = one_value(parameter, card, reading, world)
        if filling.ambiguous:
            options = _narrowed(filling.ambiguous[0][1], asked.options)
            if len(options) > 1:
                again = Asked(card.name, parameter.name, arguments, asked.request, options, asked.open)
                return say(_between(parameter.name, options), grounded=None, needs=again.needs())
            arguments[parameter.name] = options[0][0]
        elif parameter.name in filling.arguments:
            arguments[parameter.name] = filling.arguments[parameter.name]
        elif len(reading.content()) <= 4 and not reading.text.rstrip().endswith("?"):
            unknown = {parameter.name: reading.text.strip()}
            waiting = [(parameter.name, asked.options), *asked.open]
            return _next(card, Asked(card.name, "", arguments, asked.request, [], waiting), world, unknown)
        else:
            return None
    waiting = [(a, o) for a, o in asked.open if a not in arguments]
    if not waiting:
        return arguments
    return _next(card, Asked(card.name, "", arguments, asked.request, [], waiting), world, {})


def _next(card: ToolCard, asked: Asked, world: World, unknown: dict[str, str]) -> AIMessage:
    (asked.argument, asked.options), *asked.open = asked.open
    parameter = next(p for p in card.fillable if p.name == asked.argument)
    if asked.options:
        text = _between(asked.argument, asked.options)
    else:
        text = _which(parameter, world)
    if asked.argument in unknown:
        text = f"{_unknown(parameter, unknown[asked.argument], world)} {text}"
    return say(text, grounded=None, needs=asked.needs())


def _which(parameter: Parameter, world: World) -> str:
    name = " ".join(split_name(parameter.name)).casefold()
    kind = world.class_name(parameter.value_class) if parameter.value_class else "value"
    about = parameter.description.strip().rstrip(".")
    example = f", for example {parameter.examples[0]}" if parameter.examples else ""
    choices = f", one of {', '.join(map(str, parameter.enum))}" if parameter.enum else ""
    detail = f" ({about}{example}{choices})" if about else (f" ({example.strip(', ')}{choices})" if example else "")
    same = name == kind.casefold()
    return f"Which {kind} do you mean{detail}?" if same else f"Which {kind} should I take as the {name}{detail}?"


def _unknown(parameter: Parameter, text: str, world: World) -> str:
    kind = world.class_name(parameter.value_class) if parameter.value_class else name_of(parameter)
    return f'The graph holds no {kind} called "{text}".'


def name_of(parameter: Parameter) -> str:
    return " ".join(split_name(parameter.name)).casefold()


def _between(argument: str, options: Sequence[Option]) -> str:
    lines = [f"{n}. {label}" for n, (_, label) in enumerate(options, start=1)]
    spoken = " ".join(split_name(argument)).casefold()
    return f"Which one do you mean as the {spoken}?\n\n" + "\n".join(lines) + "\n\nChoose one by number or by name."


def _beside(options: Sequence[Option], reading: Reading, world: World) -> list[str]:
    """The options that lead to something else that the answer names: `the one in Oregon`."""
    left = [value for value, _ in options]
    named = [f.candidates[0].iri for f in reading.entities if f.candidates[0].iri not in left]
    for iri in named:
        left = world.leading_to(left, iri) if left else []
    return left if named else []


def _narrowed(found: Sequence[Option], before: Sequence[Option]) -> list[Option]:
    both = [o for o in found if o[0] in {v for v, _ in before}]
    return both or list(found)
