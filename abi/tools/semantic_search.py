"""Runs a `semantic_search`: the texts of a collection, or of a class of the graph, nearest to the arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abi.errors import ToolFailed
from abi.graph.resolve import labels_of
from abi.graph.rows import Rows, Term
from abi.records.record import SemanticSearch
from abi.search.embedder import Embedder
from abi.terms import RDFS_SUBCLASSOF
from abi.tools.answer import render_answer
from abi.tools.arguments import argument_model
from abi.tools.embedded_database import PREFIX, collection_file, embedded_rows
from abi.tools.json_values import rows_of
from abi.tools.record_embedder import record_embedder
from abi.tools.runner import RunContext, ToolResult
from abi.tools.schema_model import schema_values
from abi.tools.tool_secrets import ToolSecrets
from abi.tools.vector_store import Built, Text, VectorStore, digest

__all__ = ["build", "is_built_elsewhere", "prose", "run"]

_MAX_TEXTS = 200_000


def run(record: SemanticSearch, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """The nearest texts, best first, as {text field: text, "score": 0 to 1}; those of the graph with IRI and label too.

    Raises ArgumentError, ToolFailed that names the tool, and Unsupported where the record's model cannot be had.
    """
    arguments = schema_values(argument_model(record), raw_arguments, record.name)
    question = prose(arguments)
    if not question:
        raise ToolFailed(f"The tool {record.name} was given nothing to search for.", hint="Give an argument.")
    secrets = ToolSecrets(record.name, context)
    embedder = _embedder(record, context, secrets)
    vector = [float(x) for x in embedder.embed([question])[0]]
    where = record.vector_search
    place = _place(record, secrets)
    citations: list[tuple[str, str]] = []
    if place is not None and not place.startswith(PREFIX):
        from abi.tools.couchbase import Cluster

        with Cluster(record.name, record.couchbase, secrets, seconds=context.settings.query_seconds) as cluster:
            found = cluster.nearest(where, vector)
        field = where.text_field or "text"
        result = [{field: hit["text"], "score": hit["score"]} for hit in found]
        rows = rows_of(result)
    else:
        store, space = _store(context.root), _space(record, place)
        _require_built(record, store.built(space), _digest(record, place, context))
        nearest = store.nearest(space, vector, where.num_candidates)
        scores = embedder.similarity(_array([hit.cosine for hit in nearest]))
        shown = [round(float(score), 4) for score in scores]
        if where.value_class is None:
            field = where.text_field or "text"
            result = [{field: hit.text, "score": s} for hit, s in zip(nearest, shown, strict=True)]
            rows = rows_of(result)
        else:
            labels = labels_of(context.query, list(dict.fromkeys(hit.id for hit in nearest)))
            citations = list(labels.items())
            result = [
                {"iri": hit.id, "label": labels.get(hit.id, ""), "text": hit.text, "score": s}
                for hit, s in zip(nearest, shown, strict=True)
            ]
            rows = _with_iris(rows_of(result))
    answer = None
    if record.answer is not None:
        given = rows_of(dict(arguments)).rows
        names = [p.name for p in record.parameters]
        terms = given[0] if given else {}
        answer = render_answer(record.answer, rows, terms, dict(citations), names=names, result=result)
    return ToolResult(
        tool=record.name,
        arguments=arguments,
        rows=rows,
        result=result,
        query=question,
        row_count=len(result),
        citations=citations,
        answer=answer,
    )


def build(record: SemanticSearch, context: RunContext) -> Built:
    """Fill the vectors of what a search looks through. Raises Unsupported for a search on Couchbase, and as `run`."""
    secrets = ToolSecrets(record.name, context)
    place = _place(record, secrets)
    if place is not None and not place.startswith(PREFIX):
        message = f"The vectors of {record.name} are Couchbase's, and are made there."
        raise ToolFailed(message, hint="abi builds vectors for duckdb: and for classes of the graph.")
    embedder = _embedder(record, context, secrets)
    return _store(context.root).build(_space(record, place), _texts(record, place, context), embedder)


def is_built_elsewhere(record: SemanticSearch, context: RunContext) -> bool:
    """Whether the search is on Couchbase, whose vectors are made there. Raises ToolFailed where that is not known."""
    place = _place(record, ToolSecrets(record.name, context))
    return place is not None and not place.startswith(PREFIX)


def prose(arguments: Mapping[str, Any]) -> str:
    """The arguments as words: texts and lists as they are, other values with their names."""
    parts = [_words(name, value) for name, value in arguments.items()]
    return ". ".join(part for part in parts if part)


def _words(name: str, value: Any) -> str:
    spoken = name.replace("_", " ")
    if value is None or value is False:
        return ""
    if value is True:
        return spoken
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return ", ".join(part for key, inner in value.items() if (part := _words(str(key), inner)))
    if isinstance(value, (list, tuple)):
        return ", ".join(part for item in value if (part := _words(name, item)))
    return f"{spoken} {value}"


def _place(record: SemanticSearch, secrets: ToolSecrets) -> str | None:
    """The connection string; None where the graph itself is searched."""
    if record.vector_search.value_class is not None:
        return None
    if record.couchbase.conn_string is None:
        raise ToolFailed(f"The tool {record.name} does not say where its database is.", hint="Name it under secrets.")
    return secrets[record.couchbase.conn_string]


def _store(root: Path) -> VectorStore:
    return VectorStore(root / ".abi" / "vectors.duckdb")


def _space(record: SemanticSearch, place: str | None) -> str:
    where = record.vector_search
    parts = [place, where.collection, where.text_field, where.vector_field, where.value_class, where.text_property]
    text = json.dumps([*parts, where.embedding_model, where.embedding_url])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _require_built(record: SemanticSearch, built: str | None, now: str) -> None:
    if built == now:
        return
    what = "has no vectors yet" if built is None else "has vectors of texts that have changed since"
    raise ToolFailed(f"What {record.name} searches {what}.", hint=f"Run `abi vectors build {record.name}`.")


_digests: dict[tuple[str, str, int, int], str] = {}


def _digest(record: SemanticSearch, place: str | None, context: RunContext) -> str:
    """Of the texts as they are now; a file that has not changed is not read again."""
    if place is None:
        return digest(_texts(record, None, context))
    folder = context.root / Path(place.removeprefix(PREFIX)).expanduser()
    file = collection_file(folder, record.vector_search.collection or "") or folder
    if not file.exists():
        return digest(_texts(record, place, context))
    status = file.stat()
    key = (str(file), _space(record, place), status.st_mtime_ns, status.st_size)
    if key not in _digests or file.is_dir():
        _digests[key] = digest(_texts(record, place, context))
    return _digests[key]


def _texts(record: SemanticSearch, place: str | None, context: RunContext) -> list[Text]:
    where = record.vector_search
    if place is None:
        of, text = Term("iri", where.value_class or "").n3(), Term("iri", where.text_property or "").n3()
        rows = context.query(
            f"SELECT DISTINCT ?thing ?text WHERE {{ ?class <{RDFS_SUBCLASSOF}>* {of} . "
            f"?thing a ?class ; {text} ?text FILTER(isIRI(?thing) && isLiteral(?text)) }}",
            rows=_MAX_TEXTS,
        )
        return [Text(row["thing"].value, row["text"].value) for row in rows if row["text"].value.strip()]
    return _documents(record, place, context)


def _documents(record: SemanticSearch, place: str, context: RunContext) -> list[Text]:
    where = record.vector_search
    collection, field = where.collection or "", where.text_field or ""
    sql = f"SELECT sqlpp_d.* FROM {_quoted(collection)} AS sqlpp_d"  # noqa: S608 - quoted
    try:
        found, _ = embedded_rows(
            place.removeprefix(PREFIX),
            [collection],
            sql,
            {},
            root=context.root,
            rows=_MAX_TEXTS,
            seconds=context.settings.query_seconds,
        )
    except ToolFailed as error:
        raise ToolFailed(f"The tool {record.name} failed: {error.message}", hint=error.hint) from error
    texts = [
        Text(str(document.get("id", n)), str(document[field]), _vector(document.get(where.vector_field or "")))
        for n, document in enumerate(found)
        if isinstance(document.get(field), str) and document[field].strip()
    ]
    if found and not texts:
        message = f"The tool {record.name} failed: no document of {collection} has a text in the field {field!r}."
        raise ToolFailed(message, hint=f"Documents have {', '.join(sorted(found[0])[:10])}.")
    return texts


def _vector(value: Any) -> list[float] | None:
    whole = isinstance(value, list) and value and all(isinstance(x, (int, float)) for x in value)
    return [float(x) for x in value] if whole else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _array(values: list[float]) -> Any:
    import numpy as np

    return np.asarray(values, dtype=np.float64)


def _with_iris(rows: Rows) -> Rows:
    for row in rows.rows:
        row["iri"] = Term("iri", row["iri"].value)
    return rows


_loaded: dict[tuple[str | None, ...], Embedder] = {}


def _embedder(record: SemanticSearch, context: RunContext, secrets: ToolSecrets) -> Embedder:
    """A model of this machine is loaded once; one behind a URL has a key, and is made for each call."""
    where = record.vector_search
    stand_in = context.settings.embedding_models.get(where.embedding_model)
    if where.embedding_url is not None and stand_in is None:
        return record_embedder(record, context.settings, secrets.__getitem__)
    key = (where.embedding_model, stand_in, context.settings.calibration)
    if key not in _loaded:
        _loaded[key] = record_embedder(record, context.settings, context.secret or secrets.__getitem__)
    return _loaded[key]
