"""A description of new classes and properties, in plain sentences, as Turtle: what the offline model proposes from.

The sentences are those that a definition is made of anyway: `A vessel is a kind of material entity that carries goods
over water. Add a property "flies the flag of" from vessel to country.` What they leave open is asked, and nothing is
made up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from abi import terms
from abi.graph.resolve import candidates, near_names
from abi.graph.rows import Term

if TYPE_CHECKING:
    from abi.graph.rows import Rows

__all__ = ["Draft", "draft"]

_NAME = r"[\"'“]?(?P<name>[^\W\d_][\w' -]{0,60}?)[\"'”]?"
_ADD = r"(?:please\s+)?(?:add|create|define|propose|introduce|model)\s+(?:an?\s+|the\s+)?(?:new\s+)?"
_KIND = (
    r"(?:,?\s+(?:as|which\s+is|that\s+is|is|under|below)?,?\s*(?:an?\s+|the\s+)?(?:new\s+)?"
    r"(?:kind|type|sort|subclass|sub-class)\s+of\s+|,?\s+(?:under|below)\s+)"
)
_PARENT = r"(?:an?\s+|the\s+)?[\"'“]?(?P<parent>[^\W\d_][\w' -]{0,60}?)[\"'”]?"
_REST = r"(?P<rest>(?:,?\s+(?:that|which|who|whose|where|with|for)\b|\s*:).*)?"
_CLASS = re.compile(
    rf"^(?:{_ADD}(?:class\s+)?(?:called\s+|named\s+)?(?:an?\s+)?|an?\s+|every\s+|each\s+)"
    rf"{_NAME}{_KIND}{_PARENT}{_REST}$",
    re.I,
)
_BARE = re.compile(rf"^{_ADD}class\s+(?:called\s+|named\s+)?{_NAME}{_REST}$", re.I)
_PROPERTY = re.compile(
    rf"^{_ADD}(?:property|relation)\s+(?:called\s+|named\s+)?{_NAME}\s+(?:from|of|between)\s+(?:an?\s+|the\s+)?"
    r"(?P<domain>[\w' -]{1,60}?)\s+(?:to|and|with|as)\s+(?:an?\s+|the\s+)?(?P<range>[\w' -]{1,60}?)(?P<rest>\s*:.*)?$",
    re.I,
)
_DATATYPES = {
    **dict.fromkeys(("text", "string", "name", "words"), "string"),
    **dict.fromkeys(("number", "decimal", "amount", "quantity"), "decimal"),
    **dict.fromkeys(("integer", "whole number", "count"), "integer"),
    "date": "date",
    **dict.fromkeys(("date and time", "time", "datetime"), "dateTime"),
    **dict.fromkeys(("boolean", "yes or no", "truth value"), "boolean"),
}
_LONGEST = 4_000
_LONGEST_SENTENCE = 600


@dataclass
class Draft:
    """Turtle, and what it leaves open. With questions there is nothing to propose yet."""

    turtle: str = ""
    names: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def draft(text: str, query: Callable[..., Rows], base: str) -> Draft | None:
    """What a message describes; None where it describes no class and no property.

    `query` asks the graph; `base` is where new names go if the graph has no classes of its own.
    """
    if len(text) > _LONGEST:
        return None
    drafter = _Drafter(query, base)
    for sentence in re.split(r"(?<=[.;!?])\s+|\n+", text.strip()):
        drafter.take(sentence.strip().rstrip(".;!"))
    return drafter.drafted()


@dataclass
class _Drafter:
    query: Callable[..., Rows]
    base: str
    classes: dict[str, str] = field(default_factory=dict)
    """Names of new classes, folded, with their IRIs."""
    blocks: list[list[str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    undefined: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.namespace = self._namespace()

    def take(self, sentence: str) -> None:
        """Read one sentence; one that is none of ours is the definition of the class before it, if that lacks one."""
        if not sentence or len(sentence) > _LONGEST_SENTENCE or sentence.endswith("?"):
            return
        made = _PROPERTY.match(sentence)
        if made is not None:
            self._property(made)
            return
        made = _CLASS.match(sentence) or _BARE.match(sentence)
        if made is not None:
            self._class(made)
        elif self.undefined:
            _, iri = self.undefined.popitem()
            self._say(iri, sentence)

    def drafted(self) -> Draft | None:
        if not self.names and not self.questions:
            return None
        for name in self.undefined:
            self.questions.append(
                f'What tells {name} from others of its kind? Say "A {name} is a kind of ... that ...".'
            )
        turtle = "\n\n".join(" ;\n  ".join(block) + " ." for block in self.blocks)
        return Draft("" if self.questions else turtle, self.names, self.questions)

    def _class(self, made: re.Match[str]) -> None:
        name = _plain(made["name"])
        if self._exists(name):
            return
        iri = self.namespace + _camel(name, upper=True)
        parent_name = _plain(made.groupdict().get("parent") or "")
        parent = self._found(parent_name, f"above {name}") if parent_name else None
        if not parent_name:
            self.questions.append(f"What is {name} a kind of? Of BFO there are {self._buckets()}.")
        self.names.append(name)
        self.classes[name.casefold()] = iri
        self.blocks.append(
            [
                f"{_n3(iri)} a {_n3(terms.OWL_CLASS)}",
                f"{_n3(terms.RDFS_LABEL)} {Term('literal', name).n3()}",
                *([f"{_n3(terms.RDFS_SUBCLASSOF)} {_n3(parent)}"] if parent else []),
            ]
        )
        rest = (made["rest"] or "").strip()
        if rest.startswith(":"):
            self._say(iri, rest[1:].strip())
        elif rest and parent_name:
            genus = f"{_article(parent_name).lower()} {parent_name}"
            self._say(iri, f"{_article(name)} {name} is {genus} {rest.lstrip(', ')}")
        else:
            self.undefined[name] = iri

    def _property(self, made: re.Match[str]) -> None:
        name = _plain(made["name"])
        iri = self.namespace + _camel(name, upper=False)
        if self._ask(f"ASK {{ {_n3(iri)} ?p ?o }}"):
            self.questions.append(f"There is a property {name} already: <{iri}>.")
            return
        domain_name, range_name = _plain(made["domain"]), _plain(made["range"])
        datatype = _DATATYPES.get(range_name.casefold())
        domain = self._found(domain_name, f"what {name} is said of")
        over = terms.XSD + datatype if datatype else self._found(range_name, f"what {name} leads to")
        rest = (made["rest"] or "").strip()
        definition = rest[1:].strip() if rest else f"{name}, from {domain_name} to {range_name}."
        self.names.append(name)
        kind = terms.OWL + ("DatatypeProperty" if datatype else "ObjectProperty")
        self.blocks.append(
            [
                f"{_n3(iri)} a {_n3(kind)}",
                f"{_n3(terms.RDFS_LABEL)} {Term('literal', name).n3()}",
                f"{_n3(terms.SKOS_DEFINITION)} {Term('literal', _sentence(definition)).n3()}",
                *([f"{_n3(terms.RDFS + 'domain')} {_n3(domain)}"] if domain else []),
                *([f"{_n3(terms.RDFS + 'range')} {_n3(over)}"] if over else []),
            ]
        )

    def _say(self, iri: str, definition: str) -> None:
        block = next(b for b in self.blocks if b[0].startswith(_n3(iri) + " "))
        block.append(f"{_n3(terms.SKOS_DEFINITION)} {Term('literal', _sentence(definition)).n3()}")

    def _exists(self, name: str) -> bool:
        found = candidates(self.query, name, terms.OWL_CLASS)
        if found:
            self.questions.append(f"There is a class {found[0].label} already: <{found[0].iri}>.")
        return bool(found)

    def _found(self, name: str, role: str) -> str | None:
        """The class of that name, new or in the graph; where there is none, or several, that is asked."""
        for spelling in (name, re.sub(r"ies$", "y", name), re.sub(r"s$", "", name)):
            if spelling.casefold() in self.classes:
                return self.classes[spelling.casefold()]
            found = candidates(self.query, spelling, terms.OWL_CLASS)
            if len(found) == 1:
                return found[0].iri
            if found:
                listed = " or ".join(f"{c.label} <{c.iri}>" for c in found[:5])
                self.questions.append(f"Which {name} do you mean, {role}: {listed}?")
                return None
        near = near_names(self.query, name, terms.OWL_CLASS)[:5]
        there = f"Near it there are {', '.join(near)}" if near else f"Of BFO there are {self._buckets()}"
        self.questions.append(f'There is no class "{name}", {role}. {there}; or describe {name} first.')
        return None

    def _buckets(self) -> str:
        rows = self.query(
            f"SELECT DISTINCT ?label {{ ?c {_n3(terms.BUCKET)} ?b ; {_n3(terms.RDFS_LABEL)} ?label }} ORDER BY ?label",
            rows=20,
        )
        return ", ".join(dict.fromkeys(r["label"].value for r in rows))

    def _namespace(self) -> str:
        """Where most classes of this workspace have their names."""
        rows = self.query(
            f"SELECT DISTINCT ?c {{ ?c a {_n3(terms.OWL_CLASS)} "
            f"FILTER(isIRI(?c) && STRSTARTS(STR(?c), {Term('literal', self.base).n3()})) }} LIMIT 1000",
            rows=1000,
        )
        places = Counter(re.sub(r"[^/#]*$", "", r["c"].value) for r in rows)
        return str(places.most_common(1)[0][0]) if places else f"{self.base}ontology/"

    def _ask(self, query: str) -> bool:
        return bool(self.query(query).boolean)


def _plain(name: str) -> str:
    return " ".join(name.strip(" \"'“”").split())


def _camel(name: str, *, upper: bool) -> str:
    words: list[str] = re.findall(r"\w+", name)
    first = words[0][:1].upper() + words[0][1:] if upper else words[0].lower()
    return first + "".join(w[:1].upper() + w[1:] for w in words[1:])


def _article(name: str) -> str:
    return "An" if name[:1].casefold() in "aeiou" else "A"


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _n3(iri: str) -> str:
    return Term("iri", iri).n3()
