"""`abi calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abi.cli.session import Session
from abi.errors import NotFound, Unreadable, UsageError

if TYPE_CHECKING:
    from abi.agents.calibrate import CalibrationReport

__all__ = ["EXAMPLES", "calibrate"]

EXAMPLES = (
    "abi calibrate",
    "abi calibrate --out-of-scope messages.txt",
    "abi calibrate --dataset clinc150.json --json",
)


def calibrate(
    ctx: typer.Context,
    dataset: Annotated[
        Path | None,
        typer.Option("--dataset", metavar="FILE", help="Measure on this data set instead; nothing is stored."),
    ] = None,
    out_of_scope: Annotated[
        Path | None,
        typer.Option("--out-of-scope", metavar="FILE", help="Messages that no agent is there for, one a line."),
    ] = None,
) -> None:
    """Fit the scale of intents' scores, and measure it.

    A score of 0.85 is to be right 95 times in 100, one of 0.90 98 times, on messages that the fit has not seen. Where
    the intents of an agent have enough examples (half of its targets 8), it gets a learned head. What is fitted is kept
    in .abi/calibration, and agents use it at once.

    A data set is JSON with train and test, and val, oos_val, oos_test where there are such: lists of [text, intent].
    """
    session: Session = ctx.obj
    if dataset is not None and out_of_scope is not None:
        raise UsageError("--dataset and --out-of-scope do not go together.", hint="A data set has oos_val.")
    foreign = _lines(session.path(out_of_scope)) if out_of_scope is not None else []
    if dataset is not None:
        report = _on_dataset(session, session.path(dataset))
    else:
        with session.workspace(read_only=False, here=True) as workspace:
            report = workspace.calibrate(out_of_scope=foreign, progress=session.output.progress)
    document = report.document()
    if session.as_json:
        session.output.document(document)
        return
    _tell(session, document)


def _on_dataset(session: Session, path: Path) -> CalibrationReport:
    """With the settings of the workspace that one stands in; outside of any, with the defaults."""
    try:
        session.root()
    except NotFound:
        from abi.agents.calibrate import calibrate_dataset
        from abi.agents.scale import Calibration
        from abi.search.embedder import get_embedder

        return calibrate_dataset(path, get_embedder("minilm"), Calibration(), session.output.progress)
    with session.workspace(read_only=True, here=True) as workspace:
        return workspace.calibrate(path, progress=session.output.progress)


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}.") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def _tell(session: Session, document: dict[str, Any]) -> None:
    output = session.output
    for name, agent in document["agents"].items():
        output.text(f"{name}: {agent['targets']} targets, {agent['examples']} examples, {agent['method']}")
    rows = [
        ("messages", document["messages"]),
        ("best target is right", document["top1"]),
        ("matched and right (recall)", document["correct_and_matched"]),
        ("matches that are right (precision)", document["precision"]),
        ("direct matches that are right", document["precision_direct"]),
        ("messages out of scope", document["out_of_scope"]),
        ("out of scope, but matched", document["out_of_scope_accepted"]),
    ]
    for label, value in rows:
        output.text(f"{label}: {'-' if value is None else value}")
    where = "kept in .abi/calibration" if document["stored"] else "nothing was stored"
    output.note(f"{document['method']}, {document['embedder']}, {document['seconds']:.1f} s; {where}")
