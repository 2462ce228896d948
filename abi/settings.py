"""Every setting of abi: its type, default, help, and where its value came from.

Order of precedence: environment (`ABI_<NAME>`), the workspace's `abi.yaml`, the default. `abi settings` prints all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from abi.models import ModelEntry

__all__ = ["PREFIXES", "Settings"]

PREFIXES: dict[str, str] = {
    "abi": "https://w3id.org/abi/",
    "obo": "http://purl.obolibrary.org/obo/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "dcterms": "http://purl.org/dc/terms/",
}
"""Predeclared in every query, template and record of every workspace; a workspace adds its own."""


class Settings(BaseModel):
    """One workspace's settings. Sizes are bytes, times are seconds."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    base_iri: str = Field(description="IRI under which everything of this workspace lives; ends with / or #.")
    prefixes: dict[str, str] = Field(default={}, description="Prefixes predeclared in every query of this workspace.")
    sources: list[str] = Field(
        default=["ontology", "graph", "tools", "prompts", "agents"],
        description="Folders and files that `abi index` reads, relative to the workspace.",
    )
    store: str = Field(default="disk", description="Where the graph is kept: memory or disk.")
    embedder: str = Field(
        default="minilm",
        description="minilm, sentence-transformers:NAME, or an embedding model behind an address: openai:NAME, "
        "openrouter:NAME, ollama:NAME.",
    )
    embedding_models: dict[str, str] = Field(
        default={}, description="What stands in for an embedding model that a record names."
    )
    embed_entities: list[str] = Field(
        default=[], description="Classes whose individuals are embedded too; all others are found by full text."
    )
    model: str = Field(default="offline:grounded", description="The chat model, as provider:model.")
    models: dict[str, ModelEntry] = Field(
        default={}, description="Models that need more than a name: address, key, limits, fallbacks."
    )
    model_fallback: list[str] = Field(
        default=[], description="Models that are tried, in order, where one fails that names no fallback of its own."
    )
    model_seconds: float = Field(default=60.0, gt=0, description="Time limit of one call of a chat model.")
    model_retries: int = Field(default=2, ge=0, description="Tries after a call of a model that failed.")
    secrets: dict[str, str] = Field(
        default={},
        description="Name to place: env:VAR, keyring:NAME or file:PATH; others: the environment, then the keyring.",
    )
    net_allow: list[str] = Field(
        default=[],
        description="Hosts that tools may send requests to: api.example.org, http://127.0.0.1:9000, https://*.example.org.",
    )
    net_seconds: float = Field(default=30.0, gt=0, description="Time limit of one request that a tool sends.")
    net_bytes: int = Field(default=10 * 1024 * 1024, gt=0, description="Largest answer to a request of a tool.")
    traces: Literal["on", "off"] = Field(default="on", description="Whether turns are kept as triples.")
    trace_days: int = Field(default=90, ge=1, description="Days that the trace of a turn is kept.")
    calibration: Literal["calibrated", "raw"] = Field(
        default="calibrated", description="Similarity on the embedder's calibrated scale, or its plain cosine."
    )
    max_record_bytes: int = Field(default=256 * 1024, gt=0, description="Largest record file.")
    max_rdf_bytes: int = Field(default=20 * 1024 * 1024, gt=0, description="Largest RDF file.")
    max_query_bytes: int = Field(default=64 * 1024, gt=0, description="Longest query text.")
    max_query_depth: int = Field(default=100, gt=0, description="Deepest nesting of brackets in a query.")
    max_query_operators: int = Field(default=5000, gt=0, description="Most operators in a query.")
    query_seconds: float = Field(default=10.0, gt=0, description="Time limit of one query from outside.")
    query_rows: int = Field(default=10_000, gt=0, description="Row limit of one query from outside.")
    query_result_bytes: int = Field(default=20 * 1024 * 1024, gt=0, description="Size limit of a query's result.")
    query_seconds_cap: float = Field(
        default=60.0, gt=0, description="Longest time limit that a client may ask for, and that of an update."
    )
    query_workers: int = Field(
        default=0, ge=0, description="Processes that answer short queries; 0: four for each core."
    )
    query_queue: int = Field(default=64, ge=0, description="Queries that may wait for a process; more are refused.")
    query_staleness: float = Field(
        default=0.5, ge=0, description="Longest time for which a query may not see what another client has written."
    )
    server_hosts: list[str] = Field(
        default=[], description="Host names by which `abi serve` may be called, besides those of this machine."
    )
    server_origins: list[str] = Field(
        default=[], description="Origins whose web pages may call `abi serve` (CORS), or *."
    )
    server_requests: int = Field(default=256, gt=0, description="Requests that `abi serve` works on at one time.")
    server_rate: int = Field(
        default=60_000, ge=0, description="Requests that one key or address may send in a minute; 0: no limit."
    )
    max_body_bytes: int = Field(default=256 * 1024, gt=0, description="Largest body of a request that holds no RDF.")
    tool_rows: int = Field(default=200, gt=0, description="Rows that an agent's tool gives back at most.")
    render_seconds: float = Field(default=5.0, gt=0, description="Time limit of rendering one prompt.")
    render_bytes: int = Field(default=1024 * 1024, gt=0, description="Longest text that a prompt may render to.")
    agent_steps: int = Field(default=12, gt=0, description="Model and tool calls of one turn at most.")
    agent_seconds: float = Field(default=300.0, gt=0, description="Time limit of one turn.")
    agent_tokens: int = Field(default=200_000, gt=0, description="Tokens that the models of one turn use at most.")
    agent_queries: bool = Field(
        default=True, description="Whether chat models may write SPARQL queries of their own (query_graph)."
    )
    tool_seconds: float = Field(default=60.0, gt=0, description="Time limit of one tool call of an agent.")
    python_seconds: float = Field(
        default=60.0, gt=0, description="Time limit of one call of a Python tool, after which its process is ended."
    )
    python_bytes: int = Field(
        default=10 * 1024 * 1024, gt=0, le=2**30, description="Largest result of a Python tool, written as JSON."
    )
    durability: Literal["exit", "async", "sync"] = Field(
        default="exit",
        description="When conversations are saved: at a turn's end, or with each of its steps, beside or before it.",
    )
    flush_seconds: float = Field(
        default=5.0, ge=0, description="Longest time for which an acknowledged write may be unflushed; 0 flushes each."
    )

    @field_validator("base_iri")
    @classmethod
    def _ends_well(cls, value: str) -> str:
        if not value.startswith(("http://", "https://", "urn:")) or not value.endswith(("/", "#", ":")):
            raise ValueError("base_iri must be an absolute IRI that ends with / or #, like https://example.org/mine/")
        return value

    @field_validator("net_allow")
    @classmethod
    def _hosts(cls, value: list[str]) -> list[str]:
        if value:
            from abi.allow_list import AllowList

            AllowList(value)
        return value

    def all_prefixes(self) -> dict[str, str]:
        """Predeclared prefixes: abi's own, then the workspace's; the empty prefix is the workspace's base."""
        return {**PREFIXES, "": self.base_iri, **self.prefixes}

    @classmethod
    def load(cls, workspace: Path) -> tuple[Settings, dict[str, str]]:
        """Read `abi.yaml` and the environment. Gives the settings and, for each, where its value came from.

        Raises Unreadable where `abi.yaml` is no YAML, Invalid with all faults where a value is wrong.
        """
        from abi.settings_file import read_settings  # the YAML reader is needed here only

        return read_settings(cls, workspace)

    @classmethod
    def default_of(cls, name: str) -> Any:
        return cls.model_fields[name].get_default(call_default_factory=True)
