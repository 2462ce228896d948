"""Turns over HTTP: whole, as events, given up, and with changes that have to be approved."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents.openai_server import OpenAIServer, calls, hangs, says

from .conftest import Served, lay_out, serving

QUESTION = "what is said of a fruit: apple?"


@pytest.fixture(scope="module")
def reader(grocery: Served):
    with grocery.client("reader") as client:
        yield client


def test_agents_are_listed_and_described(reader: httpx.Client) -> None:
    listed = reader.get("/agents").json()["agents"]
    assert listed[0]["name"] == "Abi" and {"grocer", "keeper"} <= {a["name"] for a in listed}
    grocer = reader.get("/agents/grocer").json()
    assert grocer["tools"] == ["about_fruit", "count_everything"]
    assert ["thank you"] in [intent["phrases"] for intent in grocer["intents"]]
    assert reader.get("/agents/nobody").json()["error"]["code"] == "not_found"


def test_a_turn_whole(reader: httpx.Client) -> None:
    document = reader.post("/agents/grocer/completion", json={"prompt": QUESTION, "thread_id": 7}).json()
    assert document["thread_id"] == "7" and document["grounded"] is True
    assert document["tool_calls"][0]["tool"] == "about_fruit" and "apple" in document["answer"]
    plain = reader.post("/agents/grocer/completion", json={"prompt": "thank you"}, headers={"Accept": "text/plain"})
    assert plain.text == "You are welcome." and plain.headers["content-type"].startswith("text/plain")


def events_of(text: str) -> list[tuple[str, str]]:
    found = []
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        data = "\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
        found += [(line.removeprefix("event: "), data) for line in lines if line.startswith("event: ")]
    return found


def test_a_turn_as_events(reader: httpx.Client) -> None:
    answer = reader.post("/agents/grocer/stream-completion", json={"prompt": QUESTION})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    names = [name for name, _ in events]
    assert names.index("tool_usage") < names.index("tool_response") < names.index("message") < names.index("result")
    assert events[-1] == ("done", "[DONE]") and names.count("result") == 1
    said = "\n".join(data for name, data in events if name == "message")
    assert json.loads(dict(events)["result"])["answer"] == said
    refused = reader.post("/agents/nobody/stream-completion", json={"prompt": QUESTION})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"prompt": ""}, 400),
        ({"prompt": "x", "approve": True}, 403),
        ({"prompt": "x", "write": True}, 403),
        ({"prompt": "x", "model": "openai:gpt"}, 403),
        ({"prompt": "x", "colour": "red"}, 422),
        ({"prompt": ["x"]}, 422),
        ({"prompt": "x", "thread_id": "y" * 300}, 400),
    ],
)
def test_what_is_no_message(reader: httpx.Client, body: dict[str, Any], status: int) -> None:
    for way in ("completion", "stream-completion"):
        answer = reader.post(f"/agents/grocer/{way}", json=body)
        assert answer.status_code == status, answer.text
        assert set(answer.json()["error"]) == {"code", "message", "details", "hint"}


def test_a_key_in_the_address_is_taken_here_and_never_logged(grocery: Served) -> None:
    key = grocery.keys["reader"]
    with grocery.client() as anyone:
        assert anyone.get("/agents").status_code == 401
        assert anyone.get(f"/agents?token={key}").status_code == 200
        sent = anyone.post(f"/agents/grocer/completion?token={key}", json={"prompt": "thank you"})
        assert sent.json()["answer"] == "You are welcome."
        assert anyone.get(f"/threads?token={key}").status_code == 401
    assert key not in grocery.log.getvalue() and "token" not in grocery.log.getvalue()


@pytest.mark.parametrize("way", ["completion", "stream-completion", "tools"])
def test_a_turn_and_its_queries_end_with_the_client(grocery: Served, way: str) -> None:
    port = int(grocery.url.rsplit(":", 1)[1])
    path = "/tools/count_everything" if way == "tools" else f"/agents/grocer/{way}"
    body = json.dumps({} if way == "tools" else {"prompt": "count everything there is"}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {grocery.keys['reader']}\r\nContent-Length: {len(body)}\r\n\r\n"
    running = lambda: grocery.workspace.pool.counts()["running"]  # noqa: E731
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + body)
        until = time.monotonic() + 30
        while not running():
            assert time.monotonic() < until, "the tool was never called"
            time.sleep(0.01)
        time.sleep(0.2)
    gone = time.monotonic()
    while running():
        assert time.monotonic() < gone + 9, "the query goes on"  # by itself it would end after ten seconds
        time.sleep(0.02)
    # the thread of the turn is as usable as any
    with grocery.client("reader") as client:
        assert client.post("/agents/grocer/completion", json={"prompt": "thank you"}).status_code == 200


def test_changes_are_proposed_and_approved(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    insert = "INSERT DATA { GRAPH <urn:notes> { <urn:a> rdfs:label 'a note' } }"
    answers = [calls("update_graph", update=insert), says("Not written."), calls("update_graph", update=insert)]
    with OpenAIServer([*answers, says("Written.")]) as model:
        settings = f"models:\n  m: {{model: 'openai:m', base_url: '{model.url}'}}\nmodel: m\n"
        with serving(root, settings) as served, served.client("writer") as writer, served.client("reader") as reader:
            assert writer.post("/index", json={}).status_code == 200
            ask = {"prompt": "keep a note", "thread_id": "t", "write": True}
            kept = {"query": "ASK { GRAPH <urn:notes> { ?s ?p ?o } }"}

            def say(client: httpx.Client, **body: Any) -> httpx.Response:
                return client.post("/agents/keeper/completion", json=body)

            assert say(writer, thread_id="t", approve=True).json()["error"]["code"] == "usage"
            proposed = say(writer, **ask).json()
            assert len(proposed["needs"]["approval"]["added"]) == 1
            assert say(reader, thread_id="t", approve=True).status_code == 403
            assert say(writer, thread_id="t", approve=False).json()["answer"] == "Not written."
            assert writer.get("/sparql", params=kept).json()["boolean"] is False
            assert say(writer, **ask).json()["needs"]["approval"]
            assert say(writer, thread_id="t", approve=True).json()["answer"] == "Written."
            assert writer.get("/sparql", params=kept).json()["boolean"] is True


def test_a_model_is_given_up_with_the_client(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    with OpenAIServer([hangs(120.0), says("Back again.")]) as model:
        settings = f"models:\n  m: {{model: 'openai:m', base_url: '{model.url}'}}\nmodel: m\nmodel_seconds: 200\n"
        with serving(root, settings) as served:
            served.workspace.index()
            body = json.dumps({"prompt": "tell me something", "thread_id": "t"}).encode()
            head = "POST /agents/keeper/stream-completion HTTP/1.1\r\nHost: localhost\r\n"
            head += f"Content-Type: application/json\r\nAuthorization: Bearer {served.keys['reader']}\r\n"
            head += f"Content-Length: {len(body)}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", int(served.url.rsplit(":", 1)[1]))) as connection:
                connection.sendall(head.encode() + body)
                until = time.monotonic() + 60
                while not model.requests:
                    assert time.monotonic() < until, "the model was never asked"
                    time.sleep(0.02)
            # the thread is free at once: its next message need not wait for what hangs
            with served.client("reader") as reader:
                again = reader.post("/agents/keeper/completion", json={"prompt": "are you there?", "thread_id": "t"})
            assert again.json()["answer"] == "Back again."
            assert len(model.requests) == 2
