"""A quick look whether a node conforms to a shape, for the great many that do.

SHACL's core constraints are compiled to functions over the candidate state. Their answer is true, false, or None for
"not sure": whatever is not surely true is validated again by pySHACL, which also words the report. So this file may
know less than SHACL, and never says yes where pySHACL says no (a test holds the two against each other).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyoxigraph as ox

from abi import terms
from abi.graph.change import Candidate, Object
from abi.graph.hierarchy import Hierarchy
from abi.graph.literals import stored_form

__all__ = ["Check", "Description", "Unsure", "compile_shape", "rdf_list"]

Description = dict[Any, dict[str, list[Any]]]
"""Shapes as they were parsed: subject to predicate to objects."""
Answer = bool | None
Check = Callable[[Candidate, Hierarchy, Object], Answer]
_OnValues = Callable[[Candidate, Hierarchy, Object, Sequence[Object]], Answer]
_Path = Callable[[Candidate, Object], Sequence[Object]]


class Unsure(Exception):
    """The shape has something that is not compiled here."""


def compile_shape(shapes: Description, shape: Any, within: tuple[Any, ...] = ()) -> Check:
    """The check of one node or property shape. Raises Unsure."""
    if shape in within:
        raise Unsure("a shape refers to itself")
    said = shapes.get(shape, {})
    if any(_lexical(v) in ("true", "1") for v in said.get(terms.SH + "deactivated", ())):
        return lambda candidate, hierarchy, node: True
    constraints: list[_OnValues] = []
    for predicate, values in said.items():
        if not predicate.startswith(terms.SH):
            continue
        name = predicate[len(terms.SH) :]
        if name in _NOT_CONSTRAINTS:
            continue
        if name not in _COMPILERS:
            raise Unsure(predicate)
        constraints += [_COMPILERS[name](shapes, said, v, (*within, shape)) for v in values]
    path = said.get(terms.SH + "path")
    if path is None:
        return lambda candidate, hierarchy, node: _all(c(candidate, hierarchy, node, (node,)) for c in constraints)
    (only,) = path
    walk = _compile_path(shapes, only)

    def check(candidate: Candidate, hierarchy: Hierarchy, node: Object) -> Answer:
        values = walk(candidate, node)
        return _all(c(candidate, hierarchy, node, values) for c in constraints)

    return check


def rdf_list(shapes: Description, head: Any) -> list[Any]:
    """The members of an RDF list. Raises Unsure where it is none."""
    found = []
    seen = set()
    while head != ox.NamedNode(terms.RDF_NIL):
        said = shapes.get(head, {})
        if head in seen or terms.RDF_FIRST not in said or terms.RDF_REST not in said:
            raise Unsure("a list is broken")
        seen.add(head)
        found.append(said[terms.RDF_FIRST][0])
        head = said[terms.RDF_REST][0]
    return found


def _compile_path(shapes: Description, path: Any) -> _Path:
    if isinstance(path, ox.NamedNode):
        predicate = path
        return lambda candidate, node: candidate.objects(node, predicate)
    said = shapes.get(path, {})
    if terms.SH + "inversePath" in said:
        (inverse,) = said[terms.SH + "inversePath"]
        if not isinstance(inverse, ox.NamedNode):
            raise Unsure("an inverse of a path")
        backwards = inverse
        return lambda candidate, node: candidate.subjects(backwards, node)
    if terms.SH + "alternativePath" in said:
        arms = [_compile_path(shapes, p) for p in rdf_list(shapes, said[terms.SH + "alternativePath"][0])]
        return lambda candidate, node: list(dict.fromkeys(v for arm in arms for v in arm(candidate, node)))
    if terms.RDF_FIRST in said:
        steps = [_compile_path(shapes, p) for p in rdf_list(shapes, path)]

        def walk(candidate: Candidate, node: Object) -> Sequence[Object]:
            nodes: Sequence[Object] = (node,)
            for step in steps:
                nodes = list(dict.fromkeys(v for n in nodes for v in step(candidate, n)))
            return nodes

        return walk
    raise Unsure("a path with repetition")


def _all(answers: Iterable[Answer]) -> Answer:
    sure = True
    for answer in answers:
        if answer is False:
            return False
        if answer is None:
            sure = False
    return True if sure else None


def _any(answers: Iterable[Answer]) -> Answer:
    possible = False
    for answer in answers:
        if answer is True:
            return True
        if answer is None:
            possible = True
    return None if possible else False


def _each(check: Callable[[Object], Answer]) -> _OnValues:
    return lambda candidate, hierarchy, node, values: _all(check(v) for v in values)


def _lexical(term: Any) -> str:
    return str(term.value)


# One compiler a constraint: (shapes, what the shape says, the constraint's value, shapes around it)


def _min_count(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    least = int(_lexical(value))
    return lambda candidate, hierarchy, node, values: len(values) >= least


def _max_count(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    most = int(_lexical(value))
    return lambda candidate, hierarchy, node, values: len(values) <= most


_VALID: dict[str, re.Pattern[str] | None] = {
    terms.XSD_STRING: None,
    terms.RDF_LANG_STRING: None,
    terms.XSD_BOOLEAN: re.compile(r"true|false|0|1"),
    terms.XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    terms.XSD_DECIMAL: re.compile(r"[+-]?[0-9]+(\.[0-9]+)?"),
    terms.XSD_DOUBLE: re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?"),
    terms.XSD_DATE_TIME: re.compile(
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T[01][0-9]:[0-5][0-9]:[0-5][0-9]Z"
    ),
}


def _datatype(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    wanted = value.value
    valid = _VALID.get(wanted)
    known = wanted in _VALID

    def check(term: Object) -> Answer:
        if not isinstance(term, ox.Literal) or term.datatype.value != wanted:
            return False
        return True if known and (valid is None or valid.fullmatch(term.value)) else None

    return _each(check)


def _node_kind(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    kind = value.value[len(terms.SH) :]
    kinds = {
        name: part
        for part, name in ((ox.NamedNode, "IRI"), (ox.BlankNode, "BlankNode"), (ox.Literal, "Literal"))
        if name in kind
    }
    if not kinds:
        raise Unsure(kind)
    allowed = tuple(kinds.values())
    return _each(lambda term: isinstance(term, allowed))


def _class(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    wanted = value.value

    def check(candidate: Candidate, hierarchy: Hierarchy, node: Object, values: Sequence[Object]) -> Answer:
        return all(
            not isinstance(v, ox.Literal) and wanted in hierarchy.classes_of(candidate.types(v), candidate)
            for v in values
        )

    return check


def _pattern(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    flags = "".join(_lexical(f) for f in said.get(terms.SH + "flags", ()))
    if flags not in ("", "i"):
        raise Unsure("flags")
    try:
        found = re.compile(_lexical(value), re.IGNORECASE if flags else 0).search
    except re.error as error:
        raise Unsure(str(error)) from error
    # Language tags and odd datatypes are left to pySHACL.
    return _each(lambda term: False if isinstance(term, ox.BlankNode) else bool(found(term.value)))


def _length(holds: Callable[[int, int], bool]) -> Callable[..., _OnValues]:
    def compiled(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
        bound = int(_lexical(value))
        return _each(lambda term: False if isinstance(term, ox.BlankNode) else holds(len(term.value), bound))

    return compiled


def _number(term: Any) -> Decimal | float | None:
    if not isinstance(term, ox.Literal):
        return None
    datatype = term.datatype.value
    try:
        if datatype in (terms.XSD_INTEGER, terms.XSD_DECIMAL):
            return Decimal(term.value)
        if datatype in (terms.XSD_DOUBLE, terms.XSD_FLOAT):
            return float(term.value)
    except (InvalidOperation, ValueError):
        pass
    return None


def _bound(holds: Callable[[Any, Any], bool]) -> Callable[..., _OnValues]:
    def compiled(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
        limit = _number(value)
        if limit is None:
            raise Unsure("a bound that is no number")

        def check(term: Object) -> Answer:
            number = _number(term)
            return None if number is None else holds(number, limit)

        return _each(check)

    return compiled


def _in(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    allowed = {stored_form(m) if isinstance(m, ox.Literal) else m for m in rdf_list(shapes, value)}
    return _each(lambda term: True if term in allowed else None)


def _has_value(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    wanted = stored_form(value) if isinstance(value, ox.Literal) else value
    return lambda candidate, hierarchy, node, values: True if wanted in values else None


def _pair(holds: Callable[[Any, Any], bool]) -> Callable[..., _OnValues]:
    def compiled(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
        def check(candidate: Candidate, hierarchy: Hierarchy, node: Object, values: Sequence[Object]) -> Answer:
            left = [_number(v) for v in values]
            right = [_number(v) for v in candidate.objects(node, value)]
            if None in left or None in right:
                return None
            return all(holds(a, b) for a in left for b in right)

        return check

    return compiled


def _shape(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    inner = compile_shape(shapes, value, within)
    return lambda candidate, hierarchy, node, values: _all(inner(candidate, hierarchy, v) for v in values)


def _property(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    if len(shapes.get(value, {}).get(terms.SH + "path", ())) != 1:
        raise Unsure("a property shape without a path")
    return _shape(shapes, said, value, within)


def _not(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
    inner = compile_shape(shapes, value, within)

    def check(candidate: Candidate, hierarchy: Hierarchy, node: Object, values: Sequence[Object]) -> Answer:
        answers = [inner(candidate, hierarchy, v) for v in values]
        return _all(None if a is None else not a for a in answers)

    return check


def _members(combine: Callable[[Iterable[Answer]], Answer]) -> Callable[..., _OnValues]:
    def compiled(shapes: Description, said: Any, value: Any, within: Any) -> _OnValues:
        inner = [compile_shape(shapes, m, within) for m in rdf_list(shapes, value)]
        return lambda candidate, hierarchy, node, values: _all(
            combine(i(candidate, hierarchy, v) for i in inner) for v in values
        )

    return compiled


_NOT_CONSTRAINTS = set(
    "path name message description severity order group targetClass targetNode targetSubjectsOf targetObjectsOf "
    "deactivated flags defaultValue prefixes".split()
)
_COMPILERS: dict[str, Callable[..., _OnValues]] = {
    "minCount": _min_count,
    "maxCount": _max_count,
    "datatype": _datatype,
    "nodeKind": _node_kind,
    "class": _class,
    "pattern": _pattern,
    "minLength": _length(lambda n, bound: n >= bound),
    "maxLength": _length(lambda n, bound: n <= bound),
    "minInclusive": _bound(lambda a, b: a >= b),
    "maxInclusive": _bound(lambda a, b: a <= b),
    "minExclusive": _bound(lambda a, b: a > b),
    "maxExclusive": _bound(lambda a, b: a < b),
    "in": _in,
    "hasValue": _has_value,
    "lessThan": _pair(lambda a, b: a < b),
    "lessThanOrEquals": _pair(lambda a, b: a <= b),
    "property": _property,
    "node": _shape,
    "not": _not,
    "and": _members(_all),
    "or": _members(_any),
}
