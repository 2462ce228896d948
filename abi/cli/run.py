"""`abi run`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abi.cli.options import AtVersion, complete_names
from abi.cli.output import plural
from abi.cli.session import Session
from abi.errors import UsageError
from abi.terms import RDF_JSON

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "abi run find_direct_routes --arg origin=BOI --arg limit=3",
    'abi run search_entities --args \'{"text": "Boise"}\' --json',
    "abi run route_finding_prompt --arg source_airport=BOI --arg destination_airport=SEA",
)


def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A tool's or a prompt's name.", autocompletion=complete_names)],
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="K=V", help="One argument; may be repeated.")
    ] = None,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="All arguments as a JSON object.")] = None,
    query: Annotated[bool, typer.Option("--query", help="Show the query that ran, on stderr.")] = False,
    version: AtVersion = None,
) -> None:
    """Call a tool, or render a prompt.

    Lists and objects are given as JSON. Missing arguments are asked for on a terminal only.
    """
    session: Session = ctx.obj
    arguments = _arguments(arg or [], args)
    with session.workspace(version=version) as workspace:
        if session.interactive:
            _ask_for_missing(session, workspace, name, arguments)
        document = workspace.run_report(name, arguments).document()
    if session.as_json:
        session.output.document(document)
        return
    if "prompt" in document:
        session.output.text(document["text"].rstrip("\n"))
        return
    if query and document["query"]:
        session.output.note(document["query"].rstrip("\n"), "dim")
    _print_result(session, document["result"])
    counted = "" if document["row_count"] is None else f"{plural(document['row_count'], 'row')}, "
    cut = ", cut at the limit" if document["truncated"] else ""
    session.output.note(f"{counted}{document['seconds']:.3f} s{cut}", "yellow" if cut else "dim")


def _arguments(pairs: list[str], document: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if document is not None:
        try:
            arguments = json.loads(sys.stdin.read() if document == "-" else document)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"--args is no JSON: {error}", hint="Write for example --args '{\"limit\": 3}'."
            ) from error
        if not isinstance(arguments, dict):
            raise UsageError("--args has to be a JSON object, argument names to values.")
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--arg {pair!r} is not of the form K=V.", hint="Write for example --arg limit=3.")
        arguments[key] = value
    return arguments


def _ask_for_missing(session: Session, workspace: Workspace, name: str, arguments: dict[str, Any]) -> None:
    for parameter in workspace.parameters_of(name):
        if not parameter.required or parameter.name in arguments or parameter.filled_from:
            continue
        notes = [parameter.description] if parameter.description else []
        if parameter.datatype == RDF_JSON:
            notes.append("as JSON")
        about = f" ({'; '.join(notes)})" if notes else ""
        arguments[parameter.name] = session.output.ask(f"{parameter.name}{about}: ")


def _print_result(session: Session, result: Any) -> None:
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        columns = list(dict.fromkeys(key for row in result for key in row))
        session.output.table(columns, [[row.get(column) for column in columns] for row in result])
    elif isinstance(result, (dict, list)):
        session.output.document(result)
    elif result is not None:
        session.output.text(str(result))
