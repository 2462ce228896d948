"""Keys: what is kept of them, and who has one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from abi.errors import NotFound, Unreadable, UsageError
from abi.keys import Keys, Principal


def test_a_key_is_known_and_nowhere_kept(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    assert not keys.exist() and keys.principal("anything") is None
    made = keys.create("me", "writer")
    text = keys.path.read_text(encoding="utf-8")
    assert made not in text and made.removeprefix("abi_") not in text
    assert oct(keys.path.stat().st_mode & 0o777) == "0o600"
    assert Keys(tmp_path).principal(made) == Principal("me", "writer")
    assert keys.principal(made + "x") is None and keys.principal("") is None
    with pytest.raises(UsageError):
        keys.create("me", "reader")
    for name in ("", " a", "a\nb", "local", "environment"):
        with pytest.raises(UsageError):
            keys.create(name, "reader")


def test_another_process_revokes_it(tmp_path: Path) -> None:
    serving = Keys(tmp_path)
    made = Keys(tmp_path).create("me", "admin")
    assert serving.principal(made) is not None
    Keys(tmp_path).revoke("me")
    assert serving.principal(made) is None
    with pytest.raises(NotFound):
        serving.revoke("me")


def test_the_environment_and_a_run_have_admin_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(tmp_path)
    monkeypatch.setenv("ABI_API_KEY", "canary")
    assert keys.exist() and keys.principal("canary") == Principal("environment", "admin")
    monkeypatch.delenv("ABI_API_KEY")
    assert keys.principal("canary") is None
    run = keys.for_this_run()
    assert keys.principal(run) == Principal("local", "admin") and not keys.exist() and not keys.path.exists()


def test_roles() -> None:
    assert Principal("a", "admin").may("writer") and Principal("a", "writer").may("writer")
    assert not Principal("a", "reader").may("writer")


def test_a_broken_file_lets_nobody_in(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    made = keys.create("me", "admin")
    for text in ("", "[]", '{"keys": [{"name": "x"}]}', json.dumps({"keys": 1})):
        keys.path.write_text(text, encoding="utf-8")
        os.utime(keys.path, ns=(1, len(text)))
        with pytest.raises(Unreadable):
            keys.principal(made)
