"""A plan as one SPARQL query, made of IRIs of the schema and typed terms only.

Each measure is a sub-query of its own over distinct rows, so that no join can count anything twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from abi.agents.graph_schema import GraphSchema, Link
from abi.agents.join import Joins, Tree
from abi.agents.lexicon import Lexicon
from abi.agents.plan import Column, Measure, Plan, Ratio, measures_of
from abi.agents.words import split_name
from abi.graph.rows import Term

__all__ = ["Unjoinable", "query_of"]

_FUNCTIONS = {"count": "COUNT(DISTINCT {})", "sum": "SUM({})", "avg": "AVG({})", "max": "MAX({})", "min": "MIN({})"}
_MORE_COLUMNS = 6


class Unjoinable(Exception):
    """The data does not connect the classes that the question speaks of."""


@dataclass
class _Names:
    """Names of variables, each used for one thing."""

    taken: dict[str, object] = field(default_factory=dict)
    made: dict[object, str] = field(default_factory=dict)

    def of(self, thing: object, wish: str) -> str:
        if thing not in self.made:
            words = [w for w in split_name(wish.replace(" ", "_")) if w.isascii() and w.isalnum()] or ["value"]
            name = words[0][0].lower() + words[0][1:] + "".join(w[0].upper() + w[1:] for w in words[1:])
            name = name if name[0].isalpha() else f"v{name}"
            free, n = name, 1
            while free in self.taken:
                n += 1
                free = f"{name}{n}"
            self.taken[free] = thing
            self.made[thing] = f"?{free}"
        return self.made[thing]


def query_of(plan: Plan, lexicon: Lexicon, joins: Joins) -> tuple[str, list[Link]]:
    """The query and the links that it follows. Raises Unjoinable, and Ambiguous where two links would do."""
    return _Writer(plan, lexicon, joins).write()


class _Writer:
    def __init__(self, plan: Plan, lexicon: Lexicon, joins: Joins) -> None:
        self._plan = plan
        self._lexicon = lexicon
        self._schema: GraphSchema = lexicon.schema
        self._joins = joins
        self._names = _Names()
        self._links: list[Link] = []

    def write(self) -> tuple[str, list[Link]]:
        text = self._grouped() if self._plan.measures else self._listed()
        return text, list(dict.fromkeys(self._links))

    def _listed(self) -> str:
        """Rows as they are. What lies between the things asked for is shown, too: it says how they hang together."""
        plan = self._plan
        tree = self._tree(plan.classes())
        columns = list(plan.columns)
        optional: list[Column] = []
        for cls in tree.classes:
            if cls not in plan.classes():
                shown = self._lexicon.display(cls)
                if shown is not None and shown.owners >= self._schema.classes[cls]:
                    columns.append(Column(cls, shown))
        if len(plan.columns) == 1 and len(tree.classes) == 1 and plan.rank is None:
            own = [a for a in self._schema.of(tree.classes[0]) if a.kind != "iri" and a.triples <= a.owners]
            optional = [Column(a.owner, a) for a in own if Column(a.owner, a) not in columns][:_MORE_COLUMNS]
        if plan.rank is not None and isinstance(plan.rank.by, Column) and plan.rank.by not in columns:
            columns.append(plan.rank.by)
        body = self._pattern(tree, [*columns, *optional], optional)
        shown_vars = list(dict.fromkeys(self._var(c) for c in [*columns, *optional]))
        order = " ".join(shown_vars[: len(columns)])
        if plan.rank is not None and isinstance(plan.rank.by, Column):
            way = "DESC" if plan.rank.descending else "ASC"
            order = f"{way}({self._var(plan.rank.by)}) {order}"
        limit = f"\nLIMIT {plan.rank.limit}" if plan.rank is not None else ""
        return f"SELECT DISTINCT {' '.join(shown_vars)} WHERE {{\n{_indented(body)}\n}}\nORDER BY {order}{limit}"

    def _grouped(self) -> str:
        plan = self._plan
        keys = list(dict.fromkeys(self._var(c) for c in plan.columns))
        parts: list[str] = []
        made: dict[Measure, str] = {}
        shown: list[str] = []
        binds: list[str] = []
        for name, expression in plan.measures:
            for measure in measures_of(expression):
                if measure not in made:
                    made[measure] = self._names.of(("measure", measure), name if measure is expression else "part")
                    parts.append(self._measure(measure, made[measure], keys))
            if isinstance(expression, Ratio):
                value = self._names.of(("ratio", expression), name)
                binds.append(f"BIND({self._arithmetic(expression, made)} AS {value})")
                shown.append(value)
            else:
                shown.append(made[expression])
        filters = [f"FILTER({shown[h.measure]} {h.operator} {h.value.n3()})" for h in plan.having]
        order = " ".join(keys)
        limit = ""
        if plan.rank is not None and isinstance(plan.rank.by, int):
            way = "DESC" if plan.rank.descending else "ASC"
            order = f"{way}({shown[plan.rank.by]}) {order}"
            limit = f"\nLIMIT {plan.rank.limit}"
        body = "\n".join([*parts, *binds, *filters])
        ordered = f"\nORDER BY {order.strip()}" if order.strip() else ""
        return f"SELECT {' '.join([*keys, *shown])} WHERE {{\n{_indented(body)}\n}}{ordered}{limit}"

    def _measure(self, measure: Measure, name: str, keys: Sequence[str]) -> str:
        """One sub-query: a function over distinct rows of the keys and of what is measured."""
        wanted = [*(c.cls for c in self._plan.columns), *(c.cls for c in measure.columns)]
        wanted += [*(c.column.cls for c in self._plan.conditions), *self._plan.context]
        tree = self._tree(list(dict.fromkeys(wanted)))
        body = self._pattern(tree, [*self._plan.columns, *measure.columns], ())
        nodes = [self._node(c.cls) for c in measure.columns]
        values = [self._var(c) for c in measure.columns]
        distinct = " ".join(dict.fromkeys([*keys, *nodes, *values]))
        value = " + ".join(values)
        group = f" GROUP BY {' '.join(keys)}" if keys else ""
        head = " ".join([*keys, f"({_FUNCTIONS[measure.function].format(value)} AS {name})"])
        inner = f"SELECT DISTINCT {distinct} WHERE {{\n{_indented(body)}\n}}"
        return f"{{ SELECT {head} WHERE {{\n{_indented('{ ' + inner + ' }')}\n}}{group} }}"

    def _arithmetic(self, side: Measure | Ratio | Column, made: dict[Measure, str]) -> str:
        if isinstance(side, Column):
            return self._var(side)
        if isinstance(side, Measure):
            return made[side]
        return f"({self._arithmetic(side.left, made)} {side.operator} {self._arithmetic(side.right, made)})"

    def _tree(self, classes: Sequence[str]) -> Tree:
        tree = self._joins.tree(classes, self._plan.said)
        if tree is None:
            raise Unjoinable
        self._links += tree.links
        return tree

    def _pattern(self, tree: Tree, columns: Sequence[Column], optional: Collection[Column]) -> str:
        lines = []
        for cls in tree.classes:
            members = self._schema.members.get(cls, (cls,))
            if cls.startswith("~"):
                continue
            if len(members) == 1:
                lines.append(f"{self._node(cls)} a <{members[0]}> .")
            else:
                kind = self._names.of(("kind", cls), "kind")
                listed = " ".join(f"<{m}>" for m in members)
                lines.append(f"VALUES {kind} {{ {listed} }} {self._node(cls)} a {kind} .")
        lines += [f"{self._node(x.source)} <{x.property}> {self._node(x.target)} ." for x in tree.links]
        if not lines:
            lines = [f"?any <{cls[1:]}> {self._node(cls)} ." for cls in tree.classes]
        conditions = [c for c in self._plan.conditions if c.column.cls in tree.classes]
        every = [*columns, *(c.column for c in conditions)]
        for column in dict.fromkeys(c for c in every if c.attribute is not None and c.cls in tree.classes):
            assert column.attribute is not None
            node, var, prop = self._node(column.cls), self._var(column), column.attribute.property
            line = f"{node} <{prop}> {var} ."
            if (
                column.attribute == self._lexicon.display(column.cls)
                and column.attribute.triples > column.attribute.owners
            ):
                # One of several names is enough.
                line += f" FILTER NOT EXISTS {{ {node} <{prop}> {var}_ FILTER(STR({var}_) < STR({var})) }}"
            lines.append(f"OPTIONAL {{ {line} }}" if column in optional else line)
        lines += [f"FILTER({_compared(self._var(c.column), c.operator, c.value)})" for c in conditions]
        return "\n".join(lines)

    def _node(self, cls: str) -> str:
        return self._names.of(("node", cls), self._lexicon.name(cls))

    def _var(self, column: Column) -> str:
        if column.attribute is None:
            return self._node(column.cls)
        wish = self._lexicon.name(column.attribute.property)
        if column.attribute == self._lexicon.display(column.cls) and len(wish.split()) == 1:
            wish = f"{self._lexicon.name(column.cls)} {wish}"
        return self._names.of(("value", column), wish)


def _compared(var: str, operator: str, value: Term) -> str:
    if value.kind == "iri":
        return f"{var} = {value.n3()}"
    if operator == "=" and (value.language or value.datatype is None):
        return f"STR({var}) = {Term('literal', value.value).n3()}"
    if value.datatype and value.datatype.endswith("date"):
        # Dates are compared as text: some graphs keep xsd:date, others xsd:dateTime.
        return f"SUBSTR(STR({var}), 1, 10) {operator} {Term('literal', value.value).n3()}"
    return f"{var} {operator} {value.n3()}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
