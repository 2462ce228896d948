"""`abi update`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session
from abi.findings import exit_code

__all__ = ["EXAMPLES", "update"]

EXAMPLES = (
    "abi update 'INSERT DATA { GRAPH :notes { :boise rdfs:comment \"seen\" } }'",
    "abi update changes.ru --dry-run",
    "cat changes.ru | abi update -",
)


def update(
    ctx: typer.Context,
    update: Annotated[str, typer.Argument(metavar="UPDATE|FILE|-", help="The update, a file with it, or - for stdin.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would change; write nothing.")] = False,
) -> int:
    """Change the graph by SPARQL Update, through the gate.

    What the update would add and remove is validated first. Where it breaks a rule nothing is written. A source
    file's graph that is changed so counts as edited.
    """
    session: Session = ctx.obj
    text = session.text_of(update, "the update itself")
    with session.workspace() as workspace:
        report = workspace.update(text, dry_run=dry_run)
    code = exit_code(report.findings)
    if session.as_json:
        session.output.document(report.document())
        return code
    session.output.findings(report.findings)
    if code:
        session.output.note("Nothing was written; the graph is as it was.", "red")
    else:
        would = "Would be: " if dry_run else ""
        session.output.text(f"{would}{plural(report.added, 'triple')} added, {report.removed:,} removed")
    return code
