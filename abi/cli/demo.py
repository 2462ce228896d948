"""`abi demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = ("abi demo", "abi demo flights")

GO_ON = (
    'abi chat -m "Which are the busiest airports in Texas?"',
    "abi chat                      # a conversation; /help tells more",
    "abi ls",
    'abi find tools "flights between two airports"',
    "abi show find_direct_routes",
)
"""What the demo says to try next, in the example workspace."""


def demo(
    ctx: typer.Context,
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Where; default: ./abi-demo.")] = None,
) -> None:
    """Make the example workspace, index it and ask it a few questions.

    Airports and routes of the United States. Shows for each question the tool, the query, the rows and the answer.
    Needs no network and no key.
    """
    from abi.cli.turn_view import print_turn
    from abi.workspace import Workspace

    session: Session = ctx.obj
    where = directory or (session.directory or Path()) / "abi-demo"
    report = Workspace.demo(where, progress=session.output.progress)
    document = report.document()
    if session.as_json:
        session.output.document(document)
        return
    output = session.output
    output.text(
        f"{where}: {plural(document['records'], 'record')} and {plural(document['triples'], 'triple')} in the graph."
    )
    for turn in document["turns"]:
        output.text()
        print_turn(output, turn, as_data=True)
    output.text()
    output.text("Go on:", "bold")
    for line in (f"cd {where}", *GO_ON):
        output.text(f"  {line}")
