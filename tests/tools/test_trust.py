from __future__ import annotations

import json
from pathlib import Path

import pytest

from abi.errors import Unreadable
from abi.tools.trust import distrust, is_trusted, trust, trust_file


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config"


def test_trust_is_given_and_taken_by_real_path(tmp_path: Path) -> None:
    root, other = tmp_path / "w", tmp_path / "other"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    assert not is_trusted(root)
    trust(tmp_path / "link")
    trust(root)
    assert is_trusted(root) and is_trusted(tmp_path / "link")
    assert not is_trusted(other) and not is_trusted(root / "inner") and not is_trusted(tmp_path)
    assert distrust(root) and not distrust(root)
    assert not is_trusted(root)


def test_the_list_is_private_and_whole(tmp_path: Path, config: Path) -> None:
    trust(tmp_path / "a")
    trust(tmp_path / "b")
    assert trust_file() == config / "trusted.json"
    assert config.stat().st_mode & 0o077 == 0
    assert trust_file().stat().st_mode & 0o077 == 0
    document = json.loads(trust_file().read_text())
    assert list(document["workspaces"]) == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert [p.name for p in config.iterdir()] == ["trusted.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"workspaces": 3}', "[" * 5000])
def test_a_broken_list_trusts_nobody_and_is_not_overwritten(tmp_path: Path, config: Path, text: str) -> None:
    config.mkdir()
    trust_file().write_text(text)
    assert not is_trusted(tmp_path)
    with pytest.raises(Unreadable, match=r"trusted\.json"):
        trust(tmp_path)
    assert trust_file().read_text() == text


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "file" / "config"))
    with pytest.raises(Unreadable, match="trusted"):
        trust(tmp_path)


def test_where_the_list_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABI_CONFIG_DIR")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert trust_file() == tmp_path / "abi" / "trusted.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert trust_file() == tmp_path / "home" / ".config" / "abi" / "trusted.json"


def test_a_workspace_cannot_trust_itself(tmp_path: Path) -> None:
    (tmp_path / "abi.yaml").write_text("trusted: true\n")
    (tmp_path / ".abi").mkdir()
    (tmp_path / ".abi" / "trusted.json").write_text(json.dumps({"workspaces": {str(tmp_path): ""}}))
    assert not is_trusted(tmp_path)
