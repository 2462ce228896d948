"""From a question as it was read to a plan: what is shown, what is counted or summed, by what it is grouped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from abi.agents.assembly import Assembly, Definition, NotUnderstood
from abi.agents.lexicon import Lexicon, Phrase, phrase_of
from abi.agents.plan import Column, Expression, Measure, Plan, Ratio
from abi.agents.question import Item, ValueMatch, read_question

__all__ = ["NotUnderstood", "plan_of"]

_IS = re.compile(r"\b(?:is|are|equals|means)\s+(?:(?:the|a)\s+)*", re.IGNORECASE)
_DEFINED = re.compile(r"\bsum of\b|\bdivided by\b|\bmultiplied by\b|\bminus\b|\bplus\b", re.IGNORECASE)
_BEFORE_NAME = frozenset("where and with what which that the is are of , ; : given".split())
_ARITHMETIC = {"divided by": "/", "multiplied by": "*", "minus": "-", "plus": "+"}
_SEPARATORS = frozenset({",", "and", "plus", "amount", "amounts", "value", "values", "the"})


def plan_of(text: str, lexicon: Lexicon, values: ValueMatch) -> Plan:
    """The plan of a question. Raises NotUnderstood where it is not wholly about this graph."""
    return _Planner(text, lexicon, values).plan()


@dataclass
class _Planner:
    text: str
    lexicon: Lexicon
    values: ValueMatch
    definitions: dict[str, Definition] = field(default_factory=dict)

    def plan(self) -> Plan:
        self._define()
        names = {d.phrase: d.name for d in self.definitions.values()}
        question = read_question(self.text, self.lexicon, self.values, names)
        spans = [d.span for d in self.definitions.values()]
        items = [i for i in question.items if not any(a <= i.start and i.end <= b for a, b in spans)]
        return Assembly(self.lexicon, items, self.definitions).plan()

    # What the question explains: `total loss is the sum of ...`, `loss ratio is total loss divided by premium`

    def _define(self) -> None:
        names: dict[Phrase, str] = {}
        for match in _IS.finditer(self.text):
            rest = self.text[match.end() :]
            if not _DEFINED.search(rest):
                continue
            name, start = self._name_before(match.start())
            if name is None or start == 0:
                continue
            items = read_question(rest, self.lexicon, None, names).items
            expression, length = self._expression(items)
            if expression is None:
                continue
            inline = re.search(r"\b(?:which|that)\s*$", self.text[: match.start()], re.IGNORECASE)
            begin = inline.start() if inline else start
            phrase = phrase_of(name)
            names[phrase] = name
            self.definitions[name] = Definition(name, phrase, (begin, match.end() + length), expression)

    def _name_before(self, end: int) -> tuple[str | None, int]:
        head = re.sub(r"[,\s]*\b(?:which|that)\s*$", "", self.text[:end].rstrip(), flags=re.IGNORECASE)
        words: list[str] = []
        start = len(head)
        for match in reversed(list(re.finditer(r"[\w-]+|[,;:?]", head))):
            if match.group().casefold() in _BEFORE_NAME or len(words) == 4:
                break
            words.insert(0, match.group())
            start = match.start()
        return (" ".join(words), start) if words else (None, 0)

    def _expression(self, items: Sequence[Item]) -> tuple[Expression | None, int]:
        """The expression at the beginning of a text, and where it ends there."""
        at = _skip(items, 0)
        if at < len(items) and items[at].kind == "op" and items[at].op == "sum":
            columns, end = self._list(items, at + 1)
            if len(columns) > 1:
                return Measure("sum", tuple(columns)), end
        left, at = self._operand(items, at)
        if left is None:
            return None, 0
        words = " ".join(i.text.casefold() for i in items[at : at + 2])
        for said, operator in _ARITHMETIC.items():
            if words == said or words.startswith(said + " "):
                right, end = self._operand(items, at + len(said.split()))
                if right is not None:
                    return Ratio(left, cast("Any", operator), right), items[end - 1].end
        return None, 0

    def _list(self, items: Sequence[Item], at: int) -> tuple[list[Column], int]:
        columns: list[Column] = []
        end = 0
        while at < len(items):
            item = items[at]
            if item.kind == "mention":
                column = Assembly(self.lexicon, items, self.definitions).quantity(item)
                if column is None:
                    break
                columns.append(column)
                end = item.end
            elif item.text.casefold() not in _SEPARATORS:
                break
            elif item.text.casefold() not in (",", "and", "the", "plus"):
                end = item.end
            at += 1
        return columns, end

    def _operand(self, items: Sequence[Item], at: int) -> tuple[Measure | Ratio | Column | None, int]:
        at = _skip(items, at)
        function = ""
        if at < len(items) and items[at].kind == "op":
            function, at = items[at].op, _skip(items, at + 1)
        if at >= len(items):
            return None, at
        item = items[at]
        if item.kind == "name":
            return self.definitions[item.op].expression, at + 1
        if item.kind != "mention":
            return None, at
        assembly = Assembly(self.lexicon, items, self.definitions)
        if function == "count":
            column = assembly.individuals(item)
            return (Measure("count", (column,)), at + 1) if column else (None, at)
        column = assembly.quantity(item)
        if column is None:
            return None, at
        if function:
            return Measure(cast("Any", function), (column,)), at + 1
        return column, at + 1


def _skip(items: Sequence[Item], at: int) -> int:
    while at < len(items) and items[at].kind == "filler":
        at += 1
    return at
