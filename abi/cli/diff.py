"""`abi diff`."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abi.cli.options import complete_versions
from abi.cli.output import plural
from abi.cli.session import Session

if TYPE_CHECKING:
    from abi.cli.output import Output

__all__ = ["EXAMPLES", "diff"]

EXAMPLES = ("abi diff latest", "abi diff 3f9ac0d1 8a4c9193", "abi diff latest --json")


def diff(
    ctx: typer.Context,
    before: Annotated[
        str,
        typer.Argument(
            metavar="A", help="A version: latest, or digits of its name or commit.", autocompletion=complete_versions
        ),
    ],
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]", help="Another one; default: the graph as it is.", autocompletion=complete_versions
        ),
    ] = None,
) -> None:
    """Show what changed from version A to B, by record, then by field.

    Of triples that are in no record (ontologies, data) it counts what came and went in each graph.
    """
    session: Session = ctx.obj
    with session.workspace(read_only=True) as workspace:
        difference = workspace.diff(before, after)
    document = difference.document()
    if session.as_json:
        session.output.document(document)
    elif not difference:
        session.output.note("No difference.", "dim")
    else:
        _page(session.output, document)


def _page(output: Output, document: dict[str, Any]) -> None:
    for record in document["added"]:
        output.text(f"+ {record['kind']} {record['name']}", "green")
    for record in document["removed"]:
        output.text(f"- {record['kind']} {record['name']}", "red")
    for record in document["changed"]:
        output.text(f"~ {record['kind']} {record['name']}", "yellow")
        for field, values in record["fields"].items():
            _field(output, field, _text(values["before"]), _text(values["after"]))
    for graph in document["graphs"]:
        counted = f"+{graph['added']:,} -{plural(graph['removed'], 'triple')}"
        output.text(f"~ graph {graph['graph']}: {counted}", "yellow")


def _field(output: Output, field: str, before: str, after: str) -> None:
    if "\n" not in before + after:
        output.text(f"  {field}: {before or '(none)'} -> {after or '(none)'}")
        return
    output.text(f"  {field}:")
    for line in list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:]:
        output.text(f"    {line}", "green" if line.startswith("+") else "red" if line.startswith("-") else None)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
