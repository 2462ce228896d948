"""SPARQL templates and intents for what a graph holds: a few general ones for each class, number and path of the data.

Lists and counts take every value as a filter, so that one template of a class stands for thousands of questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from abi import terms
from abi.agents.cards import DERIVED
from abi.agents.graph_schema import Attribute, GraphSchema, Link
from abi.agents.join import Ambiguous, Joins
from abi.agents.lexicon import Lexicon
from abi.agents.phrases import count_phrases, list_phrases, path_phrases, plural, statistics_phrases
from abi.agents.words import split_name
from abi.records.record import Intent, Parameter, SparqlQuery

__all__ = ["Derived", "derived_records"]

_CLASSES, _NUMBERS, _LINKS, _PATHS = 20, 10, 20, 8
"""Classes, numbers, links and longer paths that get templates, the fullest first."""
_COLUMNS, _FILTERS, _STEPS = 8, 5, 3

Holds = Callable[[str], bool]
"""Whether the data has a graph pattern."""


@dataclass
class Derived:
    tools: list[SparqlQuery] = field(default_factory=list)
    intents: list[Intent] = field(default_factory=list)


def derived_records(schema: GraphSchema, slug: str, source: str, holds: Holds) -> Derived:
    """The records for a schema. `slug` begins their names, `source` is the graph that they were derived from."""
    return _Maker(schema, slug, source, holds).make()


class _Maker:
    def __init__(self, schema: GraphSchema, slug: str, source: str, holds: Holds) -> None:
        self._schema = schema
        self._lexicon = Lexicon(schema)
        self._joins = Joins(schema)
        self._slug = slug
        self._source = source
        self._holds = holds
        self._made = Derived()
        self._names: set[str] = set()

    def make(self) -> Derived:
        classes = sorted((k for k in self._schema.classes if not k.startswith("~")), key=self._by_size)[:_CLASSES]
        for key in classes:
            self._class(key)
        numbers = [a for k in self._schema.classes if (a := self._lexicon.quantity(k)) is not None]
        for attribute in sorted(numbers, key=lambda a: (-a.triples, a.owner, a.property))[:_NUMBERS]:
            self._statistics(attribute)
        links = [x for x in self._schema.links if x.source in classes and x.target in classes and x.source != x.target]
        for link in sorted(links, key=lambda x: (-x.triples, x.property, x.source, x.target))[:_LINKS]:
            self._path([link], link.source, link.target)
        for path, start, end in self._long_paths(classes):
            self._path(path, start, end)
        return self._made

    def _by_size(self, key: str) -> tuple[int, str]:
        return (-self._schema.classes[key], key)

    # One class: its individuals with their values, and how many they are

    def _class(self, key: str) -> None:
        name = self._lexicon.name(key).casefold()
        own = [a for a in self._schema.of(key) if a.kind != "iri"][:_COLUMNS]
        variables = _variables(["item", *(self._lexicon.name(a.property) for a in own)])
        lines = [self._typed("?item", key)]
        lines += [f"OPTIONAL {{ ?item <{a.property}> ?{v} }}" for a, v in zip(own, variables[1:], strict=True)]
        parameters, filters = self._filters(own)
        shown = " ".join(f"?{v}" for v in variables)
        body = "\n".join(f"  {x}" for x in [lines[0], *filters, *lines[1:]])
        limit = _limit(len(parameters))
        self._add(
            f"list_{name}",
            f"Lists {plural(name)} with what the graph says of each, all or those with given values.",
            f"SELECT DISTINCT {shown} WHERE {{\n{body}\n}}\nORDER BY ?item\nLIMIT ?limit",
            [*parameters, limit],
            list_phrases(self._lexicon, key),
        )
        body = "\n".join(f"  {x}" for x in [lines[0], *filters])
        self._add(
            f"count_{name}",
            f"How many {plural(name)} there are, in all or with given values.",
            f"SELECT (COUNT(DISTINCT ?item) AS ?number) WHERE {{\n{body}\n}}",
            parameters,
            count_phrases(self._lexicon, key),
        )

    def _filters(self, own: Sequence[Attribute]) -> tuple[list[Parameter], list[str]]:
        parameters: list[Parameter] = []
        lines: list[str] = []

        def add(name: str, attribute: Attribute, text: str, condition: str, datatype: str) -> None:
            value = f"?v_{name}"
            lines.append(
                f"#?{name} ?item <{attribute.property}> {value} . FILTER({condition.format(value, '?' + name)})"
            )
            examples = [attribute.sample] if datatype == terms.XSD_STRING and attribute.sample else []
            made = Parameter(
                name=name,
                description=text,
                datatype=datatype,
                required=False,
                position=len(parameters),
                examples=examples,
            )
            parameters.append(made)

        named = zip(own, _variables([self._lexicon.name(a.property) for a in own]), strict=True)
        for attribute, name in list(named)[:_FILTERS]:
            said = self._lexicon.name(attribute.property).casefold()
            if attribute.kind == "number":
                add(f"min_{name}", attribute, f"the least {said}", "{0} >= {1}", terms.XSD_DECIMAL)
                add(f"max_{name}", attribute, f"the greatest {said}", "{0} <= {1}", terms.XSD_DECIMAL)
            elif attribute.kind == "date":
                add(
                    f"from_{name}",
                    attribute,
                    f"the earliest {said}, as 2024-01-31",
                    "STR({0}) >= {1}",
                    terms.XSD_STRING,
                )
                add(
                    f"until_{name}",
                    attribute,
                    f"the latest {said}, as 2024-01-31",
                    "SUBSTR(STR({0}), 1, 10) <= {1}",
                    terms.XSD_STRING,
                )
            elif attribute.kind == "text":
                add(
                    f"with_{name}",
                    attribute,
                    f"the {said}, in any case",
                    "LCASE(STR({0})) = LCASE({1})",
                    terms.XSD_STRING,
                )
        return parameters, lines

    # One number: sum, average, least and greatest

    def _statistics(self, attribute: Attribute) -> None:
        name = self._lexicon.name(attribute.property).casefold()
        self._add(
            f"statistics_of_{self._lexicon.name(attribute.owner)}_{name}",
            f"Sum, average, least and greatest {name} of all {plural(self._lexicon.name(attribute.owner).casefold())}.",
            "SELECT (SUM(?value) AS ?total) (AVG(?value) AS ?average) (MIN(?value) AS ?lowest) "
            "(MAX(?value) AS ?highest) (COUNT(DISTINCT ?item) AS ?number) WHERE {\n"
            f"  {{ SELECT DISTINCT ?item ?value WHERE {{ {self._typed('?item', attribute.owner)} "
            f"?item <{attribute.property}> ?value }} }}\n}}",
            [],
            statistics_phrases(self._lexicon, attribute),
        )

    # One path: both of its ends, and how many of the one each of the other has

    def _path(self, path: Sequence[Link], start: str, end: str) -> None:
        first, last = self._lexicon.name(start).casefold(), self._lexicon.name(end).casefold()
        variables = {start: "?start", end: "?end"}
        lines = [self._typed("?start", start), self._typed("?end", end)]
        for link in path:
            for cls in (link.source, link.target):
                variables.setdefault(cls, f"?between{len(variables) - 1}")
            lines.append(f"{variables[link.source]} <{link.property}> {variables[link.target]} .")
        names, shown = [], []
        for node, cls in (("?start", start), ("?end", end)):
            display = self._lexicon.display(cls)
            if display is not None:
                shown.append(f"{node}_name")
                names.append(f"OPTIONAL {{ {node} <{display.property}> {node}_name }}")
        by = "" if len(path) > 1 else f"{self._lexicon.name(path[0].property)} "
        # Each end may be given: the template is asked in either direction.
        given = [
            Parameter(name="start_is", description=f"only this {first}", value_class=start, required=False),
            Parameter(name="end_is", description=f"only this {last}", value_class=end, required=False, position=1),
        ]
        filters = ["#?start_is FILTER(?start = ?start_is)", "#?end_is FILTER(?end = ?end_is)"]
        body = "\n".join(f"  {x}" for x in [*lines, *filters, *names])
        self._add(
            f"{first} {by}{last}",
            f"Which {first} is linked to which {last}{' by ' + by.strip() if by else ''}; for one of them, or all.",
            f"SELECT DISTINCT ?start ?end {' '.join(shown)} WHERE {{\n{body}\n}}\nORDER BY ?start ?end\nLIMIT ?limit",
            [*given, _limit(2)],
            path_phrases(self._lexicon, list(path), start, end),
        )
        inner = "\n".join(f"    {x}" for x in lines)
        label = f"OPTIONAL {{ ?end <{d.property}> ?name }}" if (d := self._lexicon.display(end)) is not None else ""
        self._add(
            f"count {first} by {by}{last}",
            f"How many {plural(first)} each {last} has{' by ' + by.strip() if by else ''}, the most first.",
            f"SELECT ?end {'?name ' if label else ''}?number WHERE {{\n"
            f"  {{ SELECT ?end (COUNT(DISTINCT ?start) AS ?number) WHERE {{\n{inner}\n  }} GROUP BY ?end }}\n"
            f"  {label}\n}}\nORDER BY DESC(?number) ?end\nLIMIT ?limit",
            [_limit(0)],
            [f"which {last} has the most {plural(first)}", f"{plural(first)} per {last}"],
        )

    def _long_paths(self, classes: Sequence[str]) -> list[tuple[list[Link], str, str]]:
        """Paths of two and three links between the fullest classes, where the data has one from end to end."""
        found: list[tuple[list[Link], str, str]] = []
        for at, start in enumerate(classes):
            for end in classes[at + 1 :]:
                if len(found) == _PATHS:
                    return found
                try:
                    tree = self._joins.tree([start, end], ())
                except Ambiguous:
                    continue
                if tree is None or not 2 <= len(tree.links) <= _STEPS:
                    continue
                names = {cls: f"?n{n}" for n, cls in enumerate(tree.classes)}
                pattern = " . ".join(f"{names[x.source]} <{x.property}> {names[x.target]}" for x in tree.links)
                if self._holds(pattern):
                    found.append((tree.links, start, end))
        return found

    def _typed(self, node: str, key: str) -> str:
        if key.startswith("~"):
            return f"?any <{key[1:]}> {node} ."
        members = self._schema.members.get(key, (key,))
        if len(members) == 1:
            return f"{node} a <{members[0]}> ."
        return f"VALUES {node}_kind {{ {' '.join(f'<{m}>' for m in members)} }} {node} a {node}_kind ."

    def _add(
        self, name: str, description: str, query: str, parameters: list[Parameter], phrases: Sequence[str]
    ) -> None:
        whole = _identifier(f"{self._slug} {name}")
        free, n = whole, 1
        while free in self._names:
            n += 1
            free = f"{whole}_{n}"
        self._names.add(free)
        made = {DERIVED: self._source}
        self._made.tools.append(
            SparqlQuery(name=free, description=description, query=query, parameters=parameters, annotations=made)
        )
        values = list(dict.fromkeys(phrases))
        self._made.intents.append(
            Intent(name=f"ask_{free}", description=description, values=values, type="tool", target=free)
        )


def _limit(position: int) -> Parameter:
    return Parameter(
        name="limit",
        description="how many to list",
        datatype=terms.XSD_INTEGER,
        required=False,
        default=50,
        minimum=1,
        maximum=1000,
        position=position,
    )


def _identifier(text: str) -> str:
    words = [w for w in "".join(c if c.isalnum() else " " for c in text).split() for w in split_name(w)]
    return "_".join(w.casefold() for w in words)[:120] or "tool"


def _variables(names: Sequence[str]) -> list[str]:
    """Names of variables, all different."""
    found: list[str] = []
    for name in names:
        plain = "".join(c for c in _identifier(name) if c.isascii() and (c.isalnum() or c == "_")).strip("_") or "value"
        plain = plain if plain[0].isalpha() else f"v{plain}"
        if plain in ("limit", "start", "end"):
            plain += "_value"
        free, n = plain, 1
        while free in found:
            n += 1
            free = f"{plain}_{n}"
        found.append(free)
    return found
