"""MCP at `/mcp` of a real server, by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents.openai_server import OpenAIServer, calls, says
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult
from server.conftest import Served, lay_out, serving

from .conftest import MODES, http_client, text_of, through

QUESTION = "what is said of a fruit: apple?"
APPLE = "https://example.org/served/apple"


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_listed_with_schemas_and_all_hints(shop: Served, mode: str) -> None:
    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            return (await client.list_tools()).tools, client.server_capabilities

    listed, can = through(work)
    tools = {tool.name: tool for tool in listed}
    assert {"ask_Abi", "ask_grocer", "about_fruit", "abi_search", "abi_sparql"} <= tools.keys()
    assert "abi_update" not in tools, "readers are not offered what they may not do"
    assert tools["ask_grocer"].description == "Knows the fruit."
    for tool in listed:
        assert tool.input_schema["type"] == "object" and tool.output_schema["type"] == "object", tool.name
        hints = tool.annotations
        given = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in given, tool.name
    assert tools["about_fruit"].annotations.read_only_hint is True
    assert "fruit" in tools["about_fruit"].input_schema["properties"]
    assert "who" not in tools["whose"].input_schema["properties"], "the caller is not a model's choice"
    assert can.tools.list_changed and can.prompts.list_changed and can.resources.list_changed


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_called_and_say_how_a_call_is_mended(shop: Served, mode: str) -> None:
    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            return [
                await client.call_tool("about_fruit", {"fruit": "apple"}),
                await client.call_tool("about_fruit", {"fruits": "apple"}),
                await client.call_tool("about_fruit", {"fruit": "appel"}),
                await client.call_tool("about_frut", {}),
                await client.call_tool("whose", {}),
            ]

    done, wrong, misspelt, unknown, whose = through(work)
    assert not done.is_error and done.structured_content["arguments"]["fruit"] == APPLE
    assert done.structured_content["result"] and json.loads(text_of(done)) == done.structured_content
    assert wrong.is_error and "fruits" in text_of(wrong) and "is needed" in text_of(wrong)
    assert misspelt.is_error and "apple" in text_of(misspelt)
    assert unknown.is_error and "about_fruit" in text_of(unknown)
    assert whose.structured_content["result"][0]["caller"] == "reader"


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_is_asked_and_tells_of_its_steps(shop: Served, mode: str) -> None:
    steps: list[str] = []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            first = await client.call_tool("ask_grocer", {"message": QUESTION}, progress_callback=step)
            second = await client.call_tool("ask_grocer", {"message": "thank you"})
            told = first.structured_content["thread_id"]
            third = await client.call_tool("ask_grocer", {"message": "thank you", "thread_id": told})
            empty = await client.call_tool("ask_grocer", {"message": " "})
        return first, second, third, empty

    first, second, third, empty = through(work)
    assert text_of(first) == first.structured_content["answer"] and "apple" in text_of(first)
    assert first.structured_content["tool_calls"][0]["tool"] == "about_fruit"
    assert any("calls a tool" in message for message in steps)
    threads = [r.structured_content["thread_id"] for r in (first, second, third)]
    assert threads[0] == threads[2]
    assert (threads[0] == threads[1]) is (mode == "legacy"), "a session has a thread of its own"
    assert empty.is_error and "message" in text_of(empty)


def test_threads_of_two_sessions_are_two(shop: Served) -> None:
    async def one() -> str:
        async with http_client(shop, "reader", "legacy") as client:
            told = await client.call_tool("ask_grocer", {"message": "thank you"})
            return told.structured_content["thread_id"]

    async def work() -> Any:
        return await asyncio.gather(one(), one())

    first, second = through(work)
    assert first != second


@pytest.mark.parametrize("mode", MODES)
def test_search_and_sparql(shop: Served, mode: str) -> None:
    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            ask = {"query": "SELECT ?l WHERE { ?s rdfs:label ?l } ORDER BY ?l", "limit": 2}
            return [
                await client.call_tool("abi_search", {"kind": "tools", "query": "what is said of a fruit"}),
                await client.call_tool("abi_sparql", ask),
                await client.call_tool("abi_sparql", {**ask, "offset": 2}),
                await client.call_tool("abi_sparql", {"query": f"ASK {{ <{APPLE}> ?p ?o }}"}),
                await client.call_tool("abi_sparql", {"query": f"CONSTRUCT WHERE {{ <{APPLE}> ?p ?o }}"}),
                await client.call_tool("abi_sparql", {"query": "SELECT * { ?s"}),
                await client.call_tool("abi_sparql", {"query": "DROP ALL"}),
                await client.call_tool("abi_sparql", {"query": "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }"}),
            ]

    found, rows, more, truth, turtle, *wrong = through(work)
    assert found.structured_content["results"][0]["name"] == "about_fruit"
    assert len(rows.structured_content["rows"]) == 2 and rows.structured_content["truncated"] is True
    assert more.structured_content["rows"] != rows.structured_content["rows"]
    assert truth.structured_content["boolean"] is True
    assert "apple" in turtle.structured_content["turtle"]
    assert all(result.is_error for result in wrong)
    assert "line" in text_of(wrong[0]).lower() or "1:" in text_of(wrong[0])


@pytest.mark.parametrize("mode", MODES)
def test_resources_are_listed_by_pages_and_read(shop: Served, mode: str) -> None:
    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            every, cursor = [], None
            while True:
                page = await client.list_resources(cursor=cursor)
                every += page.resources
                cursor = page.next_cursor
                if cursor is None:
                    break
            templates = (await client.list_resource_templates()).resource_templates
            read = [
                (await client.read_resource(uri)).contents[0]
                for uri in (
                    "abi://records/about_fruit",
                    f"abi://entities/{APPLE.replace(':', '%3A').replace('/', '%2F')}",
                    "abi://terms/abi:Tool",
                )
            ]
            for wrong in ("abi://entities/urn%3Anothing", "abi://entities/%3E%20%7D%20", "abi://nowhere/1"):
                with pytest.raises(MCPError):
                    await client.read_resource(wrong)
            with pytest.raises(MCPError):
                await client.list_resources(cursor="records:-1")
        return every, templates, read

    every, templates, read = through(work)
    uris = [resource.uri for resource in every]
    assert len(set(uris)) == len(uris) > 100
    assert {uri.split("/")[2] for uri in uris} == {"records", "terms", "entities"}
    assert {template.name for template in templates} == {"record", "term", "entity"}
    record, entity, term = read
    assert json.loads(record.text)["name"] == "about_fruit"
    assert "apple" in entity.text and entity.mime_type == "text/turtle"
    assert "Tool" in term.text


@pytest.mark.parametrize("mode", MODES)
def test_prompts_with_their_arguments(shop: Served, mode: str) -> None:
    async def work() -> Any:
        async with http_client(shop, "reader", mode) as client:
            listed = (await client.list_prompts()).prompts
            got = await client.get_prompt("greeting", {"somebody": "Eve"})
            with pytest.raises(MCPError, match="somebody"):
                await client.get_prompt("greeting", {})
        return listed, got

    listed, got = through(work)
    greeting = next(prompt for prompt in listed if prompt.name == "greeting")
    assert [(a.name, a.required) for a in greeting.arguments] == [("somebody", True)]
    assert got.messages[0].content.text.strip() == "Greet Eve."


INSERT = "INSERT DATA { GRAPH <urn:kept> { <urn:%s> rdfs:label 'kept' } }"
KEPT = {"query": "ASK { GRAPH <urn:kept> { <urn:%s> ?p ?o } }"}


@pytest.mark.parametrize("mode", MODES)
def test_changes_need_a_role_and_a_person(shop: Served, mode: str) -> None:
    asked: list[str] = []

    def person(yes: bool) -> Any:
        async def answer(context: Any, params: Any) -> ElicitResult:
            asked.append(params.message)
            return ElicitResult(action="accept", content={"approve": yes}) if yes else ElicitResult(action="decline")

        return answer

    update = {"update": INSERT % mode}
    ask = {"query": KEPT["query"] % mode}

    async def work() -> Any:
        results = []
        async with http_client(shop, "reader", mode, elicitation_callback=person(True)) as reader:
            results.append(await reader.call_tool("abi_update", update))
        async with http_client(shop, "writer", mode) as writer:
            results.append(await writer.call_tool("abi_update", update))
        async with http_client(shop, "writer", mode, elicitation_callback=person(False)) as writer:
            results.append(await writer.call_tool("abi_update", update))
            before = await writer.call_tool("abi_sparql", ask)
        async with http_client(shop, "writer", mode, elicitation_callback=person(True)) as writer:
            bad = await writer.call_tool("abi_update", {"update": "INSERT DATA { <urn:nobody> rdfs:label 'x' }"})
            done = await writer.call_tool("abi_update", update)
            after = await writer.call_tool("abi_sparql", ask)
        return results, before, bad, done, after

    refused, before, bad, done, after = through(work)
    assert [r.is_error for r in refused] == [True, True, True]
    assert before.structured_content["boolean"] is False
    assert bad.is_error and "GRAPH" in text_of(bad), "what cannot be written is told before anybody is asked"
    assert len(asked) == 2 and "urn:kept" in asked[0]
    assert not done.is_error and done.structured_content["added"] == 1
    assert after.structured_content["boolean"] is True


@pytest.mark.parametrize("mode", MODES)
def test_what_an_agent_proposes_is_approved_by_a_person(tmp_path: Path, mode: str) -> None:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    insert = "INSERT DATA { GRAPH <urn:notes> { <urn:a> rdfs:label 'a note' } }"
    asked: list[str] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": True})

    with OpenAIServer([calls("update_graph", update=insert), says("Written.")]) as model:
        settings = f"models:\n  m: {{model: 'openai:m', base_url: '{model.url}'}}\nmodel: m\n"
        with serving(root, settings) as served, served.client("writer") as writer:
            assert writer.post("/index", json={}).status_code == 200

            async def work() -> Any:
                async with http_client(served, "writer", mode, elicitation_callback=person) as client:
                    return await client.call_tool("ask_keeper", {"message": "keep a note"})

            done = through(work)
            assert len(asked) == 1 and text_of(done) == "Written."
            kept = writer.get("/sparql", params={"query": "ASK { GRAPH <urn:notes> { ?s ?p ?o } }"}).json()
            assert kept["boolean"] is True


@pytest.mark.parametrize("mode", MODES)
def test_clients_are_told_when_the_graph_has_moved(shop: Served, mode: str) -> None:
    async def work() -> None:
        told: asyncio.Queue[str] = asyncio.Queue()

        async def heard(message: Any) -> None:
            method = getattr(message, "method", None) or getattr(getattr(message, "root", None), "method", "")
            await told.put(str(method))

        def write() -> None:
            with shop.client("writer") as writer:
                update = f"INSERT DATA {{ GRAPH <urn:moved> {{ <urn:{mode}> <urn:b> 1 }} }}"
                sent = writer.post("/update", content=update, headers={"Content-Type": "application/sparql-update"})
                assert sent.status_code == 200, sent.text

        async with http_client(shop, "reader", mode, message_handler=heard) as client:
            if mode == "legacy":
                await client.list_tools()
                await asyncio.sleep(2)
                await asyncio.to_thread(write)
                while "tools/list_changed" not in await told.get():
                    pass
            else:
                async with client.listen(tools_list_changed=True) as changes:
                    await asyncio.sleep(2)
                    await asyncio.to_thread(write)
                    assert "Tools" in type(await anext(aiter(changes))).__name__

    through(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_is_given_up_ends(shop: Served, mode: str) -> None:
    async def work() -> None:
        async with http_client(shop, "reader", mode) as client:
            call = asyncio.ensure_future(client.call_tool("count_everything", {}))
            await until(lambda: shop.workspace.pool.counts()["running"] > 0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await until(lambda: shop.workspace.pool.counts()["running"] == 0)

    async def until(true: Any) -> None:
        while not true():
            await asyncio.sleep(0.01)

    through(work)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_doorway_and_keys_come_first(shop: Served) -> None:
    with shop.client() as anyone, shop.client("reader") as reader:
        assert anyone.post("/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 401
        for header in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            assert reader.post("/mcp", json=INITIALIZE, headers={**ACCEPT, **header}).status_code == 403
        begun = reader.post("/mcp", json=INITIALIZE, headers=ACCEPT)
        assert begun.status_code == 200 and begun.headers["mcp-session-id"]


def test_a_session_is_of_whoever_began_it(shop: Served) -> None:
    with shop.client("reader") as reader, shop.client("admin") as admin:
        session = reader.post("/mcp", json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
        headers = {**ACCEPT, "Mcp-Session-Id": session}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert reader.post("/mcp", json=ping, headers=headers).status_code == 200
        assert admin.post("/mcp", json=ping, headers=headers).status_code == 404


def test_a_server_without_the_package_says_so(shop: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from abi.mcp.mounted import Mounted

    async def answer() -> None:
        async def version() -> int:
            return 1

        monkeypatch.setitem(__import__("sys").modules, "mcp.server.streamable_http_manager", None)
        await Mounted(None, "w", {}, version, 1)({"type": "http"}, None, None)  # type: ignore[arg-type]

    from abi.errors import Unsupported

    with pytest.raises(Unsupported) as told:
        through(answer)
    assert "abi-graph[mcp]" in told.value.hint
    assert isinstance(shop.client("reader"), httpx.Client)
