"""Workspaces to measure on: mixed records, each in a file of its own, with descriptions of about twenty words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abi.records.record import SparqlQuery

__all__ = ["ALL_KINDS", "make_workspace", "sparql_query"]

_VERBS = (
    "find list count compare rank describe summarise check explain estimate group measure trace locate match".split()
)
_THINGS = (
    "airports routes flights carriers hotels bookings invoices customers contracts suppliers machines sensors readings "
    "patients samples trials papers authors citations parcels warehouses orders shipments rivers bridges buildings "
    "meters outages claims policies accounts payments tickets incidents releases servers networks courses students"
).split()
_QUALITIES = (
    "recent delayed open nearby expensive missing duplicate annual regional critical seasonal overdue verified shared "
    "international urgent complete archived busiest shortest"
).split()
_RELATIONS = "between among for within across without against per before after".split()

_KINDS = ("sparql_query",) * 4 + ("python_function",) * 2 + ("raw_prompt", "jinja_prompt", "agent", "intent")
ALL_KINDS = (
    "sparql_query",
    "python_function",
    "sqlpp_query",
    "semantic_search",
    "http_request",
    "raw_prompt",
    "jinja_prompt",
    "prompt",
    "agent",
    "intent",
)


def description(rng: random.Random) -> str:
    """About twenty words that differ from record to record as people's do."""
    words = [rng.choice(_VERBS).capitalize(), rng.choice(_QUALITIES), rng.choice(_THINGS)]
    for _ in range(4):
        words += [rng.choice(_RELATIONS), rng.choice(_QUALITIES), rng.choice(_THINGS)]
    words += ["with", "their", rng.choice(_QUALITIES), "totals"]
    return " ".join(words) + "."


def make_workspace(root: Path, records: int, seed: int = 7, kinds: tuple[str, ...] = _KINDS) -> Path:
    """Write a workspace of that many records under `root`, their kinds in turn; the same seed gives the same files."""
    rng = random.Random(seed)
    root.mkdir(parents=True)
    (root / "abi.yaml").write_text(
        "base_iri: https://example.org/bench/\nnet_allow: [http://localhost:8080]\n", encoding="utf-8"
    )
    tools: list[str] = []
    for number in range(records):
        kind = kinds[number % len(kinds)]
        name = f"{rng.choice(_VERBS)}_{rng.choice(_THINGS)}_{number}"
        files = _RECORDS[kind](name, description(rng), tools, rng)
        if kind in ("sparql_query", "python_function"):
            tools.append(name)
        for path, text in files.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
    return root


def _sparql_query(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"tools/{name}.rq": (
            f"# record_kind: sparql_query\n# name: {name}\n# description: {about}\n# parameters:\n"
            f"#   text: {{type: xsd:string, description: what to look for, examples: [{rng.choice(_THINGS)}]}}\n"
            f"#   limit: {{type: xsd:integer, default: 20, minimum: 1, maximum: 500}}\n"
            f"# annotations: {{domain: {rng.choice(_THINGS)}, level: {rng.choice(_QUALITIES)}}}\n"
            "SELECT ?thing ?label WHERE {\n  ?thing rdfs:label ?label .\n"
            "  FILTER(CONTAINS(LCASE(STR(?label)), LCASE(?text)))\n}\nORDER BY ?label LIMIT ?limit\n"
        )
    }


def _python_function(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"tools/{name}.py": (
            f"from abi import tool\n\n\n@tool(annotations={{'domain': '{rng.choice(_THINGS)}'}})\n"
            f'def {name}(first: str, second: int = 1) -> str:\n    """{about}"""\n    return first * second\n'
        )
    }


def _raw_prompt(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"prompts/{name}.prompt": (
            f"---\nrecord_kind: raw_prompt\nname: {name}\ndescription: {about}\n---\n"
            f"Answer from the graph only. {description(rng)}\n"
        )
    }


def _jinja_prompt(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"prompts/{name}.jinja": (
            f"---\nrecord_kind: jinja_prompt\nname: {name}\ndescription: {about}\n---\n"
            f"Look for {{{{ subject }}}} near {{{{ place }}}}. {description(rng)}\n"
        )
    }


def _prompt(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"prompts/{name}.yaml": (
            f"record_kind: prompt\nname: {name}\ndescription: {about}\n"
            f"content:\n  agent_instructions: {description(rng)}\n  output_format_instructions: One sentence.\n"
            "output:\n  type: object\n  properties:\n    answer: {type: string}\n"
        )
    }


def _sqlpp_query(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"tools/{name}.sqlpp": (
            f"/*\nrecord_kind: sqlpp_query\nname: {name}\ndescription: {about}\n"
            "input:\n  type: object\n  required: [start, end]\n  properties:\n"
            "    start: {type: string, format: date, description: the first day}\n"
            "    end: {type: string, format: date, description: the last day}\n"
            "secrets:\n- couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}\n*/\n"
            "SELECT c.name, COUNT(*) AS orders FROM customers AS c, orders AS o\n"
            "WHERE c.id = o.customer AND o.day BETWEEN $start AND $end GROUP BY c.id ORDER BY orders DESC\n"
        )
    }


def _semantic_search(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"tools/{name}.yaml": (
            f"record_kind: semantic_search\nname: {name}\ndescription: {about}\n"
            "input:\n  type: object\n  required: [words]\n  properties:\n"
            "    words: {type: string, description: what to look for}\n"
            "vector_search: {class: owl:Class, text: skos:definition, embedding_model: minilm, num_candidates: 3}\n"
        )
    }


def _http_request(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"tools/{name}.yaml": (
            f"record_kind: http_request\nannotations: {{domain: {rng.choice(_THINGS)}}}\n"
            f"open_api:\n  filename: {name}.openapi.json\n  operations:\n"
            "    - {path: '/things/{thing_id}', method: get}\n"
        ),
        f"tools/{name}.openapi.json": json.dumps(
            {
                "openapi": "3.1.0",
                "info": {"title": "Things", "version": "1"},
                "servers": [{"url": "http://localhost:8080"}],
                "paths": {
                    "/things/{thing_id}": {
                        "get": {
                            "operationId": name,
                            "description": about,
                            "parameters": [
                                {"name": "thing_id", "in": "path", "required": True, "schema": {"type": "integer"}}
                            ],
                            "responses": {"200": {"description": "The thing."}},
                        }
                    }
                },
            }
        ),
    }


def _agent(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    chosen = sorted(rng.sample(tools, min(3, len(tools))))
    return {
        f"agents/{name}.yaml": (
            f"record_kind: agent\nname: {name}\ndescription: {about}\nsystem_prompt: Answer from the graph only.\n"
            f"tools: [{', '.join(chosen)}]\nintents:\n"
            f"  - {{values: ['{rng.choice(_VERBS)} {rng.choice(_THINGS)}', '{rng.choice(_VERBS)} the "
            f"{rng.choice(_QUALITIES)} {rng.choice(_THINGS)}'], type: tool, target: {chosen[0]}}}\n"
        )
    }


def _intent(name: str, about: str, tools: list[str], rng: random.Random) -> dict[str, str]:
    return {
        f"agents/{name}.yaml": (
            f"record_kind: intent\nname: {name}\ndescription: {about}\n"
            f"values: ['{rng.choice(_VERBS)} {rng.choice(_QUALITIES)} {rng.choice(_THINGS)}']\n"
            f"type: tool\ntarget: {rng.choice(tools)}\n"
        )
    }


_RECORDS = {
    "sparql_query": _sparql_query,
    "python_function": _python_function,
    "sqlpp_query": _sqlpp_query,
    "semantic_search": _semantic_search,
    "http_request": _http_request,
    "prompt": _prompt,
    "raw_prompt": _raw_prompt,
    "jinja_prompt": _jinja_prompt,
    "agent": _agent,
    "intent": _intent,
}


def sparql_query(number: int) -> SparqlQuery:
    """A record as its reader would give it, for stores that are too large to be filled through files."""
    from abi.records.record import Parameter, SparqlQuery

    string, integer = (f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("string", "integer"))
    return SparqlQuery(
        name=f"tool_{number}",
        description=description(random.Random(number)),
        annotations={"domain": "bench", "level": "low"},
        query="SELECT ?thing WHERE { ?thing rdfs:label ?text } LIMIT ?limit",
        parameters=[
            Parameter(name="text", datatype=string, description="what to look for", examples=["apple"]),
            Parameter(name="limit", datatype=integer, default=20, minimum=1, maximum=500, required=False, position=1),
        ],
    )
