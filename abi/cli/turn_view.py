"""One turn of a conversation, as people read it: the tools, their queries and rows, then the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from abi.cli.output import Output, plural

if TYPE_CHECKING:
    from abi.agents.turn import Event, TurnResult

__all__ = ["print_stream", "print_turn", "print_why"]

_ROWS_SHOWN = 5


def print_turn(
    output: Output, turn: dict[str, Any], *, as_data: bool = False, said: bool = False, folded: bool = False
) -> None:
    """Print a chat document. The work goes to stderr and the answer to stdout; `as_data`: all to stdout; `said`: the
    answer stands there already; `folded`: of each call its first line only."""
    tell: Callable[..., None] = output.text if as_data else output.note
    if turn.get("message"):
        tell(f"> {turn['message']}", "bold")
    for call in turn["tool_calls"]:
        _print_call(output, call, tell, as_data=as_data, folded=folded)
    if not said:
        show = output.markdown() if folded else output.piece
        show(turn["answer"].rstrip("\n") + "\n")
        show("")
    for cited in turn["citations"][:_ROWS_SHOWN]:
        tell(f"  {cited['label']} <{cited['iri']}>", "dim")
    more = len(turn["citations"]) - _ROWS_SHOWN
    if more > 0:
        tell(f"  and {plural(more, 'more source')}", "dim")


def print_stream(output: Output, items: Iterable[Event | TurnResult]) -> dict[str, Any]:
    """Print a turn while it happens: the model's words as they come, the tools when they are called. Gives the chat
    document."""
    said = ""
    show = output.markdown()
    for item in items:
        kind = getattr(item, "type", None)
        if kind == "token":
            show(item.data)  # type: ignore[union-attr]
            said += item.data  # type: ignore[union-attr]
        elif kind is None:
            show("")
            if said:
                output.piece("\n")
            turn = item.document()
            print_turn(output, turn, said=bool(said) and said.strip() == turn["answer"].strip(), folded=True)
            return turn
        elif kind in ("call_model", "tool_usage") and said:
            show("")
            output.piece("\n")
            said = ""
        if kind == "tool_usage":
            output.note(f"{item.data} ...", "dim")  # type: ignore[union-attr]
    raise AssertionError("a turn always gives a result")  # pragma: no cover


def _print_call(
    output: Output, call: dict[str, Any], tell: Callable[..., None], *, as_data: bool, folded: bool = False
) -> None:
    arguments = ", ".join(f"{key}={value}" for key, value in call["arguments"].items())
    counted = f"{plural(call['row_count'], 'row')}, " if call["row_count"] is not None else ""
    cut = ", cut at the limit" if call["truncated"] else ""
    tell(f"{call['tool']}({arguments}): {counted}{call['seconds'] * 1000:.0f} ms{cut}", "green")
    if folded:
        return
    if call["query"]:
        for line in call["query"].strip().splitlines():
            tell(f"    {line}", "dim")
    rows = call.get("rows") or []  # a trace keeps their number only
    if rows and isinstance(rows, list) and isinstance(rows[0], dict):
        columns = list(rows[0])
        table = output.table if as_data else output.note_table
        table(columns, [[row.get(column) for column in columns] for row in rows[:_ROWS_SHOWN]])
        if len(rows) > _ROWS_SHOWN:
            tell(f"    and {plural(len(rows) - _ROWS_SHOWN, 'more row')}", "dim")


def print_why(output: Output, turn: dict[str, Any]) -> None:
    """How the last message found its way: the step, its reason, every candidate with its score, and each call with its
    query and rows."""
    routing = turn["routing"]
    output.text(f"agent {turn['agent']}, by {routing['step']}; chosen: {routing['chosen'] or 'nothing'}")
    if routing.get("reason"):
        output.text(routing["reason"])
    if routing["candidates"]:
        output.table(
            ["score", "type", "target", "intent"],
            [[f"{c['score']:.2f}", c["type"], c["target"], c["intent"]] for c in routing["candidates"]],
        )
    for call in turn["tool_calls"]:
        _print_call(output, call, output.text, as_data=True)
