"""Turtle and TriG in one canonical form, so that a save changes only the lines of what changed.

Prefixes that are used, sorted; subjects sorted by IRI; of each `a` first, then the label, then the other properties in
the order of their names; objects sorted. A blank node that one triple refers to is written inside it; the others get
labels in the order in which they appear. Lists are written as `( ... )`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from abi import terms

__all__ = ["write_trig", "write_turtle"]

_TYPE = ox.NamedNode(terms.RDF_TYPE)
_LABEL = ox.NamedNode(terms.RDFS_LABEL)
_FIRST, _REST, _NIL = (ox.NamedNode(t) for t in (terms.RDF_FIRST, terms.RDF_REST, terms.RDF_NIL))
_LOCAL = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_\-.]*[A-Za-z0-9_\-])?)?\Z")
_PLAIN = {
    terms.XSD_INTEGER: re.compile(r"[+-]?[0-9]+\Z"),
    terms.XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+\Z"),
    terms.XSD_BOOLEAN: re.compile(r"(?:true|false)\Z"),
}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_DEEPEST = 20
"""Blank nodes nest no deeper than this; what reads Turtle has limits too."""


def write_turtle(quads: Iterable[ox.Quad], prefixes: Mapping[str, str]) -> str:
    """The triples of the quads; their graphs are not written."""
    writer = _Writer(prefixes)
    body = writer.graph([q.triple for q in quads])
    return writer.head() + body


def write_trig(quads: Iterable[ox.Quad], prefixes: Mapping[str, str]) -> str:
    writer = _Writer(prefixes)
    graphs: dict[Any, list[ox.Triple]] = {}
    for quad in quads:
        graphs.setdefault(quad.graph_name, []).append(quad.triple)
    shared = _in_several_graphs(graphs)
    parts = []
    for name in sorted(graphs, key=lambda g: (not isinstance(g, ox.DefaultGraph), str(g))):
        if isinstance(name, ox.DefaultGraph):
            parts.append(writer.graph(graphs[name], keep=shared))
        else:
            body = writer.graph(graphs[name], keep=shared, indent="  ")
            parts.append(f"{writer.term(name)} {{\n{body}}}\n")
    return writer.head() + "\n".join(parts)


def _in_several_graphs(graphs: Mapping[Any, list[ox.Triple]]) -> set[Any]:
    seen: dict[Any, Any] = {}
    shared = {g for g in graphs if isinstance(g, ox.BlankNode)}
    for name, triples in graphs.items():
        for triple in triples:
            for term in (triple.subject, triple.object):
                if isinstance(term, ox.BlankNode) and seen.setdefault(term, name) != name:
                    shared.add(term)
    return shared


class _Writer:
    def __init__(self, prefixes: Mapping[str, str]) -> None:
        # The longest namespace first: it gives the shortest name.
        self._prefixes = sorted(prefixes.items(), key=lambda p: (-len(p[1]), p[0]))
        self._used: dict[str, str] = {}
        self._labels: dict[ox.BlankNode, str] = {}
        self._known: dict[str, str] = {}
        self._about: dict[Any, list[tuple[ox.NamedNode, Any]]] = {}
        self._inside: set[Any] = set()
        self._keys: dict[Any, tuple[Any, ...]] = {}

    def head(self) -> str:
        lines = "".join(f"@prefix {p}: <{n}> .\n" for p, n in sorted(self._used.items()))
        return lines + "\n" if lines else ""

    def graph(self, triples: list[ox.Triple], keep: Iterable[Any] = (), indent: str = "") -> str:
        self._about = {}
        referred: dict[Any, int] = {}
        for triple in triples:
            self._about.setdefault(triple.subject, []).append((triple.predicate, triple.object))
            if isinstance(triple.object, ox.BlankNode):
                referred[triple.object] = referred.get(triple.object, 0) + 1
        self._inside = {b for b, n in referred.items() if n == 1} - set(keep) - self._in_a_circle()
        self._keys = {}
        try:
            return self._subjects(indent)
        except RecursionError:  # a chain that nobody writes by hand: every blank node gets a label
            self._inside = set()
            return self._subjects(indent)

    def _subjects(self, indent: str) -> str:
        tops = [s for s in self._about if s not in self._inside]
        return "\n".join(self._subject(s, indent) for s in sorted(tops, key=self._order))

    def _in_a_circle(self) -> set[Any]:
        """Blank nodes below which they come again, or that are nested too deep: they get a label."""
        found: set[Any] = set()
        depth: dict[Any, int] = {}
        for start in self._about:
            if not isinstance(start, ox.BlankNode) or start in depth:
                continue
            stack: list[tuple[Any, list[Any]]] = [(start, self._below(start))]
            path = {start}
            while stack:
                node, below = stack[-1]
                if below:
                    child = below.pop()
                    if child in path:
                        found.add(child)
                    elif child not in depth:
                        path.add(child)
                        stack.append((child, self._below(child)))
                    continue
                stack.pop()
                path.discard(node)
                here = 1 + max((depth.get(c, 0) for c in self._below(node)), default=0)
                if here > _DEEPEST and not self._is_rest(node):
                    found.add(node)
                    here = 0
                depth[node] = here if not self._is_rest(node) else here - 1
        return found

    def _below(self, node: Any) -> list[Any]:
        return [o for _, o in self._about.get(node, ()) if isinstance(o, ox.BlankNode)]

    def _is_rest(self, node: Any) -> bool:
        return any(p == _REST for p, _ in self._about.get(node, ()))

    def _subject(self, subject: Any, indent: str) -> str:
        head = self.term(subject)
        return f"{indent}{head} {self._properties(subject, indent + '  ')} .\n"

    def _properties(self, subject: Any, indent: str) -> str:
        by_predicate: dict[ox.NamedNode, list[Any]] = {}
        for predicate, value in self._about.get(subject, ()):
            by_predicate.setdefault(predicate, []).append(value)
        lines = []
        for predicate in sorted(by_predicate, key=lambda p: (p != _TYPE, p != _LABEL, p.value)):
            values = sorted(by_predicate[predicate], key=self._order)
            verb = "a" if predicate == _TYPE else self.term(predicate)
            lines.append(f"{verb} " + f" ,\n{indent}  ".join(self._object(v, indent) for v in values))
        return f" ;\n{indent}".join(lines)

    def _object(self, value: Any, indent: str) -> str:
        if value not in self._inside:
            return self.term(value)
        members = self._members(value)
        if members is not None:
            return "( " + " ".join(self._object(m, indent + "  ") for m in members) + " )"
        if value not in self._about:
            return "[]"
        return f"[\n{indent}    {self._properties(value, indent + '    ')}\n{indent}  ]"

    def _members(self, head: Any) -> list[Any] | None:
        """The members of a list that can be written as `( ... )`; None where it is none."""
        found = []
        while head != _NIL:
            said = self._about.get(head, [])
            first = [o for p, o in said if p == _FIRST]
            rest = [o for p, o in said if p == _REST]
            if head not in self._inside or len(said) != 2 or len(first) != 1 or len(rest) != 1:
                return None
            found.append(first[0])
            head = rest[0]
        return found

    def _order(self, term: Any) -> tuple[Any, ...]:
        key = self._keys.get(term)
        if key is None:
            if isinstance(term, ox.NamedNode):
                key = (0, term.value)
            elif isinstance(term, ox.Literal):
                key = (1, *_literal_order(term))
            elif isinstance(term, ox.BlankNode):
                key = (2, self._look(term, 3))
            else:
                key = (3, str(term))
            self._keys[term] = key
        return key

    def _look(self, node: Any, depth: int) -> str:
        """What a blank node says, as far as it has no labels of its own: the order does not hang on labels."""
        if not isinstance(node, ox.BlankNode):
            return str(node)
        if depth == 0:
            return "_"
        return "[" + ";".join(sorted(f"{p}{self._look(o, depth - 1)}" for p, o in self._about.get(node, ()))) + "]"

    def term(self, term: Any) -> str:
        if isinstance(term, ox.NamedNode):
            return self._iri(term.value)
        if isinstance(term, ox.Literal):
            return self._literal(term)
        if isinstance(term, ox.BlankNode):
            return "_:" + self._labels.setdefault(term, f"b{len(self._labels)}")
        return f"<<( {self.term(term.subject)} {self.term(term.predicate)} {self.term(term.object)} )>>"

    def _iri(self, iri: str) -> str:
        known = self._known.get(iri)
        if known is None:
            known = f"<{iri}>"
            for prefix, namespace in self._prefixes:
                if iri.startswith(namespace) and _LOCAL.match(iri, len(namespace)):
                    self._used[prefix] = namespace
                    known = f"{prefix}:{iri[len(namespace) :]}"
                    break
            self._known[iri] = known
        return known

    def _literal(self, literal: ox.Literal) -> str:
        text, datatype = literal.value, literal.datatype.value
        if not literal.language:
            plain = _PLAIN.get(datatype)
            if plain is not None and plain.match(text):
                return text
        quoted = _quoted(text)
        if literal.language:
            direction = f"--{literal.direction}" if getattr(literal, "direction", None) else ""
            return f"{quoted}@{literal.language}{direction}"
        return quoted if datatype == terms.XSD_STRING else f"{quoted}^^{self._iri(datatype)}"


def _literal_order(literal: ox.Literal) -> tuple[Any, ...]:
    return (literal.value, literal.language or "", literal.datatype.value)


def _quoted(text: str) -> str:
    # A text of several lines is written as such, so that a diff shows the line that changed.
    if "\n" in text and "\r" not in text:
        body = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        if body.endswith('"'):
            body = body[:-1] + '\\"'
        return f'"""{_escape_controls(body)}"""'
    return '"' + _escape_controls("".join(_ESCAPES.get(c, c) for c in text)) + '"'


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0085\u2028\u2029]")


def _escape_controls(text: str) -> str:
    return _CONTROLS.sub(lambda m: f"\\u{ord(m.group()):04X}", text)
