"""A pipeline as a tool of an agent: its triples are shown to a person, and written only after they say yes."""

from __future__ import annotations

from typing import Any

from abi.agents.update_graph import Proposal, UpdateGraphTool
from abi.records.record import PythonFunction
from abi.tools.arguments import argument_model

__all__ = ["PipelineTool", "pipeline_tool"]


class PipelineTool(UpdateGraphTool):
    """As `update_graph`, for what a pipeline gives."""

    record: PythonFunction

    def propose(self, arguments: dict[str, Any]) -> Proposal:
        """Run the pipeline and work out what its triples would change. Raises ArgumentError, ToolFailed, Untrusted, and
        what `update_graph` raises."""
        return self.proposed(self.services.pipeline_update(self.record, arguments), self.record.description)


def pipeline_tool(record: PythonFunction, services: Any) -> PipelineTool:
    """The tool of a pipeline, for an agent that may write."""
    return PipelineTool(
        name=record.name,
        description=f"{record.description} What it writes is shown to the person, and written only if they approve it.",
        args_schema=argument_model(record),
        services=services,
        record=record,
    )
