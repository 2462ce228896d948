"""The typed form of everything that a catalog file can hold.

A record is what a reader makes of a file and what `abi.graph.mapping` makes of triples; both give the same object.
References to other records (`tools`, `agents`, a prompt, an intent's target) are names, or IRIs where a record
has an IRI that was not minted from its name.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = [
    "KINDS",
    "AgentHook",
    "AgentSpecification",
    "AnyRecord",
    "CallableForm",
    "CouchbaseSecrets",
    "EmbeddingSecrets",
    "HttpRequest",
    "Intent",
    "IntentScope",
    "IntentType",
    "JinjaPrompt",
    "JinjaQuery",
    "Kind",
    "Parameter",
    "PythonFunction",
    "RawPrompt",
    "Record",
    "SemanticSearch",
    "Source",
    "SparqlQuery",
    "SqlppQuery",
    "StructuredPrompt",
    "SystemPrompt",
    "ToolSelector",
    "VectorSearch",
]

Kind = Literal[
    "python_function",
    "sqlpp_query",
    "sparql_query",
    "jinja_query",
    "semantic_search",
    "http_request",
    "raw_prompt",
    "jinja_prompt",
    "prompt",
    "agent",
    "intent",
]
Family = Literal["tool", "prompt", "agent", "intent"]
IntentType = Literal["agent", "tool", "raw"]
CallableForm = Literal["workflow", "pipeline", "integration"]
AgentHook = Literal["on_ai_message", "on_human_message", "retains_active_turn"]
IntentScope = Literal["all", "direct"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Strict):
    """Where a record was read from. `path` is relative to the workspace, with forward slashes."""

    path: str
    line: int = 1
    content_hash: str = ""
    """sha256 of the file's bytes, in hex."""
    commit: str | None = None
    """The last git commit that touched the file; never part of change detection."""


class Parameter(_Strict):
    """One argument of a tool or of a prompt template.

    Exactly one of `datatype` (an XSD IRI; rdf:JSON for a structured value) and `value_class` (an OWL class: the
    argument is an individual of it, given as IRI, label, alternative label or code) is set.
    """

    name: str
    description: str = ""
    datatype: str | None = None
    value_class: str | None = None
    required: bool = True
    default: JsonValue = None
    enum: list[JsonValue] = []
    minimum: int | float | None = None
    maximum: int | float | None = None
    pattern: str | None = None
    examples: list[JsonValue] = []
    filled_from: Literal["principal"] | None = None
    position: int = 0


class ToolSelector(_Strict):
    """How a prompt names tools: by `name` or by `query`, and by annotations. `limit` 0 means all."""

    name: str | None = None
    query: str | None = None
    annotations: str | None = None
    limit: int = 1


class Record(_Strict):
    """What all records share. `kind` is the `record_kind` of the file; `family` decides the IRI and the name space."""

    family: ClassVar[Family]
    arguments_by_schema: ClassVar[bool] = False
    """Whether `input_schema`, and not `parameters`, says what the arguments must be like."""

    name: str
    description: str
    annotations: dict[str, str] = {}
    secrets: list[str] = []
    """Names to look secrets up by; never values."""
    extras: dict[str, JsonValue] = {}
    """Keys of the file that abi does not know: kept, and warned about."""
    source: Source | None = None


class PythonFunction(Record):
    """A function marked with `@tool`. Read with `ast`; its file runs only when the tool is called."""

    family: ClassVar[Family] = "tool"
    kind: Literal["python_function"] = "python_function"
    function: str
    """The function's name in its module, which may differ from the tool's name; of a method `Class.method`."""
    form: CallableForm | None = None
    """What a class is whose method the function is."""
    is_async: bool = False
    parameters: list[Parameter] = []
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    answer: str | None = None


class SparqlQuery(Record):
    """A SPARQL template: `query` in which each parameter stands as the variable of its name."""

    family: ClassVar[Family] = "tool"
    kind: Literal["sparql_query"] = "sparql_query"
    query: str
    parameters: list[Parameter] = []
    answer: str | None = None
    """A sentence over `rows`, `row_count` and the arguments, in the answer templates' small language."""


class JinjaQuery(Record):
    """A SPARQL query as a Jinja template, as ABI has them: every value that it puts into the query is checked against
    the place where it lands, and escaped for it."""

    family: ClassVar[Family] = "tool"
    kind: Literal["jinja_query"] = "jinja_query"
    query: str
    parameters: list[Parameter] = []
    answer: str | None = None


class CouchbaseSecrets(_Strict):
    """The names by which a tool looks up where its database is and who it is there; never values."""

    conn_string: str | None = None
    username: str | None = None
    password: str | None = None
    certificate: str | None = None
    """A file, or the certificate itself in PEM."""


class SqlppQuery(Record):
    """A SQL++ query with named `$parameters`, for Couchbase or for the embedded engine (`duckdb:PATH`)."""

    family: ClassVar[Family] = "tool"
    kind: Literal["sqlpp_query"] = "sqlpp_query"
    arguments_by_schema: ClassVar[bool] = True
    query: str
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    parameters: list[Parameter] = []
    couchbase: CouchbaseSecrets = CouchbaseSecrets()
    answer: str | None = None


class EmbeddingSecrets(_Strict):
    """The names by which a tool looks up its key, or its user name and password, for an embedding service."""

    auth: str | None = None
    username: str | None = None
    password: str | None = None


class VectorSearch(_Strict):
    """Where a semantic search looks: in a collection with a text and a vector field, or in a class of the graph.

    `embedding_model` made the vectors; `embedding_url` is the service that runs it, None for this machine.
    """

    bucket: str | None = None
    scope: str | None = None
    collection: str | None = None
    index: str | None = None
    vector_field: str | None = None
    text_field: str | None = None
    value_class: str | None = None
    """IRI of the class among whose individuals it looks."""
    text_property: str | None = None
    """IRI of the property whose texts are compared."""
    embedding_model: str
    embedding_url: str | None = None
    num_candidates: int = Field(default=3, ge=1)


class SemanticSearch(Record):
    """The texts that are nearest in meaning to the arguments."""

    family: ClassVar[Family] = "tool"
    kind: Literal["semantic_search"] = "semantic_search"
    arguments_by_schema: ClassVar[bool] = True
    vector_search: VectorSearch
    input_schema: dict[str, Any] = {}
    parameters: list[Parameter] = []
    couchbase: CouchbaseSecrets = CouchbaseSecrets()
    embedding: EmbeddingSecrets = EmbeddingSecrets()
    answer: str | None = None


class HttpRequest(Record):
    """One operation of an HTTP service that an OpenAPI document describes."""

    family: ClassVar[Family] = "tool"
    kind: Literal["http_request"] = "http_request"
    arguments_by_schema: ClassVar[bool] = True
    method: str
    """In capitals."""
    path: str
    """The path's template, as the document has it."""
    specification: dict[str, Any]
    """The document as it was, cut down to this operation and what it refers to."""
    specification_source: str = ""
    """Where the document was read: a file, relative to the workspace, or a URL."""
    specification_hash: str = ""
    """sha256 of the whole document, in hex."""
    credentials: dict[str, str | dict[str, str]] = {}
    """Name of a security scheme to the name of its secret, or to those of `username` and `password`."""
    parameters: list[Parameter] = []
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None


class RawPrompt(Record):
    """Instructions without variables."""

    family: ClassVar[Family] = "prompt"
    kind: Literal["raw_prompt"] = "raw_prompt"
    text: str
    tools: list[ToolSelector] = []


class JinjaPrompt(Record):
    """A Jinja template; its free variables are its parameters."""

    family: ClassVar[Family] = "prompt"
    kind: Literal["jinja_prompt"] = "jinja_prompt"
    text: str
    parameters: list[Parameter] = []
    tools: list[ToolSelector] = []


class StructuredPrompt(Record):
    """Agent Catalog 1.x's prompt: `content` is given as it is, with the schema of the output that it asks for.

    `text` is the content itself, or a tree of texts written out for a model; `content` is that tree, else None.
    """

    family: ClassVar[Family] = "prompt"
    kind: Literal["prompt"] = "prompt"
    text: str
    content: list[JsonValue] | dict[str, JsonValue] | None = None
    output_schema: dict[str, Any] | None = None
    tools: list[ToolSelector] = []


class SystemPrompt(_Strict):
    """Either the `text` itself or the name of a `prompt` record."""

    text: str | None = None
    prompt: str | None = None


class Intent(Record):
    """Phrases that lead somewhere: to an agent, to a tool, or (`raw`) straight to a reply.

    `target` is the name of the agent or tool, or the reply's text for `raw`. `agent` is the name of the agent
    that has the intent; None for a free-standing one. Agent and tool intents are always `direct`.
    """

    family: ClassVar[Family] = "intent"
    kind: Literal["intent"] = "intent"
    values: list[str]
    type: IntentType
    target: str
    scope: IntentScope = "direct"
    agent: str | None = None


class AgentSpecification(Record):
    """What an agent is made of. `intents` are the agent's own; free-standing ones are named in `uses_intents`."""

    family: ClassVar[Family] = "agent"
    kind: Literal["agent"] = "agent"
    system_prompt: SystemPrompt = SystemPrompt()
    tools: list[str] = []
    agents: list[str] = []
    intents: list[Intent] = []
    uses_intents: list[str] = []
    model: str | None = None
    """`provider:model`; None for the workspace's default."""
    threshold: float = Field(default=0.85, ge=0, le=1)
    threshold_neighbor: float = Field(default=0.05, ge=0, le=1)
    direct_intent_score: float = Field(default=0.90, ge=0, le=1)
    sequential_supervisor: bool = False
    delegates_to_abi: bool = False
    may_write: bool = False
    releases_turn_on: str | None = None
    """A pattern of messages on which this agent, while it holds the conversation, lets go of it."""
    class_name: str | None = None
    """The Python class of its file that the agent was read from."""
    hooks: list[AgentHook] = []
    """Methods of that class that are called as a turn goes on."""


AnyRecord = Annotated[
    PythonFunction
    | SqlppQuery
    | SparqlQuery
    | JinjaQuery
    | SemanticSearch
    | HttpRequest
    | RawPrompt
    | JinjaPrompt
    | StructuredPrompt
    | AgentSpecification
    | Intent,
    Field(discriminator="kind"),
]

KINDS: dict[str, type[Record]] = {
    "python_function": PythonFunction,
    "sqlpp_query": SqlppQuery,
    "sparql_query": SparqlQuery,
    "jinja_query": JinjaQuery,
    "semantic_search": SemanticSearch,
    "http_request": HttpRequest,
    "raw_prompt": RawPrompt,
    "jinja_prompt": JinjaPrompt,
    "prompt": StructuredPrompt,
    "agent": AgentSpecification,
    "intent": Intent,
}
assert set(KINDS) == set(get_args(Kind))
