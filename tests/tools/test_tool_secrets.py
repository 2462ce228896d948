"""A secret's value is in no output: not in the graph, in results, in errors, nor in a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from abi.errors import AbiError, ToolFailed
from abi.graph.rows import Rows
from abi.settings import Settings
from abi.tools.runner import RunContext
from abi.tools.tool_secrets import ToolSecrets
from abi.workspace import Workspace

CANARY = "canary_7f3e_value"
SEED = Path(__file__).parents[1] / "records" / "seed"


def test_values_are_hidden_in_what_others_say(tmp_path: Path) -> None:
    values = {"A": CANARY, "B": f"{CANARY}-longer", "C": "x"}
    settings = Settings(base_iri="urn:x:")
    secrets = ToolSecrets(
        "t", RunContext(lambda text, *, rows=None: Rows("ask"), settings, tmp_path, secret=values.__getitem__)
    )
    assert [secrets[name] for name in values] == list(values.values())
    assert secrets.hidden(f"no {CANARY}-longer, no {CANARY}, x") == "no ***, no ***, x"
    none = ToolSecrets("t", RunContext(lambda text, *, rows=None: Rows("ask"), settings, tmp_path))
    with pytest.raises(ToolFailed, match="t needs the secret A, and there are none here"):
        none["A"]


@pytest.mark.parametrize("place", [f"duckdb:{CANARY}", f"couchbase://127.0.0.1:1/{CANARY}", CANARY])
def test_the_canary_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CB_CONN_STRING", place)
    monkeypatch.setenv("CB_USERNAME", CANARY)
    monkeypatch.setenv("CB_PASSWORD", CANARY)
    (tmp_path / "tools").mkdir()
    (tmp_path / "abi.yaml").write_text(
        "base_iri: https://example.org/w/\nquery_seconds: 1\n"
        "embedding_models: {sentence-transformers/all-MiniLM-L12-v2: minilm}\n"
    )
    for name in ("sqlpp_query.sqlpp", "semantic_search.yaml"):
        (tmp_path / "tools" / name).write_bytes((SEED / name).read_bytes())
    said = []
    with Workspace.open(tmp_path) as workspace:
        report = workspace.index()
        assert report.written
        said += [json.dumps(report.document()), workspace.export().decode()]
        for name, arguments in (
            ("find_high_order_item_customers_between_date", {"orderdate_start": "a", "orderdate_end": "b"}),
            ("search_for_relevant_products", {"search_tags": ["a"]}),
        ):
            said.append(json.dumps(workspace.show(name).document()))
            with pytest.raises(AbiError) as caught:
                workspace.run(name, **arguments)
            said.append(json.dumps(caught.value.document()))
            (tool,) = [t for t in workspace.tools() if t.name == name]
            said.append(tool.invoke(arguments))
    assert CANARY not in "".join(said)
    assert CANARY not in "".join(capfd.readouterr())
    for file in (tmp_path / ".abi").rglob("*"):
        assert not file.is_file() or CANARY.encode() not in file.read_bytes()
