"""`abi key`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from abi.cli.session import Session
from abi.errors import UsageError

__all__ = ["EXAMPLES", "key"]

EXAMPLES = ("abi key create notebook --role reader", "abi key list", "abi key revoke notebook")


class Action(StrEnum):
    create = "create"
    list = "list"
    revoke = "revoke"


class RoleName(StrEnum):
    reader = "reader"
    writer = "writer"
    admin = "admin"


def key(
    ctx: typer.Context,
    action: Annotated[Action, typer.Argument(metavar="create|list|revoke", help="What to do.", show_choices=False)],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Whose key it is.")] = None,
    role: Annotated[
        RoleName | None, typer.Option("--role", help="What it may do: reader, writer or admin.", show_choices=False)
    ] = None,
) -> None:
    """Make, list and revoke the keys of a server.

    A reader asks and chats, a writer changes the graph, an admin may do everything. A key is shown once: only its hash
    is kept, in `.abi/keys.json`. A running server knows at once.
    """
    from abi.keys import Keys

    session: Session = ctx.obj
    keys = Keys(session.root())
    if action is Action.list:
        entries = [entry.document() for entry in keys.entries()]
        if session.as_json:
            session.output.document({"keys": entries})
        else:
            for entry in entries:
                session.output.text(f"{entry['name']}  {entry['role']}  {entry['created']}")
        return
    if name is None:
        raise UsageError(f"`abi key {action.value}` needs a NAME.")
    if action is Action.revoke:
        keys.revoke(name)
        if session.as_json:
            session.output.document({"revoked": name})
        else:
            session.output.text(f"The key {name!r} is none any more.")
        return
    if role is None:
        raise UsageError("`abi key create` needs a role.", hint="--role reader, writer or admin")
    made = keys.create(name, role.value)
    if session.as_json:
        session.output.document({"name": name, "role": role.value, "key": made})
    else:
        session.output.text(made)
        session.output.note(f"This key of {name!r} ({role.value}) is shown only now.")
