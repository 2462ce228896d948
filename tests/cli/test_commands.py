"""Every command on a real workspace: its document, its exit code, and nothing else on stdout."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from abi.cli.demo import GO_ON
from abi.cli.main import COMMANDS
from abi.cli.templates import TEMPLATES
from abi.records.record import KINDS

if TYPE_CHECKING:
    from tests.cli.conftest import Run

CHAT_KEYS = {"thread_id", "turn", "agent", "answer", "grounded", "needs", "tool_calls", "citations", "routing"}

# command -> (arguments, the keys that its document has at least, exit code)
DOCUMENTS: dict[str, list[tuple[list[str], set[str], int]]] = {
    "init": [(["new"], {"created"}, 0)],
    "add": [(["raw_prompt", "more"], {"created"}, 0)],
    "check": [([], {"conforms", "records", "findings"}, 0)],
    "index": [
        (
            [],
            {"added", "changed", "removed", "unchanged", "edited", "records", "triples", "version", "seconds"}
            | {"findings"},
            0,
        ),
        (["--dry-run"], {"added", "findings"}, 0),
    ],
    "find": [(["tools", "fruit"], {"results"}, 0), (["--name", "nothing_like_it"], {"results"}, 1)],
    "ls": [([], {"records"}, 0), (["agents"], {"records"}, 0)],
    "show": [(["guide"], {"name", "kind", "iri", "used_by"}, 0), (["tool/times"], {"name", "kind"}, 0)],
    "run": [
        (
            ["times", "--arg", "first=2", "--args", '{"second": 4}'],
            {"tool", "arguments", "result", "query", "row_count", "truncated", "seconds"},
            0,
        ),
        (["fruit_called", "--arg", "text=app"], {"tool", "result", "query", "row_count"}, 0),
        (["greeting", "--arg", "thing=apple"], {"prompt", "arguments", "text", "tools"}, 0),
    ],
    "chat": [(["-m", "describe apple"], CHAT_KEYS, 0), (["guide", "-m", "thank you"], CHAT_KEYS, 0)],
    "sparql": [
        (["SELECT ?s WHERE { ?s rdfs:label 'apple' }"], {"head", "results"}, 0),
        (["ASK { ?s rdfs:label 'apple' }"], {"head", "boolean"}, 0),
        (["CONSTRUCT { ?s rdfs:label ?l } WHERE { ?s rdfs:label ?l } LIMIT 3"], {"head", "results"}, 0),
    ],
    "update": [
        (["INSERT DATA { GRAPH <urn:g> { <urn:a> rdfs:label 'a' } }"], {"added", "removed", "findings"}, 0),
        (["INSERT DATA { GRAPH <urn:g> { <urn:b> rdfs:label 'b' } }", "--dry-run"], {"added", "removed"}, 0),
    ],
    "vectors": [(["build"], {"built"}, 0)],
    "calibrate": [
        ([], {"top1", "correct_and_matched", "out_of_scope_accepted", "thresholds", "curve", "agents", "stored"}, 0),
    ],
    "intents": [(["derive"], {"intents", "tools", "graph"}, 0)],
    "load": [(["FILE.ttl", "--graph", "urn:loaded"], {"graph", "triples", "findings"}, 0)],
    "export": [
        (["--graph", "https://example.org/small/source/graph/fruit.ttl"], set(), 0),
        (["-o", "x.nq"], {"path"}, 0),
    ],
    "publish": [([], {"version", "records", "commit", "dirty", "time", "message", "published"}, 0)],
    "versions": [([], {"versions"}, 0)],
    "key": [(["create", "reader", "--role", "reader"], {"name", "role", "key"}, 0), (["list"], {"keys"}, 0)],
    "threads": [([], {"threads"}, 0), (["prune"], {"deleted"}, 0)],
    "status": [([], {"records", "triples", "version", "edited"}, 0)],
    "settings": [([], {"settings"}, 0)],
    "doctor": [([], {"checks"}, 0)],
    "trust": [([], {"trusted"}, 0)],
}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in DOCUMENTS.items() for case in cases])
def test_json_is_one_document_and_nothing_else(
    name: str,
    case: tuple[list[str], set[str], int],
    run: Run,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(workspace)
    (workspace / "FILE.ttl").write_text("<urn:x> <urn:y> <urn:z> .")
    arguments, keys, code = case
    done = run(name, *arguments, "--json")
    assert done.code == code, done.err
    document: Any = done.document
    if keys:
        assert keys <= document.keys()
    assert "\x1b" not in done.out + done.err
    if code == 0:
        assert done.err == ""


def test_the_contract_covers_every_command() -> None:
    # The example and the server have their own tests, a script is no document, a difference needs a version.
    told_elsewhere = {"demo", "completion", "diff", "serve", "mcp"}
    assert DOCUMENTS.keys() | told_elsewhere == COMMANDS.keys()


def test_there_is_a_template_for_every_record_kind() -> None:
    assert TEMPLATES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_passes_the_check(kind: str, run: Run, workspace: Path) -> None:
    created = run("-C", workspace, "add", kind, "brand_new", "--json").document["created"]
    checked = run("-C", workspace, "check", *created, "--json")
    assert checked.code == 0
    findings = [f["message"] for f in checked.document["findings"]]
    # An HTTP service is only called where somebody has listed its address: the template cannot do that for them.
    assert [message for message in findings if "net_allow" not in message] == []
    again = run("-C", workspace, "add", kind, "brand_new")
    assert again.code == 2 and "exists already" in again.err


@pytest.mark.parametrize(
    "arguments",
    [["sparql", "one"], ["sparql_query", "../up"], ["sparql_query", "a-b"], ["agent", "1"], ["raw_prompt", "class"]],
)
def test_add_refuses_what_is_no_kind_or_no_name(arguments: list[str], run: Run, workspace: Path) -> None:
    assert run("-C", workspace, "add", *arguments).code == 2


def test_ls_show_and_find_tell_people_the_same(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace / "tools")  # the workspace is found upward
    listed = run("ls", "tools")
    assert "fruit_called" in listed.out and "guide" not in listed.out
    shown = run("show", "fruit_called")
    assert "SELECT DISTINCT ?thing ?label" in shown.out
    assert "agent guide" in run("show", "describe_entity").out
    turtle = run("show", "fruit_called", "--format", "turtle")
    assert "SparqlTemplate" in turtle.out
    assert json.loads(run("show", "fruit_called", "--format", "json").out)["kind"] == "sparql_query"
    assert run("find", "--name", "guide").out.splitlines()[1].startswith("1.00\tagent\tguide\t")
    assert run("show", "nothing_like_it").code == 1
    for name in ("apple", "https://example.org/small/apple", ":apple"):
        page = run("show", name).out
        assert page.startswith("name: apple\niri: https://example.org/small/apple\ntypes: fruit\n")
    described = run("show", "Fruit", "--json").document
    assert (described["kind"], described["name"]) == ("entity", "fruit")
    assert {u["name"] for u in described["used_by"]} >= {"apple", "pear"}
    assert run("show", "apple", "--format", "turtle").out.count("apple") >= 2


def test_the_first_word_of_find_is_a_kind_unless_dashes_end_that(run: Run, workspace: Path) -> None:
    tools = run("-C", workspace, "find", "tools", "--limit", "50", "--json").document["results"]
    assert tools and {r["kind"] for r in tools} <= {"sparql_query", "python_function"}
    searched = run("-C", workspace, "find", "--limit", "50", "--json", "--", "tools")
    assert {r["kind"] for r in searched.document["results"]} != {r["kind"] for r in tools}
    named = run("-C", workspace, "find", "--json", "tools", "--", "agents")
    assert {r["kind"] for r in named.document["results"]} <= {"sparql_query", "python_function"}


def test_run_prints_the_result_and_tells_the_rest_on_stderr(run: Run, workspace: Path) -> None:
    done = run("-C", workspace, "run", "times", "--arg", "first=2", "--arg", "second=4")
    assert (done.code, done.out) == (0, "8.0\n")
    rows = run("-C", workspace, "run", "fruit_called", "--arg", "text=PEAR", "--query")
    assert rows.out.splitlines()[0].split("\t") == ["thing", "label"]
    assert "pear" in rows.out
    assert "1 row" in rows.err and "SELECT" in rows.err
    rendered = run("-C", workspace, "run", "greeting", "--arg", "thing=pears")
    assert rendered.out.startswith("Describe pears")


def test_run_asks_nothing_where_nobody_can_answer(run: Run, workspace: Path) -> None:
    done = run("-C", workspace, "run", "fruit_called", stdin="apple\n")
    assert done.code == 2 and done.out == ""
    assert "text" in done.err


def test_run_asks_a_person_for_what_is_missing(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abi.cli.session.Session.interactive", True)
    done = run("-C", workspace, "run", "fruit_called", stdin="pear\n")
    assert done.code == 0 and "pear" in done.out
    assert "text (what to look for): " in done.err and "limit" not in done.err


@pytest.mark.parametrize("way", ["--arg", "--args", "asked"])
def test_lists_and_objects_are_given_as_json(
    way: str, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(workspace.parent / "config"))
    (workspace / "tools" / "add.py").write_text(
        "from dataclasses import dataclass\nfrom abi import tool\n@dataclass\nclass Box:\n    width: float\n"
        '@tool\ndef add_up(boxes: list[Box], names: dict[str, int]) -> dict:\n    "Adds up."\n'
        "    return {'sum': sum(b.width for b in boxes), 'names': names}\n"
    )
    assert run("-C", workspace, "trust").code == run("-C", workspace, "index").code == 0
    boxes, names = '[{"width": 1.5}, {"width": 2}]', '{"a": 1}'
    given = {
        "--arg": ["--arg", f"boxes={boxes}", "--arg", f"names={names}"],
        "--args": ["--args", f'{{"boxes": {boxes}, "names": {names}}}'],
        "asked": [],
    }[way]
    if way == "asked":
        monkeypatch.setattr("abi.cli.session.Session.interactive", True)
    done = run("-C", workspace, "run", "add_up", *given, stdin=f"{boxes}\n{names}\n")
    assert (done.code, json.loads(done.out)) == (0, {"sum": 3.5, "names": {"a": 1}})
    assert ("boxes (as JSON): " in done.err) is (way == "asked")


@pytest.mark.parametrize("arguments", [["--arg", "text"], ["--args", "{"], ["--args", "[1]"], ["--args", "[" * 9000]])
def test_arguments_that_cannot_be_read_are_usage_errors(arguments: list[str], run: Run, workspace: Path) -> None:
    assert run("-C", workspace, "run", "fruit_called", *arguments).code == 2


def test_sparql_reads_stdin_and_files_and_prints_plainly(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    assert run("sparql", "-", stdin="ASK { ?s rdfs:label 'apple' }").out == "true\n"
    (workspace / "q.rq").write_text(
        "SELECT ?l { ?s a <https://example.org/small/schema#Fruit> ; rdfs:label ?l } ORDER BY ?l"
    )
    done = run("sparql", "q.rq")
    assert done.out == "l\napple\npear\n"
    assert "2 rows" in done.err
    built = run("sparql", "CONSTRUCT { ?s rdfs:label ?l } WHERE { ?s rdfs:label ?l FILTER(?l = 'pear') }")
    assert built.out == ('<https://example.org/small/pear> <http://www.w3.org/2000/01/rdf-schema#label> "pear" .\n')


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT { nonsense", 3),
        ("missing.rq", 3),
        ("SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }", 5),
        ("DELETE WHERE { ?s ?p ?o }", 3),
    ],
)
def test_queries_that_are_refused(query: str, code: int, run: Run, workspace: Path) -> None:
    done = run("-C", workspace, "sparql", query, "--json")
    assert done.out == ""
    assert done.code in ({3, 5} if "DELETE" in query else {code}), done.err
    assert "error" in json.loads(done.err)


def test_check_tells_all_faults_on_stdout_and_exits_by_the_worst(run: Run, workspace: Path) -> None:
    (workspace / "tools" / "bad.rq").write_text(
        "# record_kind: sparql_query\n# name: bad\nSELECT * WHERE { ?s ?p ?o }\n"
    )
    done = run("-C", workspace, "check")
    assert done.code == 1
    assert "tools/bad.rq:" in done.out and "error:" in done.out
    (workspace / "tools" / "broken.rq").write_text("# record_kind: [\nSELECT")
    both = run("-C", workspace, "check")
    assert both.code == 3
    assert "tools/bad.rq:" in both.out and "tools/broken.rq:" in both.out
    refused = run("-C", workspace, "index")
    assert refused.code == 3 and refused.out == ""
    assert "Nothing was written" in refused.err
    assert run("-C", workspace, "ls", "--json").document == run("-C", workspace, "ls", "--json").document


def test_index_tells_what_changed(run: Run, workspace: Path) -> None:
    path = workspace / "prompts" / "house_rules.prompt"
    path.write_text(path.read_text() + "Be brief.\n")
    would = run("-C", workspace, "index", "--dry-run")
    assert "Would be: 0 added, 1 changed" in would.out
    assert "1 changed" in run("-C", workspace, "index").out
    assert "0 changed" in run("-C", workspace, "index").out
    assert run("-C", workspace, "index", "--watch", "--dry-run").code == 2


def test_an_edit_in_the_graph_is_told_and_written_back(run: Run, workspace: Path) -> None:
    graph = "https://example.org/small/source/graph/fruit.ttl"
    change = f"INSERT DATA {{ GRAPH <{graph}> {{ <https://example.org/small/pear> rdfs:comment 'sweet' }} }}"
    assert run("-C", workspace, "update", change).out.startswith("1 triple added, 0 removed")
    assert "edited: graph/fruit.ttl" in run("-C", workspace, "status").out
    left = run("-C", workspace, "index")
    assert left.code == 0 and "graph/fruit.ttl: edited" in left.err
    assert run("-C", workspace, "export", "--source", "graph/fruit.ttl").code == 0
    assert "sweet" in (workspace / "graph" / "fruit.ttl").read_text()


def test_export_goes_to_stdout_or_to_a_file_by_its_ending(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    graph = "https://example.org/small/source/graph/fruit.ttl"
    printed = run("export", "--graph", graph, "--format", "ntriples")
    assert '"apple"' in printed.out and printed.err == ""
    assert run("export", "--graph", graph, "-o", "out.nt").out == ""
    assert (workspace / "out.nt").read_text() == printed.out
    assert isinstance(run("export", "--graph", graph, "--json").document, (dict, list))
    assert run("export", "--graph", graph, "--source", "graph/fruit.ttl").code == 2
    assert run("export", "-o", "missing/folder/out.nt").code == 3


def test_load_reads_files_through_the_gate(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    (workspace / "more.nt").write_text("<urn:x> <urn:y> <urn:z> .\n")
    assert run("load", "more.nt", "--graph", "urn:more").out == "1 triple into urn:more\n"
    (workspace / "broken.ttl").write_text("<urn:x> <urn:y> .\n")
    assert run("load", "broken.ttl").code == 3
    assert run("load", "missing.ttl").code == 3


def test_a_turn_has_its_answer_on_stdout_and_its_work_on_stderr(run: Run, workspace: Path) -> None:
    done = run("-C", workspace, "chat", "guide", "-m", "thank you")
    assert (done.code, done.out) == (0, "You are welcome.\n")
    asked = run("-C", workspace, "chat", "-m", "describe apple")
    assert "describe_entity(" in asked.err and "SELECT" in asked.err
    assert "apple" in asked.out


def test_a_turn_can_be_shown_later(run: Run, workspace: Path) -> None:
    turn = run("-C", workspace, "chat", "-m", "describe apple", "--thread", "t1", "--json").document
    shown = run("-C", workspace, "show", "thread/t1/turn/1", "--json").document
    assert (shown["thread_id"], shown["answer"]) == ("t1", turn["answer"])
    assert turn["answer"] in run("-C", workspace, "show", "thread/t1/turn/1").out
    traced = run("-C", workspace, "sparql", "--traces", "--json", "SELECT ?answer { ?turn abi:answer ?answer }")
    assert [row["answer"]["value"] for row in traced.document["results"]["bindings"]] == [turn["answer"]]


def test_a_conversation_takes_a_message_a_line(run: Run, workspace: Path) -> None:
    lines = "thank you\n/why\n/tools\n/agents\n/thread\n/help\n\nthanks\n/quit\nnever read\n"
    done = run("-C", workspace, "chat", "guide", stdin=lines)
    assert done.code == 0
    assert done.out.splitlines().count("You are welcome.") == 2
    assert "by raw" in done.out
    assert "times:" in done.err and "guide:" in done.err and "/quit" in done.err


def test_a_conversation_with_json_is_a_document_a_line(run: Run, workspace: Path) -> None:
    done = run("-C", workspace, "chat", "guide", "--json", stdin="thank you\nthanks\n")
    turns = [json.loads(line) for line in done.out.splitlines()]
    assert len(turns) == 2 and turns[0]["thread_id"] == turns[1]["thread_id"]


def test_status_settings_and_doctor_for_people(run: Run, workspace: Path) -> None:
    assert "sparql_query: " in run("-C", workspace, "status").out
    assert "base_iri\thttps://example.org/small/\tabi.yaml" in run("-C", workspace, "settings").out
    assert run("-C", workspace, "doctor").code == 0


def test_settings_tell_where_a_value_came_from(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_QUERY_SECONDS", "3")
    rows = {row["name"]: row for row in run("-C", workspace, "settings", "--json").document["settings"]}
    assert rows["query_seconds"]["value"] == 3
    assert "ABI_QUERY_SECONDS" in rows["query_seconds"]["origin"]
    assert rows["traces"]["origin"] == "default"


def test_an_untrusted_workspace_runs_no_python(run: Run, indexed: Path, tmp_path: Path) -> None:
    cloned = tmp_path / "cloned"
    shutil.copytree(indexed, cloned)
    done = run("-C", cloned, "run", "times", "--arg", "first=2")
    assert done.code == 5 and done.out == ""
    assert "abi trust" in done.err
    assert run("trust", cloned).code == 0
    assert run("-C", cloned, "run", "times", "--arg", "first=2").out == "2.0\n"


def test_the_demo_answers_in_an_empty_folder(run: Run, tmp_path: Path) -> None:
    """As a process of its own: nothing is on its streams but the one document."""
    done = subprocess.run(
        [sys.executable, "-m", "abi.cli.main", "demo", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["workspace"] == "abi-demo" and document["records"] > 0 and document["triples"] > 0
    assert all(turn.keys() >= CHAT_KEYS for turn in document["turns"])
    answered = [turn for turn in document["turns"] if turn["grounded"]]
    assert answered and all(turn["tool_calls"] and turn["citations"] for turn in answered)
    for line in GO_ON:
        words = shlex.split(line, comments=True)
        if words != ["abi", "chat"]:
            assert run("-C", tmp_path / "abi-demo", *words[1:]).code == 0, line
    again = run("demo", tmp_path / "abi-demo")
    assert (again.code, again.out) == (2, "")
