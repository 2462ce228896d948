from __future__ import annotations

from pathlib import Path

import pytest

from abi.errors import Invalid, NotFound, Unreadable
from abi.settings import Settings


def write(root: Path, text: str | bytes) -> Path:
    (root / "abi.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def test_environment_over_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        "# mine\nbase_iri: https://example.org/w/\nmodel: a:b\nquery_seconds: 3\nprefixes: {fl: https://e.org/#}\n",
    )
    monkeypatch.setenv("ABI_MODEL", "c:d")
    monkeypatch.setenv("ABI_QUERY_ROWS", "12")
    monkeypatch.setenv("ABI_SOURCES", "tools, prompts")
    monkeypatch.setenv("ABI_SECRETS", '{"KEY": "env:KEY"}')
    monkeypatch.setenv("ABI_CONFIG_DIR", "/nowhere")
    settings, origins = Settings.load(tmp_path)
    assert (settings.model, settings.query_seconds, settings.query_rows) == ("c:d", 3.0, 12)
    assert (settings.sources, settings.secrets) == (["tools", "prompts"], {"KEY": "env:KEY"})
    assert settings.all_prefixes()["fl"] == "https://e.org/#"
    assert {k: origins[k] for k in ("base_iri", "query_seconds", "model", "store")} == {
        "base_iri": "abi.yaml:2",
        "query_seconds": "abi.yaml:4",
        "model": "environment ABI_MODEL",
        "store": "default",
    }
    assert origins.keys() == Settings.model_fields.keys()


def test_all_faults_with_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        "base_iri: example.org\nquery_second: 3\nquery_rows: -1\ntraces: NO\nprefixes:\n  a b: https://e.org/\n  c: d\n"
        "sources: tools\ntraces: on\n",
    )
    monkeypatch.setenv("ABI_TOOL_ROWS", "many")
    with pytest.raises(Invalid) as caught:
        Settings.load(tmp_path)
    assert {(f.path, f.line, f.field, f.code) for f in caught.value.findings} == {
        ("abi.yaml", 1, "base_iri", "setting-wrong"),
        ("abi.yaml", 2, "query_second", "setting-unknown"),
        ("abi.yaml", 3, "query_rows", "setting-wrong"),
        ("abi.yaml", 4, "traces", "setting-wrong"),
        ("abi.yaml", 6, "prefixes.a b", "prefix-wrong"),
        ("abi.yaml", 7, "prefixes.c", "prefix-wrong"),
        ("abi.yaml", 8, "sources", "setting-wrong"),
        ("abi.yaml", 9, "traces", "yaml-duplicate-key"),
        ("", 0, "tool_rows", "setting-wrong"),
    }
    # Whoever shows the error shows its findings, too.
    assert caught.value.message == "The settings have 9 faults."
    fixes = {f.field: f.fix for f in caught.value.findings}
    assert fixes["query_second"] == "Did you mean 'query_seconds'?"


def test_a_missing_base_iri_is_told(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as caught:
        Settings.load(write(tmp_path, "# nothing yet\n"))
    assert [f.code for f in caught.value.findings] == ["setting-missing"]


@pytest.mark.parametrize("text", ["a: [1", "- a\n", "a: &x [*x", b"a: \xff", "x" * 300_000])
def test_what_is_no_yaml_is_unreadable(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(Unreadable, match=r"abi\.yaml"):
        Settings.load(write(tmp_path, text))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        Settings.load(tmp_path)
    assert "abi init" in caught.value.hint


def test_faults_inside_an_entry_of_models_name_the_entry(tmp_path: Path) -> None:
    (tmp_path / "abi.yaml").write_text(
        "base_iri: https://example.org/w/\nmodels:\n  big:\n    modl: openai:x\n    shape: round\n"
        "  small: {model: 'openai:x', max_tokens: -4}\n"
    )
    with pytest.raises(Invalid) as caught:
        Settings.load(tmp_path)
    told = [(f.line, f.field, f.code, f.message, f.fix) for f in caught.value.findings]
    assert told[:3] == [
        (3, "models.big.model", "setting-missing", "models.big has no 'model'.", "Add `model:` to it."),
        (4, "models.big.modl", "setting-unknown", "models.big knows no 'modl'.", "Did you mean 'model'?"),
        (5, "models.big.shape", "setting-unknown", "models.big knows no 'shape'.", told[2][4]),
    ]
    assert "base_url" in told[2][4]
    assert told[3][:3] == (6, "models.small.max_tokens", "setting-wrong") and "greater than 0" in told[3][3]
