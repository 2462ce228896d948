from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked

from abi.errors import NotFound, Unsupported, UsageError
from abi.secrets import secret
from abi.settings import Settings
from abi.workspace import Workspace


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append(username)
        if self.locked:
            raise KeyringLocked("canary in its words")
        return self.values.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.values[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.values[service, username]


@pytest.fixture
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    made = Ring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def settings(**secrets: str) -> Settings:
    return Settings(base_iri="urn:x:", secrets=secrets)


def test_abi_yaml_then_the_environment_then_the_keyring(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("from the file\n")
    monkeypatch.setenv("OTHER", "from another variable")
    with pytest.raises(NotFound, match="TOKEN has no value"):
        secret("TOKEN", settings(), tmp_path)
    keyring.set_password("abi", "TOKEN", "from the keyring")
    assert secret("TOKEN", settings(), tmp_path) == "from the keyring"
    monkeypatch.setenv("TOKEN", "from the environment")
    ring.asked.clear()
    assert secret("TOKEN", settings(), tmp_path) == "from the environment"
    assert ring.asked == []
    assert secret("TOKEN", settings(TOKEN="file:key"), tmp_path) == "from the file"
    assert secret("TOKEN", settings(TOKEN="env:OTHER"), tmp_path) == "from another variable"
    assert secret("TOKEN", settings(TOKEN="keyring:TOKEN"), tmp_path) == "from the keyring"


def test_where_abi_yaml_names_a_place_no_other_is_looked_at(
    ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "from the environment")
    keyring.set_password("abi", "TOKEN", "from the keyring")
    for place in ("env:NOT_SET", "file:gone", "keyring:gone"):
        with pytest.raises(NotFound, match=f"no value at {place}"):
            secret("TOKEN", settings(TOKEN=place), tmp_path)
    for place in ("vault:x", "TOKEN"):
        with pytest.raises(UsageError, match="no place to look in"):
            secret("TOKEN", settings(TOKEN=place), tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        secret("TOKEN", settings(TOKEN="file:binary"), tmp_path)


def test_a_keyring_that_cannot_be_asked(ring: Ring, tmp_path: Path) -> None:
    keyring.set_password("abi", "TOKEN", "from the keyring")
    ring.locked = True
    with pytest.raises(NotFound):
        secret("TOKEN", settings(), tmp_path)
    with pytest.raises(Unsupported, match="KeyringLocked") as caught:
        secret("TOKEN", settings(TOKEN="keyring:TOKEN"), tmp_path)
    assert "canary" not in caught.value.message
    keyring.set_keyring(NoKeyring())  # type: ignore[no-untyped-call]
    with pytest.raises(NotFound):
        secret("TOKEN", settings(), tmp_path)
    with pytest.raises(Unsupported, match="NoKeyringError"):
        secret("TOKEN", settings(TOKEN="keyring:TOKEN"), tmp_path)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(NotFound):
        secret("TOKEN", settings(), tmp_path)
    with pytest.raises(Unsupported, match="is not installed"):
        secret("TOKEN", settings(TOKEN="keyring:TOKEN"), tmp_path)


def test_checking_files_asks_no_keyring(ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "tools").mkdir()
    (tmp_path / "abi.yaml").write_text('base_iri: "urn:x:"\nsecrets: {CB_CONN_STRING: "keyring:CB"}\n')
    seed = Path(__file__).parent / "records" / "seed" / "sqlpp_query.sqlpp"
    (tmp_path / "tools" / "q.sqlpp").write_bytes(seed.read_bytes())
    with Workspace.open(tmp_path) as workspace:
        workspace.trust()
        assert workspace.check().conforms
    assert ring.asked == []
