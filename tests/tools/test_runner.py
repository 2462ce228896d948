from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from abi.errors import Unsupported
from abi.graph.rows import Rows
from abi.records.record import KINDS, AgentSpecification, Intent, RawPrompt
from abi.settings import Settings
from abi.tools.runner import RUNNERS, RunContext, ToolResult, jsonable, run

CONTEXT = RunContext(query=lambda text, *, rows=None: Rows("ask"), settings=Settings(base_iri="urn:x:"), root=Path())


def test_every_kind_has_a_runner() -> None:
    assert set(RUNNERS) == set(KINDS)


def test_agents_and_intents_are_asked() -> None:
    with pytest.raises(Unsupported, match="asked and not run") as caught:
        run(AgentSpecification(name="a", description="A."), {}, CONTEXT)
    assert "abi chat a" in caught.value.hint
    with pytest.raises(Unsupported):
        run(Intent(name="i", description="I.", values=["x"], type="raw", target="y"), {}, CONTEXT)


def test_a_prompt_is_rendered() -> None:
    result = run(RawPrompt(name="p", description="P.", text="Be kind."), {}, CONTEXT)
    assert result.document() == {"prompt": "p", "arguments": {}, "text": "Be kind.", "tools": []}


def test_json() -> None:
    assert jsonable({"a": (1, Decimal("2"), Decimal("2.5"), float("nan"), None, True)}) == {
        "a": [1, 2, 2.5, "nan", None, True]
    }
    assert jsonable(datetime(2026, 1, 31, tzinfo=UTC)) == "2026-01-31T00:00:00+00:00"
    assert jsonable(Path("x")) == "x"
    result = ToolResult(tool="t", arguments={"a": Decimal("1")}, result=[1], citations=[("urn:a", "A")])
    assert result.document()["arguments"] == {"a": 1} and result.labels == {"urn:a": "A"}
