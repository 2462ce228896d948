"""`abi mcp` as a client starts it: a process of its own, its standard streams the connection."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.test_through_server import serve
from mcp_types import ElicitResult
from server.conftest import lay_out

from abi import Workspace

from .conftest import MODES, text_of, through

NOISY = '''
import os, sys
from abi import tool

@tool
def noisy(word: str) -> str:
    """Says a word, loudly."""
    print("NOISE from print")
    sys.stdout.write("NOISE from write\\n")
    os.write(1, b"NOISE from the file\\n")
    os.system("echo NOISE from a child")
    return word.upper()
'''


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stdio") / "w"
    place.mkdir()
    lay_out(place)
    (place / "abi.yaml").write_text("base_iri: https://example.org/served/\n")
    (place / "tools/noisy.py").write_text(NOISY)
    with Workspace.open(place) as workspace:
        workspace.trust()
        assert workspace.index().written
    return place


def client(root: Path, mode: str, **options: Any) -> Any:
    from mcp import Client, StdioServerParameters

    arguments = ["-m", "abi.cli.main", "-C", str(root), "mcp"]
    started = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    return Client(started, mode=mode, **options)


async def yes(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"approve": True})


@pytest.mark.parametrize("mode", MODES)
def test_everything_works_whatever_tools_print(root: Path, mode: str) -> None:
    async def work() -> Any:
        async with client(root, mode, elicitation_callback=yes) as one:
            names = {tool.name for tool in (await one.list_tools()).tools}
            loud = await one.call_tool("noisy", {"word": "hush"})
            first = await one.call_tool("ask_grocer", {"message": "what is said of a fruit: apple?"})
            second = await one.call_tool("ask_grocer", {"message": "thank you"})
            update = f"INSERT DATA {{ GRAPH <urn:{mode}> {{ <urn:a> rdfs:label 'x' }} }}"
            written = await one.call_tool("abi_update", {"update": update})
            seen = await one.call_tool("abi_sparql", {"query": f"ASK {{ GRAPH <urn:{mode}> {{ ?s ?p ?o }} }}"})
        return names, loud, first, second, written, seen

    names, loud, first, second, written, seen = through(work)
    assert {"ask_grocer", "about_fruit", "abi_search", "abi_sparql", "abi_update", "noisy"} <= names
    assert loud.structured_content["result"] == "HUSH"
    assert "apple" in text_of(first)
    assert first.structured_content["thread_id"] == second.structured_content["thread_id"]
    assert written.structured_content["added"] == 1 and seen.structured_content["boolean"] is True


def test_stdout_holds_messages_alone(root: Path) -> None:
    def message(number: int, method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    command = [sys.executable, "-m", "abi.cli.main", "-C", str(root), "mcp"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    process.stdin.write(message(1, "initialize", **hello))
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    process.stdin.write(message(2, "tools/call", name="noisy", arguments={"word": "hush"}))
    process.stdin.flush()
    lines = [process.stdout.readline(), process.stdout.readline()]
    rest, errors = process.communicate(timeout=120)
    told = [json.loads(line) for line in [*lines, *rest.splitlines()]]
    assert [one["id"] for one in told] == [1, 2]
    assert told[1]["result"]["structuredContent"]["result"] == "HUSH"
    assert "Traceback" not in errors and process.returncode == 0, errors


def test_a_change_by_another_process_is_told(root: Path) -> None:
    async def work() -> None:
        told: asyncio.Queue[str] = asyncio.Queue()

        async def heard(message: Any) -> None:
            await told.put(str(getattr(message, "method", "")))

        async with client(root, "legacy", message_handler=heard) as one:
            before = {tool.name for tool in (await one.list_tools()).tools}
            await asyncio.sleep(2)
            tool = (root / "tools/whose.rq").read_text().replace("whose", "whose_else")
            (root / "tools/whose_else.rq").write_text(tool)
            command = [sys.executable, "-m", "abi.cli.main", "-C", str(root), "index"]
            await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
            while "tools/list_changed" not in await told.get():
                pass
            after = {tool.name for tool in (await one.list_tools()).tools}
        assert after - before == {"whose_else"}

    through(work)


@pytest.mark.skipif(sys.platform == "win32", reason="files cannot be locked so there")
def test_beside_a_server_it_goes_through_it(root: Path) -> None:
    async def work() -> Any:
        async with client(root, "legacy", elicitation_callback=yes) as one:
            update = "INSERT DATA { GRAPH <urn:beside> { <urn:a> rdfs:label 'x' } }"
            written = await one.call_tool("abi_update", {"update": update})
            asked = await one.call_tool("ask_grocer", {"message": "what is said of a fruit: apple?"})
            wrong = await one.call_tool("about_fruit", {"fruit": "appel"})
        return written, asked, wrong

    with serve(root):
        # The server holds the graph: whoever writes here wrote through it.
        written, asked, wrong = through(work)
    assert written.structured_content["added"] == 1
    assert "apple" in text_of(asked) and wrong.is_error


def test_help_and_other_commands_load_nothing_of_it() -> None:
    code = "import sys; from abi.cli.main import main; main(['--help'])"
    code += "; print([m for m in sys.modules if m.startswith('mcp')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    code = "import sys; import abi.server.app; print([m for m in sys.modules if m.partition('.')[0] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
