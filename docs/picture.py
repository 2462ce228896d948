"""Draw docs/demo.svg: two questions put to the example, as a terminal shows them. `python docs/picture.py`."""

from __future__ import annotations

import io
import os
import pty
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 118
QUESTIONS = ("How do I get from Boise to Miami with one stop?", "What does a ticket from Boise to Miami cost?")
MOST_LINES = 44


def on_a_terminal(*arguments: str) -> str:
    """What a command writes when both of its streams are a terminal."""
    heard = io.BytesIO()

    def listen(descriptor: int) -> bytes:
        data = os.read(descriptor, 4096)
        heard.write(data)
        return data

    sys.stdout.flush()
    pty.spawn([sys.executable, "-m", "abi.cli.main", *arguments], listen)
    return heard.getvalue().decode().replace("\r\n", "\n")


def main() -> None:
    os.environ.update(COLUMNS=str(COLUMNS), TERM="xterm-256color", ABI_CONFIG_DIR=tempfile.mkdtemp())
    os.environ.pop("NO_COLOR", None)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder, "abi-demo"))
        on_a_terminal("demo", where)
        lines = []
        for question in QUESTIONS:
            lines.append(
                Text.assemble(("$ ", "bold green"), ("abi chat travel -m ", "bold"), (f'"{question}"', "bold"))
            )
            shown = Text.from_ansi(on_a_terminal("-C", where, "chat", "travel", "-m", question))
            lines += [line for line in shown.split("\n", allow_blank=True) if line.plain.strip()]
    for line in lines[:MOST_LINES]:
        console.print(line, soft_wrap=False)
    console.save_svg(str(Path(__file__).parent / "demo.svg"), title="abi")


if __name__ == "__main__":
    main()
