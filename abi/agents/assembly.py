"""The parts of a question, put together: what each mention means, which relations it names, what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from abi.agents.lexicon import Element, Lexicon, Phrase, phrase_of
from abi.agents.plan import Column, Condition, Expression, Having, Measure, Plan, Rank
from abi.agents.question import Item
from abi.agents.question_words import ASCENDING
from abi.agents.words import stem
from abi.graph.rows import Term

__all__ = ["Assembly", "Definition", "NotUnderstood"]

_FUNCTIONS = frozenset({"count", "sum", "avg", "max", "min", "most", "fewest"})
_BEFORE_KEYS = frozenset("number no id is equal numero".split())
"""What may stand between a thing and the number that it is told by: agent 2, policy number 7."""


class NotUnderstood(Exception):
    """`words`: those of the question that stand for nothing in the graph, or that may stand for several things."""

    def __init__(self, words: Sequence[str], choices: Sequence[str] = ()) -> None:
        super().__init__(", ".join(words))
        self.words = tuple(words)
        self.choices = tuple(choices)


@dataclass
class Definition:
    """A name that the question itself explains. `span` is the explanation's, the name not included unless `apart`."""

    name: str
    phrase: Phrase
    span: tuple[int, int]
    expression: Expression


class Assembly:
    """Puts the items of a question together."""

    def __init__(self, lexicon: Lexicon, items: Sequence[Item], definitions: dict[str, Definition]) -> None:
        self.lexicon = lexicon
        self.items = list(items)
        self.definitions = definitions
        self.out = Plan()
        self.ranked: tuple[str, int] | None = None
        self._mentioned = self._classes()

    def plan(self) -> Plan:
        self._relations()
        self._values()
        self._comparisons()
        self._operations()
        self._top()
        self._columns()
        self._settle()
        left = [
            i.text
            for i in self.items
            if i.kind in ("unknown", "op", "compare", "number", "date", "value") and not i.used
        ]
        if left:
            raise NotUnderstood(left)
        if not self.out.columns and not self.out.measures:
            raise NotUnderstood([])
        return self.out

    # What a mention means

    def element(self, item: Item) -> Element:
        """The one meaning of a mention. Raises NotUnderstood where several are as good."""
        elements = [e for e in item.elements if not e.relation]
        whole = [e for e in elements if e.attribute is None and e.link is None]
        if whole:
            return self._broadest(whole)
        given = {c.column.cls for c in self.out.conditions}
        near = [e for e in elements if e.cls in self._mentioned] or [e for e in elements if e.cls in given] or elements
        best = [e for e in near if e.strength == max(x.strength for x in near)]
        if len(best) > 1:
            nearest = min((self._distance(item, e.cls) for e in best), default=0)
            closest = [e for e in best if self._distance(item, e.cls) == nearest]
            best = closest
        if len(best) > 1:
            best = [self._broadest(best)]
        return best[0]

    def _broadest(self, elements: list[Element]) -> Element:
        """Of classes that lie one under another, the one over the others."""
        members = self.lexicon.schema.members
        for one in elements:
            if all(set(members.get(e.cls, (e.cls,))) <= set(members.get(one.cls, (one.cls,))) for e in elements):
                return one
        names = [
            f"{self.lexicon.name(e.attribute.property if e.attribute else e.cls)} of {self.lexicon.name(e.cls)}"
            for e in elements
        ]
        raise NotUnderstood([], names)

    def _classes(self) -> dict[str, list[Item]]:
        found: dict[str, list[Item]] = {}
        for item in self.items:
            for e in item.elements:
                sure = e.attribute is None or len({x.cls for x in item.elements}) == 1
                if sure and not e.relation:
                    found.setdefault(e.cls, []).append(item)
        return found

    def _distance(self, item: Item, cls: str) -> int:
        return min(
            (abs(item.start - other.start) for other in self._mentioned.get(cls, ()) if other is not item),
            default=10**6,
        )

    def quantity(self, item: Item) -> Column | None:
        """The number that a mention stands for; None where it stands for none."""
        if item.kind != "mention" or not any(not e.relation for e in item.elements):
            return None
        element = self.element(item)
        attribute = element.attribute or self.lexicon.quantity(element.cls)
        return Column(element.cls, attribute) if attribute is not None and attribute.kind == "number" else None

    def individuals(self, item: Item) -> Column | None:
        if item.kind != "mention" or not any(not e.relation for e in item.elements):
            return None
        element = self.element(item)
        if element.attribute is not None and element.attribute == self.lexicon.display(element.cls):
            return Column(element.cls)
        return Column(element.cls, element.attribute)

    # Parts of the plan

    def _relations(self) -> None:
        for item in self.items:
            links = [e.link for e in item.elements if e.link is not None]
            self.out.said |= {x.property for x in links}
            if item.kind == "mention" and all(e.relation for e in item.elements):
                item.kind, item.used = "relation", True
                self.out.relations[item.text] = {x.property for x in links}

    def _values(self) -> None:
        for n, item in enumerate(self.items):
            if item.kind == "value" and item.values:
                lifted = [(self._lifted(c, p), p, t) for c, p, t in item.values]
                near = [v for v in lifted if v[0] in self._mentioned] or lifted
                spoken = [v for v in near if any(self._means(i, v) for i in self.items if i.kind == "mention")]
                near = spoken or near
                near = self._one_class(near)
                if len({(c, p) for c, p, _ in near}) > 1:
                    names = [f"{self.lexicon.name(p)} of {self.lexicon.name(c)}" for c, p, _ in near]
                    raise NotUnderstood([item.text], list(dict.fromkeys(names)))
                cls, prop, term = near[0]
                own = next(a for a in self.lexicon.schema.of(cls) if a.property == prop)
                self.out.conditions.append(Condition(Column(cls, own), "=", term))
                item.used = True
                self._use_beside(n, cls, prop)
            elif item.kind == "number" and not item.used and n:
                before = n - 1
                while before and self.items[before].text.casefold() in _BEFORE_KEYS and n - before < 3:
                    before -= 1
                other = self.items[before]
                if other.kind == "mention" and item.term is not None:
                    element = self.element(other)
                    attribute = element.attribute or self.lexicon.display(element.cls)
                    if attribute is not None and attribute.kind == "number":
                        self.out.conditions.append(Condition(Column(element.cls, attribute), "=", item.term))
                        item.used = other.used = True

    def _lifted(self, cls: str, prop: str) -> str:
        """The class that the question speaks of, where an individual's own class is under it."""
        schema = self.lexicon.schema
        for spoken in self._mentioned:
            if cls in schema.members.get(spoken, ()) and any(a.property == prop for a in schema.of(spoken)):
                return spoken
        return cls

    def _one_class(self, values: list[tuple[str, str, Term]]) -> list[tuple[str, str, Term]]:
        """One of several classes that bear a value by the same property: the one that all the others are under."""
        members = self.lexicon.schema.members
        classes = {c for c, _, _ in values}
        if len({p for _, p, _ in values}) > 1 or len(classes) == 1:
            return values
        over = [c for c in classes if classes <= set(members.get(c, ()))]
        return [v for v in values if v[0] == over[0]] if over else values

    def _means(self, item: Item, value: tuple[str, str, Term]) -> bool:
        return any(
            e.cls == value[0] and (e.attribute is None or e.attribute.property == value[1]) for e in item.elements
        )

    def _use_beside(self, at: int, cls: str, prop: str) -> None:
        """`the policies of customer Smith`: the customer is known, not asked for. In `the age of Smith` the age is."""
        for other in (at - 1, at - 2, at + 1):
            if 0 <= other < len(self.items) and self.items[other].kind == "mention":
                element = self.element(self.items[other])
                known = element.attribute is None or element.attribute.property == prop
                if element.cls == cls and known and not self._operator_before(other):
                    self.items[other].used = True
                return

    def _operator_before(self, at: int) -> bool:
        return any(i.kind == "op" for i in self.items[max(0, at - 2) : at])

    def _comparisons(self) -> None:
        for n, item in enumerate(self.items):
            if item.kind != "compare":
                continue
            after = [i for i in self.items[n + 1 : n + 5] if i.kind in ("number", "date")]
            wanted = 2 if item.op == "between" else 1
            if len(after) < wanted:
                continue
            operators = [">=", "<="] if wanted == 2 else [item.op]
            kind = after[0].kind
            column = self._compared(n, kind)
            if column is None and kind == "number":
                follows = next((i for i in self.items[n + 2 : n + 4] if i.kind == "mention"), None)
                counted = self.individuals(follows) if follows is not None else None
                if counted is not None and follows is not None:
                    name = f"number of {self.lexicon.name(counted.cls)}"
                    self.out.measures.append((name, Measure("count", (Column(counted.cls),))))
                    value = after[0].term
                    assert value is not None
                    self.out.having.append(Having(len(self.out.measures) - 1, cast("Any", item.op), value))
                    item.used = after[0].used = follows.used = True
                continue
            if column is None:
                continue
            for operator, limit in zip(operators, after, strict=False):
                assert limit.term is not None
                self.out.conditions.append(Condition(column, cast("Any", operator), limit.term))
                limit.used = True
            item.used = True

    def _compared(self, at: int, kind: str) -> Column | None:
        """What a bound is about: the number or date that was spoken of last, or the only date of a class."""
        for item in reversed(self.items[max(0, at - 4) : at]):
            if item.kind == "mention":
                element = self.element(item)
                attribute = element.attribute
                if attribute is None and kind == "number":
                    attribute = self.lexicon.quantity(element.cls)
                if attribute is not None and attribute.kind == kind:
                    item.used = True
                    return Column(element.cls, attribute)
            if kind == "date" and item.kind in ("unknown", "filler", "relation"):
                dates = [a for c in self._mentioned for a in self.lexicon.schema.of(c) if a.kind == "date"]
                dates = [a for a in dates if stem(item.text) in phrase_of(self.lexicon.name(a.property))]
                if len(dates) == 1:
                    item.used, item.kind = True, "relation"
                    return Column(dates[0].owner, dates[0])
        if kind == "date":
            dates = [a for c in self._mentioned for a in self.lexicon.schema.of(c) if a.kind == "date"]
            if len(dates) == 1:
                return Column(dates[0].owner, dates[0])
        return None

    def _operations(self) -> None:
        grouped = any(i.kind == "group" for i in self.items)
        for n, item in enumerate(self.items):
            if item.kind == "name":
                self._measure(item, "sum" if not self._pending(n) else self._pending(n))
            if item.kind != "op" or item.used or item.op not in _FUNCTIONS:
                continue
            target = self._target(n)
            if target is None:
                continue
            if target.kind == "name":
                item.used = True
                continue
            self._apply(item, target, grouped)

    def _pending(self, at: int) -> str:
        """The function right before a defined name."""
        for item in reversed(self.items[max(0, at - 2) : at]):
            if item.kind == "op" and item.op in ("avg", "max", "min", "sum"):
                item.used = True
                return item.op
            if item.kind not in ("filler",):
                break
        return ""

    def _target(self, at: int) -> Item | None:
        for item in self.items[at + 1 : at + 5]:
            if item.kind in ("mention", "name"):
                return item
            if item.kind not in ("filler", "op", "relation"):
                return None
        return None

    def _measure(self, item: Item, function: str) -> None:
        expression = self.definitions[item.op].expression
        if isinstance(expression, Measure) and function != expression.function:
            expression = Measure(cast("Any", function), expression.columns)
        name = self.definitions[item.op].name
        if all(e != expression for _, e in self.out.measures):
            self.out.measures.append((name, expression))
        item.used = True

    def _apply(self, item: Item, target: Item, grouped: bool) -> None:
        function = item.op
        counted = self.individuals(target)
        if counted is None:
            return
        number = self.quantity(target) if counted.attribute is not None else None
        summed = number.attribute if number is not None and function in ("count", "most", "fewest") else None
        if number is not None and summed is not None and not self.lexicon.identifies(summed):
            # How many pages, how many flights: where that is a number of the data, it is added up.
            measure, name = Measure("sum", (number,)), f"total {self.lexicon.name(summed.property)}"
        elif function in ("count", "most", "fewest"):
            measure = Measure("count", (counted,))
            name = f"number of {self.lexicon.name(counted.attribute.property if counted.attribute else counted.cls)}"
        else:
            column = self.quantity(target)
            if column is None and function in ("max", "min") and self.element(target).attribute is not None:
                column = Column(self.element(target).cls, self.element(target).attribute)
            if column is None and function == "sum" and self.element(target).attribute is None:
                measure, name = Measure("count", (counted,)), f"number of {self.lexicon.name(counted.cls)}"
            elif column is None:
                return
            else:
                assert column.attribute is not None
                word = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}[function]
                measure, name = (
                    Measure(cast("Any", function), (column,)),
                    f"{word} {self.lexicon.name(column.attribute.property)}",
                )
        others = [
            i for i in self.items if i.kind == "mention" and i is not target and not i.used and not self._is_measure(i)
        ]
        if function in ("max", "min") and others and not grouped:
            self.out.rank = Rank(measure.columns[0], function not in ASCENDING, 1)
            item.used = target.used = True
            return
        if function in ("most", "fewest"):
            if not others:
                return
            self.ranked = (function, len(self.out.measures))
        self.out.measures.append((name, measure))
        item.used = target.used = True

    def _is_measure(self, item: Item) -> bool:
        return self._operator_before(self.items.index(item))

    def _top(self) -> None:
        """`top 3`, `the 5 most`: how many rows a ranking gives."""
        for n, item in enumerate(self.items):
            if (
                item.kind == "number"
                and not item.used
                and n
                and self.items[n - 1].text.casefold() in ("top", "the", "first")
            ):
                assert item.term is not None
                before = self.items[n - 1]
                limit = int(float(item.term.value))
                if before.text.casefold() == "top" and self.out.rank is None and self.ranked is None:
                    numbers = [i for i in self.items[n:] if i.kind == "mention" and self.quantity(i) is not None]
                    if not numbers and not self.out.measures:
                        continue
                    by: int | Column | None = (
                        len(self.out.measures) - 1 if self.out.measures else self.quantity(numbers[-1])
                    )
                    assert by is not None
                    self.out.rank = Rank(by, True, limit)
                    item.used = before.used = True
                elif self.out.rank is not None:
                    self.out.rank = Rank(self.out.rank.by, self.out.rank.descending, limit)
                    item.used = before.used = True
                elif self.ranked is not None:
                    self.out.rank = Rank(self.ranked[1], self.ranked[0] == "most", limit)
                    item.used = before.used = True
        if self.ranked is not None and self.out.rank is None:
            self.out.rank = Rank(self.ranked[1], self.ranked[0] == "most", 1)

    def _columns(self) -> None:
        measured = {c for _, e in self.out.measures if isinstance(e, Measure) for c in e.columns}
        for item in self.items:
            if item.kind != "mention" or item.used:
                continue
            element = self.element(item)
            column = Column(element.cls, element.attribute)
            if column in measured or (element.attribute is None and any(c.cls == element.cls for c in measured)):
                continue
            if self.out.measures and element.attribute is None and self._only_context(item):
                self.out.context.append(element.cls)
            elif column not in self.out.columns:
                self.out.columns.append(column)

    def _only_context(self, item: Item) -> bool:
        """`the average price of all orders` speaks of orders together; `of each order` of one after the other."""
        before = self.items[: self.items.index(item)]
        while before and before[-1].text.casefold() in ("the", "all", "our", "these"):
            before.pop()
        return bool(before) and before[-1].text.casefold() == "of" and item.text.endswith("s")

    def _settle(self) -> None:
        """A thing is told by its name, unless a value of it was asked for; what is given is not asked for."""
        out = self.out
        with_value = {c.cls for c in out.columns if c.attribute is not None}
        given = {c.column for c in out.conditions if c.operator == "="}
        settled: list[Column] = []
        for column in out.columns:
            if column.attribute is None:
                if column.cls in with_value:
                    continue
                column = Column(column.cls, self.lexicon.display(column.cls))
            if column not in settled and not (column in given and (out.measures or len(out.columns) > 1)):
                settled.append(column)
        out.columns = settled or out.columns[:0] if out.measures else settled
