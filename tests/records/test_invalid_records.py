# ruff: noqa: E501 - advice is written out
"""Every way in which a record file can be wrong: where it is told, under what code, and with which advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from abi.findings import Finding
from abi.graph.template import check_template
from abi.records.reader import ReadContext, read_file
from abi.records.record import SparqlQuery
from abi.records.scan import scan
from abi.settings import Settings
from abi.workspace import Workspace

SQLPP = """/*
name: find_high_rates
description: Finds things.
input: '{"type": "object", "properties": {"a": {"type": "integer"}}}'
secrets:
  - couchbase: {conn_string: CB, username: CU, password: CP}
*/
SELECT 1 AS one WHERE $a = 1
"""
SEM = """record_kind: semantic_search
name: search_docs
description: Searches.
input:
  type: object
  properties: {q: {type: string}}
secrets:
  - couchbase: {conn_string: CB, username: CU, password: CP}
vector_search:
  bucket: b
  scope: s
  collection: c
  index: i
  vector_field: v
  text_field: t
  embedding_model: m
"""
HTTP = """record_kind: http_request
open_api:
  filename: api.json
  operations:
    - path: /things
      method: get
"""
RQ = """# record_kind: sparql_query
# name: things
# description: Things.
# parameters:
#   n: {type: xsd:integer}
SELECT ?s WHERE { ?s ?p ?o } LIMIT ?n
"""
PROMPT = """---
record_kind: raw_prompt
name: greet
description: Greets.
tools:
  - name: t
annotations: {a: b}
---
Hello.
"""
JINJA = PROMPT.replace("raw_prompt", "jinja_prompt").replace("Hello.", "Hello {{ who }}.")
STRUCT = """record_kind: prompt
name: guide
description: Guides.
content:
  agent_instructions: Do it.
output: {type: object}
tools:
  - name: t
"""
AGENT = """record_kind: agent
name: helper
description: Helps.
system_prompt: You help.
tools: [t]
intents:
  - {values: [hi], type: raw, target: Hello.}
"""
INTENT = """record_kind: intent
name: thanks
description: Thanks.
values: [thank you]
type: raw
target: You are welcome.
"""
PY = '''"""Tools."""
from abi import tool


@tool(name="adder", annotations={"a": "b"})
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b
'''
SPEC: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "T", "version": "1"},
    "servers": [{"url": "https://e.org"}],
    "paths": {
        "/things": {
            "get": {"operationId": "list_things", "description": "Lists.", "responses": {"200": {"description": "ok"}}}
        },
        "/bare": {
            "get": {"operationId": "bare", "responses": {"200": {"description": "ok"}}},
            "post": {"summary": "Sums.", "description": "", "responses": {"200": {"description": "ok"}}},
        },
        "/bad-id": {"get": {"operationId": "bad-id", "description": "D.", "responses": {"200": {"description": "ok"}}}},
    },
}


def sub(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


LONG = " ".join(["word"] * 257)
KINDS = {
    "sqlpp_query": ("sqlpp", SQLPP),
    "semantic_search": ("yaml", SEM),
    "sparql_query": ("rq", RQ),
    "raw_prompt": ("prompt", PROMPT),
    "jinja_prompt": ("jinja", JINJA),
    "prompt": ("yaml", STRUCT),
    "agent": ("yaml", AGENT),
    "intent": ("yaml", INTENT),
}
"""A sound file of each kind whose header is YAML and holds one record."""


def findings(folder: Path, ext: str, text: str) -> list[Finding]:
    """What is wrong with one file, by itself."""
    (folder / "t").mkdir()
    (folder / "t" / "api.json").write_text(json.dumps(SPEC))
    (folder / "t" / f"x.{ext}").write_text(text)
    settings = Settings(base_iri="https://example.org/w/", net_allow=["e.org"])
    (file,) = (f for f in scan(folder, ["t"], None, settings).files if f.path == f"t/x.{ext}")
    result = read_file(file, ReadContext.of(settings))
    found = list(result.findings)
    for record in result.records:
        if isinstance(record, SparqlQuery):
            line = result.line(record, "query")
            found += check_template(
                record.query, record.parameters, settings.all_prefixes(), settings, path=file.path, first_line=line
            )
    assert all(f.path == f"t/x.{ext}" and f.message for f in found)
    return found


def told(found: list[Finding]) -> list[tuple[int, str, str, str, str]]:
    return [(f.line, f.field, f.severity, f.code, f.fix) for f in found]


@pytest.mark.parametrize(("ext", "text"), [*KINDS.values(), ("py", PY), ("yaml", HTTP)])
def test_the_files_that_are_made_wrong_below_are_right(tmp_path: Path, ext: str, text: str) -> None:
    assert findings(tmp_path, ext, text) == []


NAME_FIX = "Add `name: my_name`: letters, digits and underscores."
DESCRIPTION_FIX = "Add `description: ...`: what it does and when to use it. Search and agents choose by it."
COMMON: list[tuple[str, str, str | None, str, str, str, str]] = [
    # what is done, to the line of which key, the line in its place (None: none), field, severity, code, advice
    ("name", "no name", None, "name", "error", "name-missing", NAME_FIX),
    ("name", "no identifier", "name: tool 1", "name", "error", "name-invalid", "Write 'tool_1'."),
    ("name", "a keyword", "name: class", "name", "error", "name-invalid", "Write 'class_'."),
    ("name", "a number", "name: 12", "name", "error", "type-wrong", 'Put it in quotes: name: "12".'),
    ("description", "none", None, "description", "error", "description-missing", DESCRIPTION_FIX),
    ("description", "empty", "description: ''", "description", "error", "description-missing", DESCRIPTION_FIX),
    ("description", "blank", 'description: " "', "description", "error", "description-missing", DESCRIPTION_FIX),
    ("description", "long", f"description: {LONG}", "description", "warning", "description-long", "Make it shorter."),
    (
        "description",
        "no yaml",
        "description: a: b: [",
        "",
        "error",
        "yaml-syntax",
        'Put the value in quotes where it holds a colon followed by a space: description: "a: b".',
    ),
    (
        "annotations",
        "no text",
        "annotations: {a: true}",
        "annotations.a",
        "error",
        "annotation-type",
        'Put it in quotes: a: "true".',
    ),
    (
        "annotations",
        "a list",
        "annotations: [a]",
        "annotations",
        "error",
        "type-wrong",
        "Write `annotations:` and below it `key: value`.",
    ),
    (
        "metadata_fields",
        "unknown",
        "metadata_fields: [x]",
        "metadata_fields",
        "warning",
        "key-unknown",
        "Remove it, or leave it: it is kept and not used.",
    ),
    (
        "record_kind",
        "unknown kind",
        "record_kind: sqlpp_queri",
        "record_kind",
        "error",
        "kind-unknown",
        "Did you mean 'sqlpp_query'?",
    ),
    (
        "record_kind",
        "a kind of other files",
        "record_kind: python_function",
        "record_kind",
        "error",
        "kind-misplaced",
        "Write it in a .py file.",
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", COMMON, ids=[f"{c[0]}: {c[1]}" for c in COMMON])
def test_what_all_kinds_have_in_common(
    tmp_path: Path, kind: str, case: tuple[str, str, str | None, str, str, str, str]
) -> None:
    key, _, new, field, severity, code, fix = case
    ext, text = KINDS[kind]
    mark = "# " if ext == "rq" else ""
    lines = text.split("\n")
    first = 2 if ext == "sqlpp" or lines[0] == "---" else 1  # where the header begins
    at = next((n for n, line in enumerate(lines) if line.startswith(f"{mark}{key}:")), None)
    if at is None:  # a key more, before the name
        at = next(n for n, line in enumerate(lines) if line.startswith(f"{mark}name:"))
        lines.insert(at, "")
    lines[at : at + 1] = [] if new is None else [mark + new]
    expected = [(first if new is None else at + 1, field, severity, code, fix)]
    if (kind, key, new) == ("intent", "description", None):
        expected = []  # its values say what it is for
    assert told(findings(tmp_path, ext, "\n".join(lines))) == expected


CASES: list[tuple[str, str, str, list[tuple[int, str, str, str, str]]]] = [
    (
        "sqlpp no header",
        "sqlpp",
        "SELECT 1",
        [
            (
                1,
                "",
                "error",
                "header-missing",
                "Begin the file with `/*`, then `name:`, `description:` and `input:`, then `*/`.",
            )
        ],
    ),
    (
        "sqlpp no input",
        "sqlpp",
        sub(SQLPP, ('input: \'{"type": "object", "properties": {"a": {"type": "integer"}}}\'\n', "")),
        [
            (
                2,
                "input",
                "error",
                "input-missing",
                'Add `input:` with a JSON Schema of the arguments, for example {"type": "object", "properties": {"NAME": {"type": "string"}}}.',
            )
        ],
    ),
    (
        "sqlpp no secrets",
        "sqlpp",
        sub(SQLPP, ("secrets:\n  - couchbase: {conn_string: CB, username: CU, password: CP}\n", "")),
        [
            (
                2,
                "secrets",
                "error",
                "secrets-missing",
                "Write `- couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}`.",
            )
        ],
    ),
    (
        "sqlpp no password",
        "sqlpp",
        sub(SQLPP, (", password: CP", "")),
        [(5, "secrets", "error", "secrets-missing", "Add the names by which they are looked up.")],
    ),
    (
        "sqlpp input not json",
        "sqlpp",
        sub(SQLPP, ('{"type": "object",', '{"type": "object"')),
        [(4, "input", "error", "input-syntax", "Correct it, or write the schema as a mapping.")],
    ),
    (
        "sqlpp input array",
        "sqlpp",
        sub(SQLPP, ("""'{"type": "object", "properties": {"a": {"type": "integer"}}}'""", "'[]'")),
        [
            (
                4,
                "input",
                "error",
                "type-wrong",
                'Write for example {"type": "object", "properties": {"NAME": {"type": "string"}}}.',
            )
        ],
    ),
    (
        "sqlpp bad type",
        "sqlpp",
        sub(SQLPP, ('"object"', '"objekt"')),
        [(4, "input.type", "error", "input-schema", "See json-schema.org.")],
    ),
    (
        "sqlpp undeclared $",
        "sqlpp",
        sub(SQLPP, ("$a = 1", "$b = 1")),
        [
            (4, "input.properties.a", "warning", "parameter-unused", "Remove it, or use it."),
            (8, "query", "error", "parameter-undeclared", "Add 'b' to the properties of the input."),
        ],
    ),
    (
        "sqlpp no query",
        "sqlpp",
        sub(SQLPP, ("SELECT 1 AS one WHERE $a = 1\n", "")),
        [(8, "query", "error", "query-missing", "Write it below the `*/`.")],
    ),
    (
        "sqlpp open comment",
        "sqlpp",
        sub(SQLPP, ("*/\n", "")),
        [(1, "", "error", "header-missing", "Close it by `*/`.")],
    ),
    (
        "sqlpp literal secret",
        "sqlpp",
        sub(SQLPP, ("password: CP", "password: hunter2-Secret!99")),
        [
            (
                6,
                "",
                "error",
                "secret-literal",
                "Take it out, name it under `secrets:`, and change it where it was issued: it was in a file.",
            ),
            (
                6,
                "secrets.0.couchbase.password",
                "error",
                "secret-literal",
                "Write a name such as MY_API_KEY here, set it in the environment, and change the secret: it was in a file.",
            ),
        ],
    ),
    (
        "sqlpp broken query",
        "sqlpp",
        sub(SQLPP, ("SELECT 1 AS one WHERE $a = 1", "SELEC 1 'x")),
        [(8, "query", "error", "query-syntax", "Close it by '")],
    ),
    ("sqlpp output null", "sqlpp", sub(SQLPP, ("secrets:", "output: null\nsecrets:")), []),
    (
        "semantic empty input",
        "yaml",
        sub(SEM, ("input:\n  type: object\n  properties: {q: {type: string}}\n", "input: ''\n")),
        [
            (
                4,
                "input",
                "error",
                "input-missing",
                'Add `input:` with a JSON Schema of the arguments, for example {"type": "object", "properties": {"NAME": {"type": "string"}}}.',
            )
        ],
    ),
    (
        "semantic no input",
        "yaml",
        sub(SEM, ("input:\n  type: object\n  properties: {q: {type: string}}\n", "")),
        [
            (
                1,
                "input",
                "error",
                "input-missing",
                'Add `input:` with a JSON Schema of the arguments, for example {"type": "object", "properties": {"NAME": {"type": "string"}}}.',
            )
        ],
    ),
    (
        "semantic no bucket",
        "yaml",
        sub(SEM, ("  bucket: b\n", "")),
        [(9, "vector_search.bucket", "error", "bucket-missing", "Add `bucket: ...` below vector_search.")],
    ),
    (
        "semantic candidates",
        "yaml",
        SEM + "  num_candidates: -4\n",
        [(17, "vector_search.num_candidates", "error", "value-range", "Write num_candidates: 3, for example.")],
    ),
    (
        "semantic candidates text",
        "yaml",
        SEM + "  num_candidates: many\n",
        [(17, "vector_search.num_candidates", "error", "value-range", "Write num_candidates: 3, for example.")],
    ),
    (
        "semantic no model",
        "yaml",
        sub(SEM, ("  embedding_model: m\n", "")),
        [
            (
                9,
                "vector_search.embedding_model",
                "error",
                "embedding-model-missing",
                "Add `embedding_model: ...`: the model that made the vectors.",
            )
        ],
    ),
    (
        "semantic no vector_search",
        "yaml",
        SEM[: SEM.index("vector_search")],
        [
            (
                1,
                "vector_search",
                "error",
                "vector-search-missing",
                "Add `vector_search:` with bucket, scope, collection, index, vector_field, text_field and embedding_model.",
            )
        ],
    ),
    (
        "semantic no secrets",
        "yaml",
        sub(SEM, ("secrets:\n  - couchbase: {conn_string: CB, username: CU, password: CP}\n", "")),
        [
            (
                1,
                "secrets",
                "error",
                "secrets-missing",
                "Write `- couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}`.",
            )
        ],
    ),
    (
        "http both",
        "yaml",
        sub(HTTP, ("filename: api.json", "filename: api.json\n  url: https://e.org/api.json")),
        [(4, "open_api.url", "error", "specification-ambiguous", "Keep one of the two.")],
    ),
    (
        "http neither",
        "yaml",
        sub(HTTP, ("  filename: api.json\n", "")),
        [(2, "open_api", "error", "specification-missing", "Add `filename:` or `url:` below `open_api:`.")],
    ),
    (
        "http no file",
        "yaml",
        sub(HTTP, ("api.json", "apy.json")),
        [(3, "open_api.filename", "error", "specification-missing", "Did you mean 'api.json'?")],
    ),
    (
        "http bad method",
        "yaml",
        sub(HTTP, ("method: get", "method: fetch")),
        [(6, "open_api.operations.0.method", "error", "method-invalid", "Did you mean 'patch'?")],
    ),
    (
        "http other method",
        "yaml",
        sub(HTTP, ("method: get", "method: delete")),
        [(6, "open_api.operations.0.method", "error", "operation-missing", "The path has: get.")],
    ),
    (
        "http other path",
        "yaml",
        sub(HTTP, ("/things", "/thing")),
        [(5, "open_api.operations.0.path", "error", "operation-missing", "Did you mean '/things'?")],
    ),
    (
        "http no operations",
        "yaml",
        HTTP[: HTTP.index("  operations")],
        [
            (
                2,
                "open_api.operations",
                "error",
                "operations-missing",
                "Add `operations:` with a list of `path:` and `method:`.",
            )
        ],
    ),
    (
        "http no open_api",
        "yaml",
        "record_kind: http_request\n",
        [
            (
                1,
                "open_api",
                "error",
                "open-api-missing",
                "Add `open_api:` with `filename:` or `url:`, and `operations:`.",
            )
        ],
    ),
    (
        "http no description",
        "yaml",
        sub(HTTP, ("/things", "/bare")),
        [
            (
                5,
                "open_api.operations.0.path",
                "error",
                "description-missing",
                "Add a description to the operation: agents choose by it.",
            )
        ],
    ),
    (
        "http summary, no id",
        "yaml",
        sub(HTTP, ("/things", "/bare"), ("method: get", "method: post")),
        [
            (
                5,
                "open_api.operations.0.path",
                "warning",
                "description-from-summary",
                "Add a description to the operation: what it does and when to use it.",
            ),
            (5, "open_api.operations.0.path", "warning", "operation-id-missing", "Write `operationId: post_bare`."),
        ],
    ),
    (
        "http bad id",
        "yaml",
        sub(HTTP, ("/things", "/bad-id")),
        [(5, "open_api.operations.0.path", "warning", "operation-id-invalid", "Write `operationId: bad_id`.")],
    ),
    (
        "http wrong kind",
        "yaml",
        sub(HTTP, ("http_request", "http_requests")),
        [(1, "record_kind", "error", "kind-unknown", "Did you mean 'http_request'?")],
    ),
    (
        "http annotation",
        "yaml",
        HTTP + "annotations: {a: 1}\n",
        [(7, "annotations.a", "error", "annotation-type", 'Put it in quotes: a: "1".')],
    ),
    (
        "http unknown key",
        "yaml",
        HTTP + "colour: red\n",
        [(7, "colour", "warning", "key-unknown", "Remove it, or leave it: it is kept and not used.")],
    ),
    (
        "http literal secret",
        "yaml",
        HTTP + "secrets: [{bearerAuth: sk-abcdefghijklmnopqrstuvwx0123456789}]\n",
        [
            (
                7,
                "",
                "error",
                "secret-literal",
                "Take it out, name it under `secrets:`, and change it where it was issued: it was in a file.",
            ),
            (
                7,
                "secrets.0.bearerAuth",
                "error",
                "secret-literal",
                "Write a name such as MY_API_KEY here, set it in the environment, and change the secret: it was in a file.",
            ),
        ],
    ),
    (
        "http url not allowed",
        "yaml",
        sub(HTTP, ("filename: api.json", "url: https://e.org/api.json")),
        [(3, "open_api.url", "error", "specification-unreachable", "Check the address, or use a file.")],
    ),
    (
        "sparql broken",
        "rq",
        sub(RQ, ("SELECT ?s WHERE {", "SELECT ?s WHERE {{")),
        [(6, "query", "error", "template-syntax", "Correct the query at this place.")],
    ),
    ("sparql no query", "rq", RQ[: RQ.index("SELECT")], [(6, "query", "error", "query-missing", "Write it below.")]),
    (
        "sparql bad type",
        "rq",
        sub(RQ, ("xsd:integer", "xsd:integr")),
        [
            (5, "parameters.n.type", "error", "datatype-unknown", "Did you mean 'integer'?"),
            (6, "query", "error", "template-position", ""),
        ],
    ),
    (
        "sparql unknown prefix",
        "rq",
        sub(RQ, ("{type: xsd:integer}", "{class: fo:Bar}")),
        [
            (5, "parameters.n.class", "error", "iri-unknown", "Write it as prefix:Name or as a whole IRI."),
            (6, "query", "error", "template-position", ""),
        ],
    ),
    (
        "sparql no header",
        "rq",
        "SELECT * { ?s ?p ?o }",
        [(1, "", "error", "header-missing", "Begin the file with `# name: ...` and `# description: ...`.")],
    ),
    (
        "raw no front matter",
        "prompt",
        "Hello.",
        [
            (
                1,
                "",
                "error",
                "header-missing",
                "Begin the file with a line `---`, then `name:` and `description:`, then a second line `---`.",
            )
        ],
    ),
    (
        "raw unclosed front matter",
        "prompt",
        PROMPT.replace("---\nHello.\n", "Hello.\n"),
        [(1, "", "error", "header-missing", "Put a line `---` between the header and the text.")],
    ),
    (
        "raw unquoted annotation value",
        "prompt",
        sub(PROMPT, ("  - name: t\n", "  - {query: find, annotations: 'a=b'}\n")),
        [
            (
                6,
                "tools.0.annotations",
                "error",
                "predicate-syntax",
                'Write KEY = "VALUE", joined by AND, OR, NOT and parentheses: domain = "travel" AND NOT stage = "draft".',
            )
        ],
    ),
    (
        "raw mixed case And",
        "prompt",
        sub(PROMPT, ("  - name: t\n", '  - query: find\n    annotations: \'a="b" And c="d"\'\n')),
        [
            (
                7,
                "tools.0.annotations",
                "error",
                "predicate-syntax",
                'Write KEY = "VALUE", joined by AND, OR, NOT and parentheses: domain = "travel" AND NOT stage = "draft".',
            )
        ],
    ),
    (
        "raw name and query",
        "prompt",
        sub(PROMPT, ("  - name: t\n", "  - {name: t, query: find}\n")),
        [(6, "tools.0", "error", "selector-wrong", "Give exactly one of them.")],
    ),
    (
        "raw neither",
        "prompt",
        sub(PROMPT, ("  - name: t\n", "  - {limit: 2}\n")),
        [(6, "tools.0", "error", "selector-wrong", "Give exactly one of them.")],
    ),
    (
        "raw limit",
        "prompt",
        sub(PROMPT, ("  - name: t\n", "  - {query: t, limit: -1}\n")),
        [(6, "tools.0.limit", "error", "type-wrong", "0 means all.")],
    ),
    (
        "raw empty body",
        "prompt",
        sub(PROMPT, ("Hello.\n", "")),
        [(9, "text", "error", "prompt-empty", "Write it below the second `---` line.")],
    ),
    (
        "jinja unclosed",
        "jinja",
        sub(JINJA, ("{{ who }}", "{{ who ")),
        [(9, "text", "error", "template-syntax", "Close every {{, {% and {# that is opened, and end every block.")],
    ),
    (
        "jinja unclosed block",
        "jinja",
        sub(JINJA, ("{{ who }}", "{% if who %}")),
        [(9, "text", "error", "template-syntax", "Close every {{, {% and {# that is opened, and end every block.")],
    ),
    (
        "jinja unknown filter",
        "jinja",
        sub(JINJA, ("{{ who }}", "{{ who | nosuch }}")),
        [(9, "text", "error", "template-syntax", "Write one that Jinja itself has.")],
    ),
    ("struct output null", "yaml", sub(STRUCT, ("output: {type: object}", "output: null")), []),
    (
        "struct output bad",
        "yaml",
        sub(STRUCT, ("{type: object}", "{type: objekt}")),
        [(6, "output.type", "error", "output-schema", "See json-schema.org.")],
    ),
    (
        "struct no content",
        "yaml",
        sub(STRUCT, ("content:\n  agent_instructions: Do it.\n", "")),
        [(1, "content", "error", "prompt-empty", "Add `content: |` and below it the text, or a mapping of texts.")],
    ),
    (
        "struct content number",
        "yaml",
        sub(STRUCT, ("Do it.", "12")),
        [(5, "content.agent_instructions", "error", "content-type", 'Put it in quotes: "12".')],
    ),
    (
        "struct content later number",
        "yaml",
        sub(STRUCT, ("Do it.", "Do it.\n  n: 3")),
        [(6, "content.n", "error", "content-type", 'Put it in quotes: "3".')],
    ),
    (
        "agent intents wrong",
        "yaml",
        sub(AGENT, ("type: raw", "type: rawe")),
        [
            (7, "intents.0.target", "error", "name-invalid", "Write 'hello'."),
            (7, "intents.0.type", "error", "value-unknown", "Did you mean 'raw'?"),
        ],
    ),
    ("agent threshold", "yaml", AGENT + "threshold: 2\n", [(8, "threshold", "error", "value-range", "Change it.")]),
    (
        "agent prompt wrong",
        "yaml",
        sub(AGENT, ("system_prompt: You help.", "system_prompt: {prompts: x}")),
        [
            (4, "system_prompt", "error", "system-prompt-wrong", "Write the text, or {prompt: NAME}."),
            (4, "system_prompt.prompts", "warning", "key-unknown", "Did you mean 'prompt'?"),
        ],
    ),
    (
        "intent type",
        "yaml",
        sub(INTENT, ("type: raw", "type: row")),
        [
            (5, "type", "error", "value-unknown", "Did you mean 'raw'?"),
            (6, "target", "error", "name-invalid", "Write 'you_are_welcome'."),
        ],
    ),
    (
        "intent no values",
        "yaml",
        sub(INTENT, ("values: [thank you]\n", "")),
        [(1, "values", "error", "intent-values-missing", "Add `values: [what a person would say]`.")],
    ),
    (
        "intent no target",
        "yaml",
        sub(INTENT, ("target: You are welcome.\n", "")),
        [
            (
                1,
                "target",
                "error",
                "intent-target-missing",
                "Add `target:`: the name of the tool or agent, or the reply of a raw intent.",
            )
        ],
    ),
    (
        "yaml no kind",
        "yaml",
        "name: x\ndescription: y\n",
        [
            (
                1,
                "record_kind",
                "warning",
                "kind-missing",
                "Add `record_kind: agent` or another kind, or name the file in .abiignore.",
            )
        ],
    ),
    ("yaml empty", "yaml", "", [(1, "", "error", "file-empty", "Write a record into it, or remove it.")]),
    (
        "yaml list",
        "yaml",
        "- a\n- b\n",
        [(1, "", "error", "header-missing", "Write it as lines like `name: my_name`.")],
    ),
    (
        "py no docstring",
        "py",
        sub(PY, ('    """Adds."""\n', "")),
        [(6, "description", "error", "description-missing", "Please give this tool a docstring.")],
    ),
    ("py bad name", "py", sub(PY, ('"adder"', '"tool 1"')), [(5, "name", "error", "name-invalid", "Write 'tool_1'.")]),
    (
        "py keyword name",
        "py",
        sub(PY, ('"adder"', '"class"')),
        [(5, "name", "error", "name-invalid", "Write 'class_'.")],
    ),
    (
        "py name not literal",
        "py",
        sub(PY, ('name="adder"', "name=NAME")),
        [(5, "name", "error", "decorator-literal", "Write the value itself there.")],
    ),
    (
        "py annotation not text",
        "py",
        sub(PY, ('{"a": "b"}', '{"a": True}')),
        [(5, "annotations.a", "error", "annotation-type", 'Write "a": "true".')],
    ),
    (
        "py syntax",
        "py",
        sub(PY, ("return a + b", "return a +")),
        [(8, "", "error", "python-syntax", "Correct this line, or the one before it.")],
    ),
    (
        "py two of a name",
        "py",
        PY + PY[PY.index("@tool") :],
        [(10, "name", "error", "name-duplicate", "Rename one of the two.")],
    ),
    (
        "py unknown keyword",
        "py",
        sub(PY, ('name="adder",', 'nam="adder",')),
        [(5, "nam", "warning", "key-unknown", "Did you mean 'name'?")],
    ),
    (
        "py positional",
        "py",
        sub(PY, ('name="adder",', '"adder",')),
        [(5, "", "error", "decorator-argument", 'Write @tool(name="...", description="...").')],
    ),
    (
        "py long description",
        "py",
        sub(PY, ("Adds.", LONG)),
        [(6, "description", "warning", "description-long", "Make it shorter.")],
    ),
    (
        "py literal secret",
        "py",
        PY + 'KEY = "sk-abcdefghijklmnopqrstuvwx0123456789"\n',
        [
            (
                9,
                "",
                "error",
                "secret-literal",
                "Take it out, name it under `secrets:`, and change it where it was issued: it was in a file.",
            )
        ],
    ),
    ("py empty description", "py", sub(PY, ('name="adder"', 'description=""')), []),
]


@pytest.mark.parametrize(("ext", "text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_is_wrong_with_a_kind_of_its_own(
    tmp_path: Path, ext: str, text: str, expected: list[tuple[int, str, str, str, str]]
) -> None:
    assert told(findings(tmp_path, ext, text)) == expected


# What only several files together show


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "abi.yaml").write_text("base_iri: https://example.org/w/\n")
    for folder in ("tools/a", "tools/b", "prompts", "agents"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_files_of_one_name_in_two_folders_are_two_records(root: Path) -> None:
    for folder in ("a", "b"):
        (root / "tools" / folder / "same.py").write_text(PY.replace("adder", f"adder_{folder}"))
    with Workspace.open(root) as workspace:
        report = workspace.check()
        assert report.findings == [] and {r.name for r in report.records} == {"adder_a", "adder_b"}


def test_records_of_one_name_in_two_folders_are_told_with_both_places(root: Path) -> None:
    (root / "tools" / "a" / "x.py").write_text(PY)
    (root / "tools" / "b" / "x.sqlpp").write_text(SQLPP.replace("find_high_rates", "adder"))
    (root / "prompts" / "x.prompt").write_text(sub(PROMPT, ("name: greet", "name: adder"), ("name: t", "name: adder")))
    with Workspace.open(root) as workspace:
        found = workspace.check().findings
    assert {f.code for f in found} == {"name-duplicate"}
    assert [(f.path, f.line) for f in found] == [("prompts/x.prompt", 3), ("tools/a/x.py", 6), ("tools/b/x.sqlpp", 2)]
    assert all("adder" in f.message and f.fix.startswith("Rename one of them") for f in found)


def test_references_that_lead_nowhere_are_told_with_a_near_name(root: Path) -> None:
    (root / "tools" / "a" / "x.py").write_text(PY)
    (root / "prompts" / "x.prompt").write_text(sub(PROMPT, ("name: t", "name: addr")))
    (root / "agents" / "x.yaml").write_text(sub(AGENT, ("tools: [t]", "tools: [add_er]")))
    with Workspace.open(root) as workspace:
        found = {(f.path, f.field, f.severity, f.fix) for f in workspace.check().findings}
    assert ("prompts/x.prompt", "tools", "warning", "Did you mean adder?") in found
    assert ("agents/x.yaml", "tools", "error", "Did you mean adder?") in found


def test_unknown_keys_are_kept_as_triples(root: Path) -> None:
    (root / "tools" / "a" / "x.sqlpp").write_text(
        sub(SQLPP, ("description:", "metadata_fields: [one, 2]\ndescription:"))
    )
    with Workspace.open(root) as workspace:
        report = workspace.index()
        assert report.written and [f.code for f in report.findings] == ["key-unknown"]
        assert workspace.record("find_high_rates").extras == {"metadata_fields": ["one", 2]}
        rows = workspace.query("SELECT ?o { <https://example.org/w/tool/find_high_rates> ?p ?o }")
        assert any("metadata_fields" in str(row["o"]) for row in rows)
