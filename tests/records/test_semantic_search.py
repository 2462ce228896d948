from __future__ import annotations

from pathlib import Path

import pytest

from abi.records.record import CouchbaseSecrets, EmbeddingSecrets, SemanticSearch, VectorSearch

from .conftest import Read, places

SEED = Path(__file__).parent / "seed" / "semantic_search.yaml"
HEAD = "record_kind: semantic_search\nname: s\ndescription: d\n"
INPUT = "input: {type: object, properties: {x: {type: string}}}\n"
SECRETS = "secrets:\n- couchbase: {conn_string: A, username: B, password: C}\n"
WHERE = (
    "vector_search:\n  bucket: b\n  scope: s\n  collection: c\n  index: i\n  vector_field: v\n  text_field: t\n"
    "  embedding_model: m\n"
)


def test_agent_catalogs_template_is_read_as_it_is(read: Read) -> None:
    result = read(SEED.read_bytes(), "tools/s.yaml")
    assert result.findings == []
    (record,) = result.records
    assert isinstance(record, SemanticSearch)
    assert record.name == "search_for_relevant_products"
    assert record.couchbase == CouchbaseSecrets(
        conn_string="CB_CONN_STRING", username="CB_USERNAME", password="CB_PASSWORD"
    )
    assert record.vector_search == VectorSearch(
        bucket="my-bucket",
        scope="my-scope",
        collection="my-collection",
        index="my-vector-index",
        vector_field="vec",
        text_field="text",
        embedding_model="sentence-transformers/all-MiniLM-L12-v2",
        num_candidates=3,
    )
    assert [p.name for p in record.parameters] == ["search_tags"]
    assert result.line(record) == 7


def test_the_newer_form(read: Read) -> None:
    model = "  embedding_model:\n    name: m\n    URL: https://embed.example/v1\n"
    secrets = SECRETS.replace("C}", "C, certificate: D}") + "- SYSTEM: {auth: KEY}\n"
    for url, system in (("base_url", "embedding"), ("url", "embedding_model")):
        where = WHERE.replace("  embedding_model: m\n", model.replace("URL", url))
        text = HEAD + INPUT + secrets.replace("SYSTEM", system) + where
        result = read(text, "s.yml")
        assert result.findings == []
        (record,) = result.records
        assert isinstance(record, SemanticSearch)
        assert record.vector_search.embedding_url == "https://embed.example/v1"
        assert record.embedding == EmbeddingSecrets(auth="KEY")
        assert record.couchbase.certificate == "D"
        assert set(record.secrets) == {"A", "B", "C", "D", "KEY"}


def test_a_class_of_the_graph(read: Read) -> None:
    text = HEAD + INPUT + "vector_search: {class: fl:Airport, text: rdfs:comment}\n"
    (record,) = read(text, "s.yaml").records
    assert isinstance(record, SemanticSearch)
    assert record.vector_search == VectorSearch(
        value_class="https://example.org/fl#Airport",
        text_property="http://www.w3.org/2000/01/rdf-schema#comment",
        embedding_model="minilm",
    )


FAULTS = [
    (HEAD.replace("name: s", "name: s 1") + INPUT + SECRETS + WHERE, (2, "name", "name-invalid")),
    (HEAD.replace("semantic_search", "sqlpp_query") + INPUT + SECRETS + WHERE, (1, "record_kind", "kind-misplaced")),
    (HEAD + "input: {}\n" + SECRETS + WHERE, (4, "input", "input-empty")),
    (HEAD + 'input: \'{"type": "object"}\'\n' + SECRETS + WHERE, (4, "input", "input-empty")),
    (HEAD + SECRETS + WHERE, (1, "input", "input-missing")),
    (HEAD + INPUT + WHERE, (1, "secrets", "secrets-missing")),
    (HEAD + INPUT + SECRETS, (1, "vector_search", "vector-search-missing")),
    (HEAD + INPUT + SECRETS + "vector_search: b\n", (7, "vector_search", "type-wrong")),
    (HEAD + INPUT + SECRETS + WHERE.replace("  bucket: b\n", ""), (7, "vector_search.bucket", "bucket-missing")),
    (HEAD + INPUT + SECRETS + WHERE.replace("bucket: b", "bucket: 5"), (8, "vector_search.bucket", "type-wrong")),
    (
        HEAD + INPUT + SECRETS + WHERE.replace("  embedding_model: m\n", ""),
        (7, "vector_search.embedding_model", "embedding-model-missing"),
    ),
    (
        HEAD + INPUT + SECRETS + WHERE.replace("model: m", "model: {base_url: http://x}"),
        (14, "vector_search.embedding_model.name", "name-missing"),
    ),
    (
        HEAD + INPUT + SECRETS + WHERE.replace("model: m", "model: {name: m, url: x}"),
        (14, "vector_search.embedding_model.url", "url-invalid"),
    ),
    (
        HEAD + INPUT + SECRETS + WHERE.replace("model: m", "model: {name: m, urll: x}"),
        (14, "vector_search.embedding_model.urll", "key-unknown"),
    ),
    *(
        (
            HEAD + INPUT + SECRETS + WHERE + f"  num_candidates: {n}\n",
            (15, "vector_search.num_candidates", "value-range"),
        )
        for n in ("-4", "0", "2.5", "many", "true")
    ),
    (HEAD + INPUT + SECRETS + WHERE + "num_candidates: 5\n", (15, "num_candidates", "key-unknown")),
    (HEAD + INPUT + "vector_search: {class: fl:X}\n", (5, "vector_search.text", "text-missing")),
    (HEAD + INPUT + "vector_search: {class: nope:X, text: rdfs:label}\n", (5, "vector_search.class", "iri-unknown")),
    (
        HEAD + INPUT + "vector_search: {class: fl:X, text: rdfs:label, bucket: b}\n",
        (5, "vector_search.bucket", "vector-search-both"),
    ),
]


@pytest.mark.parametrize(("text", "expected"), FAULTS)
def test_faults_have_their_place(read: Read, text: str, expected: tuple[int, str, str]) -> None:
    result = read(text, "tools/s.yaml")
    assert expected in places(result)
    assert all(f.fix for f in result.findings)
    whole = expected[2] in ("key-unknown", "secrets-missing", "vector-search-both")
    assert bool(result.records) == whole
