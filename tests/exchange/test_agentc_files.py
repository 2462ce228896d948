"""Agent Catalog's tools.json and prompts.json: written, and read back to the files that they came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from abi import Workspace
from abi.exchange.agentc_import import import_catalogs
from abi.exchange.agentc_text import NoText, file_text

SOURCES = ["ontology", "graph", "tools", "prompts", "agents"]
KINDS = {"python_function", "sqlpp_query", "semantic_search", "http_request", "prompt"}


def exported(ws: Workspace, format: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(ws.export_catalog(format).data)
    return document


def catalog(tmp_path: Path, *items: dict[str, Any], kind: str = "tool") -> Path:
    path = tmp_path / f"{kind}s.json"
    version = {"timestamp": "2026-01-31T00:00:00Z", "identifier": "abc", "is_dirty": False}
    common = {"description": "Finds things.", "version": version, "embedding": []}
    path.write_text(json.dumps({"kind": kind, "schema_version": "0.0.0", "items": [{**common, **i} for i in items]}))
    return path


def imported(root: Path, *paths: Path) -> Any:
    return import_catalogs(paths, root, SOURCES, 10_000_000)


@pytest.mark.parametrize("format", ["agentc-tools", "agentc-prompts"])
def test_a_catalog_has_what_agentc_asks_for(format: str, ws: Workspace) -> None:
    document = exported(ws, format)
    assert document["kind"] == format.removeprefix("agentc-").removesuffix("s")
    assert document.keys() >= {
        "schema_version",
        "library_version",
        "embedding_model",
        "version",
        "source_dirs",
        "items",
    }
    assert document["embedding_model"] == {"name": "sentence-transformers/all-MiniLM-L6-v2"}
    identifiers = [item["identifier"] for item in document["items"]]
    assert identifiers == sorted(identifiers) and len(set(identifiers)) == len(identifiers)
    for item in document["items"]:
        assert item["record_kind"] in KINDS
        assert not Path(item["source"]).is_absolute()
        assert item["raw"] == (ws.root / item["source"]).read_text()
        assert item["version"]["is_dirty"] or item["version"]["identifier"]
        assert np.linalg.norm(item["embedding"]) == pytest.approx(1, abs=1e-4)


def test_each_kind_has_its_own_fields(ws: Workspace) -> None:
    items = {item["name"]: item for item in exported(ws, "agentc-tools")["items"]}
    function = items["length_of"]
    assert function["content"]["func_content"].startswith('@tool(annotations={"domain": "geometry"})\ndef length_of')
    lines = function["raw"].splitlines()
    first, last = function["content"]["line_no_start"], function["content"]["line_no_end"]
    assert "\n".join(lines[first - 1 : last]) == function["content"]["func_content"]
    assert function["annotations"] == {"domain": "geometry"}
    sql = items["a_sqlpp_query"]
    assert sql["query"] == sql["raw"] and sql["input"]["type"] == "object"
    assert sql["secrets"][0]["couchbase"].keys() >= {"conn_string", "username", "password"}
    search = items["reviews"]
    assert search["vector_search"]["embedding_model"] == {"name": "sentence-transformers/all-MiniLM-L6-v2"}
    assert search["secrets"] == [
        {"couchbase": {"conn_string": "CB_CONN_STRING", "username": "CB_USERNAME", "password": "CB_PASSWORD"}}
    ]
    request = next(item for item in items.values() if item["record_kind"] == "http_request")
    assert request["operation"].keys() == {"path", "method"} and "filename" in request["specification"]
    prompts = {item["name"]: item for item in exported(ws, "agentc-prompts")["items"]}
    assert prompts["a_prompt"]["content"] and prompts["a_raw_prompt"]["content"].startswith("Answer")


def test_what_agentc_does_not_have_is_told(ws: Workspace) -> None:
    findings = ws.export_catalog("agentc-tools").findings
    assert {(f.code, f.severity) for f in findings} == {("export-left-out", "warning")}
    messages = sorted((f.message for f in findings), key=lambda m: (not m.startswith("a_semantic_search"), m))
    assert "a class of the graph" in messages[0]
    assert "jinja_query" in messages[1] and "sparql_query" in messages[2] and len(messages) == 3


def test_round_trip_to_the_same_files_and_records(ws: Workspace, tmp_path: Path) -> None:
    paths = []
    for format in ("agentc-tools", "agentc-prompts"):
        paths.append(tmp_path / f"{format}.json")
        paths[-1].write_bytes(ws.export_catalog(format).data)
    root = tmp_path / "again"
    root.mkdir()
    (root / "abi.yaml").write_text((ws.root / "abi.yaml").read_text())
    with Workspace.open(root) as other:
        report = other.import_catalogs(paths)
        assert {f.code for f in report.findings} == {"import-beside"}
        for path in report.created:
            assert (root / path).read_text() == (ws.root / path).read_text()
        for spec in ws.root.glob("tools/*.openapi.yaml"):
            (root / "tools" / spec.name).write_text(spec.read_text())
        other.index()
        # Everything but agents and SPARQL came along, each record just as it was.
        kinds = [k for k in ws.status().records if k not in ("sparql_query", "jinja_query", "agent", "intent")]
        for kind in kinds:
            for entry in ws.ls(kind).entries:
                if entry.name == "a_semantic_search":
                    continue
                old, new = ws.record(entry.iri), other.record(entry.iri)
                assert new.model_dump(exclude={"source"}) == old.model_dump(exclude={"source"})
        again = other.import_catalogs(paths)
        assert again.created == [] and set(again.unchanged) == set(report.created)


def test_a_catalog_of_0_1_5(tmp_path: Path) -> None:
    """Absolute sources, no raw: Python under contents, SQL++ with its header under query, prompts under prompt."""
    home = "/home/ann/project"
    code = 'from agentc import tool\n\n@tool\ndef f(x: int) -> int:\n    """Doubles."""\n    return 2 * x\n'
    header = '/*\nname: g\ndescription: G.\ninput: \'{"type": "object"}\'\nsecrets:\n  - couchbase: {}\n*/\nSELECT 1;'
    tools = catalog(
        tmp_path,
        {"record_kind": "python_function", "name": "f", "source": f"{home}/src/tools/f.py", "contents": code},
        {"record_kind": "sqlpp_query", "name": "g", "source": f"{home}/src/tools/sql/g.sqlpp", "query": header},
    )
    prompts = catalog(
        tmp_path,
        {
            "record_kind": "jinja_prompt",
            "name": "hello",
            "source": f"{home}/prompts/hello.jinja",
            "prompt": "\nHello {{ name }}.\n---\nBye.\n",
            "annotations": {"lang": "en"},
            "tools": [{"name": "f", "limit": 1}],
        },
        kind="prompt",
    )
    (tmp_path / "root").mkdir()
    report = imported(tmp_path / "root", tools, prompts)
    assert report.findings == []
    assert sorted(report.created) == ["prompts/hello.jinja", "tools/f.py", "tools/sql/g.sqlpp"]
    assert (tmp_path / "root/tools/f.py").read_text() == code
    assert (tmp_path / "root/tools/sql/g.sqlpp").read_text() == header
    (tmp_path / "root" / "abi.yaml").write_text("base_iri: https://example.org/x/\n")
    with Workspace.open(tmp_path / "root") as ws:
        (tmp_path / "root/tools/sql/g.sqlpp").unlink()
        assert ws.index().written
        prompt: Any = ws.record("hello")
        assert prompt.text == "Hello {{ name }}.\n---\nBye.\n"
        assert prompt.annotations == {"lang": "en"} and [t.name for t in prompt.tools] == ["f"]


def test_items_without_their_file_are_written_anew(tmp_path: Path) -> None:
    vector = {"bucket": "b", "scope": "s", "collection": "c", "index": "i", "vector_field": "v", "text_field": "t"}
    path = catalog(
        tmp_path,
        {
            "record_kind": "semantic_search",
            "name": "look",
            "input": {"type": "object", "properties": {"q": {"type": "string"}}},
            "secrets": [{"couchbase": {"conn_string": "A", "username": "B", "password": "C"}}],
            "vector_search": {**vector, "embedding_model": {"name": "m"}},
        },
        *(
            {
                "record_kind": "http_request",
                "name": name,
                "source": "web/api.yaml",
                "operation": {"path": f"/{name}", "method": "GET"},
                "specification": {"filename": "spec.json"},
            }
            for name in ("one", "two")
        ),
    )
    root = tmp_path / "root"
    root.mkdir()
    report = imported(root, path)
    assert sorted(report.created) == ["tools/look.yaml", "tools/web/api.yaml"]
    assert [f.code for f in report.findings] == ["import-beside"]
    text = (root / "tools/web/api.yaml").read_text()
    assert "/one" in text and "/two" in text and "spec.json" in text
    assert "embedding_model" in (root / "tools/look.yaml").read_text()


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({"record_kind": "python_function", "name": "f"}, "import-no-text"),
        ({"record_kind": "sqlpp_query", "name": "f"}, "import-no-text"),
        ({"record_kind": "http_request", "name": "f"}, "import-no-text"),
        ({"record_kind": "teleport", "name": "f"}, "import-no-text"),
        ({"record_kind": "raw_prompt", "name": "f", "prompt": "x", "source": "../../etc/cron.d/x"}, "import-outside"),
        ({"record_kind": "raw_prompt", "name": "f", "prompt": "x", "source": "..\\..\\x.prompt"}, "import-outside"),
    ],
)
def test_a_faulty_item_stops_everything(item: dict[str, Any], code: str, tmp_path: Path) -> None:
    good = {"record_kind": "raw_prompt", "name": "good", "prompt": "x", "source": "good.prompt"}
    (tmp_path / "root").mkdir()
    report = imported(tmp_path / "root", catalog(tmp_path, good, item))
    assert [f.code for f in report.findings] == [code]
    assert report.created == [] and list((tmp_path / "root").iterdir()) == []


def test_nothing_that_exists_is_overwritten(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "tools").mkdir(parents=True)
    (root / "tools/a.prompt").write_text("mine")
    path = catalog(
        tmp_path,
        {"record_kind": "raw_prompt", "name": "a", "prompt": "x", "source": "a.prompt"},
        {"record_kind": "raw_prompt", "name": "b", "prompt": "x", "source": "b.prompt"},
    )
    report = imported(root, path)
    assert [(f.path, f.code) for f in report.findings] == [("tools/a.prompt", "import-exists")]
    assert (root / "tools/a.prompt").read_text() == "mine" and not (root / "tools/b.prompt").exists()


def test_no_link_leads_out_of_the_workspace(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "tools").symlink_to(outside)
    path = catalog(tmp_path, {"record_kind": "raw_prompt", "name": "a", "prompt": "x", "source": "a.prompt"})
    assert [f.code for f in imported(root, path).findings] == ["import-outside"]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "catalog-syntax"),
        ("[]", "catalog-syntax"),
        ('{"kind": "tool"}', "catalog-syntax"),
        ('{"kind": "tool", "items": [{}]}', "catalog-syntax"),
        ('{"kind": "log", "items": []}', "catalog-syntax"),
        ("[" * 100_000, "catalog-syntax"),
    ],
)
def test_a_file_that_is_no_catalog(text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert [f.code for f in imported(tmp_path, path).findings] == [code]


def test_a_catalog_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    assert [f.code for f in imported(tmp_path, tmp_path / "x.json").findings] == ["catalog-unreadable"]
    path = catalog(tmp_path)
    assert [f.code for f in import_catalogs([path], tmp_path, SOURCES, 10).findings] == ["catalog-large"]


def test_a_header_cannot_end_its_comment() -> None:
    item = {"record_kind": "sqlpp_query", "name": "a", "description": "*/ DROP", "input": {}, "query": "SELECT 1"}
    with pytest.raises(NoText):
        file_text([item])
