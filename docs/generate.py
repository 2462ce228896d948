"""Write docs/reference/ from the code: every command, setting and error code. A test compares the two.

Run it as `python docs/generate.py` after changing one of them.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
_WIDTH = 100
_NOTE = "<!-- Written by docs/generate.py; change the code, then run it. -->\n\n"


def cli() -> str:
    from abi.cli.main import COMMANDS, group

    commands = group()
    parts = ["# Commands\n\n", _NOTE]
    parts.append(
        "Data goes to stdout, everything else to stderr. `--json` prints one JSON document. "
        "`-C`, `--json` and `-v` may stand before or after the command.\n"
    )
    with commands.make_context("abi", [], resilient_parsing=True, terminal_width=_WIDTH) as context:
        parts.append(f"\n## abi\n\n```text\n{_right_trimmed(commands.get_help(context))}\n```\n")
        for name in COMMANDS:
            command = commands.get_command(context, name)
            with command.make_context(name, [], parent=context, resilient_parsing=True) as inner:
                parts.append(f"\n## abi {name}\n\n```text\n{_right_trimmed(command.get_help(inner))}\n```\n")
    return "".join(parts)


def settings() -> str:
    from abi.settings import Settings

    lines = ["# Settings\n\n", _NOTE]
    lines.append(
        "A setting stands in `abi.yaml`, or in the environment as `ABI_` and its name in capitals, which wins. "
        "`abi settings` shows each value of a workspace and where it came from.\n\n"
    )
    lines.append("| setting | default | what it is |\n|---|---|---|\n")
    for name, field in Settings.model_fields.items():
        default = "required" if field.is_required() else f"`{field.get_default(call_default_factory=True)!r}`"
        lines.append(f"| `{name}` | {default} | {field.description} |\n")
    return "".join(lines)


def errors() -> str:
    from abi import errors as module

    tree = (module.__doc__ or "").split("in one tree.\n\n")[1].split("\n\n`code`")[0]
    lines = ["# Errors\n\n", _NOTE]
    lines.append(
        'Every face tells an error in one shape: `{"error": {"code", "message", "details", "hint"}}`. The code is '
        "stable. `exit` is what the command line exits with; with `--json` it puts the document on stderr. A fault "
        "of abi itself has the code `error` and exits with 70.\n\n"
    )
    lines.append(f"```text\n{textwrap.dedent(tree)}\n```\n")
    return "".join(lines)


def _right_trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


PAGES = {"cli.md": cli, "settings.md": settings, "errors.md": errors}

if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for page, make in PAGES.items():
        (REFERENCE / page).write_text(make(), encoding="utf-8")
