"""`abi show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from abi.cli.options import AtVersion, complete_names
from abi.cli.session import Session

__all__ = ["EXAMPLES", "show"]

EXAMPLES = ("abi show find_direct_routes", "abi show prompt/greeting --format turtle", "abi show thread/t1/turn/1")


class Format(StrEnum):
    json = "json"
    turtle = "turtle"


def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="NAME, KIND/NAME, an IRI or thread/ID/turn/N.", autocompletion=complete_names)
    ],
    format: Annotated[Format | None, typer.Option("--format", help="Instead of a page for people.")] = None,
    version: AtVersion = None,
) -> None:
    """Show one record or turn whole, and who uses it."""
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
