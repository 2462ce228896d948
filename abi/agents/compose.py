"""From a tool's result to an answer that says what its rows say and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abi.agents.cards import ToolCard
from abi.agents.words import split_name

__all__ = ["abilities", "answer_of", "answer_of_query", "refusal", "table"]

_SHOWN_ROWS = 20
_SHOWN_ABILITIES = 8


def answer_of(
    card: ToolCard | None, document: dict[str, Any], citations: Sequence[dict[str, str]], answer: str | None = None
) -> str:
    """The answer to a call: what the tool's own template made of it, else a sentence or a table of its rows."""
    if answer:
        return answer
    labels = {c["iri"]: c["label"] for c in citations}
    call = _call(card, document, labels)
    rows = document.get("rows")
    if rows is None:
        return f"{call}: {_value(document.get('result'), labels)}"
    if not rows:
        return f"The graph holds nothing for {call}."
    if isinstance(rows, bool):
        return f"{call}: {'yes' if rows else 'no'}."
    shown = _readable(rows, labels)
    if len(shown) == 1 and len(shown[0]) == 1:
        ((name, value),) = shown[0].items()
        return f"{call}: {_heading(name)} {value}."
    text = f"{call}:\n\n{table(shown)}"
    if len(shown) > _SHOWN_ROWS:
        text += f"\n\n{_SHOWN_ROWS} of {len(shown)} rows are shown."
    if document.get("truncated"):
        text += "\n\nThere are more rows than could be given back."
    return text


def answer_of_query(document: dict[str, Any], citations: Sequence[dict[str, str]]) -> str:
    """The answer that the rows of a query give, whose columns say what they are."""
    rows = document.get("rows")
    if isinstance(rows, bool):
        return "Yes." if rows else "No."
    if not rows:
        return "The graph holds nothing that fits the question."
    shown = _readable(rows, {c["iri"]: c["label"] for c in citations})
    if len(shown) == 1 and len(shown[0]) == 1:
        ((name, value),) = shown[0].items()
        return f"{_heading(name).capitalize()}: {value}."
    text = table(shown)
    if len(shown) > _SHOWN_ROWS:
        text += f"\n\n{_SHOWN_ROWS} of {len(shown)} rows are shown."
    if document.get("truncated"):
        text += "\n\nThere are more rows than could be given back."
    return text


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table of the first rows; columns in their order, without those that are empty throughout."""
    names = [n for n in dict.fromkeys(n for r in rows for n in r) if any(r.get(n) not in (None, "") for r in rows)]
    lines = ["| " + " | ".join(_heading(n) for n in names) + " |", "|" + "---|" * len(names)]
    for row in rows[:_SHOWN_ROWS]:
        cells = [str("" if row.get(n) is None else row[n]).replace("|", "\\|").replace("\n", " ") for n in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def refusal(
    words: Sequence[str], cards: Sequence[ToolCard], others: Sequence[str] = (), names: Sequence[str] = ()
) -> str:
    """Says plainly that nothing here answers, what was not understood, and what can be asked instead.

    `words` are those that no tool speaks of, `names` those that nothing in the graph bears.
    """
    said = "I cannot answer that from the graph: none of my tools fits the question."
    if names:
        said = f"I cannot answer that: the graph holds nothing called {_quoted(names)}."
    elif words:
        said = f"I cannot answer that from the graph: none of my tools tells anything about {_quoted(words)}."
    listed = abilities(cards, others)
    return f"{said}\n\n{listed}" if listed else said


def _quoted(words: Sequence[str]) -> str:
    quoted = [f'"{w}"' for w in list(dict.fromkeys(words))[:4]]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" or {quoted[-1]}"


def abilities(cards: Sequence[ToolCard], others: Sequence[str] = ()) -> str:
    """What can be asked, one line a tool, with an example question where an intent gives one."""
    lines = []
    for card in cards:
        line = card.description or card.label()
        example = next((p for p in card.phrases if len(p.split()) > 2), None)
        lines.append(f"- {line}" + (f" For example: {example}." if example else ""))
    lines = list(dict.fromkeys([*lines, *(f"- {o}" for o in others)]))[:_SHOWN_ABILITIES]
    return "You can ask me this:\n" + "\n".join(lines) if lines else ""


def _call(card: ToolCard | None, document: dict[str, Any], labels: dict[str, str]) -> str:
    """What was asked of the tool, in words: its name and its arguments."""
    name = (card.label() if card else str(document.get("tool", "")).replace("_", " ")).capitalize()
    arguments = document.get("arguments") or {}
    given = [f"{k.replace('_', ' ')} {_value(v, labels)}" for k, v in arguments.items() if v is not None]
    return f"{name} ({', '.join(given)})" if given else name


def _readable(rows: Sequence[dict[str, Any]], labels: dict[str, str]) -> list[dict[str, Any]]:
    """Rows with labels in place of IRIs, and without the IRI columns whose label stands beside them."""
    shown = []
    for row in rows:
        plain = {k: _value(v, labels) for k, v in row.items()}
        doubled = {k for k, v in row.items() if str(v) in labels and any(plain[o] == plain[k] for o in plain if o != k)}
        shown.append({k: v for k, v in plain.items() if k not in doubled})
    return shown


def _value(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, dict):
        iri = value.get("iri") or value.get("value")
        return value.get("label") or labels.get(str(iri), iri)
    if isinstance(value, str):
        return labels.get(value, value)
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.2f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(_value(v, labels)) for v in value)
    return value


def _heading(name: str) -> str:
    return " ".join(split_name(name)).casefold()
