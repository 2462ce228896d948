"""Commands in a workspace whose server runs go through it, and print what they print without it."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abi.running import running_server

from .conftest import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files cannot be locked so there")


@contextlib.contextmanager
def serve(root: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "abi.cli.main", "-C", str(root), "serve", "--port", "0", "--quiet", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while running_server(root) is None:
            assert server.poll() is None, server.communicate()[1]
            time.sleep(0.02)
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=60)


READS: list[tuple[str, ...]] = [
    ("find", "tools", "fruit by its name"),
    ("find", "--name", "fruit_called"),
    ("find", "--name", "nothing_of_the_kind"),
    ("find", "things", "--limit", "2", "--min-score", "0.1"),
    ("ls",),
    ("ls", "tools"),
    ("ls", "nonsense"),
    ("show", "fruit_called"),
    ("show", "prompt/greeting"),
    ("show", "fruit_called", "--format", "turtle"),
    ("show", "https://example.org/small/agent/guide"),
    ("show", "nothing_of_the_kind"),
    ("run", "fruit_called", "--arg", "name=apple"),
    ("run", "fruit_called"),
    ("run", "times", "--args", '{"a": 6, "b": 7}'),
    ("run", "greeting", "--arg", "name=Eve"),
    ("run", "guide"),
    ("run", "fruit_calle"),
    ("sparql", "SELECT ?s ?l WHERE { ?s a ?c ; rdfs:label ?l . ?c rdfs:label 'fruit'@en } ORDER BY ?l"),
    ("sparql", "ASK { ?s rdfs:label 'apple' }"),
    ("sparql", "CONSTRUCT { ?s rdfs:label 'x'@en } WHERE { ?s rdfs:label 'apple' }"),
    ("sparql", "SELECT * { ?s"),
    ("sparql", "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"),
    ("update", "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }", "--dry-run"),
    ("update", "INSERT DATA { <urn:nobody> <urn:b> 1 }", "--dry-run"),
    ("index", "--dry-run"),
    ("check",),
    ("export", "--source", "graph/fruit.ttl", "-o", "-"),
    ("export", "--source", "graph/fruit.ttl"),
    ("export", "--graph", "urn:none"),
    ("export", "--format", "openapi"),
    ("export", "--format", "openai-tools"),
    ("status",),
    ("versions",),
    ("diff", "latest"),
    ("threads",),
    ("threads", "show", "none"),
    ("doctor",),
    ("settings",),
    ("key", "list"),
]


def plain(text: str) -> str:
    """Without what no two runs have in common."""
    text = re.sub(r'"(seconds|version)": [\d.]+', r'"\1": 0', text)
    return re.sub(r"[\d.]+ (m?s)\b", r"0 \1", text)


def test_what_reads_prints_the_same(workspace: Path, run: Run) -> None:
    def outcomes() -> list[tuple[Any, ...]]:
        found = []
        for command in READS:
            for flags in ((), ("--json",)):
                done = run("-C", workspace, *command, *flags)
                found.append((*command, *flags, done.code, plain(done.out), plain(done.err)))
        return found

    without = outcomes()
    with serve(workspace):
        through = outcomes()
    for one, other in zip(without, through, strict=True):
        assert one == other
    assert {outcome[-3] for outcome in without} >= {0, 1, 2, 3, 5}


def test_the_verbs_are_those_of_the_workspace() -> None:
    from abi import Workspace
    from abi.cli.served_workspace import ServedWorkspace

    for name in vars(ServedWorkspace):
        if name.startswith("_") or not callable(getattr(ServedWorkspace, name)):
            continue
        own = inspect.signature(getattr(ServedWorkspace, name)).parameters
        theirs = inspect.signature(getattr(Workspace, name)).parameters
        for parameter in own.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                at = theirs.get(parameter.name)
                named = any(p.kind is p.VAR_KEYWORD for p in theirs.values())
                assert named if at is None else at.default == parameter.default, (name, parameter.name)


def scenario(root: Path, run: Run, other: Path) -> list[tuple[int, Any]]:
    """What writes, one after the other, with what each tells."""
    told: list[tuple[int, Any]] = []

    def do(*command: str | Path, stdin: str = "") -> Any:
        done = run("-C", root, *command, "--json", stdin=stdin)
        shown = plain(done.out or done.err).replace(str(root), "ROOT")
        shown = re.sub(
            r'"(time|updated|started|ended|bytes|commit|turn|version|content_hash|previous)": [^\n]*', "", shown
        )
        told.append((done.code, shown))
        return done

    update = "INSERT DATA { GRAPH <urn:g> { <urn:a> rdfs:label 'a new one'@en } }"
    do("update", update)
    do("sparql", "SELECT ?l { <urn:a> rdfs:label ?l }")
    do("load", other)
    do("load", other, other.with_name("missing.ttl"))
    do("load", other, "--graph", "urn:here")
    broken = root / "tools" / "broken.rq"
    broken.write_text("# record_kind: sparql_query\n# name: broken\n# description: Broken.\nSELECT ?s WHERE { ?s\n")
    do("index")
    broken.write_text(
        "# record_kind: sparql_query\n# name: broken\n# description: Mended.\nSELECT ?s { ?s a ?c } LIMIT 1\n"
    )
    do("index", broken)
    do("run", "broken")
    do(
        "update",
        "INSERT DATA { GRAPH <https://example.org/small/source/graph/fruit.ttl> { <urn:p> rdfs:label 'plum' } }",
    )
    do("status")
    do("export", "--source", "graph/fruit.ttl")
    told.append((0, (root / "graph" / "fruit.ttl").read_text()))
    do("intents", "derive")
    do("vectors", "build")
    do("publish", "-m", "first", "--allow-dirty")
    do("update", "DROP GRAPH <urn:g>")
    do("diff", "latest")
    do("chat", "guide", "-m", "hello", "--thread", "t/1")
    do("chat", "guide", stdin="fruit called apple?\n/why\n/agents nobody\n/agents guide\n/tools\n/graph\n")
    do("chat", "nobody", "-m", "hello")
    do("chat", "guide", "-m", "hello", "--model", "no:such")
    do("threads", "show", "t/1")
    do("show", "thread/t/1/turn/1")
    do("sparql", "--traces", "SELECT ?a { ?t abi:answer ?a }")
    do("threads", "delete", "t/1")
    do("threads", "prune", "--days", "0")
    do("threads")
    return told


def test_what_writes_does_and_tells_the_same(workspace: Path, tmp_path: Path, run: Run) -> None:
    other = tmp_path / "mehr Früchte.ttl"
    other.write_text("<urn:quince> <http://www.w3.org/2000/01/rdf-schema#label> 'Quitte – ü'@de .\n", encoding="utf-8")
    twin = tmp_path / "twin" / "small"
    shutil.copytree(workspace, twin)
    assert run("trust", twin).code == 0
    without = scenario(workspace, run, other)
    with serve(twin):
        through = scenario(twin, run, other)
    for one, two in zip(without, through, strict=True):
        clean = [re.sub(r"[0-9a-f]{32}", "ID", str(told[1])) for told in (one, two)]
        assert (one[0], clean[0]) == (two[0], clean[1])


def test_a_conversation_goes_on_with_and_without_a_server(workspace: Path, run: Run) -> None:
    chat = ["-C", workspace, "chat", "guide", "--thread", "t", "--json", "-m"]
    assert run(*chat, "hello").code == 0
    with serve(workspace):
        assert run(*chat, "hello").document["turn"].endswith("/thread/t/turn/2")
    assert run(*chat, "hello").document["turn"].endswith("/thread/t/turn/3")
    assert [t["turns"] for t in run("-C", workspace, "threads", "--json").document["threads"]] == [3]


def test_what_a_killed_server_left_is_not_believed(workspace: Path, run: Run) -> None:
    place = workspace / ".abi" / "server.json"
    with serve(workspace) as server:
        assert place.stat().st_mode & 0o777 == 0o600
        again = run("-C", workspace, "serve", "--port", "0")
        assert again.code == 4 and str(server.pid) in again.err
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        assert place.exists() and running_server(workspace) is None
        assert run("-C", workspace, "update", "INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 } }").code == 0
    with serve(workspace):
        assert run("-C", workspace, "sparql", "ASK { <urn:a> ?p 1 }", "--json").document["boolean"] is True
    assert not place.exists()


def test_an_address_in_a_file_alone_is_sent_nothing(workspace: Path, run: Run) -> None:
    """As it may come with a folder from elsewhere: nobody holds its lock."""
    with contextlib.closing(__import__("socket").create_server(("127.0.0.1", 0))) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        place = workspace / ".abi" / "server.json"
        place.write_text(json.dumps({"url": url, "pid": os.getpid(), "key": "abi_x", "certificate": None}))
        place.chmod(0o600)
        assert run("-C", workspace, "ls").code == 0
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_key_that_others_can_read_is_not_used(workspace: Path, run: Run) -> None:
    with serve(workspace):
        (workspace / ".abi" / "server.json").chmod(0o644)
        refused = run("-C", workspace, "ls")
        assert refused.code == 5 and "can be read by others" in refused.err


def test_a_server_that_does_not_answer_is_named(workspace: Path, run: Run) -> None:
    with serve(workspace) as server:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            told = subprocess.Popen(
                [sys.executable, "-m", "abi.cli.main", "-C", str(workspace), "ls"], stderr=subprocess.PIPE, text=True
            )
            time.sleep(1)
            assert told.poll() is None  # it waits as long as the server has not refused
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert told.wait(timeout=60) == 0
        told.communicate()
    child = f"""
import pathlib, sys
from abi.running import announced
with announced(pathlib.Path({str(workspace)!r}), "http://127.0.0.1:1", "abi_x"):
    print("told", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "told\n"
    try:
        told_us = run("-C", workspace, "ls", "--json")
        error = json.loads(told_us.err)["error"]
        assert (told_us.code, error["code"]) == (4, "network") and str(holder.pid) in error["message"]
    finally:
        holder.communicate("")


def test_over_tls_the_certificate_is_the_servers_own(workspace: Path, tmp_path: Path, run: Run) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=graph.example.org",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    with serve(workspace, "--certificate", str(certificate), "--private-key", str(key)):
        assert run("-C", workspace, "ls", "--json").document["records"]
