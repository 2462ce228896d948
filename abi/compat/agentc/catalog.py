"""`Catalog` of Agent Catalog 1.x: tools and prompts by name or by what they are for."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from abi.compat.agentc.functions import function_of
from abi.errors import NotFound, UsageError
from abi.exchange.tool_schemas import argument_schema
from abi.records.working_tree import working_tree
from abi.search.selectors import selected_tools, selector_text
from abi.workspace import Workspace

if TYPE_CHECKING:
    from abi.records.record import Record
    from abi.search.find import Hit

__all__ = [
    "LATEST_SNAPSHOT_VERSION",
    "Catalog",
    "Prompt",
    "RecordDescriptor",
    "SearchResult",
    "Tool",
    "VersionDescriptor",
]

LATEST_SNAPSHOT_VERSION = "__LATEST__"
"""The catalog as it was indexed last."""

_log = logging.getLogger("abi.compat.agentc")
_NOT_NEEDED = frozenset(
    """
    codegen_output tool_model provider_output conn_string username password bucket conn_root_certificate
    embedding_model_name embedding_model_url embedding_model_auth sentence_transformers_model_cache verbosity_level
    debug with_interaction log_ttl activity_path
    """.split()
)
"""What the original is configured by and a workspace does without."""


@dataclass(frozen=True, slots=True)
class VersionDescriptor:
    """Of which state something is. `timestamp` has a zone."""

    timestamp: datetime
    identifier: str | None = None
    is_dirty: bool = False
    version_system: Literal["git", "raw"] = "git"


@dataclass(frozen=True)
class RecordDescriptor:
    """What is known of a record; `record` is all of it, and its fields can be asked of the descriptor itself."""

    record: Record
    version: VersionDescriptor

    @property
    def record_kind(self) -> str:
        return str(getattr(self.record, "kind", ""))

    @property
    def source(self) -> str:
        return self.record.source.path if self.record.source else ""

    @property
    def identifier(self) -> str:
        git = "git_" if self.version.version_system == "git" else ""
        dirty = "_dirty" if self.version.is_dirty else ""
        return f"{self.source}:{self.record.name}:{git}{self.version.identifier or ''}{dirty}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "record":
            raise AttributeError(name)
        return getattr(self.record, name)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a refiner sees: `entry`, and `delta`, its similarity from 0 to 1; higher is better."""

    entry: RecordDescriptor
    delta: float


@dataclass(frozen=True, slots=True)
class Tool:
    """`func` calls the tool and gives what it gave; `input` is the JSON Schema of its arguments."""

    func: Callable[..., Any]
    meta: RecordDescriptor
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """`content` is a text or, where the prompt has one, a tree of texts; `tools` are those that it chooses now."""

    content: Any
    tools: list[Any]
    output: dict[str, Any] | None
    meta: RecordDescriptor


class Catalog:
    """The tools and prompts of a workspace.

    `tool_decorator` gets each `Tool` and makes of it what is returned instead; `refiner` gets the results of a search
    and gives those to keep; `secrets` are values by name, looked up before anything else. The workspace is the one at
    `project_path` (default: `AGENT_CATALOG_PROJECT_PATH`, else the folder of `catalog_path`, else the working
    directory) or the nearest one above it; or `workspace` itself.
    """

    def __init__(
        self,
        *,
        tool_decorator: Callable[[Tool], Any] | None = None,
        refiner: Callable[[list[SearchResult]], Sequence[SearchResult]] | None = None,
        secrets: Mapping[str, Any] | None = None,
        project_path: str | Path | None = None,
        catalog_path: str | Path | None = None,
        workspace: Workspace | None = None,
        **configuration: Any,
    ) -> None:
        unknown = configuration.keys() - _NOT_NEEDED
        if unknown:
            raise TypeError(f"Catalog() got an unexpected keyword argument {min(unknown)!r}")
        if workspace is None:
            given = project_path or os.environ.get("AGENT_CATALOG_PROJECT_PATH")
            start = given or (Path(catalog_path).absolute().parent if catalog_path else ".")
            workspace = Workspace.open(start, read_only=True)
        self.workspace = workspace
        self._decorator = tool_decorator
        self._refiner = refiner
        self._secrets = {name: _revealed(value) for name, value in (secrets or {}).items()}
        self._at: dict[str, Workspace] = {}
        workspace.given_secrets.update(self._secrets)

    def find(
        self,
        kind: Literal["tool", "prompt"],
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        catalog_id: str = LATEST_SNAPSHOT_VERSION,
        limit: int | None = 1,
    ) -> Any:
        """By `query` a list, best first, of at most `limit` (None or 0: all); by `name` one, or None.

        `annotations` is a predicate, `key="value" (AND|OR key="value")*` and more; `catalog_id` the latest state, or a
        published version by its digits or its commit's. Raises ValueError for a predicate that does not parse, and
        where not exactly one of query and name is given.
        """
        if kind == "tool":
            return self.find_tools(query, name, annotations, catalog_id, limit)
        if kind == "prompt":
            return self.find_prompts(query, name, annotations, catalog_id, limit)
        raise ValueError(f"Unknown item type: {kind}, expected 'tool' or 'prompt'.")

    def find_tools(
        self,
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        catalog_id: str = LATEST_SNAPSHOT_VERSION,
        limit: int | None = 1,
    ) -> Any:
        """Tools, as `tool_decorator` makes them; see `find`."""
        workspace = self._workspace_at(catalog_id)
        found = [
            self._tool(workspace, r.entry) for r in self._results("tools", workspace, query, name, annotations, limit)
        ]
        return found if name is None else next(iter(found), None)

    def find_prompts(
        self,
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        catalog_id: str = LATEST_SNAPSHOT_VERSION,
        limit: int | None = 1,
    ) -> Any:
        """Prompts with their tools; see `find`."""
        workspace = self._workspace_at(catalog_id)
        results = self._results("prompts", workspace, query, name, annotations, limit)
        found = [self._prompt(workspace, r.entry) for r in results]
        return found if name is None else next(iter(found), None)

    @property
    def version(self) -> VersionDescriptor:
        """The commit that the workspace is at; without git the graph's counter."""
        return self._version(self.workspace)

    def close(self) -> None:
        """Let go of the workspace's processes and files."""
        for workspace in (*self._at.values(), self.workspace):
            workspace.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Inside

    def _workspace_at(self, catalog_id: str) -> Workspace:
        if catalog_id == LATEST_SNAPSHOT_VERSION:
            return self.workspace
        if catalog_id not in self._at:
            shown = Workspace.open(self.workspace.root, version=catalog_id)
            shown.given_secrets.update(self._secrets)
            self._at[catalog_id] = shown
        return self._at[catalog_id]

    def _results(
        self,
        kind: str,
        workspace: Workspace,
        query: str | None,
        name: str | None,
        annotations: str | None,
        limit: int | None,
    ) -> list[SearchResult]:
        if (query is None) == (name is None):
            raise ValueError("Exactly one of query and name has to be given.")
        wanted = limit or 0
        if wanted < 0:
            raise ValueError("limit is 0 or more.")
        hits = _hits(workspace, kind, query, name, annotations, 0 if self._refiner else wanted)
        results = [SearchResult(self._descriptor(workspace, hit.iri), hit.score) for hit in hits]
        if name is None and self._refiner is not None:
            results = list(self._refiner(results))[: wanted or None]
        return results

    def _descriptor(self, workspace: Workspace, iri: str) -> RecordDescriptor:
        record = workspace.record(iri)
        whole = self._version(workspace)
        source = record.source
        if source is not None and source.commit:
            return RecordDescriptor(record, VersionDescriptor(whole.timestamp, source.commit))
        return RecordDescriptor(
            record, VersionDescriptor(whole.timestamp, source.content_hash if source else None, False, "raw")
        )

    def _version(self, workspace: Workspace) -> VersionDescriptor:
        shown = workspace.catalog_version
        if shown is not None:
            time = datetime.fromisoformat(shown.time)
            if shown.commit is None:
                return VersionDescriptor(time, shown.version, False, "raw")
            return VersionDescriptor(time, shown.commit, bool(shown.dirty))
        tree = working_tree(workspace.root)
        if tree is None:
            return VersionDescriptor(datetime.now(UTC), f"graph-{workspace.version()}", False, "raw")
        return VersionDescriptor(datetime.now(UTC), tree.commit, bool(tree.changed))

    def _tool(self, workspace: Workspace, entry: RecordDescriptor) -> Any:
        record = entry.record

        def run(arguments: dict[str, Any]) -> Any:
            return workspace.run_report(f"tool/{record.name}", arguments).result

        made = Tool(func=function_of(record, run), meta=entry, input=argument_schema(record))
        return made if self._decorator is None else self._decorator(made)

    def _tools_of(self, workspace: Workspace, entry: RecordDescriptor) -> list[Any]:
        selectors = getattr(entry.record, "tools", [])
        selected = selected_tools(selectors, lambda *a, **k: workspace.find(*a, **k).hits)
        for selector in selected.unmatched:
            _log.warning("The prompt %s selects %s, and finds none.", entry.record.name, selector_text(selector))
        iris = [hit.iri for name in selected.names for hit in _hits(workspace, "tools", None, name, None, 1)]
        return [self._tool(workspace, self._descriptor(workspace, iri)) for iri in iris]

    def _prompt(self, workspace: Workspace, entry: RecordDescriptor) -> Prompt:
        record = entry.record
        content = getattr(record, "content", None)
        return Prompt(
            content=getattr(record, "text", "") if content is None else content,
            tools=self._tools_of(workspace, entry),
            output=getattr(record, "output_schema", None),
            meta=entry,
        )


def _hits(
    workspace: Workspace, kind: str, query: str | None, name: str | None, annotations: str | None, limit: int
) -> list[Hit]:
    try:
        return workspace.find(kind, query, name=name, annotations=annotations, limit=limit).hits
    except NotFound:
        return []
    except UsageError as error:
        raise ValueError(f"{error.message} {error.hint}".strip()) from error


def _revealed(value: Any) -> str:
    """A secret's text, also from pydantic's SecretStr."""
    reveal = getattr(value, "get_secret_value", None)
    return str(reveal() if reveal is not None else value)
