"""Answer templates: one sentence over the rows of a tool's call, in a small part of Jinja.

    {{ row_count }} airports can be reached from {{ origin.label }}: {{ rows | map(attribute='name') | join(', ') }}.
    {% if rows %}...{% else %}None is known.{% endif %}    {% for row in rows[:3] %}{{ row.name }} {% endfor %}

Variables: `rows` (each value prints itself, an IRI its label; `.label`, `.iri`, `.value`), `row_count`, `truncated`,
`result` (true or false, of an ASK; what a function gave), and each argument. There are no calls, assignments, imports
or macros, no arithmetic that multiplies, and filters are those of `FILTERS`; time and size are bounded besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from abi.errors import ToolFailed
from abi.findings import Finding
from abi.graph.rows import Rows, Term
from abi.tools.answer_bounds import bound_filters, bounded, deadline
from abi.tools.answer_columns import columns_used

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["FILTERS", "Shown", "check_answer", "render_answer", "shown"]

FILTERS = frozenset(
    "abs capitalize count default first float groupby int join last length list lower map max min reject rejectattr "
    "reverse round select selectattr sort string sum title trim truncate unique upper".split()
)
TESTS = frozenset("defined undefined none equalto eq ne lt le gt ge in true false odd even".split())
MAX_TEMPLATE = 4_000
MAX_ANSWER = 16_000
_MAX_LOOPS = 2
_GIVEN = frozenset({"rows", "row_count", "truncated", "result"})
_NODES = frozenset(
    "Template Output TemplateData Name Const Getattr Getitem Slice Filter Test If For CondExpr Compare Operand And Or "
    "Not Neg Add Sub Concat List Tuple Keyword".split()
)
_NAMED = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
_NUMBER = (int, float)


class Shown:
    """A value of a row or an argument: prints as its label or its text, compares and adds up as what it is."""

    __slots__ = ("_python", "iri", "label", "value")

    def __init__(self, label: str, value: str, iri: str, python: Any) -> None:
        self.label = label
        self.value = value
        self.iri = iri
        self._python = python

    def __str__(self) -> str:
        return self.label

    def __bool__(self) -> bool:
        return bool(self._python) if isinstance(self._python, bool) else self.label != ""

    def __hash__(self) -> int:
        return hash(self._python)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shown):
            return bool(self._python == other._python)
        return bool(self._python == other or (isinstance(other, str) and other in (self.label, self.iri)))

    def __lt__(self, other: Any) -> bool:
        mine, theirs = self._python, other._python if isinstance(other, Shown) else other
        if isinstance(mine, _NUMBER) and isinstance(theirs, _NUMBER):
            return bool(mine < theirs)
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:
        return not self < other and self != other

    def __le__(self, other: Any) -> bool:
        return bool(self < other or self == other)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __float__(self) -> float:
        return float(self._python)

    def __int__(self) -> int:
        return int(self._python)

    def __round__(self, digits: int = 0) -> float:
        return round(float(self._python), digits)

    def __add__(self, other: Any) -> Any:
        return self._python + (other._python if isinstance(other, Shown) else other)

    def __radd__(self, other: Any) -> Any:
        return other + self._python


_NOTHING = Shown("", "", "", None)


class _Row:
    """One row: a column by `row.name`, by `row["name"]`, and by `map(attribute="name")`; nothing else."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Shown]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Shown:
        return self._values[name]

    def __getattr__(self, name: str) -> Shown:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]


def shown(term: Term | None, labels: Mapping[str, str]) -> Shown:
    """How a term prints in an answer; what is unbound or was not given prints nothing and is false."""
    if term is None:
        return _NOTHING
    if term.kind == "iri":
        label = labels.get(term.value) or re.split(r"[/#:]", term.value.rstrip("/#:"))[-1]
        return Shown(label, term.value, term.value, term.value)
    value = term.python()
    if isinstance(value, float):
        return Shown(f"{value:.12g}", term.value, "", value)
    if not isinstance(value, (str, bool, int)):
        return Shown(term.value, term.value, "", float(value) if isinstance(value, Decimal) else term.value)
    return Shown(term.value, term.value, "", value)


def render_answer(
    template: str,
    rows: Rows,
    arguments: Mapping[str, Term],
    labels: Mapping[str, str],
    *,
    names: Iterable[str] = (),
    result: Any = None,
) -> str:
    """The answer, with white space at its ends and runs of blanks taken out.

    `names`: all parameters, so that one that was not given is empty instead of unknown. `result`: what a function
    gave. Raises ToolFailed where the template cannot be applied to these rows, or gives more than MAX_ANSWER
    characters.
    """
    context: dict[str, Any] = dict.fromkeys(names, _NOTHING)
    context |= {name: shown(term, labels) for name, term in arguments.items()}
    context |= {
        "rows": [_Row({v: shown(row.get(v), labels) for v in rows.variables}) for row in rows.rows],
        "row_count": len(rows.rows),
        "truncated": rows.truncated,
        "result": rows.boolean if result is None else result,
    }
    context |= deadline()
    compiled = _compiled(template)
    parts: list[str] = []
    size = 0
    try:
        for part in compiled.generate(context):
            size += len(part)
            if size > MAX_ANSWER:
                raise ToolFailed(
                    "The answer template gives a text that is too long.", hint="Show fewer rows: rows[:20]."
                )
            parts.append(part)
    except ToolFailed:
        raise
    except Exception as error:  # Jinja's filters raise what they like, of assertions of their own to memory
        raise ToolFailed(
            "The answer template cannot be applied to these rows.",
            hint="`abi check` says what is wrong with it; a value may be missing, or text where a number is needed.",
        ) from error
    lines = (" ".join(line.split()) for line in "".join(parts).strip().splitlines())
    return "\n".join(lines)


def check_answer(
    template: str,
    parameter_names: Iterable[str],
    variables: Sequence[str] | None = None,
    *,
    path: str = "",
    line: int = 1,
) -> list[Finding]:
    """What is wrong with an answer template; `variables` are the query's columns, where they are known."""
    from jinja2 import TemplateSyntaxError, meta

    def finding(offset: int, message: str, fix: str = "") -> Finding:
        return Finding(path, line + max(0, offset - 1), "answer", "error", "answer-template", message, fix)

    if len(template) > MAX_TEMPLATE:
        return [finding(1, f"The answer template has more than {MAX_TEMPLATE:,} characters.")]
    try:
        tree = _environment().parse(template)
    except (TemplateSyntaxError, RecursionError) as error:
        what = getattr(error, "message", None) or "it is nested too deeply"
        return [finding(getattr(error, "lineno", 1), f"The answer template does not parse: {what}.")]
    findings = [finding(at, message, fix) for at, message, fix in _faults(tree)]
    if findings:
        return findings
    try:
        _compiled(template)
    except ToolFailed:
        return [finding(1, "The answer template does not parse: it is nested too deeply.")]
    asked = columns_used(tree) if variables is not None else []  # before loops are wrapped in what bounds them
    known = _GIVEN | set(parameter_names)
    for name in sorted(meta.find_undeclared_variables(bounded(tree)) - known):
        findings.append(
            finding(
                1, f"The answer template uses {name}, which nothing gives.", f"There are: {', '.join(sorted(known))}."
            )
        )
    there = list(variables or ())
    for at, column in asked:
        if column not in there:
            near = get_close_matches(column, there, 1)
            fix = (f"Did you mean {near[0]}? " if near else "") + f"Its columns are: {', '.join(there)}."
            message = f"The answer template uses the column {column}, which the query does not give."
            findings.append(finding(at, message, fix))
    return findings


def _faults(tree: Any) -> list[tuple[int, str, str]]:
    """What the small language leaves out, by line."""
    from jinja2 import nodes

    faults: list[tuple[int, str, str]] = []

    def visit(node: nodes.Node, loops: int) -> None:
        kind = type(node).__name__
        if kind not in _NODES:
            faults.append((node.lineno or 1, f"{kind} is not part of the answer templates' language", ""))
            return
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            faults.append((node.lineno, f"there is no filter {node.name}", f"There are: {', '.join(sorted(FILTERS))}."))
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            faults.append((node.lineno, f"there is no test {node.name}", f"There are: {', '.join(sorted(TESTS))}."))
        if isinstance(node, nodes.Filter) and node.name in _NAMED and len(node.args) > _NAMED[node.name]:
            # These take the name of a filter or a test as text.
            given = node.args[_NAMED[node.name]]
            allowed = FILTERS if node.name == "map" else TESTS
            if not isinstance(given, nodes.Const) or given.value not in allowed:
                faults.append((node.lineno, f"{node.name} cannot be used like this", ""))
        if isinstance(node, nodes.Name) and node.name in ("self", "super", "caller"):
            faults.append((node.lineno, f"there is no {node.name}", ""))
        if isinstance(node, (nodes.Getattr, nodes.Keyword)):
            name = node.attr if isinstance(node, nodes.Getattr) else str(getattr(node.value, "value", ""))
            if "__" in name or name.startswith("_"):
                faults.append((node.lineno, f"{name} cannot be asked for", ""))
        loops += isinstance(node, nodes.For)
        if loops > _MAX_LOOPS:
            faults.append((node.lineno, f"loops are nested deeper than {_MAX_LOOPS}", ""))
            return
        for child in node.iter_child_nodes():
            visit(child, loops)

    try:
        visit(tree, 0)
    except RecursionError:
        faults.append((1, "it is nested too deeply", ""))
    return [(at, f"Answer template: {message}.", fix) for at, message, fix in faults]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, cache_size=0, optimized=False
    )
    environment.globals.clear()
    environment.filters = {k: v for k, v in environment.filters.items() if k in FILTERS}
    environment.tests = {k: v for k, v in environment.tests.items() if k in TESTS}
    bound_filters(environment)
    return environment


@lru_cache(maxsize=512)
def _compiled(template: str) -> Template:
    """Raises ToolFailed for what `check_answer` would have refused: a record may come past it, by a triple."""
    from jinja2 import TemplateSyntaxError

    try:
        if len(template) <= MAX_TEMPLATE and not _faults(tree := _environment().parse(template)):
            return _environment().from_string(bounded(tree))
    except (TemplateSyntaxError, SyntaxError, RecursionError, MemoryError):
        pass
    raise ToolFailed("The answer template is not sound.", hint="`abi check` says what is wrong with it.")
