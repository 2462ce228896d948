"""How people call what a graph holds: phrases for classes, values and links, made from labels and from IRIs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from abi import terms
from abi.agents.graph_schema import Attribute, GraphSchema, Link
from abi.agents.words import split_name, stem, tokens

__all__ = ["IDENTIFYING", "VALUE_WORDS", "Element", "Lexicon", "Phrase", "phrase_of"]

Phrase = tuple[str, ...]
"""Stems of the words of a name, in order."""

VALUE_WORDS = frozenset(stem(w) for w in "amount value quantity size sum montant valeur".split())
"""Words at the end of a name that only say that it is a quantity."""
IDENTIFYING = frozenset(stem(w) for w in "id identifier number no code name title label nom titre numero key".split())
_NAMES = frozenset(stem(w) for w in "name title label nom titre".split())
_LABELS = (terms.SKOS + "prefLabel", terms.RDFS_LABEL)
_LEADING = frozenset("has have is are was had be".split())
_TRAILING = frozenset("by of in to for from at with on par de".split())
_FILLERS = frozenset(
    stem(w) for w in ("a", "the", "of", "in", "for", "to", "by", "de", "du", "la", "le", "les", "d", "l")
)


@dataclass(frozen=True, slots=True)
class Element:
    """What a phrase may mean. `strength`: 1 for a whole name, less for what was left of one.

    `attribute` with its owner's class in `cls`; a `link` that names its target (`has author`: author) or only the
    relation (`sold by`: then `relation`); else the class alone.
    """

    cls: str
    attribute: Attribute | None = None
    link: Link | None = None
    relation: bool = False
    strength: float = 1.0


def phrase_of(text: str) -> Phrase:
    """`hasPolicyHolder`, `Policy Holder` and `policy holders` are one phrase but for the `has`."""
    words = [w for part in text.split() for w in (split_name(part) if "://" not in part else [part])]
    return tuple(stem(w) for w, _, _ in tokens(" ".join(words)))


class Lexicon:
    """All phrases of one schema."""

    def __init__(self, schema: GraphSchema) -> None:
        self.schema = schema
        self.phrases: dict[Phrase, list[Element]] = defaultdict(list)
        for key in schema.classes:
            for phrase in self.class_phrases(key):
                self._add(phrase, Element(key))
        for attribute in schema.attributes:
            self._add_attribute(attribute)
        for link in schema.links:
            self._add_link(link)
        self.longest = max((len(p) for p in self.phrases), default=0)

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems of all words of all phrases."""
        return frozenset(w for p in self.phrases for w in p)

    def class_phrases(self, key: str) -> list[Phrase]:
        """Names of a class; of nodes without a type, those of the range or of the property that leads to them."""
        if not key.startswith("~"):
            return list(dict.fromkeys(phrase_of(t) for t in self._texts(key)))
        found = [phrase_of(t) for r in self.schema.ranges.get(key[1:], ()) for t in self._texts(r)]
        found += [_bare(phrase_of(t)) for t in self._texts(key[1:])]
        return list(dict.fromkeys(p for p in found if p))

    def name(self, iri: str) -> str:
        """What to call a class, a value or a link when speaking of it."""
        label = next(iter(self.schema.names.get(iri.removeprefix("~"), ())), "")
        if iri.startswith("~"):
            ranges = [r for r in self.schema.ranges.get(iri[1:], ()) if not r.startswith((terms.OWL, terms.RDFS))]
            if ranges:
                return self.name(ranges[0])
            words = (label or " ".join(split_name(iri[1:]))).split()
            return " ".join(words[1:] if words[0].casefold() in _LEADING and len(words) > 1 else words).casefold()
        return label or " ".join(split_name(iri)).casefold()

    def display(self, key: str) -> Attribute | None:
        """The value by which an individual of a class is told to people; None where only its IRI is there."""
        own = self.schema.of(key)
        labels = [a for p in _LABELS for a in own if a.property == p]
        if labels:
            return labels[0]
        full = [a for a in own if a.kind != "iri" and a.owners * 2 >= self.schema.classes[key]]
        for words in (_NAMES, IDENTIFYING):
            named = [a for a in full if phrase_of(self.name(a.property))[-1:] and self._last(a) in words]
            named.sort(key=lambda a: (not a.tells_apart(), len(self._rest(a))))
            if named:
                return named[0]
        if len(own) == 1:
            return own[0]
        quantity = self.quantity(key)
        if quantity is not None:
            return quantity
        return next((a for a in full if a.tells_apart()), None)

    def quantity(self, key: str) -> Attribute | None:
        """The number that an individual of a class stands for, as a premium does for its amount; None in doubt."""
        numbers = [a for a in self.schema.of(key) if a.kind == "number" and self._last(a) not in IDENTIFYING]
        ranked = sorted(numbers, key=lambda a: len(self._rest(a)))
        if not ranked or (len(ranked) > 1 and len(self._rest(ranked[0])) == len(self._rest(ranked[1]))):
            return None
        rest = self._rest(ranked[0])
        return ranked[0] if len(ranked) == 1 or not set(rest) - VALUE_WORDS else None

    def identifies(self, attribute: Attribute) -> bool:
        """Whether a value is a number only by its form, and tells things apart: nobody adds such values up."""
        return self._last(attribute) in IDENTIFYING

    def _last(self, attribute: Attribute) -> str:
        return (phrase_of(self.name(attribute.property)) or ("",))[-1]

    def _rest(self, attribute: Attribute) -> Phrase:
        """What an attribute's name says beyond its class's."""
        return min(self._shortened(attribute, phrase_of(self.name(attribute.property))), key=len)

    def _texts(self, iri: str) -> Iterable[str]:
        yield from self.schema.names.get(iri, ())
        yield " ".join(split_name(iri))

    def _add(self, phrase: Phrase, element: Element) -> None:
        if not phrase or all(w in _FILLERS for w in phrase):
            return
        entries = self.phrases[phrase]
        same = [e for e in entries if (e.cls, e.attribute, e.link) == (element.cls, element.attribute, element.link)]
        if not same:
            entries.append(element)
        elif same[0].strength < element.strength:
            entries[entries.index(same[0])] = element

    def _add_attribute(self, attribute: Attribute) -> None:
        for text in self._texts(attribute.property):
            whole = phrase_of(text)
            for phrase in {whole, _bare(whole)}:
                self._add(phrase, Element(attribute.owner, attribute))
                for shorter in self._without_class(attribute, phrase):
                    self._add(shorter, Element(attribute.owner, attribute, strength=0.9))
                if len(phrase) > 1 and phrase[-1] in VALUE_WORDS:
                    self._add(phrase[:-1], Element(attribute.owner, attribute, strength=0.7))
                for cls in self.class_phrases(attribute.owner):
                    self._add((*cls, *phrase), Element(attribute.owner, attribute))

    def _without_class(self, attribute: Attribute, phrase: Phrase) -> list[Phrase]:
        """`policy effective date` of a policy is its effective date, too; its number alone is too little to go by."""
        found = self._shortened(attribute, phrase)
        return [p for p in found if len(p) > 1 or p[0] not in IDENTIFYING | VALUE_WORDS or p == phrase]

    def _shortened(self, attribute: Attribute, phrase: Phrase) -> list[Phrase]:
        found = [phrase]
        for cls in self.class_phrases(attribute.owner):
            at = 0
            while at < len(cls) and at < len(phrase) - 1 and cls[at] == phrase[at]:
                at += 1
                if phrase[at:] not in found:
                    found.append(phrase[at:])
        return found

    def _add_link(self, link: Link) -> None:
        for text in self._texts(link.property):
            whole = phrase_of(text)
            raw = [w.casefold() for part in text.split() for w in split_name(part)]
            targets = self.class_phrases(link.target)
            named = any(whole[-len(t) :] == t for t in targets if t)
            bare = _bare(whole)
            if bare in targets:
                continue  # it says no more than the class does
            relation = bool(set(raw) & _TRAILING) or (named and len(bare) > 1)
            self._add(whole, Element(link.target, None, link, relation))
            self._add(bare, Element(link.target, None, link, relation, 0.9))
            for target in targets:
                if relation and len(bare) > len(target) and bare[-len(target) :] == target:
                    verb = _bare(bare[: -len(target)])
                    self._add(verb, Element(link.target, None, link, True, 0.8))


def _bare(phrase: Phrase) -> Phrase:
    """A property's name without the small words around it: `sold by` is sold, `has author` is author."""
    start = 1 if len(phrase) > 1 and phrase[0] in _LEADING else 0
    end = len(phrase)
    while end - start > 1 and phrase[end - 1] in _TRAILING:
        end -= 1
    return phrase[start:end]
