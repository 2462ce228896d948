"""`abi status`."""

from __future__ import annotations

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "status"]

EXAMPLES = ("abi status", "abi status --json")


def status(ctx: typer.Context) -> None:
    """Show what the graph holds, and which graphs were edited."""
    session: Session = ctx.obj
    with session.workspace(read_only=True) as workspace:
        document = workspace.status().document()
    if session.as_json:
        session.output.document(document)
        return
    output = session.output
    for kind, count in document["records"].items():
        output.text(f"{kind}: {count:,}")
    for key, value in document.items():
        if key not in ("records", "edited"):
            output.text(f"{key.replace('_', ' ')}: {_shown(value)}")
    for path in document["edited"]:
        output.text(f"edited: {path}", "yellow")
    if document["edited"]:
        output.note("abi export --source PATH writes an edit to its file; abi index --restore drops it.", "dim")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return f"{len(value):,}"
    return f"{value:,}" if isinstance(value, int) else str(value)
