"""What begins with a slash in `abi chat`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from abi.cli.turn_view import print_why
from abi.errors import AbiError

if TYPE_CHECKING:
    from abi.cli.session import Session
    from abi.workspace import Workspace

__all__ = ["command", "remember_lines"]

_HELP = """\
/tools         the tools of this workspace
/agents [NAME] the agents; with a name: talk to that one. @NAME before a message does so once
/why           how the last message found its way, with the queries and rows of its tools
/thread [ID]   the conversation's name, for --thread; with an ID: go on with that one, `new`: begin another
/graph         what the graph holds
/model [NAME]  the chat model; with provider:model, or the name of an entry: talk through that one
/quit          leave (so does Ctrl-D)
Anything else is a message; where choices are numbered, the number chooses. Ctrl-C stops a turn."""
_LINES = 1000


class Talk(Protocol):
    """What the commands see and change of a conversation."""

    session: Session
    workspace: Workspace
    agent: str | None
    thread: str | None
    model: str | None
    last: dict[str, Any] | None


def command(talk: Talk, line: str) -> None:
    """Do what a line that begins with `/` asks for; an unknown one gets the list of all."""
    output = talk.session.output
    name, _, given = line.partition(" ")
    given = given.strip()
    try:
        if name == "/agents" and given:
            talk.agent = talk.workspace.agent(given).name
            output.note(f"You are talking to {talk.agent}.")
        elif name in ("/tools", "/agents"):
            for record in talk.workspace.ls(name[1:]).document()["records"]:
                output.note(f"{record['name']}: {record['description']}")
        elif name == "/why":
            if talk.last is None:
                output.note("Nothing was asked yet.")
            else:
                print_why(output, talk.last)
        elif name == "/thread":
            if given:
                talk.thread = None if given == "new" else given
            output.note(talk.thread or "The conversation begins with the first message.")
        elif name == "/graph":
            _graph(talk)
        elif name == "/model":
            talk.model = given or talk.model
            output.note(talk.model or f"{talk.workspace.settings.model}, where an agent names no other.")
        else:
            output.note(_HELP)
    except AbiError as error:
        output.error(error)


def _graph(talk: Talk) -> None:
    status = talk.workspace.status().document()
    counted = ", ".join(f"{n} {kind}" for kind, n in status["records"].items() if n)
    talk.session.output.note(f"{status['triples']:,} triples, version {status['version']}; records: {counted}")


def remember_lines(path: Path) -> None:
    """Arrow keys and history in `input()`, with the lines of earlier conversations; kept in `path` at the end."""
    import atexit

    try:
        import readline
    except ImportError:  # Windows has no readline; lines are read all the same
        return
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_LINES)

    def keep() -> None:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)
            path.chmod(0o600)

    atexit.register(keep)
