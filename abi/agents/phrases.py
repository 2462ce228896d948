"""What can be asked of a graph, in words: phrases for derived intents, and example questions."""

from __future__ import annotations

from abi.agents.graph_schema import Attribute, Link
from abi.agents.lexicon import Lexicon

__all__ = ["class_names", "count_phrases", "examples", "list_phrases", "path_phrases", "plural", "statistics_phrases"]

_NAMES = 3
_EXAMPLES = 8


def plural(name: str) -> str:
    """The English plural of a class's name; good enough to be recognised."""
    if name.endswith(("series", "species", "data")):
        return name
    if name.endswith(("s", "x", "ch", "sh")):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + "s"


def class_names(lexicon: Lexicon, key: str) -> list[str]:
    """What a class is called: its labels in every language, else the words of its IRI."""
    labels = [x for x in lexicon.schema.names.get(key.removeprefix("~"), ()) if not key.startswith("~")]
    return list(dict.fromkeys(n.casefold() for n in [*labels, lexicon.name(key)]))[:_NAMES]


def list_phrases(lexicon: Lexicon, key: str) -> list[str]:
    return [
        p
        for n in class_names(lexicon, key)
        for p in (f"list all {plural(n)}", f"which {plural(n)} are there", f"describe a {n}")
    ]


def count_phrases(lexicon: Lexicon, key: str) -> list[str]:
    return [p for n in class_names(lexicon, key) for p in (f"how many {plural(n)} are there", f"number of {plural(n)}")]


def statistics_phrases(lexicon: Lexicon, attribute: Attribute) -> list[str]:
    name, cls = lexicon.name(attribute.property).casefold(), lexicon.name(attribute.owner).casefold()
    return [
        f"total {name} of all {plural(cls)}",
        f"average {name} of a {cls}",
        f"highest and lowest {name} of the {plural(cls)}",
    ]


def path_phrases(lexicon: Lexicon, links: list[Link], start: str, end: str) -> list[str]:
    first, last = lexicon.name(start).casefold(), lexicon.name(end).casefold()
    found = [
        f"{plural(first)} and their {plural(last)}",
        f"which {last} does a {first} have",
        f"number of {plural(first)} by {last}",
    ]
    return found + [f"{lexicon.name(x.property).casefold()} of a {first}" for x in links[:1]]


def examples(lexicon: Lexicon) -> list[str]:
    """Questions that the graph answers, of several sorts."""
    schema = lexicon.schema
    classes = sorted((k for k in schema.classes if not k.startswith("~")), key=lambda k: (-schema.classes[k], k))
    found: list[str] = []
    for key in classes[:3]:
        found.append(f"How many {plural(lexicon.name(key).casefold())} are there?")
    for key in classes[:3]:
        quantity = lexicon.quantity(key)
        if quantity is not None:
            found.append(f"What is the total {lexicon.name(quantity.property).casefold()}?")
    for link in sorted(schema.links, key=lambda x: (-x.triples, x.property))[:6]:
        if not link.target.startswith("~") and link.source in classes and link.source != link.target:
            source, target = lexicon.name(link.source).casefold(), lexicon.name(link.target).casefold()
            found.append(f"How many {plural(source)} by {target}?")
    return list(dict.fromkeys(found))[:_EXAMPLES]
