"""Where everything printed goes: data on stdout, everything else on stderr.

Colour and progress appear on a terminal only, never with `--json`, and `NO_COLOR` is respected. A table is drawn on
a terminal and is tab-separated, whole and uncoloured, in a pipe. Text from the graph never reaches a terminal with
its control characters.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TextIO

if TYPE_CHECKING:
    from abi.errors import AbiError
    from abi.findings import Finding

__all__ = ["Output", "plural", "printable"]

Style = Literal["dim", "bold", "red", "yellow", "green"]
_ANSI: dict[Style, str] = {"dim": "2", "bold": "1", "red": "31", "yellow": "33", "green": "32"}
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Also what turns the direction of writing around, so that a text reads as another than it is."""
_LOCAL_NAME = re.compile(r"[\w.~-]+(/[\w.~-]+)*")
_SIGPIPE_EXIT = 141


def printable(text: str) -> str:
    """The text without what could steer a terminal (newlines and tabs stay)."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _plain(value: object) -> Any:
    """What JSON does not know: exact decimals as numbers, everything else by its text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


class Output:
    """The two streams of one command."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.prefixes: dict[str, str] = {}
        """By which a table on a terminal shortens IRIs."""
        self._progress_shown = False

    # data

    def document(self, document: Any) -> None:
        """Print one JSON document."""
        self._data(json.dumps(document, ensure_ascii=False, indent=2, default=_plain) + "\n")

    def document_line(self, document: Any) -> None:
        """Print one JSON document of a stream, on a line of its own."""
        self._data(json.dumps(document, ensure_ascii=False, default=_plain) + "\n")

    def text(self, text: str = "", style: Style | None = None) -> None:
        self._data(self._styled(printable(text), style, sys.stdout) + "\n")

    def piece(self, text: str) -> None:
        """Print a piece of a line, at once."""
        self._data(printable(text))

    def markdown(self) -> Callable[[str], None]:
        """Prints pieces of a Markdown text, styled where the terminal has colours; an empty piece ends it."""
        if not _has_colour(sys.stdout):
            return self.piece
        from abi.cli.markdown_stream import MarkdownStream

        stream = MarkdownStream()
        return lambda text: self._data(stream(printable(text)) if text else stream.rest())

    def verbatim(self, data: bytes) -> None:
        """Print bytes as they are, for files in some format."""
        self._end_progress()
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            _leave_pipe()
        except OSError as error:
            _give_up(error)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._data(self._table(columns, rows, sys.stdout))

    # everything else

    def note(self, text: str, style: Style | None = None) -> None:
        self._end_progress()
        sys.stderr.write(self._styled(printable(text), style, sys.stderr) + "\n")
        sys.stderr.flush()

    def ask(self, question: str) -> str:
        """A line from whoever sits there; the question goes to stderr."""
        self._end_progress()
        sys.stderr.write(printable(question))
        sys.stderr.flush()
        return input()

    def note_table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table that is not the command's data: what a tool gave, beside the answer made of it."""
        self._end_progress()
        sys.stderr.write(self._table(columns, rows, sys.stderr))

    def findings(self, findings: Iterable[Finding], *, as_data: bool = False) -> None:
        """One line a finding, ordered by place: on stdout where they are what was asked for, else on stderr."""
        stream = sys.stdout if as_data else sys.stderr
        for finding in sorted(findings):
            line = printable(str(finding))
            style: Style = "red" if finding.severity == "error" else "yellow"
            line = line.replace(f"{finding.severity}:", self._styled(f"{finding.severity}:", style, stream), 1)
            if as_data:
                self._data(line + "\n")
            else:
                self._end_progress()
                stream.write(line + "\n")

    def error(self, error: AbiError) -> None:
        """An error as people read it, or as one JSON document; always on stderr."""
        from abi.errors import Invalid

        self._end_progress()
        if self.as_json:
            sys.stderr.write(json.dumps(error.document(), ensure_ascii=False, default=_plain) + "\n")
            return
        if isinstance(error, Invalid):
            self.findings(error.findings)
        sys.stderr.write(f"{self._styled('error:', 'red', sys.stderr)} {printable(error.message)}\n")
        if error.hint:
            sys.stderr.write(f"{self._styled('hint:', 'yellow', sys.stderr)} {printable(error.hint)}\n")
        sys.stderr.flush()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Redraw the one progress line; `total` 0 where it is not known."""
        if self.as_json or not on_terminal(sys.stderr):
            return
        counted = f" {done:,}/{total:,}" if total else (f" {done:,}" if done else "")
        sys.stderr.write(f"\r\x1b[K{printable(stage)}{counted}")
        sys.stderr.flush()
        self._progress_shown = True

    # inside

    def _data(self, text: str) -> None:
        self._end_progress()
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_pipe()
        except OSError as error:
            _give_up(error)

    def _table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], stream: TextIO) -> str:
        cells = [["" if value is None else printable(str(value)) for value in row] for row in rows]
        if on_terminal(stream):
            return _drawn(columns, [[self._shortened(cell) for cell in row] for row in cells], stream)
        lines = [columns, *([re.sub(r"\s+", " ", cell) for cell in row] for row in cells)]
        return "".join("\t".join(line) + "\n" for line in lines)

    def _shortened(self, cell: str) -> str:
        """An IRI as `prefix:name`, where a prefix of the workspace fits it."""
        if "://" not in cell:
            return cell
        for prefix, namespace in self.prefixes.items():
            name = cell.removeprefix(namespace)
            if name != cell and _LOCAL_NAME.fullmatch(name):
                return f"{prefix}:{name}"
        return cell

    def _end_progress(self) -> None:
        if self._progress_shown:
            sys.stderr.write("\r\x1b[K")
            self._progress_shown = False

    def _styled(self, text: str, style: Style | None, stream: TextIO) -> str:
        if style is None or not _has_colour(stream):
            return text
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m"


def on_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _has_colour(stream: TextIO) -> bool:
    return on_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _drawn(columns: Sequence[str], cells: list[list[str]], stream: TextIO) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    coloured = _has_colour(stream)
    console = Console(file=stream, no_color=not coloured, force_terminal=coloured, highlight=False)
    with console.capture() as drawn:
        console.print(table)
    return drawn.get()


def _leave_pipe() -> None:
    """The reader went away (`abi ls | head -1`): no message."""
    _forget_stdout()
    raise SystemExit(_SIGPIPE_EXIT)


def _give_up(error: OSError) -> NoReturn:
    """A full disk, above all."""
    from abi.errors import Unreadable

    _forget_stdout()
    raise Unreadable(f"The output cannot be written: {error.strerror or error}.") from error


def _forget_stdout() -> None:
    """Nothing is left to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
