"""A SPARQL query with parameters, into which typed terms are put in place of tokens; text never is.

A parameter stands in the query as the variable of its name. Where it is given, its tokens become the term; where it is
not, they stay variables. A line that begins with `#?name` is part of the query only where `name` is given (`#?a #?b`:
only where both are).

In most places a term may stand where a variable stood. The others:

    SELECT ?x               (<term> AS ?x); a sub-select leaves it out, as all other `?x` are the term already
    GROUP BY ?x, ORDER BY ?x   (<term>)
    BOUND(?x)               true
    LIMIT ?x, OFFSET ?x     the digits of a checked integer
    ... AS ?x, VALUES ?x    refused when the template is compiled: the query would set what the caller gives
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from abi.errors import ArgumentError, Invalid, QueryRefused, QuerySyntaxError
from abi.findings import Finding
from abi.graph.guard import check_query
from abi.graph.rows import XSD, Term
from abi.graph.tokens import Token, tokenize
from abi.records.record import Parameter
from abi.settings import PREFIXES, Settings

__all__ = ["Template", "check_template", "compile_template", "prefix_lines", "syntax_fault"]

RDF_JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
_Place = Literal["term", "project", "leave_out", "stand_in", "paren", "bound", "number", "as", "values"]
_MARK = re.compile(r"[ \t]*#[?$]([^\W][\w]*)(?=[ \t\r\n]|\Z)")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"{}|^`\\\x00-\x20]*")
_LANGUAGE = re.compile(r"[A-Za-z]+(-[A-Za-z0-9]+)*")
_AT = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_SAMPLES = {
    "integer": "1",
    "decimal": "1.0",
    "double": "1.0E0",
    "float": "1.0",
    "boolean": "true",
    "dateTime": "2000-01-01T00:00:00Z",
}


_MEND = "Correct the query at this place."


class _Report(Protocol):
    def __call__(self, line: int, code: str, message: str, fix: str = "", field: str = "query") -> None: ...


class _Hole(NamedTuple):
    """`text[start:end]` is replaced by the value of `name`, in the form that `place` needs."""

    name: str
    place: _Place
    start: int
    end: int
    line: int


class _OptionalLine(NamedTuple):
    names: tuple[str, ...]
    start: int
    end: int
    """From the first `#?` to behind the last name: what is blanked where all of them are given."""
    line: int


@dataclass(slots=True)
class Template:
    """A query with parameters that was found sound. Bind it as often as you like, from any thread."""

    query: str
    parameters: dict[str, Parameter]
    prefixes: dict[str, str]
    _lines: list[_OptionalLine]
    _variants: dict[frozenset[str], tuple[str, list[_Hole]]] = field(default_factory=dict)

    def bind(self, values: Mapping[str, Term]) -> str:
        """The query with each value in place of its parameter, and the prefixes it needs declared.

        Raises ArgumentError where a required value is missing, a name is unknown or a term cannot stand in a query.
        """
        for name in values:
            if name not in self.parameters:
                raise ArgumentError(f"{name!r} is no parameter of this query.")
        missing = [p.name for p in self.parameters.values() if p.required and p.name not in values]
        if missing:
            raise ArgumentError(f"A value is missing for {', '.join(missing)}.")
        given = frozenset(values)
        if given not in self._variants:
            text = _activate(self.query, self._lines, given)
            text = prefix_lines(tokenize(text), self.prefixes)[0] + text
            self._variants[given] = (text, _holes(tokenize(text), given))
        text, holes = self._variants[given]
        out: list[str] = []
        position = 0
        for hole in holes:
            out.append(text[position : hole.start])
            out.append(_filled(hole, values[hole.name]))
            position = hole.end
        out.append(text[position:])
        return "".join(out)


def compile_template(
    query: str, parameters: Sequence[Parameter], prefixes: Mapping[str, str], settings: Settings | None = None
) -> Template:
    """The template, or Invalid with all findings (whose lines count from the query's first line)."""
    findings = check_template(query, parameters, prefixes, settings)
    if findings:
        raise Invalid(f"The query is no sound template: {findings[0].message}", findings)
    return _template(query, parameters, prefixes)


def check_template(
    query: str,
    parameters: Sequence[Parameter],
    prefixes: Mapping[str, str],
    settings: Settings | None = None,
    *,
    path: str = "",
    first_line: int = 1,
) -> list[Finding]:
    """Everything that is wrong with a query and its parameters, each at its line in the file.

    `first_line` is the line of the file at which the query begins. The query is parsed without its optional parameters,
    with all of them, and with each one alone.
    """
    findings: list[Finding] = []

    def report(line: int, code: str, message: str, fix: str = "", field: str = "query") -> None:
        finding = Finding(path, first_line + line - 1, field, "error", code, message, fix)
        if finding not in findings:
            findings.append(finding)

    limits = settings or Settings(base_iri="urn:abi:", prefixes={})
    try:
        template = _template(query, parameters, prefixes)
    except (QuerySyntaxError, QueryRefused) as error:
        report(error.details.get("line", 1), "template-syntax", error.message, error.hint or _MEND)
        return findings

    declared = template.parameters
    for line in template._lines:
        for name in line.names:
            if name not in declared:
                report(
                    line.line,
                    "template-parameter-undeclared",
                    f"`#?{name}` makes this line depend on the parameter {name}, which is not declared.",
                    "Declare it under parameters, or put a space after the # if this is a comment.",
                )
    known = [line for line in template._lines if all(n in declared for n in line.names)]
    optional = [p.name for p in parameters if not p.required and p.default is None]
    always = frozenset(declared) - frozenset(optional)
    variants = [always, frozenset(declared), *(always | {name} for name in optional)]
    used = {name for line in known for name in line.names}
    for given in dict.fromkeys(variants):
        text = _activate(query, known, given)
        try:
            tokens = tokenize(text)
        except (QuerySyntaxError, QueryRefused) as error:
            report(error.details.get("line", 1), "template-syntax", error.message, error.hint or _MEND)
            continue
        used |= {t.name for t in tokens if t.kind == "var"}
        if _misplaced(tokens, declared, given, report):
            continue
        added, unknown = prefix_lines(tokens, prefixes)
        for token in unknown:
            prefix = token.text.partition(":")[0]
            report(
                token.line,
                "template-prefix-undeclared",
                f"The prefix {prefix}: is not declared.",
                "Add it to `prefixes` in abi.yaml, or as a PREFIX line to the query.",
            )
        if not unknown:
            _parse(text, added, declared, given, limits, report)
    for name in declared:
        if name not in used:
            report(
                1,
                "template-parameter-unused",
                f"The parameter {name} is declared, but ?{name} is not in the query.",
                "Use it in the query, or take it out of parameters.",
                f"parameters.{name}",
            )
    return findings


def _template(query: str, parameters: Sequence[Parameter], prefixes: Mapping[str, str]) -> Template:
    return Template(query, {p.name: p for p in parameters}, dict(prefixes), _optional_lines(query))


def _optional_lines(query: str) -> list[_OptionalLine]:
    """The comments that begin their line with `#?name`; what looks like one inside a string is none."""
    lines: list[_OptionalLine] = []
    for token in tokenize(query, comments=True):
        if token.kind != "comment" or query[token.start - token.column + 1 : token.start].strip(" \t"):
            continue
        names: list[str] = []
        position = token.start
        while (mark := _MARK.match(query, position)) and mark.end() <= token.end:
            names.append(mark.group(1))
            position = mark.end()
        if names:
            lines.append(_OptionalLine(tuple(names), token.start, position, token.line))
    return lines


def _activate(query: str, lines: Sequence[_OptionalLine], given: frozenset[str]) -> str:
    """The query with the marks of the lines that count blanked, so that every position stays what it was."""
    for line in lines:
        if given.issuperset(line.names):
            query = query[: line.start] + " " * (line.end - line.start) + query[line.end :]
    return query


def _holes(tokens: Sequence[Token], names: frozenset[str]) -> list[_Hole]:
    """Each place of a parameter in the query, in order."""
    holes: list[_Hole] = []
    modes: list[str] = [""]  # the clause we are in, one for each open bracket
    projection: list[int] | None = None  # holes of the sub-select's projection that is being read
    others = False  # whether that projection has anything else
    for i, token in enumerate(tokens):
        word = token.upper
        before = tokens[i - 1] if i else None
        if word == "SELECT":
            # The query's own SELECT stands outside of all brackets.
            modes[-1] = "project" if len(modes) == 1 else "subselect"
            projection, others = [], False
        elif word in ("WHERE", "FROM") or token.text == "{":
            if modes[-1] == "subselect" and projection and not others:
                holes[projection[0]] = holes[projection[0]]._replace(place="stand_in")
            if modes[-1] in ("project", "subselect"):
                projection = None
            if modes[-1] != "values" or token.text != "{":
                modes[-1] = ""
            if token.text == "{":
                modes[-1] = ""
                modes.append("")
        elif word == "BY" and before is not None and before.upper in ("GROUP", "ORDER"):
            modes[-1] = "sort"
        elif word in ("HAVING", "LIMIT", "OFFSET"):
            modes[-1] = ""
        elif word == "VALUES":
            modes[-1] = "values"
        elif token.text in ("(", "["):
            if modes[-1] == "subselect":
                others = True
            modes.append("values" if modes[-1] == "values" else "")
        elif token.text in (")", "]", "}"):
            if len(modes) > 1:
                modes.pop()
        elif modes[-1] == "subselect" and (token.text == "*" or (token.kind == "var" and token.name not in names)):
            others = True
        if token.kind != "var" or token.name not in names:
            continue
        place: _Place = "term"
        start, end = token.start, token.end
        if before is not None and before.upper == "AS":
            place = "as"
        elif before is not None and before.upper in ("LIMIT", "OFFSET"):
            place = "number"
        elif modes[-1] == "values":
            place = "values"
        elif modes[-1] == "project":
            place = "project"
        elif modes[-1] == "subselect" and projection is not None:
            place = "leave_out"
            projection.append(len(holes))
        elif modes[-1] == "sort":
            place = "paren"
        elif i > 1 and tokens[i - 1].text == "(" and tokens[i - 2].upper == "BOUND" and tokens[i + 1].text == ")":
            place, start, end = "bound", tokens[i - 2].start, tokens[i + 1].end
        holes.append(_Hole(token.name, place, start, end, token.line))
    return holes


def _filled(hole: _Hole, term: Term) -> str:
    if hole.place == "number":
        number = term.python()
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
            raise ArgumentError(f"{hole.name} is a number of rows, so it must be a whole number from 0.")
        return f" {number} "
    written = _written(hole.name, term)
    if hole.place == "project":
        return f"({written} AS ?{hole.name})"
    if hole.place == "stand_in":
        return f"({written} AS ?abi_given_{hole.name})"
    if hole.place == "paren":
        return f"({written})"
    # Spaces, so that no neighbour becomes part of it: `?a<?x` must not give `<<`.
    return {"leave_out": " ", "bound": " true "}.get(hole.place, f" {written} ")


def _written(name: str, term: Term) -> str:
    """The term in N-Triples form, after a look at the parts that are not escaped in it."""
    iri = term.value if term.kind == "iri" else term.datatype
    if term.kind == "bnode" or (iri is not None and not _IRI.fullmatch(iri)):
        raise ArgumentError(f"{name}: {term.value[:80]!r} is not an absolute IRI.")
    if term.language is not None and not _LANGUAGE.fullmatch(term.language):
        raise ArgumentError(f"{name}: {term.language[:80]!r} is not a language tag.")
    if any("\ud800" <= c <= "\udfff" for c in term.value):
        raise ArgumentError(f"{name}: the text holds half of a character (a lone surrogate).")
    return term.n3()


def prefix_lines(tokens: Sequence[Token], prefixes: Mapping[str, str]) -> tuple[str, list[Token]]:
    """PREFIX lines for what the query uses and does not declare, and the names whose prefix nobody declares."""
    own: set[str] = set()
    needed: dict[str, Token] = {}
    for i, token in enumerate(tokens):
        if token.kind == "pname":
            prefix = token.text.partition(":")[0]
            if i and tokens[i - 1].upper == "PREFIX":
                own.add(prefix)
            else:
                needed.setdefault(prefix, token)
    missing = [p for p in sorted(needed) if p not in own]
    known = {**PREFIXES, **prefixes}
    lines = "".join(f"PREFIX {p}: <{known[p]}>\n" for p in missing if p in known)
    return lines, [needed[p] for p in missing if p not in known]


def _misplaced(tokens: Sequence[Token], declared: dict[str, Parameter], given: frozenset[str], report: _Report) -> bool:
    found = False
    for hole in _holes(tokens, frozenset(declared)):
        name, fix = hole.name, ""
        if hole.place == "as":
            message = f"`AS ?{name}` sets ?{name}, which is a parameter and so is given by the caller."
            fix = "Use another variable after AS, or rename the parameter."
        elif hole.place == "values":
            message = f"VALUES sets ?{name}, which is a parameter and so is given by the caller."
            fix = "Use another variable in VALUES, or rename the parameter."
        elif hole.place == "number" and declared[name].datatype != XSD + "integer":
            message = f"?{name} is a number of rows, so its type must be xsd:integer."
        elif hole.place == "number" and name not in given:
            message = f"?{name} is a number of rows and may be missing."
            fix = f"Give it a default, or let the line begin with #?{name}."
        else:
            continue
        found = True
        report(hole.line, "template-position", message, fix)
    return found


def _parse(
    text: str, added: str, declared: dict[str, Parameter], given: frozenset[str], limits: Settings, report: _Report
) -> None:
    """Bind samples and let the guard and the store's own parser read the result."""
    tokens = tokenize(added + text)
    out: list[str] = []
    position = 0
    for hole in _holes(tokens, given):
        out += [(added + text)[position : hole.start], _filled(hole, _sample(declared[hole.name]))]
        position = hole.end
    bound = "".join(out) + (added + text)[position:]
    shift = added.count("\n")
    with_ = ", ".join(sorted(given))
    state = f" (with {with_} given)" if with_ else " (with no parameter given)"
    suffix = state if declared else ""
    fault = syntax_fault(bound, limits)
    if fault is not None:
        line, code, message, fix = fault
        report(max(1, line - shift), code, f"{message.removesuffix('.')}{suffix}.", fix)


def syntax_fault(query: str, limits: Settings) -> tuple[int, str, str, str] | None:
    """What the guard or the store's own parser has against a query: line, code, message and how to mend it."""
    from pyoxigraph import Store

    try:
        check_query(query, limits)
        Store().query(query, use_default_graph_as_union=True)
    except (QuerySyntaxError, QueryRefused) as error:
        code = "template-refused" if isinstance(error, QueryRefused) else "template-syntax"
        return error.details.get("line", 1), code, error.message, error.hint or _MEND
    except (SyntaxError, ValueError, RuntimeError, OSError) as error:
        at = _AT.search(str(error))
        what = at.group(3) if at else str(error)
        return int(at.group(1)) if at else 1, "template-syntax", f"The query does not parse here: {what}.", _MEND
    return None


def _sample(parameter: Parameter) -> Term:
    if parameter.value_class is not None or parameter.datatype == XSD + "anyURI":
        return Term("iri", "urn:abi:sample")
    if parameter.datatype == RDF_JSON:
        return Term("literal", "{}", RDF_JSON)
    local = (parameter.datatype or XSD + "string").removeprefix(XSD)
    return Term("literal", _SAMPLES.get(local, "x"), None if local == "string" else parameter.datatype)
