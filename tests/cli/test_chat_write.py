from __future__ import annotations

import json
from pathlib import Path

from agents.openai_server import OpenAIServer, calls, says

from .conftest import Run

INSERT = "INSERT DATA { GRAPH <https://example.org/small/notes> { <https://example.org/small/a> rdfs:label 'a note' } }"


def test_a_change_is_made_after_a_yes_in_a_later_command(workspace: Path, run: Run) -> None:
    with OpenAIServer([calls("update_graph", update=INSERT), says("Written.")]) as server:
        with (workspace / "abi.yaml").open("a") as settings:
            settings.write(f"models:\n  m: {{model: 'openai:m', base_url: '{server.url}'}}\n")
        guide = workspace / "agents" / "keeper.yaml"
        guide.write_text("record_kind: agent\nname: keeper\ndescription: Keeps notes.\nmay_write: true\n")
        assert run("-C", workspace, "index").code == 0
        chat = ["-C", workspace, "chat", "keeper", "--model", "m", "--thread", "t", "--write", "--json", "-m"]
        asked = run(*chat, "keep a note").document
        assert len(asked["needs"]["approval"]["added"]) == 1
        assert run(*chat, "yes").document["answer"] == "Written."
    offered = json.dumps(server.requests[0]["tools"])
    assert "update_graph" in offered
    assert run("-C", workspace, "sparql", "ASK { ?x rdfs:label 'a note' }", "--json").document["boolean"] is True
