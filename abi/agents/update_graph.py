"""`update_graph`: a tool by which a chat model proposes a change of the graph. A person approves it before it is made.

What is proposed is worked out first and shown quad by quad; what is written after approval is those quads and nothing
else, through the gate like every change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from abi.errors import ArgumentError, Invalid
from abi.tools.runner import ToolResult

__all__ = ["MOST", "PROPOSE_TURTLE", "UPDATE_GRAPH", "Proposal", "UpdateGraphTool", "agreement", "writing"]

UPDATE_GRAPH = "update_graph"
PROPOSE_TURTLE = "propose_turtle"
MOST = 200
"""Quads that a person can be asked to read."""
_YES = re.compile(
    r"\W*(?:y|yes|yes please|yep|ok|okay|sure|approve|approved|i approve|go ahead|do it|write it|oui|ja|si|sí)\W*", re.I
)
_NO = re.compile(r"\W*(?:n|no|no thanks|nope|stop|cancel|refuse|reject|rejected|don't|do not|non|nein)\W*", re.I)


class _Update(BaseModel):
    update: str = Field(description="One SPARQL Update: INSERT DATA, DELETE DATA, or DELETE/INSERT ... WHERE.")
    reason: str = Field(default="", description="Why, in one sentence for the person who approves it.")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change as a person is shown it. `added` and `removed` are N-Quads lines; `exact` is the update that makes just
    that change."""

    added: list[str]
    removed: list[str]
    exact: str
    reason: str

    def document(self) -> dict[str, Any]:
        return {"added": self.added, "removed": self.removed, "reason": self.reason}

    def question(self) -> str:
        lines = [*(f"- {q} ." for q in self.removed), *(f"+ {q} ." for q in self.added)]
        why = f" ({self.reason})" if self.reason else ""
        return f"Shall I change the graph like this{why}?\n\n" + "\n".join(lines) + "\n\nAnswer yes or no."


class UpdateGraphTool(BaseTool):
    """Works a proposal out; `call` writes one that was approved."""

    name: str = UPDATE_GRAPH
    description: str = (
        "Propose a change of the knowledge graph by a SPARQL Update. It is shown to the person, quad by quad, and made "
        "only if they approve it. Name the graph of what you insert (GRAPH <...> { ... })."
    )
    args_schema: Any = _Update
    services: Any

    def propose(self, arguments: dict[str, Any]) -> Proposal:
        """Raises ArgumentError (no update, or one that changes nothing or too much), Invalid with what the gate finds,
        and what an update can raise."""
        given = _Update.model_validate(arguments)
        return self.proposed(given.update, given.reason)

    def proposed(self, update: str, reason: str) -> Proposal:
        """What an update would change, if the gate lets it through."""
        report = self.services.update(update, dry_run=True)
        faults = [f for f in report.findings if f.severity == "error"]
        if faults:
            listed = "; ".join(f"{f.message} {f.fix}".strip() for f in faults[:10])
            raise Invalid(f"The change breaks {len(faults)} rule(s): {listed}", faults)
        count = len(report.added_quads) + len(report.removed_quads)
        if not count:
            raise ArgumentError("This update changes nothing in the graph as it is.")
        if count > MOST:
            raise ArgumentError(f"This update changes {count} quads; {MOST} can be approved at once.")
        return Proposal(report.added_quads, report.removed_quads, report.exact, reason)

    def call(self, exact: str) -> ToolResult:
        """Make an approved change."""
        report = self.services.update(exact)
        result = {"added": report.added, "removed": report.removed, "version": report.version}
        return ToolResult(tool=self.name, arguments={"update": exact}, result=result, query=exact)

    def _run(self, **_: Any) -> str:
        return "This tool changes nothing without the approval of a person."


def writing(tools: Mapping[str, BaseTool]) -> frozenset[str]:
    """Names of the tools whose calls a person approves."""
    return frozenset(name for name, tool in tools.items() if isinstance(tool, UpdateGraphTool))


def agreement(text: str) -> bool | None:
    """What an answer says to a proposal; None where it says something else."""
    if _YES.fullmatch(text.strip()):
        return True
    return False if _NO.fullmatch(text.strip()) else None
