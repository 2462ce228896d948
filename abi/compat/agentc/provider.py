"""`Provider` of Agent Catalog 0.1.5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from abi.compat.agentc.catalog import LATEST_SNAPSHOT_VERSION, Catalog, Prompt, RecordDescriptor, SearchResult, Tool

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["PromptResult", "Provider", "ToolResult"]

ToolResult = Tool
"""What a decorator gets."""


@dataclass(frozen=True, slots=True)
class PromptResult:
    """`prompt` is a text, or the jinja2.Template of a Jinja prompt."""

    prompt: Any
    tools: list[Any]
    meta: RecordDescriptor


class Provider:
    """Tools and prompts of a workspace, found as `Catalog` does.

    `decorator` makes of each ToolResult what is returned (default: its function). `jinja2_environment` compiles Jinja
    prompts; the default is a sandbox.
    """

    def __init__(
        self,
        decorator: Callable[[ToolResult], Any] | None = None,
        refiner: Callable[[list[SearchResult]], Sequence[SearchResult]] | None = None,
        secrets: Mapping[str, Any] | None = None,
        snapshot: str = LATEST_SNAPSHOT_VERSION,
        jinja2_environment: Any = None,
        project_path: str | Path | None = None,
        workspace: Workspace | None = None,
        **configuration: Any,
    ) -> None:
        self._snapshot = snapshot
        self._environment = jinja2_environment
        self.catalog = Catalog(
            tool_decorator=decorator or (lambda result: result.func),
            refiner=refiner,
            secrets=secrets,
            project_path=project_path,
            workspace=workspace,
            **configuration,
        )

    def get_item(
        self,
        item_type: Literal["tool", "prompt"],
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        snapshot: str | None = None,
        limit: int | None = 1,
    ) -> Any:
        """By `query` a list, by `name` one item or None. Raises as `Catalog.find`."""
        found = self.catalog.find(item_type, query, name, annotations, snapshot or self._snapshot, limit)
        if item_type == "tool" or found is None:
            return found
        return self._prompt(found) if name is not None else [self._prompt(one) for one in found]

    def get_tools_for(
        self,
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        snapshot: str | None = None,
        limit: int | None = 1,
    ) -> list[Any]:
        """The tools, in a list also where they are asked for by name."""
        found = self.get_item("tool", query, name, annotations, snapshot, limit)
        if name is None:
            tools: list[Any] = found
            return tools
        return [] if found is None else [found]

    def get_prompt_for(
        self,
        query: str | None = None,
        name: str | None = None,
        annotations: str | None = None,
        snapshot: str | None = None,
    ) -> PromptResult | None:
        """The best prompt, with its tools; None where none fits."""
        found = self.get_item("prompt", query, name, annotations, snapshot, 1)
        best: PromptResult | None = next(iter(found), None) if isinstance(found, list) else found
        return best

    @property
    def version(self) -> Any:
        return self.catalog.version

    def close(self) -> None:
        self.catalog.close()

    def _prompt(self, found: Prompt) -> PromptResult:
        prompt = found.content
        if found.meta.record_kind == "jinja_prompt":
            prompt = self._jinja().from_string(found.content)
        return PromptResult(prompt, found.tools, found.meta)

    def _jinja(self) -> Any:
        if self._environment is None:
            from jinja2.sandbox import SandboxedEnvironment

            self._environment = SandboxedEnvironment()
        return self._environment
