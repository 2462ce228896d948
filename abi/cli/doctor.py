"""`abi doctor`."""

from __future__ import annotations

import typer

from abi.cli.session import Session

__all__ = ["EXAMPLES", "doctor"]

EXAMPLES = ("abi doctor", "abi -C my-graph doctor --json")


def doctor(ctx: typer.Context) -> int:
    """Find what is wrong with this workspace and how to mend it.

    Exit code 1 where a check fails.
    """
    session: Session = ctx.obj
    with session.workspace(read_only=True, here=True) as workspace:
        document = workspace.doctor().document()
    failed = [check for check in document["checks"] if not check["ok"]]
    if session.as_json:
        session.output.document(document)
        return 1 if failed else 0
    for check in document["checks"]:
        mark = "ok  " if check["ok"] else "FAIL"
        session.output.text(f"{mark} {check['name']}: {check['message']}", "green" if check["ok"] else "red")
        if check["fix"] and not check["ok"]:
            session.output.text(f"     {check['fix']}")
    return 1 if failed else 0
