"""Conversations over HTTP: each caller meets its own."""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

from .conftest import Served, lay_out, serving


def test_threads_are_apart_by_their_owner(grocery: Served) -> None:
    with grocery.client("reader") as reader, grocery.client("writer") as writer, grocery.client("admin") as admin:
        for client, word in ((reader, "thank you"), (writer, "count nothing, thank you")):
            sent = client.post("/agents/grocer/completion", json={"prompt": word, "thread_id": "both/of us"})
            assert sent.status_code == 200
        for client, word in ((reader, "thank you"), (writer, "count nothing, thank you")):
            shown = client.get("/threads/both%2Fof%20us").json()
            assert [m["text"] for m in shown["messages"] if m["role"] == "user"] == [word]
            listed = client.get("/threads").json()
            assert {t["principal"] for t in listed["threads"]} == {shown["principal"]}
            turn = client.get("/threads/both%2Fof%20us/turns/1")
            assert turn.status_code == 200 and turn.json()["message"] == word
        assert admin.get("/threads/both%2Fof%20us").status_code == 404
        assert reader.get("/threads", params={"owner": "writer"}).status_code == 403
        assert reader.get("/threads", params={"owner": "*"}).status_code == 403
        assert reader.delete("/threads/both%2Fof%20us", params={"owner": "writer"}).status_code == 403
        assert reader.get("/threads/both%2Fof%20us/turns/1", params={"owner": "writer"}).status_code == 403
        assert admin.get("/threads/both%2Fof%20us", params={"owner": "reader"}).status_code == 200
        everybody = admin.get("/threads", params={"owner": "*"}).json()
        assert {"reader", "writer"} <= {t["principal"] for t in everybody["threads"]}
        # a turn's own IRI is no way around
        iri = reader.get("/threads/both%2Fof%20us/turns/1").json()["turn"]
        path = "/id/" + iri.partition("/served/")[2]
        assert reader.get(path, headers={"Accept": "text/turtle"}).status_code == 200
        assert writer.get(path, headers={"Accept": "text/turtle"}).status_code == 403
        assert reader.delete("/threads/both%2Fof%20us").status_code == 204
        assert reader.get("/threads/both%2Fof%20us").status_code == 404
        assert writer.get("/threads/both%2Fof%20us").status_code == 200


def test_no_route_that_takes_a_name_gives_the_turn_of_another(grocery: Served) -> None:
    secret = "thank you, and my number is 4711"
    with grocery.client("writer") as writer, grocery.client("reader") as reader:
        assert writer.post("/agents/grocer/completion", json={"prompt": secret, "thread_id": "mine"}).status_code == 200
        iri = writer.get("/threads/mine/turns/1").json()["turn"]
        local = iri.partition("/served/")[2]
        names = [iri, f"<{iri}>", local, f" {iri}", unquote(iri), unquote(local), f"served:{local}"]
        kinds = ["records", "entities", "thread", "agents", "turn"]
        paths = [f"/catalog/{kind}/{quote(name, safe='')}" for kind in kinds for name in names]
        paths += [f"/catalog/records/{name}" for name in names]
        paths += [f"/id/{local}", f"/threads/{quote(iri, safe='')}", f"/threads/{quote(local, safe='')}/turns/1"]
        paths += [f"/turn?name={quote(name, safe='')}" for name in names]
        paths += [f"/sparql?query={quote(f'DESCRIBE <{iri}>')}", f"/store?graph={quote(iri, safe='')}", "/export"]
        for path in paths:
            for accept in ("application/json", "text/turtle", "*/*"):
                answer = reader.get(path, headers={"Accept": accept})
                assert "4711" not in answer.text, path
        asked = reader.post("/catalog/find", json={"query": secret, "kind": "entities"})
        assert "4711" not in asked.text.replace(secret, "")


def test_pages_exports_and_pruning(grocery: Served) -> None:
    with grocery.client("admin") as admin:
        for number in range(5):
            admin.post("/agents/grocer/completion", json={"prompt": "thank you", "thread_id": f"n{number}"})
        first = admin.get("/threads", params={"limit": 3}).json()
        assert [t["thread_id"] for t in first["threads"]] == ["n4", "n3", "n2"] and first["total"] == 5
        rest = admin.get(first["next"]).json()
        assert [t["thread_id"] for t in rest["threads"]] == ["n1", "n0"] and rest["next"] is None
        lines = admin.get("/threads", headers={"Accept": "application/x-ndjson"}).text.splitlines()
        assert {json.loads(line)["thread_id"] for line in lines} == {f"n{n}" for n in range(5)}
        assert sorted(admin.post("/threads/prune", json={"days": 0}).json()["deleted"]) == [f"n{n}" for n in range(5)]
        assert admin.get("/threads").json()["threads"] == []


def test_without_keys_this_machine_shares_its_threads(tmp_path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    with serving(root, keys=False) as served, served.client() as anyone:
        served.workspace.index()
        served.workspace.chat("thank you", agent="grocer", thread_id="held without a server")
        told = anyone.post("/agents/grocer/completion", json={"prompt": "thank you", "thread_id": "t"}).json()
        assert told["answer"] == "You are welcome."
        assert [t["thread_id"] for t in anyone.get("/threads").json()["threads"]] == ["t"]
        assert anyone.get("/threads", params={"owner": "*"}).status_code == 403
        assert anyone.post("/index", json={}).status_code == 401
