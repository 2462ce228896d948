"""`abi check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from abi.cli.output import plural
from abi.cli.session import Session
from abi.findings import exit_code

__all__ = ["EXAMPLES", "check"]

EXAMPLES = ("abi check", "abi check tools/airports_in.rq --strict", "abi check --json")


def check(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Files or folders; default: all sources.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
) -> int:
    """Read and validate the files; write nothing.

    Tells all faults of all files at once, each with its place and how to mend it.
    """
    session: Session = ctx.obj
    with session.workspace(read_only=True, here=True) as workspace:
        report = workspace.check(session.paths(paths), progress=session.output.progress)
    code = exit_code(report.findings, strict=strict)
    if session.as_json:
        session.output.document(report.document())
        return code
    session.output.findings(report.findings, as_data=True)
    errors = sum(finding.severity == "error" for finding in report.findings)
    found = f"{plural(errors, 'error')}, {plural(len(report.findings) - errors, 'warning')}"
    session.output.note(f"{plural(len(report.records), 'record')}: {found}.", "green" if code == 0 else "red")
    return code
