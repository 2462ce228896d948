"""`abi serve` as a process of its own, and `abi key`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from .conftest import Run


def test_keys_are_made_listed_and_revoked(workspace: Path, run: Run) -> None:
    made = run("-C", workspace, "key", "create", "notebook", "--role", "reader", "--json").document
    assert (made["name"], made["role"]) == ("notebook", "reader") and len(made["key"]) > 40
    listed = run("-C", workspace, "key", "list", "--json")
    assert [entry["name"] for entry in listed.document["keys"]] == ["notebook"] and made["key"] not in listed.out
    assert run("-C", workspace, "key", "create", "notebook", "--role", "reader").code == 2
    assert run("-C", workspace, "key", "create", "other").code == 2
    assert run("-C", workspace, "key", "revoke").code == 2
    assert run("-C", workspace, "key", "revoke", "notebook").code == 0
    assert run("-C", workspace, "key", "revoke", "notebook").code == 1


def test_it_does_not_listen_to_others_without_keys_and_tls(workspace: Path, run: Run) -> None:
    refused = run("-C", workspace, "serve", "--host", "0.0.0.0", "--behind-proxy")
    assert refused.code == 5 and "abi key create" in refused.err
    run("-C", workspace, "key", "create", "me", "--role", "admin")
    refused = run("-C", workspace, "serve", "--host", "0.0.0.0")
    assert refused.code == 5 and "--behind-proxy" in refused.err
    assert run("-C", workspace, "serve", "--certificate", "x.pem").code == 2
    assert not (workspace / ".abi" / "server.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_server_holds_its_workspace_and_lets_it_go(workspace: Path, run: Run) -> None:
    command = [sys.executable, "-m", "abi.cli.main", "-C", str(workspace), "serve", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    place = workspace / ".abi" / "server.json"
    try:
        while not place.exists():
            assert server.poll() is None, server.communicate()[1]
            time.sleep(0.02)
        told = json.loads(place.read_text(encoding="utf-8"))
        assert place.stat().st_mode & 0o777 == 0o600 and told["pid"] == server.pid
        with httpx.Client(base_url=told["url"], trust_env=False, timeout=30) as client:
            for _ in range(500):
                try:
                    assert client.get("/health").status_code == 200
                    break
                except httpx.ConnectError:
                    time.sleep(0.02)
            update = {"update": "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }"}
            assert client.post("/update", data=update).status_code == 401
            key = {"Authorization": f"Bearer {told['key']}"}
            assert client.post("/update", data=update, headers=key).json()["added"] == 1
        # the commands of the same user go through the server
        again = run("-C", workspace, "update", update["update"], "--json")
        assert again.code == 0 and again.document["added"] == 0
        assert run("-C", workspace, "sparql", "ASK { <urn:a> <urn:b> 1 }", "--json").document["boolean"] is True
        os.kill(server.pid, signal.SIGTERM)
        out, err = server.communicate(timeout=30)
    finally:
        server.kill()
        server.wait()
    assert json.loads(out)["url"] == told["url"] and told["key"] not in err
    assert not place.exists()
    assert run("-C", workspace, "update", "DROP GRAPH <urn:g>").code == 0
