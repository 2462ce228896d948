"""The one table that says which field of a record is which property: everything `abi.graph.mapping` knows.

A `Column` is a field (dotted for a field of a nested model), a property, and the type of its value. A `Parts` is a list
of things that have an IRI of their own below the record's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox
from pydantic import BaseModel

from abi import terms
from abi.graph.literals import json_text, number, value_of, value_order, value_term
from abi.graph.names import Names
from abi.records.record import (
    AgentSpecification,
    HttpRequest,
    Intent,
    JinjaPrompt,
    JinjaQuery,
    Parameter,
    PythonFunction,
    RawPrompt,
    SemanticSearch,
    SparqlQuery,
    SqlppQuery,
    StructuredPrompt,
    ToolSelector,
)

__all__ = ["RECORDS", "Column", "Parts", "Table", "ValueType"]

Write = Callable[[Any, Names], ox.NamedNode | ox.Literal]
Read = Callable[[Any, Names], Any]


@dataclass(frozen=True, slots=True)
class ValueType:
    """`write` makes a term of a value; `read` makes a value of a term and raises ValueError where it does not fit."""

    write: Write
    read: Read
    order: Callable[[Any], Any] = str
    """Sorts the values of a column that has many: in the graph they are a set."""
    text: bool = False
    """A text may be given in several languages; one of them is taken."""


@dataclass(frozen=True, slots=True)
class Column:
    field: str
    property: str
    type: ValueType
    many: bool = False
    when: tuple[str, str] | None = None
    """Only where another field has this value."""
    fallback: Any = None
    """What a required field is where the triple is missing; a shape reports that it is."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A list of parts, ordered by abi:position. `segment` stands in their IRIs: `{record}/{segment}/{key}`."""

    field: str
    property: str
    segment: str
    table: Table


@dataclass(frozen=True, slots=True)
class Table:
    """One class. `key` is the column that names an individual (its label too); without it the position does."""

    class_iri: str
    model: type[BaseModel]
    columns: tuple[Column, ...]
    parts: tuple[Parts, ...] = ()
    key: Column | None = None
    annotated: bool = False
    """Whether its individuals have annotations (`abi:hasAnnotation`)."""


def _text(term: Any, _: Names) -> str:
    if not isinstance(term, ox.Literal):
        raise ValueError(f"{term} is not a text")
    return term.value


def _integer(term: Any, _: Names) -> int:
    value = number(term)
    if value != int(value):
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _boolean(term: Any, _: Names) -> bool:
    value = value_of(term)
    if not isinstance(value, bool):
        raise ValueError(f"'{value}' is neither true nor false")
    return value


def _json(term: Any, names: Names) -> Any:
    try:
        return json.loads(_text(term, names))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def _object(term: Any, names: Names) -> dict[str, Any]:
    value = _json(term, names)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _iri(term: Any, _: Names) -> str:
    if not isinstance(term, ox.NamedNode):
        raise ValueError(f"{term} is not an IRI")
    return term.value


def _reference(family: str) -> ValueType:
    return ValueType(
        lambda value, names: ox.NamedNode(names.resolve(family, value)),
        lambda term, names: names.reference(family, _iri(term, names)),
    )


def _choice(**values: str) -> ValueType:
    back = {iri: value for value, iri in values.items()}

    def read(term: Any, names: Names) -> str:
        iri = _iri(term, names)
        if iri not in back:
            raise ValueError(f"<{iri}> is none of {', '.join(f'<{v}>' for v in back)}")
        return back[iri]

    return ValueType(lambda value, _: ox.NamedNode(values[value]), read)


TEXT = ValueType(lambda value, _: ox.Literal(value), _text, text=True)
INTEGER = ValueType(lambda value, _: value_term(value), _integer)
NUMBER = ValueType(lambda value, _: value_term(value), lambda term, _: number(term))
BOOLEAN = ValueType(lambda value, _: value_term(value), _boolean)
IRI = ValueType(lambda value, _: ox.NamedNode(value), _iri)
# Its keys stay in the order in which they were written: a prompt's parts are read in it.
TREE = ValueType(lambda value, _: ox.Literal(json.dumps(value, separators=(",", ":"), ensure_ascii=False)), _json)
OBJECT = ValueType(lambda value, _: ox.Literal(json_text(value)), _object)
VALUE = ValueType(lambda value, _: value_term(value), lambda term, _: value_of(term), order=value_order)

_NAME = Column("name", terms.NAME, TEXT)
_RECORD = (
    Column("description", terms.DESCRIPTION, TEXT, fallback=""),
    Column("secrets", terms.USES_SECRET, TEXT, many=True),
    Column("extras", terms.EXTRA_KEYS, OBJECT),
)

PARAMETER = Table(
    terms.TOOL_PARAMETER,
    Parameter,
    (
        Column("description", terms.DESCRIPTION, TEXT),
        Column("datatype", terms.DATATYPE, IRI),
        Column("value_class", terms.VALUE_CLASS, IRI),
        Column("required", terms.REQUIRED, BOOLEAN),
        Column("default", terms.DEFAULT_VALUE, VALUE),
        Column("enum", terms.ALLOWED_VALUE, VALUE, many=True),
        Column("minimum", terms.MINIMUM, NUMBER),
        Column("maximum", terms.MAXIMUM, NUMBER),
        Column("pattern", terms.PATTERN, TEXT),
        Column("examples", terms.EXAMPLE, VALUE, many=True),
        Column("filled_from", terms.FILLED_FROM, TEXT),
    ),
    key=_NAME,
)
SELECTOR = Table(
    terms.TOOL_SELECTOR,
    ToolSelector,
    (
        Column("name", terms.NAME, TEXT),
        Column("query", terms.QUERY_TEXT, TEXT),
        Column("annotations", terms.ANNOTATION_PREDICATE, TEXT),
        Column("limit", terms.LIMIT, INTEGER),
    ),
)
_PARAMETERS = Parts("parameters", terms.HAS_PARAMETER, "parameter", PARAMETER)
_SELECTORS = Parts("tools", terms.SELECTS_TOOL, "selector", SELECTOR)

INTENT = Table(
    terms.INTENT,
    Intent,
    (
        *_RECORD,
        Column("values", terms.INTENT_VALUE, TEXT, many=True, fallback=()),
        Column(
            "type",
            terms.INTENT_TYPE,
            _choice(agent=terms.AGENT_INTENT, tool=terms.TOOL_INTENT, raw=terms.RAW_INTENT),
            fallback="tool",
        ),
        Column("target", terms.INTENT_TARGET, _reference("agent"), when=("type", "agent"), fallback=""),
        Column("target", terms.INTENT_TARGET, _reference("tool"), when=("type", "tool"), fallback=""),
        Column("target", terms.REPLY, TEXT, when=("type", "raw"), fallback=""),
        Column("scope", terms.INTENT_SCOPE, _choice(all=terms.SCOPE_ALL, direct=terms.SCOPE_DIRECT)),
    ),
    key=_NAME,
    annotated=True,
)

_COUCHBASE = (
    Column("couchbase.conn_string", terms.CONNECTION_SECRET, TEXT),
    Column("couchbase.username", terms.USERNAME_SECRET, TEXT),
    Column("couchbase.password", terms.PASSWORD_SECRET, TEXT),
    Column("couchbase.certificate", terms.CERTIFICATE_SECRET, TEXT),
)

RECORDS: dict[str, Table] = {
    "python_function": Table(
        terms.PYTHON_FUNCTION,
        PythonFunction,
        (
            *_RECORD,
            Column("function", terms.FUNCTION_NAME, TEXT, fallback=""),
            Column(
                "form",
                terms.CALLABLE_FORM,
                _choice(workflow=terms.WORKFLOW_FORM, pipeline=terms.PIPELINE_FORM, integration=terms.INTEGRATION_FORM),
            ),
            Column("is_async", terms.IS_ASYNC, BOOLEAN),
            Column("input_schema", terms.INPUT_SCHEMA, OBJECT),
            Column("output_schema", terms.OUTPUT_SCHEMA, OBJECT),
            Column("answer", terms.ANSWER_TEMPLATE, TEXT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "sparql_query": Table(
        terms.SPARQL_TEMPLATE,
        SparqlQuery,
        (
            *_RECORD,
            Column("query", terms.QUERY_TEXT, TEXT, fallback=""),
            Column("answer", terms.ANSWER_TEMPLATE, TEXT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "jinja_query": Table(
        terms.JINJA_QUERY,
        JinjaQuery,
        (
            *_RECORD,
            Column("query", terms.QUERY_TEXT, TEXT, fallback=""),
            Column("answer", terms.ANSWER_TEMPLATE, TEXT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "sqlpp_query": Table(
        terms.SQLPP_QUERY,
        SqlppQuery,
        (
            *_RECORD,
            Column("query", terms.QUERY_TEXT, TEXT, fallback=""),
            Column("input_schema", terms.INPUT_SCHEMA, OBJECT),
            Column("output_schema", terms.OUTPUT_SCHEMA, OBJECT),
            *_COUCHBASE,
            Column("answer", terms.ANSWER_TEMPLATE, TEXT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "semantic_search": Table(
        terms.SEMANTIC_SEARCH,
        SemanticSearch,
        (
            *_RECORD,
            Column("input_schema", terms.INPUT_SCHEMA, OBJECT),
            *_COUCHBASE,
            Column("embedding.auth", terms.EMBEDDING_AUTH_SECRET, TEXT),
            Column("embedding.username", terms.EMBEDDING_USERNAME_SECRET, TEXT),
            Column("embedding.password", terms.EMBEDDING_PASSWORD_SECRET, TEXT),
            Column("vector_search.bucket", terms.BUCKET_NAME, TEXT),
            Column("vector_search.scope", terms.SCOPE_NAME, TEXT),
            Column("vector_search.collection", terms.COLLECTION_NAME, TEXT),
            Column("vector_search.index", terms.INDEX_NAME, TEXT),
            Column("vector_search.vector_field", terms.VECTOR_FIELD, TEXT),
            Column("vector_search.text_field", terms.TEXT_FIELD, TEXT),
            Column("vector_search.value_class", terms.SEARCHED_CLASS, IRI),
            Column("vector_search.text_property", terms.SEARCHED_PROPERTY, IRI),
            Column("vector_search.embedding_model", terms.EMBEDDING_MODEL, TEXT, fallback=""),
            Column("vector_search.embedding_url", terms.EMBEDDING_MODEL_URL, TEXT),
            Column("vector_search.num_candidates", terms.CANDIDATE_COUNT, INTEGER),
            Column("answer", terms.ANSWER_TEMPLATE, TEXT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "http_request": Table(
        terms.HTTP_REQUEST,
        HttpRequest,
        (
            *_RECORD,
            Column("method", terms.HTTP_METHOD, TEXT, fallback=""),
            Column("path", terms.URL_PATH, TEXT, fallback=""),
            Column("specification", terms.SPECIFICATION, OBJECT, fallback={}),
            Column("specification_source", terms.SPECIFICATION_SOURCE, TEXT),
            Column("specification_hash", terms.SPECIFICATION_HASH, TEXT),
            Column("credentials", terms.CREDENTIAL_NAMES, OBJECT),
            Column("input_schema", terms.INPUT_SCHEMA, OBJECT),
            Column("output_schema", terms.OUTPUT_SCHEMA, OBJECT),
        ),
        (_PARAMETERS,),
        key=_NAME,
        annotated=True,
    ),
    "raw_prompt": Table(
        terms.RAW_PROMPT,
        RawPrompt,
        (*_RECORD, Column("text", terms.PROMPT_TEXT, TEXT, fallback="")),
        (_SELECTORS,),
        key=_NAME,
        annotated=True,
    ),
    "jinja_prompt": Table(
        terms.JINJA_PROMPT,
        JinjaPrompt,
        (*_RECORD, Column("text", terms.PROMPT_TEXT, TEXT, fallback="")),
        (_PARAMETERS, _SELECTORS),
        key=_NAME,
        annotated=True,
    ),
    "prompt": Table(
        terms.STRUCTURED_PROMPT,
        StructuredPrompt,
        (
            *_RECORD,
            Column("text", terms.PROMPT_TEXT, TEXT, fallback=""),
            Column("content", terms.PROMPT_CONTENT, TREE),
            Column("output_schema", terms.OUTPUT_SCHEMA, OBJECT),
        ),
        (_SELECTORS,),
        key=_NAME,
        annotated=True,
    ),
    "agent": Table(
        terms.AGENT_SPECIFICATION,
        AgentSpecification,
        (
            *_RECORD,
            Column("system_prompt.text", terms.SYSTEM_PROMPT, TEXT),
            Column("system_prompt.prompt", terms.HAS_SYSTEM_PROMPT, _reference("prompt")),
            Column("tools", terms.HAS_TOOL, _reference("tool"), many=True),
            Column("agents", terms.HAS_SUB_AGENT, _reference("agent"), many=True),
            Column("uses_intents", terms.HAS_INTENT, _reference("intent"), many=True),
            Column("model", terms.CHAT_MODEL, TEXT),
            Column("threshold", terms.INTENT_THRESHOLD, NUMBER),
            Column("threshold_neighbor", terms.INTENT_THRESHOLD_NEIGHBOR, NUMBER),
            Column("direct_intent_score", terms.DIRECT_INTENT_SCORE, NUMBER),
            Column("sequential_supervisor", terms.SEQUENTIAL_SUPERVISOR, BOOLEAN),
            Column("delegates_to_abi", terms.DELEGATES_TO_ABI, BOOLEAN),
            Column("may_write", terms.MAY_WRITE, BOOLEAN),
            Column("releases_turn_on", terms.RELEASES_TURN_ON, TEXT),
            Column("class_name", terms.CLASS_NAME, TEXT),
            Column("hooks", terms.HOOK, TEXT, many=True),
        ),
        (Parts("intents", terms.HAS_INTENT, "intent", INTENT),),
        key=_NAME,
        annotated=True,
    ),
    "intent": INTENT,
}
