"""A record file taken apart: its text, its YAML header, its body. One way for each sort of file."""

from __future__ import annotations

import re
import textwrap
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass, field

from abi.errors import Invalid
from abi.findings import Finding
from abi.yaml_reader import Located, load_yaml

__all__ = [
    "Document",
    "decode",
    "open_block_comment",
    "open_comment_header",
    "open_front_matter",
    "open_plain",
    "open_yaml",
]

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Document:
    """`header` is None where there is none or it could not be read (`findings` then say so).

    `body` is verbatim but for line ends, which are `\\n`; it starts on line `body_line` of the file.
    """

    path: str
    text: str
    header: Located | None = None
    body: str = ""
    body_line: int = 1
    findings: list[Finding] = field(default_factory=list)

    def fault(self, line: int, code: str, message: str, fix: str) -> None:
        self.findings.append(Finding(self.path, line, "", "error", code, message, fix))

    def read_header(self, text: str, first_line: int) -> None:
        try:
            located = load_yaml(text, self.path, first_line)
        except Invalid as error:
            self.findings.extend(error.findings)
            return
        self.findings.extend(located.findings)
        if isinstance(located.value, dict):
            self.header = located
        elif located.value is not None:
            message = "The header is no list of `key: value` lines."
            self.fault(located.line(), "header-missing", message, "Write it as lines like `name: my_name`.")


def decode(data: bytes, path: str) -> tuple[str | None, list[Finding]]:
    """Bytes to text with `\\n` line ends, without a byte order mark. None where it is no text, with the reason."""
    findings: list[Finding] = []

    def say(line: int, severity: str, code: str, message: str, fix: str) -> None:
        findings.append(Finding(path, line, "", "warning" if severity == "warning" else "error", code, message, fix))

    if data.startswith(_UTF16):
        say(1, "error", "file-encoding", "The file is in UTF-16, not in UTF-8.", "Save it as UTF-8.")
        return None, findings
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"The file is not in UTF-8: byte 0x{data[error.start]:02x} at column {column}."
        say(line, "error", "file-encoding", message, "Save it as UTF-8.")
        return None, findings
    findings += marks(data, path)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    unfit = _UNFIT.search(text)
    if unfit:
        line = text.count("\n", 0, unfit.start()) + 1
        message = f"The file holds the control character U+{ord(unfit.group()):04X}."
        say(line, "error", "file-control-character", message, "Remove it.")
        return None, findings
    return text, findings


def marks(data: bytes, path: str) -> list[Finding]:
    """Warnings of what an editor of Windows leaves in a text; it is read all the same."""
    findings = []
    if data.startswith(BOM_UTF8):
        message = "The file begins with a byte order mark."
        findings.append(Finding(path, 1, "", "warning", "file-byte-order-mark", message, "Save it without."))
    if b"\r" in data:
        line = data.count(b"\n", 0, data.index(b"\r")) + 1
        message = "The file has Windows line ends (CRLF); they are read as LF."
        findings.append(Finding(path, line, "", "warning", "file-line-ends", message, "Save it with LF line ends."))
    return findings


def open_plain(path: str, text: str) -> Document:
    """No header: the whole text is the body."""
    return Document(path, text, body=text)


def open_yaml(path: str, text: str) -> Document:
    """The whole file is the header."""
    document = Document(path, text)
    document.read_header(text, 1)
    return document


def open_comment_header(path: str, text: str) -> Document:
    """The YAML header stands in the first block of `#` lines; what follows is the body, comments and all.

    `#?name` lines belong to the body: they mark the optional lines of a query.
    """
    document = Document(path, text)
    lines = text.split("\n")
    start = _first(lines, 0, lambda line: bool(line.strip()))
    end = _first(lines, start, lambda line: not line.startswith("#") or line.startswith("#?"))
    if end > start:
        comment = [line[1:].rstrip() for line in lines[start:end]]
        # Column by column, so that `#name:` and `# name:` both work and nesting is kept.
        document.read_header(textwrap.dedent("\n".join(comment)) + "\n", start + 1)
    if document.header is None and not document.findings:
        fix = "Begin the file with `# name: ...` and `# description: ...`."
        document.fault(start + 1, "header-missing", "The file has no header in leading `#` lines.", fix)
    first = _first(lines, end, lambda line: bool(line.strip()))
    document.body = "\n".join(lines[first:]).rstrip()
    document.body_line = min(first, len(lines) - 1) + 1
    return document


def open_block_comment(path: str, text: str) -> Document:
    """The YAML header stands in the first `/* */`, which ends at the first `*/`; what follows is the body.

    Before it may be `--` comments only. Later comments belong to the body.
    """
    document = Document(path, text)
    lines = text.split("\n")
    first = _first(lines, 0, lambda line: bool(line.strip()) and not line.lstrip().startswith("--"))
    begin = sum(len(line) + 1 for line in lines[:first])
    begin += len(text[begin:]) - len(text[begin:].lstrip())
    line = min(first, len(lines) - 1) + 1
    if not text.startswith("/*", begin):
        fix = "Begin the file with `/*`, then `name:`, `description:` and `input:`, then `*/`."
        document.fault(
            line, "header-missing", "The file does not begin with a comment `/* */` that holds its header.", fix
        )
        return document
    end = text.find("*/", begin + 2)
    if end < 0:
        document.fault(line, "header-missing", "The comment `/*` with the header is not closed.", "Close it by `*/`.")
        return document
    comment = text[begin + 2 : end].split("\n")
    # What stands beside the `/*` is dedented by itself.
    document.read_header(comment[0].strip() + "\n" + textwrap.dedent("\n".join(comment[1:])) + "\n", line)
    if document.header is None and not document.findings:
        message = "The comment `/* */` at the begin of the file is empty."
        document.fault(line, "header-missing", message, "Write `name:`, `description:` and `input:` into it.")
    rest = text[end + 2 :]
    body = rest.lstrip()
    document.body = body.rstrip()
    document.body_line = text.count("\n", 0, end + 2 + len(rest) - len(body)) + 1
    return document


def open_front_matter(path: str, text: str) -> Document:
    """The YAML header stands between the first two lines that are `---`; all that follows is the body.

    Later `---` lines belong to the body.
    """
    document = Document(path, text)
    lines = text.split("\n")
    start = _first(lines, 0, lambda line: bool(line.strip()))
    if start == len(lines) or lines[start].rstrip() != "---":
        fix = "Begin the file with a line `---`, then `name:` and `description:`, then a second line `---`."
        document.fault(start + 1, "header-missing", "The file does not begin with a line `---`.", fix)
        return document
    end = _first(lines, start + 1, lambda line: line.rstrip() == "---")
    if end == len(lines):
        fix = "Put a line `---` between the header and the text."
        document.fault(start + 1, "header-missing", "The header is not closed by a second line `---`.", fix)
        return document
    document.read_header("\n".join(lines[start + 1 : end]) + "\n", start + 2)
    if document.header is None and not document.findings:
        message = "The header between the `---` lines is empty."
        document.fault(start + 1, "header-missing", message, "Write `name:` and `description:` into it.")
    document.body = "\n".join(lines[end + 1 :])
    document.body_line = end + 2
    return document


def _first(lines: list[str], start: int, test: Callable[[str], bool]) -> int:
    return next((n for n in range(start, len(lines)) if test(lines[n])), len(lines))
