"""The record models and the shapes hold the same rules, compared by the names of the fields."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from rdflib import RDF, SH, XSD, URIRef
from rdflib import Literal as RdfLiteral
from rdflib.collection import Collection

from abi import terms
from abi.records.record import (
    KINDS,
    CouchbaseSecrets,
    EmbeddingSecrets,
    Parameter,
    SystemPrompt,
    ToolSelector,
    VectorSearch,
)
from tests.ontology.faults import ALL, RULE, rules

PARTS: dict[str, tuple[type[BaseModel], str, str]] = {
    # part: its model, its class, and what stands before its fields in sh:name
    "parameter": (Parameter, terms.TOOL_PARAMETER, "parameters."),
    "selector": (ToolSelector, terms.TOOL_SELECTOR, "tools."),
}
CLASSES = {
    "python_function": terms.PYTHON_FUNCTION,
    "sqlpp_query": terms.SQLPP_QUERY,
    "sparql_query": terms.SPARQL_TEMPLATE,
    "jinja_query": terms.JINJA_QUERY,
    "semantic_search": terms.SEMANTIC_SEARCH,
    "http_request": terms.HTTP_REQUEST,
    "raw_prompt": terms.RAW_PROMPT,
    "jinja_prompt": terms.JINJA_PROMPT,
    "prompt": terms.STRUCTURED_PROMPT,
    "agent": terms.AGENT_SPECIFICATION,
    "intent": terms.INTENT,
}
MODELS = {**{k: (KINDS[k], c, "") for k, c in CLASSES.items()}, **PARTS}
NESTED: dict[type[BaseModel], str] = {
    # a model inside a record: what stands before its fields in sh:name
    CouchbaseSecrets: "secrets.couchbase.",
    EmbeddingSecrets: "secrets.embedding.",
    VectorSearch: "vector_search.",
}
IN_FILES = {"datatype": "type", "value_class": "class", "filled_from": "from", "text_property": "text"}
"""Fields that are called otherwise in record files, and so in sh:name."""
FREE = {
    # field: why no shape speaks of it
    "source": "written by the indexing, in the provenance graph",
    "kind": "the class itself",
    "agent": "the agent that links to the intent",
    "uses_intents": "the same links as intents",
    "enum": "any value",
    "examples": "any value",
}
OPTIONAL = {("intent", "description"): "an intent is known by its phrases, and is often written without"}
"""Required by the model, where a reader gives an empty text, but not by a shape."""
OF_TWO = {("parameter", "value_class"): "parameter-type", ("selector", "query"): "selector-choice"}
"""The second of two fields of which one is given, with the rule that says so under the name of the first."""


def shapes_of(class_iri: str) -> set[URIRef]:
    """The rules for individuals of a class."""
    found: set[URIRef] = set()
    for shape in ALL.subjects(SH.targetClass, URIRef(class_iri)):
        own = [shape] if (shape, SH.message, None) in ALL else []
        found |= {r for r in (*own, *ALL.objects(shape, SH.property)) if isinstance(r, URIRef)}
    return found


def rules_for(model: str, field: str) -> list[URIRef]:
    _, class_iri, prefix = MODELS[model]
    names = {prefix + IN_FILES.get(field, field)}
    found = [r for r in shapes_of(class_iri) if str(ALL.value(r, SH.name)).removesuffix(".prompt") in names]
    return [*found, RULE[OF_TWO[model, field]]] if (model, field) in OF_TWO else found


def fields() -> Iterator[tuple[str, str, FieldInfo]]:
    for model, (cls, _, _) in MODELS.items():
        for name, info in cls.model_fields.items():
            prefix = NESTED.get(info.annotation) if isinstance(info.annotation, type) else None
            if prefix is None:
                yield model, name, info
            else:
                for inner, its in info.annotation.model_fields.items():
                    yield model, prefix + IN_FILES.get(inner, inner), its


def kind_of(annotation: Any) -> Any:
    """The type without `| None`."""
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [a for a in get_args(annotation) if a is not type(None)]
        return rest[0] if len(rest) == 1 else tuple(rest)
    return annotation


def has(found: list[URIRef], constraint: URIRef, value: Any) -> bool:
    return any((r, constraint, RdfLiteral(value)) in ALL for r in found)


FIELDS = [pytest.param(m, f, i, id=f"{m}.{f}") for m, f, i in fields() if f not in FREE]


@pytest.mark.parametrize(("model", "field", "info"), FIELDS)
def test_each_field_has_a_rule_that_says_the_same(model: str, field: str, info: FieldInfo) -> None:
    found = rules_for(model, field)
    assert found, "no rule has this field as its sh:name"
    kind = kind_of(info.annotation)
    many = get_origin(kind) in (list, dict) and field not in ("extras", "input_schema", "output_schema")
    if info.is_required() and (model, field) not in OPTIONAL:
        assert has(found, SH.minCount, 1)
    if not many:
        assert has(found, SH.maxCount, 1)
    if kind is bool:
        assert any((r, SH.datatype, XSD.boolean) in ALL for r in found)
    if kind is int:
        assert any((r, SH.datatype, XSD.integer) in ALL for r in found)
    if get_origin(kind) is Literal:
        lists = [Collection(ALL, o) for r in found for o in ALL.objects(r, SH["in"])]
        (allowed,) = ({str(v).rsplit("/", 1)[-1] for v in values} for values in lists)
        named = {"type": "{}-intent", "scope": "scope-{}", "form": "{}-form"}.get(field, "{}")
        assert allowed == {named.format(value) for value in get_args(kind)}
    for limit, constraint in ((Ge, SH.minInclusive), (Le, SH.maxInclusive)):
        for given in info.metadata:
            if isinstance(given, limit):
                assert has(found, constraint, getattr(given, limit.__name__.lower()))


def test_each_field_name_of_a_rule_is_a_field_of_a_model() -> None:
    known = {prefix + IN_FILES.get(f, f) for _, (cls, _, prefix) in MODELS.items() for f in cls.model_fields}
    known |= {f"system_prompt.{f}" for f in SystemPrompt.model_fields}
    known |= {f for _, f, _ in fields()} | {"vector_search"}
    for rule in rules():
        name = str(ALL.value(rule, SH.name))
        if name:
            assert name in known, rule


def test_what_is_free_of_rules_is_a_field() -> None:
    assert set(FREE) <= {f for _, f, _ in fields()}


def test_every_kind_is_compared() -> None:
    assert set(CLASSES) == set(KINDS)
    assert all((None, SH.targetClass, URIRef(c)) in ALL for c in CLASSES.values())


def test_optional_choices_are_one_of_two() -> None:
    # What the models say in words: exactly one of type and class, of name and query; at most one system prompt.
    for rule, least in (("parameter-type", 1), ("selector-choice", 1), ("agent-prompt", 0), ("intent-target", 1)):
        path = ALL.value(RULE[rule], SH.path)
        assert len(list(Collection(ALL, ALL.value(path, SH.alternativePath)))) == 2
        assert (RULE[rule], SH.maxCount, RdfLiteral(1)) in ALL
        assert ((RULE[rule], SH.minCount, RdfLiteral(1)) in ALL) == bool(least)
        assert (RULE[rule], RDF.type, SH.PropertyShape) in ALL
