"""Files to graph: what changes, all or nothing, and what happens to graphs that were edited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.findings import Finding
from abi.graph.indexing import IndexReport

TOOL = """\
# record_kind: sparql_query
# name: {name}
# description: {description}
SELECT ?s WHERE {{ ?s a owl:Class }} LIMIT 3
"""
AGENT = """\
record_kind: agent
name: helper
description: Helps with classes.
tools: [{tool}]
"""


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "ws"
    Workspace.init(root, base_iri="https://example.org/t/")
    put(root, "tools/one.rq", TOOL.format(name="one", description="The first tool."))
    put(root, "tools/two.rq", TOOL.format(name="two", description="The second tool."))
    put(root, "agents/helper.yaml", AGENT.format(tool="one"))
    with Workspace.open(root) as workspace:
        yield workspace


def put(root: Path, path: str, text: str | bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(text.encode() if isinstance(text, str) else text)


def errors(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity == "error"]


def counts(report: IndexReport) -> tuple[int, int, int]:
    return report.added, report.changed, report.removed


def names(ws: Workspace, kind: str) -> set[str]:
    return {e.name for e in ws.ls(kind).entries if not e.source.startswith("abi:")}


def test_a_first_index_adds_everything_and_a_second_does_nothing(ws: Workspace) -> None:
    first = ws.index()
    assert not errors(first.findings)
    assert names(ws, "tools") == {"one", "two"}
    assert first.version == 1
    second = ws.index()
    assert counts(second) == (0, 0, 0)
    assert second.unchanged == first.records
    assert second.version == 1
    assert not second.written


def test_only_what_changed_is_written(ws: Workspace) -> None:
    ws.index()
    put(ws.root, "tools/two.rq", TOOL.format(name="two", description="Another text."))
    report = ws.index()
    assert counts(report) == (0, 1, 0)
    assert report.files["changed"] == 1
    assert ws.show("two").document()["description"] == "Another text."


def test_a_removed_file_takes_its_records_along(ws: Workspace) -> None:
    ws.index()
    (ws.root / "tools/two.rq").unlink()
    assert counts(ws.index()) == (0, 0, 1)
    assert names(ws, "tools") == {"one"}
    assert not ws.query("ASK { GRAPH <https://example.org/t/source/tools/two.rq> { ?s ?p ?o } }")
    assert not ws.query('ASK { ?file abi:path "tools/two.rq" }')


def test_a_moved_file_changes_no_record(ws: Workspace) -> None:
    ws.index()
    (ws.root / "tools/more").mkdir()
    (ws.root / "tools/two.rq").rename(ws.root / "tools/more/two.rq")
    report = ws.index()
    assert counts(report) == (0, 0, 0)
    assert ws.ls("tools").document()["records"] and ws.show("two").document()["source"] == "tools/more/two.rq:2"


def test_with_a_path_nothing_else_is_touched(ws: Workspace) -> None:
    ws.index()
    put(ws.root, "tools/two.rq", TOOL.format(name="two", description="Another text."))
    put(ws.root, "agents/helper.yaml", AGENT.format(tool="two"))
    (ws.root / "tools/one.rq").unlink()
    report = ws.index([ws.root / "tools/two.rq"])
    assert counts(report) == (0, 1, 0)
    assert names(ws, "tools") == {"one", "two"}
    assert ws.show("helper").document()["tools"] == ["one"]


def test_a_dry_run_tells_and_writes_nothing(ws: Workspace) -> None:
    ws.index()
    put(ws.root, "tools/three.rq", TOOL.format(name="three", description="The third tool."))
    report = ws.index(dry_run=True)
    assert counts(report) == (1, 0, 0)
    assert names(ws, "tools") == {"one", "two"}
    assert ws.version() == 1


def test_any_fault_leaves_the_graph_as_it_was(ws: Workspace) -> None:
    ws.index()
    put(ws.root, "tools/two.rq", TOOL.format(name="two", description="Another text."))
    put(ws.root, "agents/helper.yaml", AGENT.format(tool="onne"))
    report = ws.index()
    (fault,) = errors(report.findings)
    assert (fault.path, fault.line) == ("agents/helper.yaml", 2)
    assert "onne" in fault.message and "one" in fault.fix
    assert ws.version() == 1
    assert ws.show("two").document()["description"] == "The second tool."


def test_an_edited_graph_is_left_told_and_restored(ws: Workspace) -> None:
    ws.index()
    two = "<https://example.org/t/tool/two>"
    graph = "<https://example.org/t/source/tools/two.rq>"
    edit = f'WITH {graph} DELETE {{ {two} abi:description ?d }} INSERT {{ {two} abi:description "Edited." }} '
    ws.update(edit + f"WHERE {{ {two} abi:description ?d }}")
    assert ws.show("two").document()["description"] == "Edited."
    assert ws.status().edited == ["tools/two.rq"]
    put(ws.root, "tools/two.rq", TOOL.format(name="two", description="In the file."))
    report = ws.index()
    assert report.edited == ["tools/two.rq"]
    assert ws.show("two").document()["description"] == "Edited."
    restored = ws.index(restore=True)
    assert restored.edited == []
    assert ws.show("two").document()["description"] == "In the file."
    assert ws.status().edited == []


def test_a_graph_that_is_written_back_to_its_file_is_no_longer_edited(ws: Workspace) -> None:
    turtle = """\
    @prefix abi: <https://w3id.org/abi/> .
    @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    <https://example.org/t/agent/guide> a abi:AgentSpecification, owl:NamedIndividual ; rdfs:label "guide" ;
        abi:name "guide" ; abi:description "Guides." ; abi:systemPrompt "Guide." .
    """
    put(ws.root, "agents/guide.ttl", textwrap.dedent(turtle))
    assert not errors(ws.index().findings)
    guide = "<https://example.org/t/agent/guide>"
    graph = "<https://example.org/t/source/agents/guide.ttl>"
    ws.update(
        f'WITH {graph} DELETE {{ {guide} abi:description ?d }} INSERT {{ {guide} abi:description "Leads." }} '
        f"WHERE {{ {guide} abi:description ?d }}"
    )
    assert ws.index().edited == ["agents/guide.ttl"]
    put(ws.root, "agents/guide.ttl", ws.export(source="agents/guide.ttl"))
    report = ws.index()
    assert report.edited == [] and counts(report) == (0, 0, 0)
    assert ws.show("guide").document()["description"] == "Leads."


def test_a_change_of_prefixes_reads_every_file_again(ws: Workspace) -> None:
    prefixed = "# record_kind: sparql_query\n# name: three\n# description: Things.\nSELECT ?s WHERE { ?s a ex:Thing }\n"
    settings = (ws.root / "abi.yaml").read_text()
    put(ws.root, "tools/three.rq", prefixed)
    ws.index()
    put(ws.root, "abi.yaml", settings.replace("t/schema#", "t/other#"))
    with Workspace.open(ws.root) as again:
        assert again.index().files["changed"] > 3


def test_a_git_commit_is_kept_and_is_no_change(ws: Workspace) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=ws.root, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    ws.index()
    commit = ws.query('SELECT ?c WHERE { ?f abi:path "tools/one.rq" ; abi:commit ?c }')[0]["c"]
    assert len(commit) == 40
    git("commit", "--allow-empty", "-m", "second")
    assert not ws.index().written


NO_QUERY = "# name: bad\n# description: d\nSELECT ?s WHERE { ?s ?p }"
FAULTS: dict[str, tuple[str, str | bytes, str, int]] = {
    "syntax error in the query": ("tools/bad.rq", NO_QUERY, "template", 3),
    "missing description": ("tools/bad.rq", "# name: bad\nSELECT ?s WHERE { ?s ?p ?o }", "description", 1),
    "duplicate name": ("tools/bad.rq", TOOL.format(name="one", description="Again."), "name-duplicate", 2),
    "dangling tool": ("agents/bad.yaml", "record_kind: agent\nname: bad\ndescription: d\ntools: [nowhere]\n", "", 2),
    "wrong type": ("agents/bad.yaml", "record_kind: agent\nname: bad\ndescription: d\nthreshold: high\n", "", 4),
    "alias bomb": ("agents/bad.yaml", "a: &a [x]\nb: [*a, *a, *a]\n", "yaml", 0),
    "not UTF-8": ("prompts/bad.prompt", b"---\nname: x\n---\n\xff\xfe text", "file-encoding", 4),
    "empty file": ("tools/bad.rq", "", "file-empty", 1),
    "relative IRI": ("graph/bad.ttl", "<a> <http://e/p> 1 .", "", 1),
    "Turtle that does not parse": ("graph/bad.ttl", "<http://e/a> <http://e/p> .", "", 1),
    "a file that is too large": ("tools/bad.rq", b"# name: bad\n" + b"#" * 300_000, "file-large", 0),
    "Python that does not parse": ("tools/bad.py", "from abi import tool\n@tool\ndef f(:\n", "", 3),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_told_with_its_place(ws: Workspace, fault: str) -> None:
    path, content, code, line = FAULTS[fault]
    ws.index()
    put(ws.root, path, content)
    for report in (ws.index(), ws.check()):
        found = [f for f in errors(report.findings) if f.path == path]
        assert found, report.findings
        assert all(f.message and f.fix for f in found)
        assert any(f.code.startswith(code) and (not line or f.line == line) for f in found), found
    assert ws.version() == 1


def test_all_faults_of_all_files_come_in_one_run(ws: Workspace) -> None:
    for n, (path, content, _, _) in enumerate(FAULTS.values()):
        place = Path(path)
        put(ws.root, f"{place.parent}/bad{n}{place.suffix}", content)
    told = {f.path for f in errors(ws.index().findings)}
    assert len(told) >= len(FAULTS)
    assert not (ws.root / ".abi/graph/CURRENT").exists() or ws.version() == 0


def test_an_unknown_key_is_kept_and_warned_about(ws: Workspace) -> None:
    put(ws.root, "agents/helper.yaml", AGENT.format(tool="one") + "metadata_fields: {team: blue}\n")
    report = ws.index()
    (warning,) = [f for f in report.findings if f.path == "agents/helper.yaml"]
    assert warning.severity == "warning" and "metadata_fields" in warning.message
    assert ws.show("helper").document()["extras"] == {"metadata_fields": {"team": "blue"}}


def test_windows_line_ends_and_a_byte_order_mark_are_read(ws: Workspace) -> None:
    text = TOOL.format(name="three", description="The third tool.").replace("\n", "\r\n")
    put(ws.root, "tools/three.rq", b"\xef\xbb\xbf" + text.encode())
    assert not errors(ws.index().findings)
    assert "three" in names(ws, "tools")


def test_a_symlink_out_of_the_workspace_is_a_fault(ws: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside.rq"
    outside.write_text(TOOL.format(name="outside", description="Not ours."))
    (ws.root / "tools/link.rq").symlink_to(outside)
    (fault,) = errors(ws.index().findings)
    assert (fault.path, fault.code) == ("tools/link.rq", "link-outside")


MANY = 'SELECT ?n ?d WHERE { ?t abi:name ?n ; abi:description ?d FILTER(STRSTARTS(?n, "many")) }'
_KILLED = """
import sys
from abi import Workspace
with Workspace.open(sys.argv[1]) as ws:
    print("begin", flush=True)
    ws.index()
"""


@pytest.mark.timeout(240)
def test_kill_at_any_moment_leaves_old_or_new(ws: Workspace) -> None:
    """Each file's graph is that of one run or the other; the next index completes it."""
    ws.index()
    files = [f"tools/many{n}.rq" for n in range(40)]
    for round in range(6):
        for n, path in enumerate(files):
            put(ws.root, path, TOOL.format(name=f"many{n}", description=f"Text of round {round}."))
        process = subprocess.Popen([sys.executable, "-c", _KILLED, str(ws.root)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.12 * round)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with Workspace.open(ws.root) as after:
            rows = after.query(MANY)
            assert len({row["d"] for row in rows}) <= 1, "a graph between two runs"
            assert len(rows) in (0, 40)
    with Workspace.open(ws.root) as last:
        last.index()
        rows = last.query(MANY)
        assert {row["d"] for row in rows} == {"Text of round 5."}
        assert last.find("tools", name="many7").hits
        assert last.search_index.version == last.version()


def test_two_indexers_at_once_wait_or_say_so(ws: Workspace) -> None:
    """Neither loses anything: the second one says that the store is in use, or does its work after the first."""
    ws.index()
    for n in range(30):
        put(ws.root, f"tools/many{n}.rq", TOOL.format(name=f"many{n}", description="One of many."))
    commands = [[sys.executable, "-m", "abi.cli.main", "-C", str(ws.root), "index"]] * 2
    processes = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for c in commands]
    outcomes = [(p.communicate()[1], p.returncode) for p in processes]
    assert 0 in {code for _, code in outcomes}
    for told, code in outcomes:
        assert code in (0, 4), told
        assert code == 0 or "Traceback" not in told
    ws.index()
    assert len(names(ws, "tools")) == 32


def test_an_index_beside_an_open_reader(ws: Workspace) -> None:
    ws.index()
    with Workspace.open(ws.root, read_only=True) as reader:
        assert names(reader, "tools") == {"one", "two"}
        put(ws.root, "tools/three.rq", TOOL.format(name="three", description="The third tool."))
        ws.index()
        assert names(reader, "tools") == {"one", "two", "three"}


def test_a_file_that_was_changed_as_well_is_not_written_over(ws: Workspace) -> None:
    from abi.errors import Invalid

    ws.index()
    source = "tools/two.rq"
    assert not ws.has_edits_to_write(source)
    two, graph = "<https://example.org/t/tool/two>", "<https://example.org/t/source/tools/two.rq>"
    ws.update(f'INSERT DATA {{ GRAPH {graph} {{ {two} skos:altLabel "the other" }} }}')
    assert ws.has_edits_to_write(source)
    put(ws.root, source, TOOL.format(name="two", description="In the file."))
    with pytest.raises(Invalid, match="lose"):
        ws.has_edits_to_write(source)
