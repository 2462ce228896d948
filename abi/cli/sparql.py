"""`abi sparql`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session

__all__ = ["EXAMPLES", "sparql"]

EXAMPLES = (
    "abi sparql 'SELECT ?tool WHERE { ?tool a abi:SparqlTemplate }'",
    "abi sparql questions/busiest.rq --json",
    "echo 'ASK { ?a a abi:AgentSpecification }' | abi sparql -",
    "abi sparql --traces 'SELECT ?turn ?answer WHERE { ?turn abi:answer ?answer }'",
)


def sparql(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY|FILE|-", help="The query, a file with it, or - for stdin.")],
    traces: Annotated[
        bool, typer.Option("--traces", help="Ask what happened in conversations, not the graph.")
    ] = False,
) -> None:
    """Ask the graph by SPARQL.

    SELECT, ASK, CONSTRUCT and DESCRIBE over the union of all graphs. The prefixes of the workspace need no
    declaration. Limits of time, rows and size are settings.
    """
    session: Session = ctx.obj
    text = session.text_of(query, "the query itself")
    with session.workspace(read_only=True, here=traces) as workspace:
        rows = workspace.sparql(text, traces=True) if traces else workspace.sparql(text)
    output = session.output
    if session.as_json:
        document = rows.json()
        output.document({**document, "truncated": True} if rows.truncated else document)
    elif rows.form == "ask":
        output.text("true" if rows.boolean else "false")
    elif rows.form == "construct":
        for row in rows:
            output.text(f"{row['subject'].n3()} {row['predicate'].n3()} {row['object'].n3()} .")
    else:
        output.table(rows.variables, [[row.get(variable) for variable in rows.variables] for row in rows])
    cut = ", cut at the limit" if rows.truncated else ""
    if not session.as_json and rows.form != "ask":
        output.note(f"{plural(len(rows), 'row')}, {rows.seconds:.3f} s{cut}", "yellow" if cut else "dim")
