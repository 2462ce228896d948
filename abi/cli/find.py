"""`abi find`."""

from __future__ import annotations

from typing import Annotated

import typer

from abi.cli.options import AtVersion
from abi.cli.session import Session

__all__ = ["EXAMPLES", "KINDS", "find"]

EXAMPLES = (
    'abi find tools "flights between two airports"',
    "abi find agents --annotations 'domain = \"travel\"'",
    'abi find entities "Boise" --limit 3',
    "abi find --name find_direct_routes --json",
    'abi find tools "flights" --version latest',
    "abi find -- tools",
)

KINDS = ("tools", "prompts", "agents", "intents", "records", "entities")


def find(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND] [QUERY]",
            help=f"KIND is one of {', '.join(KINDS)}, if it is the first word; -- ends that.",
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="N", help="The record of exactly this name.")] = None,
    annotations: Annotated[
        str | None,
        typer.Option("--annotations", metavar="P", help='A predicate: key = "value" AND NOT other = "x".'),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="PATTERN", help="A SPARQL graph pattern that ?record has to meet."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Results at most.")] = 5,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", metavar="S", min=0, max=1, help="Only results as similar as this, 0 to 1."),
    ] = None,
    closest: Annotated[
        bool, typer.Option("--closest", help="Only the results that are clearly closer than the rest.")
    ] = False,
    version: AtVersion = None,
) -> int:
    """Search records and entities, by words and by meaning.

    The score is a calibrated similarity from 0 to 1 (1 for --name).
    """
    session: Session = ctx.obj
    kind, query = _kind_and_query(words or [], session.arguments)
    with session.workspace(read_only=True, version=version) as workspace:
        report = workspace.find(
            kind,
            query,
            name=name,
            annotations=annotations,
            where=where,
            limit=limit,
            min_score=min_score,
            closest=closest,
        )
    document = report.document()
    results = document["results"]
    if session.as_json:
        session.output.document(document)
    elif results:
        session.output.table(
            ["score", "kind", "name", "description", "source"],
            [[f"{r['score']:.2f}", r["kind"], r["name"], r["description"], r["source"]] for r in results],
        )
    else:
        session.output.note("Nothing found.", "yellow")
        if kind is None:
            session.output.note("Records were searched; `abi find entities TEXT` searches what they are about.", "dim")
    return 0 if results else 1


def _kind_and_query(words: list[str], arguments: list[str]) -> tuple[str | None, str | None]:
    """The first word is a kind if it is one, unless it stands after `--`."""
    after_dashes = len(arguments) - arguments.index("--") - 1 if "--" in arguments else 0
    kind = None
    if words and words[0] in KINDS and after_dashes < len(words):
        kind, words = words[0], words[1:]
    return kind, " ".join(words) or None
