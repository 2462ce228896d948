"""Reads a `semantic_search`: where to look for texts that are near in meaning, and with which model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abi.records.database_secrets import read_database_secrets
from abi.records.document import Document
from abi.records.header import Header, common_fields, type_name
from abi.records.json_schema import read_schema
from abi.records.record import SemanticSearch, VectorSearch
from abi.records.schema_parameters import schema_parameters

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["read"]

_COLLECTION = ("bucket", "scope", "collection", "index", "vector_field", "text_field")


def read(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds the record, if it is whole, and all findings to `result`."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    fields = common_fields(header)
    inside = header.raw("vector_search")
    of_class = isinstance(inside, dict) and "class" in inside
    couchbase, embedding = read_database_secrets(header, couchbase=not of_class)
    schema = read_schema(header, "input", required=True)
    where = _vector_search(header, inside, context)
    answer = header.text("answer")
    extras = header.extras()
    if schema is not None and not _has_arguments(header, schema):
        schema = None
    if where is None or schema is None or "name" not in fields or "description" not in fields:
        return
    record = SemanticSearch(
        **fields,
        vector_search=where,
        input_schema=schema,
        parameters=schema_parameters(schema),
        couchbase=couchbase,
        embedding=embedding,
        answer=answer,
        extras=extras,
        source=result.source(header.line("name")),
    )
    lines = {key: header.line(key) for key in ("name", "description", "input", "vector_search", "answer", "secrets")}
    result.add(record, lines)


def _has_arguments(header: Header, schema: dict[str, Any]) -> bool:
    if schema.get("type", "object") != "object":
        message = f"The input must describe an object, whose properties are the arguments, not {schema['type']!r}."
        header.fault("input", "input-schema", message, 'Write "type": "object" and "properties".')
        return False
    if schema.get("properties"):
        return True
    message = "The input has no properties, so there is nothing to search for."
    header.fault("input", "input-empty", message, "Add at least one property.")
    return False


def _vector_search(header: Header, value: Any, context: ReadContext) -> VectorSearch | None:
    if not isinstance(value, dict):
        fix = (
            "Add `vector_search:` with bucket, scope, collection, index, vector_field, text_field and embedding_model."
        )
        if value is None:
            header.fault("vector_search", "vector-search-missing", "The vector_search is missing.", fix)
        else:
            message = f"vector_search must be a mapping, not {type_name(value)}."
            header.fault("vector_search", "type-wrong", message, fix)
        return None
    inner = header.child("vector_search", value)
    place = _class(inner, context) if "class" in value else _collection(inner)
    model, url = _model(inner, None if "class" not in value else context.settings.embedder)
    candidates = inner.raw("num_candidates")
    if candidates is None:
        candidates = 3
    elif isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
        message = f"num_candidates must be a whole number from 1, not {candidates!r}."
        inner.fault("num_candidates", "value-range", message, "Write num_candidates: 3, for example.")
        candidates = None
    inner.extras()
    if place is None or model is None or candidates is None:
        return None
    return VectorSearch(**place, embedding_model=model, embedding_url=url, num_candidates=candidates)


def _collection(inner: Header) -> dict[str, str] | None:
    found = {name: inner.text(name) for name in _COLLECTION}
    for name, text in found.items():
        if text is None and not isinstance(inner.value.get(name), (bool, int, float, list, dict)):
            message = f"The {name} of vector_search is missing."
            inner.fault(name, f"{name.replace('_', '-')}-missing", message, f"Add `{name}: ...` below vector_search.")
    whole = {name: text for name, text in found.items() if text is not None}
    return whole if len(whole) == len(_COLLECTION) else None


def _class(inner: Header, context: ReadContext) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for key, field in (("class", "value_class"), ("text", "text_property")):
        word = inner.text(key)
        if word is None:
            if key not in inner.value or inner.value[key] in (None, ""):
                fix = "Add `text: rdfs:comment`, or the property whose texts are compared."
                inner.fault(key, f"{key}-missing", f"The {key} of vector_search is missing.", fix)
            continue
        try:
            found[field] = context.expand(word)
        except ValueError as error:
            inner.fault(key, "iri-unknown", str(error), "Write it as prefix:Name or as a whole IRI.")
    for name in _COLLECTION:
        if inner.text(name) is not None:
            message = f"vector_search has a class and a {name}: it looks in one of the two."
            inner.fault(name, "vector-search-both", message, "Remove one of them.")
    return found if len(found) == 2 else None


def _model(inner: Header, default: str | None) -> tuple[str | None, str | None]:
    """The model's name, and the URL of the service that runs it."""
    value = inner.raw("embedding_model")
    if isinstance(value, dict):
        own = inner.child("embedding_model", value)
        name, url, base = own.text("name"), own.text("url"), own.text("base_url")
        if name is None and not isinstance(value.get("name"), (bool, int, float, list, dict)):
            own.fault("name", "name-missing", "The name of the embedding_model is missing.", "Add `name: MODEL`.")
        if url and base and url != base:
            own.fault("url", "url-several", "There are a url and a base_url.", "Keep one of them.")
        own.extras()
        address = base or url
        if address is not None and not address.startswith(("http://", "https://")):
            own.fault("base_url" if base else "url", "url-invalid", f"{address!r} is no URL.", "Write https://...")
            return None, None
        return name, address
    name = inner.text("embedding_model")
    if name is None and not isinstance(value, (bool, int, float, list)):
        if default is not None:
            return default, None
        fix = "Add `embedding_model: ...`: the model that made the vectors."
        inner.fault("embedding_model", "embedding-model-missing", "The embedding_model is missing.", fix)
    return name, None
