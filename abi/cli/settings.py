"""`abi settings`."""

from __future__ import annotations

import json

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "settings"]

EXAMPLES = ("abi settings", "ABI_QUERY_SECONDS=30 abi settings --json")


def settings(ctx: typer.Context) -> None:
    """Show every setting and where its value came from.

    The environment (ABI_NAME) comes before abi.yaml, abi.yaml before the default.
    """
    from abi.settings import Settings

    session: Session = ctx.obj
    values, origins = Settings.load(session.root())
    rows = [
        {
            "name": name,
            "value": getattr(values, name),
            "origin": origins.get(name, "default"),
            "help": field.description or "",
        }
        for name, field in Settings.model_fields.items()
    ]
    if session.as_json:
        session.output.document({"settings": rows})
        return
    session.output.table(
        ["name", "value", "origin", "help"],
        [[row["name"], _shown(row["value"]), row["origin"], row["help"]] for row in rows],
    )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
