"""SQL++ to DuckDB's SQL, by its structure: paths and unnests, groups, positions, functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from abi.errors import Unsupported
from abi.records.sqlpp_tokens import SqlppFault
from abi.tools.sqlpp_functions import AGGREGATES, duckdb_function
from abi.tools.sqlpp_words import FUNCTION_PREFIX, rewrite

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Translation", "translate"]


@dataclass(frozen=True, slots=True)
class Translation:
    """`sql` has `$name` where the arguments are bound; `collections` are what it reads from."""

    sql: str
    parameters: tuple[str, ...]
    collections: tuple[str, ...]
    raw: bool
    """Each row is one value, not an object."""


@lru_cache(maxsize=512)
def translate(query: str) -> Translation:
    """Raises SqlppFault, with the line, for what is outside the subset; Unsupported where sqlglot is missing."""
    try:
        from sqlglot import ParseError, TokenError, exp, parse_one
    except ImportError as error:
        raise Unsupported(
            "SQL++ on the embedded engine needs duckdb and sqlglot.", hint="pip install 'abi-graph[sql]'"
        ) from error
    rewritten = rewrite(query)
    try:
        tree = parse_one(rewritten.sql, read="duckdb")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        line = int(first.get("line") or 1)
        what = str(first.get("description") or "it does not parse").rstrip(".")
        near = f", at {first['highlight']!r}" if first.get("highlight") else ""
        raise SqlppFault(line, f"The query does not parse: {what}{near}.", "Correct it there.") from error
    except (TokenError, RecursionError) as error:
        raise SqlppFault(1, f"The query does not parse: {error}.", "Correct it.") from error
    if not isinstance(tree, exp.Query):
        raise SqlppFault(
            1, f"The embedded engine does not know {type(tree).__name__.upper()}.", "", "sqlpp-unsupported"
        )
    translator = _Translator()
    translator.query(tree, ())
    tree = translator.expressions(tree)
    parameters = sorted({str(p.this) for p in tree.find_all(exp.Placeholder)})
    sql = tree.sql(dialect="duckdb", identify=True, comments=False)
    return Translation(sql, tuple(parameters), tuple(sorted(translator.collections)), rewritten.raw)


class _Translator:
    """Changes a tree in place. `scope` is the names of the outer query's collections and unnested values."""

    def __init__(self) -> None:
        self.collections: set[str] = set()
        self.ctes: set[str] = set()

    def query(self, tree: Any, scope: tuple[str, ...]) -> None:
        from sqlglot import exp

        self.ctes |= {cte.alias for cte in tree.find_all(exp.CTE)}
        if isinstance(tree, exp.Select):
            self.select(tree, scope)
        elif isinstance(tree, exp.SetOperation):
            for side in (tree.this, tree.expression):
                self.query(side, scope)
        elif isinstance(tree, exp.Subquery):
            self.query(tree.this, scope)
        for cte in (tree.args.get("with_") or tree.args.get("with") or exp.With(expressions=[])).expressions:
            self.query(cte.this, scope)

    def select(self, select: exp.Select, scope: tuple[str, ...]) -> None:
        below = _below(select)
        own = self.sources(select, scope)
        inner = (*scope, *own)
        for child in below:
            self.query(child, inner)
            self.as_list(child)
        self.stars(select, own)
        self.names(select)
        self.groups(select)

    def sources(self, select: exp.Select, scope: tuple[str, ...]) -> list[str]:
        """Collections stay tables; what begins with a name of the scope is unnested."""
        from sqlglot import exp

        own: list[str] = []
        start = select.args.get("from_") or select.args.get("from")
        places = [start] if start is not None else []
        for place in [*places, *(select.args.get("joins") or [])]:
            table = place.this
            if isinstance(table, exp.Subquery):
                own.append(table.alias)
                continue
            if not isinstance(table, exp.Table):
                raise _unknown(table)
            parts = [part.name for part in table.parts]
            alias = table.alias or parts[-1]
            if parts[0] in (*own, *scope):
                place.set("this", _unnested(parts, alias, lateral=isinstance(place, exp.Join)))
                if isinstance(place, exp.Join) and not place.args.get("on"):
                    place.set("kind", "CROSS")
            else:
                if not (len(parts) == 1 and parts[0] in self.ctes):
                    self.collections.add(parts[-1])
                # A keyspace is bucket.scope.collection; here the collection alone tells it.
                name = exp.to_identifier(parts[-1], quoted=True)
                place.set(
                    "this", exp.Table(this=name, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
                )
            own.append(alias)
        return own

    def as_list(self, query: exp.Expression) -> None:
        """A subquery among expressions is, in SQL++, the list of its rows."""
        from sqlglot import exp

        holder = query.parent if isinstance(query.parent, exp.Subquery) else None
        if holder is None or isinstance(
            holder.parent, (exp.From, exp.Join, exp.In, exp.Exists, exp.CTE, exp.SetOperation)
        ):
            return
        sql = query.sql(dialect="duckdb", identify=True, comments=False)
        inner = sql if _is_raw(query) else f"SELECT sqlpp_row FROM ({sql}) AS sqlpp_row"  # noqa: S608 - a tree, written
        holder.replace(exp.maybe_parse(f"ARRAY({inner})", dialect="duckdb"))

    def stars(self, select: exp.Select, own: list[str]) -> None:
        """`SELECT *` gives, in SQL++, each document under its alias."""
        from sqlglot import exp

        if any(isinstance(e, exp.Star) for e in select.expressions):
            columns = [e for e in select.expressions if not isinstance(e, exp.Star)]
            whole = [exp.alias_(exp.column(exp.to_identifier(a, quoted=True)), a, quoted=True) for a in own]
            select.set("expressions", [*whole, *columns])

    def names(self, select: exp.Select) -> None:
        """What has no alias is called by the last part of its path, else `$1`, `$2`."""
        from sqlglot import exp

        unnamed = 0
        named: list[Any] = []
        for expression in select.expressions:
            if isinstance(expression, exp.Alias) or expression.is_star:
                named.append(expression)
                continue
            name = expression.name if isinstance(expression, (exp.Column, exp.Dot)) else ""
            if isinstance(expression, exp.Dot):
                name = expression.expression.name
            if not name:
                unnamed += 1
                name = f"${unnamed}"
            named.append(exp.alias_(expression.copy(), name, quoted=True))
        select.set("expressions", named)

    def groups(self, select: exp.Select) -> None:
        """A column that is no key of the group depends on it: any value of the group is the value."""
        from sqlglot import exp

        group = select.args.get("group")
        if group is None:
            return
        keys = {key.sql() for key in group.expressions}
        aliases = {e.alias for e in select.expressions if isinstance(e, exp.Alias)}
        by_alias = keys & {exp.column(a).sql() for a in aliases}
        places: list[Any] = [*select.expressions]
        for name in ("having", "order"):
            part = select.args.get(name)
            places += [part] if part is not None else []
        for n, place in enumerate(places):
            known = aliases if n >= len(select.expressions) else set()
            if isinstance(place, exp.Alias) and exp.column(place.alias).sql() in by_alias:
                continue
            _any_value(place, keys, known)

    def expressions(self, tree: Any) -> Any:
        """Positions from 0, and functions, innermost first."""
        from sqlglot import exp

        for bracket in [*tree.find_all(exp.Bracket)]:
            _shift(bracket)
        calls = [c for c in tree.find_all(exp.Anonymous) if str(c.this).lower().startswith(FUNCTION_PREFIX)]
        for call in reversed(calls):
            name = str(call.this).lower().removeprefix(FUNCTION_PREFIX)
            try:
                arguments = [a.sql(dialect="duckdb", identify=True, comments=False) for a in call.expressions]
                made: Any = exp.maybe_parse(duckdb_function(name, arguments), dialect="duckdb")
            except ValueError as error:
                raise SqlppFault(_line(call), f"{error}.", "Correct its arguments.") from error
            if call is tree:
                return made
            call.replace(made)
        return tree


def _below(select: exp.Select) -> list[exp.Expression]:
    """The queries directly inside a query, but for its common table expressions."""
    from sqlglot import exp

    found: list[exp.Expression] = []
    todo: list[Any] = [c for k, c in select.args.items() if k not in ("with", "with_")]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, (exp.Select, exp.SetOperation)):
            found.append(node)
        elif isinstance(node, exp.Expression):
            todo += list(node.args.values())
    return found


def _unnested(parts: list[str], alias: str, *, lateral: bool) -> exp.Expression:
    from sqlglot import exp, parse_one

    path = ".".join(_quoted(part) for part in parts)
    values = f"(SELECT UNNEST({path}) AS {_quoted(alias)}) AS {_quoted('_' + alias)}"
    made = parse_one(f"SELECT 1 FROM a CROSS JOIN {'LATERAL ' if lateral else ''}{values}", read="duckdb")  # noqa: S608 - quoted
    place = made.args["joins"][0].this
    assert isinstance(place, exp.Expression)
    return place


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_raw(query: exp.Expression) -> bool:
    """Whether the query was written with RAW, which the rewriting left as a comment behind SELECT."""
    from sqlglot import exp

    while isinstance(query, exp.SetOperation):
        query = query.this
    nodes = [query, *(n for e in query.expressions[:1] for n in e.walk(prune=lambda n: isinstance(n, exp.Select)))]
    return any("raw" in comment for node in nodes for comment in node.comments or [])


def _any_value(node: Any, keys: set[str], aliases: set[str]) -> None:
    from sqlglot import exp

    if node.sql() in keys or isinstance(node, (exp.Select, exp.SetOperation)):
        return
    if isinstance(node, exp.Anonymous) and str(node.this).lower().removeprefix(FUNCTION_PREFIX) in AGGREGATES:
        return
    if isinstance(node, (exp.Column, exp.Dot)) and not isinstance(node.parent, exp.Dot):
        if isinstance(node, exp.Column) and not node.table and node.name in aliases:
            return
        if not node.is_star:
            node.replace(exp.AnyValue(this=node.copy()))
        return
    if isinstance(node, exp.Lambda):
        return
    for child in list(node.iter_expressions()):
        _any_value(child, keys, aliases)


def _shift(bracket: exp.Bracket) -> None:
    """Positions of a list count from 0 in SQL++; of a slice, the end is not part of it."""
    from sqlglot import exp

    made: list[Any] = []
    for index in bracket.expressions:
        if isinstance(index, exp.Slice):
            start = _plus_one(index.this) if index.this is not None else None
            made.append(exp.Slice(this=start, expression=index.expression))
        elif isinstance(index, exp.Literal) and index.is_string:
            made.append(index)
        else:
            made.append(_plus_one(index, taken_off=True))
    bracket.set("expressions", made)


def _plus_one(index: exp.Expression, *, taken_off: bool = False) -> exp.Expression:
    """A position that counts from 1; what is negative counts from the end, in both.

    `taken_off`: of a constant index DuckDB's parser has taken one, and its writer will add it again.
    """
    from sqlglot import exp

    text = index.sql("duckdb")
    if text.lstrip("-").isdigit():
        number = int(text) + taken_off
        made = str(int(text) + 1 if number >= 0 else int(text))
    else:
        made = f"CASE WHEN ({text}) >= 0 THEN ({text}) + 1 ELSE ({text}) END"
    return exp.maybe_parse(made, dialect="duckdb")


def _unknown(node: exp.Expression) -> SqlppFault:
    what = type(node).__name__.upper()
    return SqlppFault(_line(node), f"The embedded engine does not know {what} in FROM.", "", "sqlpp-unsupported")


def _line(node: exp.Expression) -> int:
    lines = [n.meta["line"] for n in node.walk() if "line" in n.meta]
    return int(min(lines, default=1))
