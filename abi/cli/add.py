"""`abi add`."""

from __future__ import annotations

import keyword
import re
from typing import Annotated

import typer

from abi.cli.session import Session
from abi.cli.templates import TEMPLATES
from abi.errors import UsageError

__all__ = ["EXAMPLES", "add"]

EXAMPLES = (
    "abi add sparql_query airports_in",
    "abi add agent airport_guide",
    "abi add python_function distance",
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add(
    ctx: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(help=f"One of {', '.join(sorted(TEMPLATES))}.", autocompletion=lambda: sorted(TEMPLATES)),
    ],
    name: Annotated[str, typer.Argument(help="Letters, digits and underscores.")],
) -> None:
    """Add a commented template of a record, ready to edit.

    The file passes `abi check` as it is. A file that exists already is never overwritten.
    """
    session: Session = ctx.obj
    template = TEMPLATES.get(kind)
    if template is None:
        raise UsageError(f"There is no kind {kind!r}.", hint=f"Kinds: {', '.join(sorted(TEMPLATES))}.")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name.", hint="Use letters, digits and underscores, a letter first.")
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} is a word of the Python language.", hint=f"Take {name}_, for example.")
    root = session.root()
    files = {root / place.format(name=name): text for place, text in template.files()}
    for path in files:
        if path.exists():
            raise UsageError(f"{path.relative_to(root).as_posix()} exists already.", hint="Take another name.")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("NAME", name), encoding="utf-8", newline="\n")
    created = [path.relative_to(root).as_posix() for path in files]
    if session.as_json:
        session.output.document({"created": created})
        return
    for one in created:
        session.output.text(one)
    session.output.note("Edit it, then: abi check, abi index.", "dim")
