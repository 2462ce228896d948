"""`abi show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from abi.cli.options import AtVersion, complete_names
from abi.cli.session import Session

__all__ = ["EXAMPLES", "show"]

EXAMPLES = (
    "abi show find_direct_routes",
    "abi show prompt/greeting --format turtle",
    "abi show thread/t1/turn/1",
    "abi show 'Boise Air Terminal'",
)


class Format(StrEnum):
    json = "json"
    turtle = "turtle"


def show(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="NAME, KIND/NAME, thread/ID/turn/N, or the IRI or label of anything.", autocompletion=complete_names
        ),
    ],
    format: Annotated[Format | None, typer.Option("--format", help="Instead of a page for people.")] = None,
    version: AtVersion = None,
) -> None:
    """Show one record, turn or thing whole, and who uses it."""
    session: Session = ctx.obj
    with session.workspace(read_only=True, version=version) as workspace:
        report = workspace.show(name)
        if format is Format.turtle and not session.as_json:
            session.output.text(report.turtle().rstrip("\n"))
            return
        document = report.document()
    if session.as_json or format is Format.json:
        session.output.document(document)
    elif "turn" in document:
        from abi.cli.turn_view import print_turn

        print_turn(session.output, document, as_data=True)
    elif document.get("kind") == "entity":
        _entity(session, document)
    else:
        _page(session, document)


def _page(session: Session, document: dict[str, Any]) -> None:
    """Short values first, one a line; long texts after them, each under its name."""
    long = {k: v for k, v in document.items() if isinstance(v, str) and "\n" in v}
    for key, value in document.items():
        if key not in long and key != "used_by" and value not in (None, "", [], {}):
            session.output.text(f"{key}: {_brief(value)}")
    for key, value in long.items():
        session.output.text()
        session.output.text(f"{key}:", "bold")
        session.output.text(value.rstrip("\n"))
    if document.get("used_by"):
        session.output.text()
        session.output.text("used by:", "bold")
        for user in document["used_by"]:
            session.output.text(f"  {user['kind']} {user['name']}")


def _entity(session: Session, document: dict[str, Any]) -> None:
    """What it is, then what is said of it, one property a line."""
    output = session.output
    output.text(f"name: {document['name']}")
    output.text(f"iri: {document['iri']}")
    if document["types"]:
        output.text(f"types: {', '.join(t['label'] for t in document['types'])}")
    for statement in document["statements"]:
        values = [f"{v['label']} <{v['iri']}>" if isinstance(v, dict) else str(v) for v in statement["values"]]
        output.text(f"{statement['property']}: {', '.join(values)}")
    if document["used_by"]:
        output.text()
        output.text("pointed at by:", "bold")
        for user in document["used_by"]:
            output.text(f"  {user['kind']}: {user['name']} <{user['iri']}>")


def _brief(value: object, indent: str = "  ") -> str:
    if isinstance(value, dict):
        return "".join(
            f"\n{indent}{k}: {_brief(v, indent + '  ')}" for k, v in value.items() if v not in (None, "", [], {})
        )
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "".join(f"\n{indent}- {_brief(item, indent + '  ').lstrip()}" for item in value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)
