"""What the OpenAPI document says of the routes that follow a W3C protocol, which are no routes of the framework."""

from __future__ import annotations

from typing import Any

__all__ = ["PATHS"]

_RESULTS = {
    media: {"schema": {"type": "string"}}
    for media in ("application/sparql-results+xml", "text/csv", "text/tab-separated-values", "text/turtle")
}
_JSON_RESULTS = {"application/sparql-results+json": {"schema": {"type": "object"}}}
_GRAPH = {
    "name": "graph",
    "in": "query",
    "description": "The graph's IRI. `?default` names the one without a name.",
    "schema": {"type": "string"},
    "example": "https://example.org/people",
}
_RDF = {media: {"schema": {"type": "string"}} for media in ("text/turtle", "application/n-triples")}
_QUERY = "SELECT ?tool WHERE { ?tool a abi:SparqlTemplate } LIMIT 10"
_TURNS = "SELECT ?turn ?answer WHERE { ?turn a abi:Turn ; abi:answer ?answer } LIMIT 10"


def _query_parameters() -> list[dict[str, Any]]:
    def one(name: str, about: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "in": "query", "description": about, "schema": schema, **more}

    several = {"type": "array", "items": {"type": "string"}}
    return [
        one("default-graph-uri", "Graphs whose union is the default graph.", several),
        one("named-graph-uri", "Graphs that can be named.", several),
        one("timeout", "Seconds, within the server's own limit.", {"type": "number", "exclusiveMinimum": 0}),
    ]


def _answers(content: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "The result; X-Abi-Truncated tells where a limit cut it.", "content": content}}


def _query_path(name: str, about: str, example: str) -> dict[str, Any]:
    return {
        "get": {
            "tags": ["graph"],
            "operationId": f"{name}_get",
            "summary": "Query",
            "description": about,
            "parameters": [
                {
                    "name": "query",
                    "in": "query",
                    "description": "The query; prefixes of the workspace need no declaration.",
                    "schema": {"type": "string"},
                    "example": example,
                },
                *_query_parameters(),
            ],
            "responses": _answers({**_JSON_RESULTS, **_RESULTS}),
        },
        "post": {
            "tags": ["graph"],
            "operationId": f"{name}_post",
            "summary": "Query",
            "description": "The same by POST: the query itself, or a form.",
            "parameters": _query_parameters(),
            "requestBody": {
                "required": True,
                "content": {
                    "application/sparql-query": {"schema": {"type": "string"}, "example": example},
                    "application/x-www-form-urlencoded": {
                        "schema": {
                            "type": "object",
                            "required": ["query"],
                            "properties": {"query": {"type": "string"}},
                        },
                        "example": {"query": example},
                    },
                },
            },
            "responses": _answers({**_JSON_RESULTS, **_RESULTS}),
        },
    }


PATHS: dict[str, Any] = {
    "/sparql": _query_path("sparql", "SPARQL 1.1 Protocol. Without a query: what this service is.", _QUERY),
    "/traces/sparql": _query_path("traces", "The same over the traces of conversations. For admins.", _TURNS),
    "/update": {
        "post": {
            "tags": ["graph"],
            "operationId": "sparql_update",
            "summary": "Update",
            "description": "SPARQL Update through the gate: what breaks a rule changes nothing. For writers.",
            "requestBody": {
                "required": True,
                "content": {
                    "application/sparql-update": {
                        "schema": {"type": "string"},
                        "example": 'INSERT DATA { GRAPH :notes { :boise rdfs:comment "seen" } }',
                    }
                },
            },
            "responses": {
                "200": {
                    "description": "How many triples came and went.",
                    "content": {"application/json": {"schema": {"type": "object"}}},
                }
            },
        }
    },
    "/store": {
        "get": {
            "tags": ["graph"],
            "operationId": "store_get",
            "summary": "A named graph",
            "description": "Graph Store Protocol, by `?graph=IRI`, `?default` or /store/PATH.",
            "parameters": [_GRAPH],
            "responses": _answers(_RDF),
        },
        "put": {
            "tags": ["graph"],
            "operationId": "store_put",
            "summary": "Replace a named graph",
            "description": "With If-Match only where it is as it was. For writers.",
            "parameters": [_GRAPH],
            "requestBody": {"required": True, "content": _RDF},
            "responses": {"201": {"description": "It is new."}, "204": {"description": "It was replaced."}},
        },
        "post": {
            "tags": ["graph"],
            "operationId": "store_post",
            "summary": "Add to a named graph",
            "description": "Without `graph` to a new one, whose IRI is in Location. For writers.",
            "parameters": [_GRAPH],
            "requestBody": {"required": True, "content": _RDF},
            "responses": {"201": {"description": "It is new."}, "204": {"description": "It was added to."}},
        },
        "delete": {
            "tags": ["graph"],
            "operationId": "store_delete",
            "summary": "Drop a named graph",
            "description": "For writers.",
            "parameters": [_GRAPH],
            "responses": {"204": {"description": "It is gone."}},
        },
    },
}
