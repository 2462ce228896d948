"""What `abi add` writes: one template a record kind. NAME stands for the record's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["TEMPLATES", "Template"]


@dataclass(frozen=True)
class Template:
    path: str
    """Relative to the workspace; `{name}` is replaced."""
    text: str
    beside: Mapping[str, str] = field(default_factory=dict)
    """Path and text of further files that it needs."""

    def files(self) -> list[tuple[str, str]]:
        return [(self.path, self.text), *self.beside.items()]


_SPARQL_QUERY = """\
# record_kind: sparql_query
# name: NAME
# description: Things whose label holds a text.        # say what it answers: search and agents go by it
# parameters:                                           # each one is the variable of that name in the query
#   text:  {type: xsd:string, description: what to look for, examples: [apple]}
#   class: {class: owl:Class, required: false, description: only things of this class}
#   limit: {type: xsd:integer, default: 20, minimum: 1, maximum: 200}
# answer: "{{ row_count }} things are called like {{ text }}: {{ rows | map(attribute='label') | join(', ') }}."
# annotations: {domain: example}
SELECT DISTINCT ?thing ?label WHERE {
  ?thing rdfs:label ?label .
  FILTER(CONTAINS(LCASE(STR(?label)), LCASE(?text)))
  #?class ?thing a ?class .
}
ORDER BY ?label LIMIT ?limit
"""

_JINJA_QUERY = """\
# record_kind: jinja_query
# name: NAME
# description: Things whose label begins with a text.
# parameters:                        # each one is a variable of the Jinja template below
#   text:  {type: xsd:string, description: what the label begins with, examples: [app]}
#   class: {type: xsd:anyURI, required: false, description: only things of this class}
#   order: {type: xsd:string, enum: [ASC, DESC], default: ASC}
# annotations: {domain: example}
#
# # A value stands in a string, in an IRI in <>, or on its own (a number, a prefixed name, a word of an enum). It is
# # escaped for its place; one that does not fit there is refused. A new query is better written as a sparql_query.
SELECT DISTINCT ?thing ?label WHERE {
  ?thing rdfs:label ?label .
  {% if class %}?thing a <{{ class }}> .{% endif %}
  FILTER(STRSTARTS(LCASE(STR(?label)), LCASE("{{ text }}")))
}
ORDER BY {{ order }}(?label) LIMIT 20
"""

_PYTHON_FUNCTION = '''\
from abi import tool

# Every function marked with `tool` is a tool; all others are left alone. The file is read when it is indexed and runs
# only when the tool is called, in a workspace that was trusted (`abi trust`).


@tool  # or @tool(name="another_name", description="...", annotations={"domain": "example"}); annotations are texts
def NAME(first: float, second: float = 1.0) -> float:  # types are checked; pydantic models and dataclasses, too
    """The product of two numbers.

    What is said here is how search and agents find the tool; the types and texts of its arguments go to them as well.

    Args:
        first: The number to start from.
        second: What to multiply it by.
    """
    return first * second
'''

_SQLPP_QUERY = """\
/*
record_kind: sqlpp_query
name: NAME
description: Customers that ordered in a time.   # say what it answers: search and agents go by it
input:                                            # JSON Schema; each property is a $parameter of the query
  type: object
  required: [start, end]
  properties:
    start: {type: string, format: date, description: the first day}
    end: {type: string, format: date, description: the last day}
secrets:                                          # names to look up, never values
- couchbase:
    conn_string: CB_CONN_STRING                   # couchbases://HOST, or duckdb:FOLDER for JSON files in a folder
    username: CB_USERNAME
    password: CB_PASSWORD
# answer: "{{ row_count }} customers ordered."
# annotations: {domain: example}
*/
SELECT c.name, COUNT(*) AS orders
FROM customers AS c, orders AS o
WHERE c.id = o.customer AND o.day BETWEEN $start AND $end
GROUP BY c.id
ORDER BY orders DESC
"""

_SEMANTIC_SEARCH = """\
record_kind: semantic_search
name: NAME
description: Classes of the graph whose definition is near to some words.   # say what it finds
input:                                            # JSON Schema of the arguments; what is searched for is made of them
  type: object
  required: [words]
  properties:
    words: {type: string, description: what to look for}
vector_search:                                    # where to look, and with which model
  class: owl:Class                                # a class of the graph, and the property whose texts are compared;
  text: skos:definition                           # then: abi vectors build NAME
# bucket: my-bucket                               # or a collection: of Couchbase, or of the folder in duckdb:FOLDER
# scope: my-scope
# collection: my-collection
# index: my-vector-index
# vector_field: vec
# text_field: text
  embedding_model: minilm                         # or a model of sentence-transformers, or {name: ..., url: https://...}
  num_candidates: 3                               # how many texts it gives
# secrets:                                        # names to look up, never values; for a collection
# - couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}
# annotations: {domain: example}
"""

_RAW_PROMPT = """\
---
record_kind: raw_prompt
name: NAME
description: How to answer; the agents that use this prompt follow it.   # say when to use it: search goes by it
# annotations: {domain: example}                                         # values are texts: "true", not true
# tools:                                          # found in the catalog when the prompt is fetched
#   - name: search_entities                       # by name
#   - {query: describe an entity, limit: 2}       # by what they do; also annotations: 'domain = "example"'
---
Answer from the graph only. Name what you found by its label, and say plainly when there is nothing.
"""

_JINJA_PROMPT = """\
---
record_kind: jinja_prompt
name: NAME
description: Asks for one thing by its name.      # say when to use it: search goes by it
# The free variables of the template are its arguments; those that it only uses where they are defined are optional.
# annotations: {domain: example}                  # values are texts: "true", not true
# tools:                                          # found in the catalog when the prompt is fetched
#   - name: search_entities                       # by name
#   - {query: describe an entity, limit: 2}       # by what they do; also annotations: 'domain = "example"'
---
Describe {{ thing }} from the graph{% if language is defined %}, in {{ language }}{% endif %}.
"""

_PROMPT = """\
record_kind: prompt
name: NAME
description: How to answer, and in which form.
content:                                        # a text, or a tree of texts; it is given as it stands
  agent_instructions: Answer from the graph only, and name what you found by its label.
  output_format_instructions: Give the answer as one sentence, and the labels as a list.
output:                                         # the JSON Schema of the answer that is asked for
  type: object
  properties:
    answer: {type: string}
    labels: {type: array, items: {type: string}}
tools:                                          # found in the catalog when the prompt is fetched
  - name: search_entities
  - {query: describe an entity of the graph, limit: 2}
# annotations: {domain: example}
"""

_AGENT = """\
record_kind: agent
name: NAME
description: Finds and describes what the graph holds.
system_prompt: Answer from the graph only.     # or {prompt: a_prompt}
tools: [search_entities, describe_entity]
agents: []                                     # agents it may hand over to
intents:                                       # phrases that lead straight to a tool, to an agent or to a reply
  - {values: [describe a thing, tell me about something], type: tool, target: describe_entity}
  - {values: [thank you, thanks], type: raw, target: You are welcome., scope: all}
"""

_INTENT = """\
record_kind: intent
name: NAME
description: Asks what there is to know about one thing.
values: [tell me about something, describe a thing]   # phrases as people say them
type: tool                                              # tool, agent or raw
target: describe_entity                                 # the tool's or agent's name; for raw: the reply itself
"""

_HTTP_REQUEST = """\
# Operations of an HTTP service, each a tool of its own: named by its operationId, described by its description.
record_kind: http_request
annotations:
  domain: example                    # values are texts: "true", not true
open_api:
  # An OpenAPI document (3.0 or 3.1, JSON or YAML): beside this file, else from the workspace's root; or url: instead.
  filename: NAME.openapi.yaml
  # url: https://api.example.org/openapi.json
  operations:                        # each is checked against the document
    - path: /things/{thing_id}       # as the document has it
      method: get                    # get, put, post, delete, options, head, patch or trace
# For each security scheme of the document, the name by which its secret is looked up; never the secret itself.
# secrets:
#   - {bearerAuth: MY_SERVICE_TOKEN}
#   - {basicAuth: {username: MY_SERVICE_USER, password: MY_SERVICE_PASSWORD}}
# The tool runs when the service's address is listed under `net_allow` in abi.yaml.
"""

_OPENAPI = """\
openapi: 3.1.0
info: {title: Things, version: "1"}
servers:
  - url: http://localhost:8080
paths:
  /things/{thing_id}:
    get:
      operationId: NAME
      description: One thing by its number.
      parameters:
        - {name: thing_id, in: path, required: true, schema: {type: integer}, description: the number of the thing}
      responses:
        "200":
          description: The thing.
          content:
            application/json:
              schema: {type: object, properties: {name: {type: string}}}
"""

TEMPLATES: dict[str, Template] = {
    "agent": Template("agents/{name}.yaml", _AGENT),
    "http_request": Template("tools/{name}.yaml", _HTTP_REQUEST, {"tools/{name}.openapi.yaml": _OPENAPI}),
    "intent": Template("agents/{name}.yaml", _INTENT),
    "jinja_query": Template("tools/{name}.rq", _JINJA_QUERY),
    "jinja_prompt": Template("prompts/{name}.jinja", _JINJA_PROMPT),
    "prompt": Template("prompts/{name}.yaml", _PROMPT),
    "python_function": Template("tools/{name}.py", _PYTHON_FUNCTION),
    "raw_prompt": Template("prompts/{name}.prompt", _RAW_PROMPT),
    "semantic_search": Template("tools/{name}.yaml", _SEMANTIC_SEARCH),
    "sparql_query": Template("tools/{name}.rq", _SPARQL_QUERY),
    "sqlpp_query": Template("tools/{name}.sqlpp", _SQLPP_QUERY),
}
