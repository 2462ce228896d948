"""`abi chat`."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abi.cli.chat_commands import command, remember_lines
from abi.cli.options import complete_agents
from abi.cli.session import Session
from abi.cli.turn_view import print_stream, print_turn
from abi.errors import AbiError

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["EXAMPLES", "chat"]

EXAMPLES = (
    "abi chat",
    'abi chat route_finder -m "Which airports can I reach directly from Boise?"',
    'abi chat -m "and from Seattle?" --thread t1 --json',
)


def chat(
    ctx: typer.Context,
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="[AGENT]", help="Its name; default: the workspace's root agent.", autocompletion=complete_agents
        ),
    ] = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="One turn, then leave.")
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Go on with this conversation.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="PROVIDER:MODEL", help="The chat model; default: a setting.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let agents that may write propose changes; each asks for a yes.")
    ] = False,
) -> None:
    """Talk with an agent: one turn with -m, else a conversation.

    The answer goes to stdout; the tools that were called, their queries and rows go to stderr. Where stdin is no
    terminal each of its lines is a message, and with --json each answer is a JSON document on a line of its own.
    """
    session: Session = ctx.obj
    with session.workspace(read_only=not write) as workspace:
        if message is not None:
            turn = workspace.chat(message, agent=agent, thread_id=thread, model=model, may_write=write).document()
            if session.as_json:
                session.output.document(turn)
            else:
                print_turn(session.output, turn)
            return
        _Conversation(session, workspace, agent, thread, model, write).run()


@contextmanager
def _stopped_by_ctrl_c() -> Iterator[threading.Event]:
    """While a turn runs, the first Ctrl-C ends the turn and not the conversation; the second is as ever."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


class _Conversation:
    """A `Talk` on the workspace."""

    def __init__(
        self,
        session: Session,
        workspace: Workspace,
        agent: str | None,
        thread: str | None,
        model: str | None,
        write: bool = False,
    ) -> None:
        self.session = session
        self.workspace = workspace
        self.agent = agent
        self.thread = thread
        self.model = model
        self.write = write
        self.last: dict[str, Any] | None = None
        self.streaming = False

    def run(self) -> None:
        on_terminal = self.session.interactive and sys.stdout.isatty()
        if on_terminal:
            remember_lines(self.workspace.root / ".abi" / "chat-history")
            self.streaming = not self.session.as_json
            self.session.output.note("Ask the graph. /help tells what else there is.", "dim")
        while True:
            try:
                line = input("> " if on_terminal else "").strip()
            except EOFError:
                return
            if line in ("/quit", "/exit"):
                return
            if line.startswith("/"):
                command(self, line)
            elif line:
                self._turn(line)

    def _turn(self, text: str) -> None:
        output = self.session.output
        try:
            with _stopped_by_ctrl_c() as stop:
                events = self.workspace.chat_stream(
                    text,
                    agent=self.agent,
                    thread_id=self.thread,
                    model=self.model,
                    may_write=self.write,
                    stop=stop,
                )
                if self.streaming:
                    self.last = print_stream(output, events)
                else:
                    self.last = [*events][-1].document()
        except AbiError as error:  # the conversation goes on
            output.error(error)
            return
        self.thread = self.last["thread_id"]
        if self.session.as_json:
            output.document_line(self.last)
        elif not self.streaming:
            print_turn(output, self.last)
