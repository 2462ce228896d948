"""Hybrid search: SPARQL chooses what may be found, embeddings and exact words score it, full text helps to order it.

The score of what is embedded (records, classes, properties) is the embedder's calibrated similarity of its nearest
passage. The score of an individual, which by default is not, is how exactly the text names it: 1 for its label,
alternative label or code, then 0.9 times the share of words that text and label have in common (Dice), 0.3 at most for
words in its description only; a tenth less where words had to be corrected. A search for entities takes, of both, the
higher.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from abi.errors import UsageError
from abi.graph.catalog import FAMILIES, KIND_CLASSES, KIND_WORDS, kinds_of
from abi.graph.rows import Rows
from abi.search.normal import STOP_WORDS, content_words, normal
from abi.search.selection import Selection
from abi.search.vocabulary import corrected
from abi.texts import need_whole

if TYPE_CHECKING:
    from abi.search.embedder import Embedder, Vectors
    from abi.search.index import SearchIndex

__all__ = ["ENTITY_KINDS", "FLOOR", "Hit", "closest_of", "find", "similarities"]

ENTITY_KINDS = ("class", "property", "entity")
FLOOR = 0.2
"""Without a `min_score`, what scores lower is left out, unless it holds all words of the text. On catalogs of 30 and
150 intents this answers 79 and 95 of 100 messages that belong there, and 3 and 24 of 100 that do not."""
FULL_TEXT_WEIGHT = 0.15
"""What the best match in full text adds to a document's score for the order. Measured on the same catalogs: it finds
single words better (first in 61 of 100, by similarity alone 57) and messages about as well, where reciprocal rank
fusion, which forgets how far apart the scores are, puts 4 to 8 of 100 messages' documents further down."""
FULL_TEXT_ROWS = 200
COMMON = 2_000
"""Words that stand in more documents tell records hardly apart, and would take most of the time of a search."""
BLOCK, LARGEST_BLOCK = 64, 1_000
"""The best documents that are checked against a filter at a time, at first and at most."""
MOST_CHECKED = 2_000
"""From so many documents on that would have to be checked, a filter is asked for all that it leaves instead."""
GAP = 0.05
"""Scores that lie closer together than this belong together."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `source` is `path:line` of a record, empty for what no record file defines."""

    name: str
    kind: str
    iri: str
    score: float
    description: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    source: str = ""

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "iri": self.iri,
            "score": round(self.score, 4),
            "description": self.description,
            "annotations": self.annotations,
            "source": self.source,
        }


def find(
    index: SearchIndex,
    query: Callable[[str], Rows],
    embedder: Embedder,
    text: str | None = None,
    *,
    kind: str | None = None,
    name: str | None = None,
    annotations: str | None = None,
    where: str | None = None,
    limit: int = 5,
    min_score: float | None = None,
    closest: bool = False,
) -> list[Hit]:
    """What a text or a name finds, best first; without either, all that the filters leave, by name.

    `kind` is a kind word (`tools`, `entities`, ...), a family or a record kind; None means all records. `annotations`
    is a predicate, `where` a SPARQL graph pattern over `?record`; `query` runs the SELECT made of them and is only
    called where one is given. `limit` 0 means all. `closest` leaves out what comes after the largest gap in score.
    Raises UsageError for a kind, predicate or combination that is wrong, and what `query` raises.
    """
    if text is not None and name is not None:
        raise UsageError("A search is by text or by name, not by both.")
    need_whole("The text of the search", text)
    need_whole("The name", name)
    if limit < 0 or not 0 <= (min_score or 0) <= 1:
        raise UsageError("limit is 0 or more, min_score between 0 and 1.")
    if name is not None:
        qualifier, _, bare = name.rpartition("/")
        if qualifier in (*KIND_WORDS, *FAMILIES, *KIND_CLASSES):
            kind, name = qualifier, bare
    kinds = ENTITY_KINDS if kind == "entities" or kind in ENTITY_KINDS else tuple(kinds_of(kind))
    if kind in ENTITY_KINDS:
        kinds = (str(kind),)
    selection = Selection(query, kinds, annotations, where)
    if text is not None and text.strip() and selection.filters and limit and not closest:
        scores, ordered = _best_first(index, embedder, text, kinds, selection, min_score, limit)
        return _hits(index, ordered, scores)
    chosen = selection.chosen(index)
    if name is not None:
        scores = dict.fromkeys(_named(index, name, kinds, chosen), 1.0)
        ordered = sorted(scores)
    elif text is None or not text.strip():
        scores = dict.fromkeys(_listed(index, kinds, chosen), 1.0)
        ordered = list(scores)
    else:
        most = limit if limit and not closest else None
        scores, ordered = _matched(index, embedder, text, kinds, chosen, min_score, most)
    if closest and ordered:
        least = closest_of(sorted(scores[i] for i in ordered))
        ordered = [i for i in ordered if scores[i] >= least]
    return _hits(index, ordered[: limit or None], scores)


def _best_first(
    index: SearchIndex,
    embedder: Embedder,
    text: str,
    kinds: tuple[str, ...],
    selection: Selection,
    min_score: float | None,
    limit: int,
) -> tuple[dict[int, float], list[int]]:
    """The `limit` best documents that a filter leaves, by the cheaper of two ways.

    Where the filter leaves many, the best are looked at in blocks, each checked at once, until there are enough.
    Where the blocks show that it leaves few, it is asked for all of them first, and only these are searched. Scores are
    the same either way; what full text adds to the order is a share of the best match among what was searched.
    """
    vector = cache(lambda: embedder.embed([text])[0])
    scores, ordered = _matched(index, embedder, text, kinds, None, min_score, MOST_CHECKED, vector)
    whole = len(ordered) < MOST_CHECKED
    kept: list[int] = []
    checked, block = 0, BLOCK
    while checked < len(ordered):
        kept += selection.among(index, ordered[checked : checked + block])
        checked += block
        if len(kept) >= limit:
            return scores, kept[:limit]
        # A half more than were seen, so that none so far does not mean never.
        expected = (limit - len(kept)) * checked / (len(kept) + 0.5)
        if expected > MOST_CHECKED:
            break
        block = min(max(int(expected * 1.5), BLOCK), LARGEST_BLOCK)
    if whole and checked >= len(ordered):
        return scores, kept
    scores, ordered = _matched(index, embedder, text, kinds, selection.chosen(index), min_score, limit, vector)
    return scores, ordered[:limit]


def closest_of(scores: Iterable[float]) -> float:
    """The lowest score before the largest gap; the lowest of all where no gap is wider than GAP."""
    falling = sorted(scores, reverse=True)
    gaps = [(upper - lower, -n) for n, (upper, lower) in enumerate(pairwise(falling))]
    widest, where = max(gaps, default=(0.0, 0))
    return falling[-where] if widest > GAP else falling[-1]


def _condition(kinds: tuple[str, ...], chosen: str | None) -> tuple[str, list[str]]:
    """The part of a WHERE that keeps documents (as `d`) of those kinds and among the chosen."""
    condition = f"d.kind IN ({', '.join('?' * len(kinds))})"
    if chosen is None:
        return condition, list(kinds)
    condition += " AND d.iri IN (SELECT value FROM json_each(?))"
    return condition, [*kinds, chosen]


def _named(index: SearchIndex, name: str, kinds: tuple[str, ...], chosen: str | None) -> list[int]:
    condition, values = _condition(kinds, chosen)
    same = "d.name = ? OR d.iri = ?"
    if kinds[0] in ENTITY_KINDS:
        same += " OR d.id IN (SELECT document FROM labels WHERE normal = ?)"
    rows = index.rows(
        f"SELECT d.id FROM documents d WHERE ({same}) AND {condition}",  # noqa: S608 - values are bound
        [name, name, *([normal(name)] if kinds[0] in ENTITY_KINDS else []), *values],
    )
    return [row[0] for row in rows]


def _listed(index: SearchIndex, kinds: tuple[str, ...], chosen: str | None) -> list[int]:
    condition, values = _condition(kinds, chosen)
    sql = f"SELECT d.id FROM documents d WHERE {condition} ORDER BY d.name, d.iri"  # noqa: S608 - values are bound
    return [row[0] for row in index.rows(sql, values)]


def _matched(
    index: SearchIndex,
    embedder: Embedder,
    text: str,
    kinds: tuple[str, ...],
    chosen: str | None,
    min_score: float | None,
    most: int | None = None,
    vector: Callable[[], Vectors] | None = None,
) -> tuple[dict[int, float], list[int]]:
    """Scores of the documents that a text finds, and these best first; `most` are as many as are asked for.

    `vector` gives that of the text, where it may be known already.
    """
    words = content_words(text)
    lexical, complete = _full_text(index, words, kinds, chosen)
    least = FLOOR if min_score is None else min_score
    rescued = complete if min_score is None else ()
    # Full text moves only what it found: of everything else, the nearest come first.
    also = set(lexical) | set(rescued)
    scores = similarities(index, embedder, text, kinds, chosen, at_least=least, also=also, most=most, vector=vector)
    if "entity" in kinds:
        named = _exactness(index, normal(text), words, lexical, kinds, chosen)
        meant = corrected(index, words)
        if meant != words:
            others, _ = _full_text(index, meant, kinds, chosen)
            guessed = _exactness(index, " ".join(meant), meant, others, kinds, chosen)
            named.update({i: max(0.9 * score, named.get(i, 0.0)) for i, score in guessed.items()})
        scores.update({i: max(score, scores.get(i, 0.0)) for i, score in named.items()})
    kept = [i for i, score in scores.items() if score >= least or i in rescued]
    return scores, sorted(kept, key=lambda i: (-(scores[i] + FULL_TEXT_WEIGHT * lexical.get(i, 0.0)), i))


def _full_text(
    index: SearchIndex, words: list[str], kinds: tuple[str, ...], chosen: str | None
) -> tuple[dict[int, float], set[int]]:
    """Documents that hold any of the words, with their BM25 as a share of the best one's, and those that hold all."""
    if STOP_WORDS.issuperset(words):
        return {}, set()
    if "entity" not in kinds:
        words = [word for word in words if _documents_with(index, word) <= COMMON]
        if not words:
            return {}, set()
    condition, values = _condition(kinds, chosen)
    sql = (
        "SELECT d.id, -bm25(full_text, 4.0, 2.0, 1.0) AS weight "  # noqa: S608 - values are bound
        f"FROM full_text JOIN documents d ON d.id = full_text.rowid WHERE full_text MATCH ? AND {condition} "
        f"ORDER BY weight DESC, d.id LIMIT {FULL_TEXT_ROWS}"
    )
    # Words hold no quotation mark, so each is one FTS5 string.
    quoted = [f'"{word}"' for word in words]
    found = index.rows(sql, [" OR ".join(quoted), *values])
    if not found:
        return {}, set()
    # A word that stands in most documents weighs about nothing, or less.
    best = max(found[0][1], 1e-6)
    weights = {document: max(weight, 0.0) / best for document, weight in found}
    if len(words) == 1:
        return weights, set(weights)
    every = index.rows("SELECT rowid FROM full_text WHERE full_text MATCH ?", (" AND ".join(quoted),))
    return weights, weights.keys() & {row[0] for row in every}


def _documents_with(index: SearchIndex, word: str) -> int:
    """In how many documents a word stands; counted up to where it makes no difference."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM full_text WHERE full_text MATCH ? LIMIT {COMMON + 1})"  # noqa: S608
    return index.cached(("documents with", word), lambda: int(index.rows(sql, (f'"{word}"',))[0][0]))


def similarities(
    index: SearchIndex,
    embedder: Embedder,
    text: str,
    kinds: tuple[str, ...],
    chosen: str | None = None,
    *,
    at_least: float = 0.0,
    also: Collection[int] = (),
    most: int | None = None,
    vector: Callable[[], Vectors] | None = None,
) -> dict[int, float]:
    """Calibrated similarity of the nearest passage of each embedded document of those kinds, by its id.

    Only what reaches `at_least`, of that the `most` nearest (more where several are equally near), and the documents
    in `also`.
    """
    import numpy as np

    from abi.search.index import passages_at

    table, passages = index.vectors(embedder), index.passages_of(embedder, kinds)
    if chosen is not None:
        allowed = index.rows("SELECT id FROM documents WHERE iri IN (SELECT value FROM json_each(?))", (chosen,))
        of_chosen = np.isin(table.ids[passages.rows], np.array([row[0] for row in allowed], dtype=np.int64))
        passages = passages_at(table, passages.rows[of_chosen])
    rows, ids = passages.rows, passages.ids
    if not len(rows):
        return {}
    spoken = embedder.embed([text])[0] if vector is None else vector()
    # Taking rows out copies them, which costs more than to multiply all where most are wanted.
    cosine = (table.matrix @ spoken)[rows] if 2 * len(rows) > len(table.ids) else table.matrix[rows] @ spoken
    nearest = np.maximum.reduceat(cosine, passages.starts)
    if at_least > 0 or most is not None:
        # Similarity rises with the cosine, so that only that of the nearest has to be worked out.
        wanted = np.ones(len(ids), dtype=bool)
        if most is not None and len(ids) > most:
            wanted = nearest >= np.partition(nearest, -most)[-most]
        wanted[wanted] = embedder.similarity(nearest[wanted]) >= at_least
        if also:
            wanted |= np.isin(ids, np.fromiter(also, dtype=np.int64, count=len(also)))
        nearest, ids = nearest[wanted], ids[wanted]
    similarity = embedder.similarity(nearest)
    return dict(zip(ids.tolist(), similarity.tolist(), strict=True))


def _exactness(
    index: SearchIndex,
    spoken: str,
    words: list[str],
    lexical: Iterable[int],
    kinds: tuple[str, ...],
    chosen: str | None,
) -> dict[int, float]:
    """How exactly a normal text names the documents that full text found, and those that it names to the letter."""
    condition, values = _condition(kinds, chosen)
    rows = index.rows(
        "SELECT l.document, l.normal FROM labels l JOIN documents d ON d.id = l.document "  # noqa: S608
        f"WHERE (l.normal = ? OR l.document IN (SELECT value FROM json_each(?))) AND {condition}",
        [spoken, json.dumps(list(lexical)), *values],
    )
    asked = set(words)
    scores = {document: 0.3 if len(asked) == 1 else 0.2 for document in lexical}
    for document, label in rows:
        named = set(content_words(label))
        score = 1.0 if label == spoken else 0.9 * 2 * len(asked & named) / (len(asked) + len(named))
        scores[document] = max(score, scores.get(document, 0.0))
    return scores


def _hits(index: SearchIndex, ids: list[int], scores: dict[int, float]) -> list[Hit]:
    rows = index.rows(
        "SELECT id, name, kind, iri, description, annotations, source FROM documents "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    )
    found = {row[0]: Hit(row[1], row[2], row[3], scores[row[0]], row[4], json.loads(row[5]), row[6]) for row in rows}
    return [found[i] for i in ids if i in found]
