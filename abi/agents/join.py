"""How the classes of a question hang together: the smallest tree of links of the data that connects them."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from abi.agents.graph_schema import GraphSchema, Link

__all__ = ["Ambiguous", "Joins", "Tree"]

_LONGEST = 4
"""Links between two classes of a question, at most."""


class Ambiguous(Exception):
    """Two links of different meaning lead from one class to another, and the question does not say which."""

    def __init__(self, links: Sequence[Link]) -> None:
        super().__init__("ambiguous")
        self.links = tuple(links)


@dataclass
class Tree:
    """`classes` in the order in which they were reached; `links` between them."""

    classes: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


class Joins:
    """The schema as a graph of classes."""

    def __init__(self, schema: GraphSchema) -> None:
        self._schema = schema
        between: dict[frozenset[str], list[Link]] = defaultdict(list)
        for link in schema.links:
            if link.source != link.target:
                between[frozenset((link.source, link.target))].append(link)
        self._between = {k: sorted(v, key=self._order) for k, v in between.items()}
        self._next: dict[str, set[str]] = defaultdict(set)
        for pair in self._between:
            a, b = sorted(pair)
            self._next[a].add(b)
            self._next[b].add(a)

    def tree(self, wanted: Sequence[str], said: Collection[str]) -> Tree | None:
        """A tree over the classes `wanted`; None where the data does not connect them. `said`: properties that the
        question speaks of. Raises Ambiguous."""
        if not wanted:
            return None
        tree = Tree([wanted[0]])
        left = list(dict.fromkeys(w for w in wanted if w != wanted[0]))
        while left:
            ways = [w for w in (self._way(tree.classes, target, said) for target in left) if w is not None]
            if len(ways) < len(left):
                return None
            path = min(ways, key=lambda w: (w[0], w[1]))[1]
            for a, b in pairwise(path):
                if b not in tree.classes:
                    tree.classes.append(b)
                    tree.links.append(self._link(a, b, said))
            left = [x for x in left if x not in tree.classes]
        return tree

    def _way(self, starts: Sequence[str], target: str, said: Collection[str]) -> tuple[float, list[str]] | None:
        """The cheapest path to a class; one over links that the question or an ontology names is cheaper."""
        heap: list[tuple[float, int, list[str]]] = [(0.0, n, [s]) for n, s in enumerate(starts)]
        done: set[str] = set()
        count = len(heap)
        while heap:
            cost, _, path = heapq.heappop(heap)
            here = path[-1]
            if here == target:
                return cost, path
            if here in done or len(path) > _LONGEST:
                continue
            done.add(here)
            for following in sorted(self._next.get(here, ())):
                if following not in done:
                    count += 1
                    heapq.heappush(heap, (cost + self._cost(here, following, said), count, [*path, following]))
        return None

    def _cost(self, a: str, b: str, said: Collection[str]) -> float:
        links = self._between[frozenset((a, b))]
        if any(x.property in said for x in links):
            return 0.6
        declared = any(x.property in self._schema.declared for x in links)
        # A class over others would be a way round through everything.
        broad = len(self._schema.members.get(b, ())) > 1
        return 1.0 + (0 if declared else 0.05) + (0.5 if broad else 0)

    def _link(self, a: str, b: str, said: Collection[str]) -> Link:
        links = self._between[frozenset((a, b))]
        spoken = [x for x in links if x.property in said]
        if spoken:
            links = spoken
        first = links[0]
        others = [x for x in links[1:] if (x.property, first.property) not in self._schema.mutual]
        if any(x.property != first.property or x.source != first.source for x in others):
            raise Ambiguous([first, *others])
        return first

    def _order(self, link: Link) -> tuple[bool, int, str]:
        return (link.property not in self._schema.declared, -link.triples, link.property)
