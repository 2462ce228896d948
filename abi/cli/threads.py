"""`abi threads`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from abi.cli.output import Output, plural
from abi.cli.session import Session
from abi.errors import UsageError

if TYPE_CHECKING:
    from abi.agents.threads import Threads

__all__ = ["EXAMPLES", "threads"]

EXAMPLES = (
    "abi threads",
    "abi threads show 5f3c",
    "abi threads export > conversations.jsonl",
    "abi threads prune --days 30",
)

_ACTIONS = ("list", "show", "export", "delete", "prune")


def threads(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[ACTION]", help="list, show, export, delete or prune.")] = "list",
    thread: Annotated[str | None, typer.Argument(metavar="[ID]", help="A conversation, for show and delete.")] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Those of one principal only; default: all.")
    ] = None,
    days: Annotated[
        float, typer.Option("--days", min=0, help="With prune: delete what was silent for so many days.")
    ] = 90,
    limit: Annotated[int, typer.Option("--limit", min=1, help="With list: so many at most.")] = 50,
) -> None:
    """List, show, export, delete or prune conversations.

    Export writes one JSON document a line. The traces of turns are kept apart, for trace_days.
    """
    session: Session = ctx.obj
    if action not in _ACTIONS:
        raise UsageError(f"There is no `abi threads {action}`.", hint=f"There are: {', '.join(_ACTIONS)}.")
    if (thread is not None) != (action in ("show", "delete")):
        raise UsageError(
            f"`abi threads {action}` takes {'no' if thread else 'the id of a'} thread.",
            hint="`abi threads list` shows the ids.",
        )
    with session.workspace(read_only=action in ("list", "show", "export")) as workspace:
        _do(session.output, workspace.threads, action, thread or "", owner or "*", days, limit)


def _do(output: Output, kept: Threads, action: str, thread: str, owner: str, days: float, limit: int) -> None:
    if action == "list":
        _list(output, [info.document() for info in kept.list(owner, limit=limit)])
    elif action == "show":
        _show(output, kept.show(thread, owner))
    elif action == "export":
        for document in kept.export(owner):
            output.document_line(document)
    else:
        if action == "prune":
            gone = kept.prune(days, owner)
        else:
            kept.delete(thread, owner)
            gone = [thread]
        if output.as_json:
            output.document({"deleted": gone})
        else:
            output.note(f"Deleted {plural(len(gone), 'conversation')}.")


def _list(output: Output, found: list[dict[str, Any]]) -> None:
    if output.as_json:
        output.document({"threads": found})
        return
    if not found:
        output.note("There are no conversations yet.")
        return
    columns = ["thread_id", "principal", "agent", "turns", "updated", "title"]
    output.table(columns, [[row[c] for c in columns] for row in found])


def _show(output: Output, thread: dict[str, Any]) -> None:
    if output.as_json:
        output.document(thread)
        return
    for message in thread["messages"]:
        for call in message.get("tool_calls", ()):
            arguments = ", ".join(f"{key}={value}" for key, value in call["arguments"].items())
            output.text(f"{call['tool']}({arguments})", "green")
        if message["role"] == "user":
            output.text(f"> {message['text']}", "bold")
        elif message["role"] == "assistant" and message["text"]:
            output.text(message["text"])
