"""Resources: records, the terms of the ontology, and entities; listed a page at a time, and read one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from abi.mcp.routes import Caller, Refused, Routes, document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import ListResourcesResult, ReadResourceResult

__all__ = ["TEMPLATES", "Resources"]

_RECORDS, _TERMS, _ENTITIES = "abi://records/", "abi://terms/", "abi://entities/"
TEMPLATES: tuple[tuple[str, str, str, str], ...] = (
    ("record", _RECORDS + "{name}", "A tool, prompt, agent or intent by its name, whole.", "application/json"),
    ("term", _TERMS + "{iri}", "A class or property by its IRI, percent-encoded, or `prefix:name`.", "text/turtle"),
    (
        "entity",
        _ENTITIES + "{iri}",
        "What the graph says of an IRI, percent-encoded.",
        "text/turtle",
    ),
)
"""(name, URI template, description, media type)."""
_PAGE = 100
_MOST_TRIPLES = 500
_KINDS = "owl:Class owl:ObjectProperty owl:DatatypeProperty owl:AnnotationProperty"
_OWL = "PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
_LISTS = {
    "terms": f"{_OWL} SELECT ?s (SAMPLE(?l) AS ?label) WHERE {{ VALUES ?k {{ {_KINDS} }} ?s a ?k FILTER isIRI(?s) "
    "OPTIONAL { ?s rdfs:label ?l } } GROUP BY ?s ORDER BY ?s",
    "entities": f"{_OWL} SELECT ?s (SAMPLE(?l) AS ?label) WHERE {{ ?k a owl:Class . ?s a ?k ; rdfs:label ?l "
    "FILTER isIRI(?s) } GROUP BY ?s ORDER BY ?s",
}
_PREFIXES = {"terms": _TERMS, "entities": _ENTITIES}


class Resources:
    def __init__(self, routes: Routes, prefixes: Mapping[str, str]) -> None:
        self._routes = routes
        self._prefixes = prefixes

    async def list(self, caller: Caller, cursor: str | None) -> ListResourcesResult:
        """A page: records first, then terms, then entities. Raises Refused for a cursor that is none."""
        from mcp_types import ListResourcesResult, Resource

        part, _, number = (cursor or "records:0").partition(":")
        if part not in ("records", *_LISTS) or not number.isascii() or not number.isdigit() or len(number) > 9:
            raise Refused({"code": "usage", "message": "This cursor is none of this list's."})
        start = int(number)
        found: list[Resource] = []
        if part == "records":
            page = await document(self._routes, caller, "GET", "/catalog/records", limit=_PAGE, offset=start)
            for told in page["records"]:
                uri = f"{_RECORDS}{quote(told['iri'], safe='')}"
                title = f"{told['kind']} {told['name']}"
                found.append(
                    Resource(
                        name=told["name"],
                        title=title,
                        uri=uri,
                        description=told.get("description") or None,
                        mime_type="application/json",
                    )
                )
            more = page["next"] is not None
        else:
            query = f"{_LISTS[part]} LIMIT {_PAGE + 1} OFFSET {start}"
            rows = (await self._sparql(caller, query))["results"]["bindings"]
            for row in rows[:_PAGE]:
                iri = row["s"]["value"]
                label = row["label"]["value"] if "label" in row else iri
                uri = f"{_PREFIXES[part]}{quote(iri, safe='')}"
                found.append(Resource(name=label, uri=uri, description=iri, mime_type="text/turtle"))
            more = len(rows) > _PAGE
        following = {"records": "terms:0", "terms": "entities:0", "entities": None}[part]
        return ListResourcesResult(
            resources=found, next_cursor=f"{part}:{start + _PAGE}" if more else following, ttl_ms=0
        )

    async def read(self, caller: Caller, uri: str) -> ReadResourceResult:
        """Raises Refused where there is none, or the caller may not see it."""
        from mcp_types import ReadResourceResult, TextResourceContents

        if uri.startswith(_RECORDS):
            name = unquote(uri.removeprefix(_RECORDS))
            told = await document(self._routes, caller, "GET", f"/catalog/records/{quote(name, safe='')}")
            text, media = json.dumps(told, ensure_ascii=False, indent=1), "application/json"
        elif uri.startswith((_TERMS, _ENTITIES)):
            prefix = _TERMS if uri.startswith(_TERMS) else _ENTITIES
            iri = self._iri(unquote(uri.removeprefix(prefix)))
            text, media = await self._turtle(caller, iri), "text/turtle"
        else:
            raise Refused({"code": "not_found", "message": "There is no such resource.", "hint": "See the templates."})
        contents = TextResourceContents(uri=uri, mime_type=media, text=text)
        return ReadResourceResult(contents=[contents], ttl_ms=0)

    def _iri(self, name: str) -> str:
        prefix, colon, local = name.partition(":")
        iri = self._prefixes[prefix] + local if colon and prefix in self._prefixes and "//" not in name else name
        if ":" not in iri or any(c in '<>"{}|^`\\' or c <= " " for c in iri):
            raise Refused({"code": "usage", "message": "This is no IRI, and begins with no prefix of the workspace."})
        return iri

    async def _turtle(self, caller: Caller, iri: str) -> str:
        query = (
            f"CONSTRUCT {{ <{iri}> ?p ?o . ?s ?q <{iri}> }} WHERE {{ "
            f"{{ SELECT ?p ?o WHERE {{ <{iri}> ?p ?o }} LIMIT {_MOST_TRIPLES} }} UNION "
            f"{{ SELECT ?s ?q WHERE {{ ?s ?q <{iri}> }} LIMIT {_MOST_TRIPLES} }} }}"
        )
        ask = f"ASK {{ {{ <{iri}> ?p ?o }} UNION {{ ?s ?q <{iri}> }} }}"
        if not (await self._sparql(caller, ask))["boolean"]:
            raise Refused({"code": "not_found", "message": f"The graph says nothing of <{iri}>."})
        text: str = await self._sparql(caller, query, "text/turtle")
        return text

    async def _sparql(self, caller: Caller, query: str, accept: str = "application/sparql-results+json") -> Any:
        return await document(
            self._routes, caller, "POST", "/sparql", query, accept=accept, media="application/sparql-query"
        )
