"""Published versions: what they hold, how they are named, and what keeps one from being made."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.errors import Denied, Invalid, NotFound, StoreError, ToolFailed, UsageError
from abi.graph.version_file import read_lines

SETTINGS = "base_iri: https://example.org/v/\nsources: [tools, prompts, graph]\n"
FRUIT = """# record_kind: sparql_query
# name: fruit
# description: Fruit that is called like a text.
# parameters:
#   text: {type: xsd:string, description: what to look for}
# annotations: {domain: kitchen}
SELECT ?thing WHERE { ?thing rdfs:label ?label FILTER(CONTAINS(?label, ?text)) }
"""
TWICE = '''from abi import tool


@tool
def twice(number: int) -> int:
    """The double of a number."""
    return 2 * number
'''
APPLE = """<https://example.org/v/apple> <http://www.w3.org/2000/01/rdf-schema#label> "apple", "{}" ;
  <urn:with> [ <urn:n> 1 ] ."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ABI_CONFIG_DIR", str(tmp_path / "config"))
    root = tmp_path / "v"
    files = {
        "abi.yaml": SETTINGS,
        ".gitignore": ".abi/\n",
        "tools/fruit.rq": FRUIT,
        "tools/twice.py": TWICE,
        "graph/a.ttl": APPLE.format("xyzzy"),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def ws(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as workspace:
        workspace.trust()
        workspace.index()
        yield workspace


def git(root: Path, *arguments: str) -> str:
    given = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(["git", *given], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def commit_all(root: Path) -> str:
    if not (root / ".git").exists():
        git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "as it is")
    return git(root, "rev-parse", "HEAD")


def edit(ws: Workspace, path: str, old: str, new: str) -> None:
    file = ws.root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    ws.index()


def test_without_git_a_version_has_no_commit(ws: Workspace) -> None:
    report = ws.publish("the first")
    version = report.version
    assert report.published and report.findings == []
    assert (version.commit, version.dirty, version.message, version.previous) == (None, None, "the first", None)
    assert version.records == sum(ws.status().records.values())
    assert version.time.endswith("Z")
    assert ws.versions() == [version]
    assert not report.path.stat().st_mode & 0o222


def test_the_same_content_is_published_once(ws: Workspace) -> None:
    first = ws.publish("one")
    before = ws.version()
    again = ws.publish("two")
    assert (again.published, again.version) == (False, first.version)
    assert ws.version() == before and len(ws.versions()) == 1


def test_a_file_read_again_is_the_same_content(ws: Workspace) -> None:
    """Its blank nodes are others then; its commit is, too."""
    first = ws.publish().version
    commit_all(ws.root)
    text = (ws.root / "graph/a.ttl").read_text()
    (ws.root / "graph/a.ttl").write_text(text + "\n# later\n")
    ws.index()
    (ws.root / "graph/a.ttl").write_text(text)
    ws.index()
    again = ws.publish()
    assert (again.published, again.version) == (False, first)


def test_what_a_python_function_does_is_content(ws: Workspace) -> None:
    first = ws.publish().version
    edit(ws, "tools/twice.py", "2 * number", "number + number")
    second = ws.publish().version
    assert second.version != first.version and second.previous == first.version
    changed = ws.diff(first.version, second.version).changed
    assert [(c.name, list(c.fields)) for c in changed] == [("twice", ["source.content_hash"])]
    with Workspace.open(ws.root, version=second.version[:6]) as now:
        assert now.run("twice", number=4).result == 8
    with (
        Workspace.open(ws.root, version=first.version) as then,
        pytest.raises(ToolFailed, match="has changed since") as raised,
    ):
        then.run("twice", number=4)
    assert "without a version" in raised.value.hint


def test_a_version_is_described_in_the_graph(ws: Workspace) -> None:
    commit = commit_all(ws.root)
    ws.index()
    version = ws.publish("with git").version
    assert (version.commit, version.dirty) == (commit, False)
    (row,) = ws.query(
        "SELECT ?name ?commit ?dirty ?message ?n ?time (COUNT(?record) AS ?records) WHERE {"
        " ?version a abi:CatalogVersion ; abi:name ?name ; abi:commit ?commit ; abi:dirty ?dirty ;"
        " abi:description ?message ; abi:recordCount ?n ; abi:hasRecord ?record ."
        " ?act a abi:Publication ; abi:generated ?version ; abi:startedAt ?time }"
        " GROUP BY ?name ?commit ?dirty ?message ?n ?time"
    )
    assert row["time"].isoformat(timespec="milliseconds").replace("+00:00", "Z") == version.time
    del row["time"]
    assert row == {
        "name": version.version,
        "commit": commit,
        "dirty": False,
        "message": "with git",
        "n": version.records,
        "records": version.records,
    }
    assert ws.check().conforms


def test_a_dirty_tree_is_refused_unless_allowed(ws: Workspace) -> None:
    commit_all(ws.root)
    edit(ws, "tools/fruit.rq", "called like", "named like")
    (ws.root / "notes with space.txt").write_text("not committed")
    with pytest.raises(Invalid, match="differ from their commit") as raised:
        ws.publish()
    assert [(f.path, f.code) for f in raised.value.findings] == [
        ("notes with space.txt", "tree-dirty"),
        ("tools/fruit.rq", "tree-dirty"),
    ]
    assert raised.value.exit_code == 1 and "--allow-dirty" in raised.value.hint
    assert ws.versions() == []
    report = ws.publish(allow_dirty=True)
    assert report.version.dirty is True
    assert {f.severity for f in report.findings} == {"warning"}


def test_only_the_workspace_of_a_larger_repository_counts(ws: Workspace) -> None:
    git(ws.root.parent, "init", "-q")
    (ws.root.parent / "elsewhere.txt").write_text("one")
    git(ws.root.parent, "add", "v")
    git(ws.root.parent, "commit", "-q", "-m", "only v")
    assert ws.publish().version.dirty is False
    (ws.root / "tools" / "new.rq").write_text(FRUIT.replace("name: fruit", "name: other"))
    ws.index()
    with pytest.raises(Invalid) as raised:
        ws.publish()
    assert [f.path for f in raised.value.findings] == ["tools/new.rq"]


def test_an_edited_graph_is_dirty(ws: Workspace) -> None:
    commit_all(ws.root)
    ws.index()
    ws.update("INSERT DATA { GRAPH <https://example.org/v/source/graph/a.ttl> { <urn:new> rdfs:label 'new' } }")
    with pytest.raises(Invalid) as raised:
        ws.publish()
    assert [(f.path, f.code) for f in raised.value.findings] == [("graph/a.ttl", "graph-edited")]


def test_a_graph_behind_its_files_is_refused(ws: Workspace) -> None:
    (ws.root / "tools/fruit.rq").write_text(FRUIT.replace("called", "named"))
    with pytest.raises(Invalid, match="behind the files") as raised:
        ws.publish()
    assert [(f.path, f.code) for f in raised.value.findings] == [("tools/fruit.rq", "index-behind")]
    assert ws.publish(allow_dirty=True).version.dirty is None


def test_a_version_shows_what_was(ws: Workspace) -> None:
    first = ws.publish().version
    edit(ws, "tools/fruit.rq", "Fruit that", "Vegetables, too, that")
    (ws.root / "tools/twice.py").unlink()
    edit(ws, "graph/a.ttl", "xyzzy", "plugh")
    with Workspace.open(ws.root, version=first.version[:8]) as then:
        assert then.show("fruit").document()["description"].startswith("Fruit that")
        assert then.show("fruit").document()["source"] == "tools/fruit.rq:2"
        assert [hit.name for hit in then.find("tools", "fruit called").hits][:1] == ["fruit"]
        assert [hit.name for hit in then.find(name="twice").hits] == ["twice"]
        assert then.run("fruit", text="xyzzy").row_count == 1
        assert b"xyzzy" in then.export() and b"plugh" not in then.export()
        assert then.query("ASK { ?v a abi:CatalogVersion }") is True
        with pytest.raises(Denied):
            then.index()
    assert ws.run("fruit", text="xyzzy").row_count == 0
    assert ws.find(name="twice").hits == []


def test_a_version_is_searched_without_embedding_anything(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from abi.search.minilm import MiniLM

    first = ws.publish().version
    edit(ws, "tools/fruit.rq", "Fruit that", "Vegetables, too, that")
    ws._index.rebuild(ws.store.query, ws.settings, ws.version())
    texts: list[str] = []
    embed = MiniLM.embed

    def watched(self: MiniLM, given: list[str]) -> object:
        texts.extend(given)
        return embed(self, given)

    monkeypatch.setattr(MiniLM, "embed", watched)
    with Workspace.open(ws.root, version=first.version) as then:
        assert then.find("tools", "pieces of fruit").hits
    assert texts == ["pieces of fruit"]


def test_a_publication_is_no_thing_of_the_domain(ws: Workspace) -> None:
    ws.publish("apples")
    assert not any("publication of" in hit.name for hit in ws.find("entities", "publication of version").hits)


def test_versions_are_named_by_digits_commit_or_latest(ws: Workspace) -> None:
    commit = commit_all(ws.root)
    first = ws.publish().version
    edit(ws, "tools/fruit.rq", "kitchen", "garden")
    second = ws.publish(allow_dirty=True).version
    one = ws._versions.one
    assert one("latest") == second
    assert one(first.version[:5]) == first
    assert one(first.content_hash) == first
    assert one(commit[:10]) == second
    with pytest.raises(NotFound):
        one("0123456789abcdef0")
    with pytest.raises(UsageError, match="no version"):
        one("../../etc/passwd")
    with pytest.raises(UsageError, match="no version"):
        one("ab")


def test_there_is_no_version_before_the_first(ws: Workspace) -> None:
    with pytest.raises(NotFound) as raised:
        Workspace.open(ws.root, version="latest")
    assert "abi publish" in raised.value.hint


def test_a_damaged_version_is_not_opened(ws: Workspace) -> None:
    report = ws.publish()
    version, lines = read_lines(report.path)
    header = gzip.decompress(report.path.read_bytes()).split(b"\n")[0]
    report.path.chmod(0o644)
    report.path.write_bytes(gzip.compress(b"\n".join([header, *(line.encode() for line in lines[1:]), b""])))
    with pytest.raises(StoreError, match="damaged"):
        Workspace.open(ws.root, version=version.version)
    report.path.write_bytes(report.path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="cannot be read"):
        Workspace.open(ws.root, version=version.version)
    report.path.write_bytes(b"no gzip")
    with pytest.raises(StoreError, match="cannot be read"):
        ws.versions()
    report.path.write_bytes(gzip.compress(b"# {}\n"))
    with pytest.raises(StoreError, match="no version"):
        ws.versions()


def test_any_rdf_tool_reads_a_version(ws: Workspace) -> None:
    import rdflib

    report = ws.publish("one \u2028 line")
    text = gzip.decompress(report.path.read_bytes()).decode()
    dataset = rdflib.Dataset()
    dataset.parse(data=text, format="nquads")
    assert len(list(dataset.quads((None, None, None, None)))) == report.version.triples
    assert json.loads(text.split("\n")[0].removeprefix("# "))["message"] == "one \u2028 line"


def test_a_graph_made_anew_learns_of_the_versions(ws: Workspace, root: Path) -> None:
    import shutil

    version = ws.publish("kept").version
    ws.close()
    shutil.rmtree(root / ".abi" / "graph")
    with Workspace.open(root) as again:
        again.index()
        assert again.query("ASK { ?v a abi:CatalogVersion }") is False
        report = again.publish()
        assert (report.published, report.version) == (False, version)
        assert again.query("ASK { ?v a abi:CatalogVersion ; abi:description 'kept' ; abi:hasRecord ?r }") is True


def test_the_published_file_is_the_same_bytes_wherever_it_is_made(ws: Workspace, tmp_path: Path) -> None:
    report = ws.publish()
    version, lines = read_lines(report.path)
    from abi.graph.version_file import write_version

    write_version(tmp_path / "again.nq.gz", version, lines)
    assert (tmp_path / "again.nq.gz").read_bytes() == report.path.read_bytes()
