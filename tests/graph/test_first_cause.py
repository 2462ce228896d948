"""A file that cannot be read is told once: not again by everything that refers to what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from abi import Workspace

FILES = {
    "ontology/flights.ttl": """\
@prefix fl: <https://example.org/t/schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
fl:Airport a owl:Class .
fl:City a owl:Class .
fl:code a owl:DatatypeProperty .
""",
    "tools/find.rq": """\
# record_kind: sparql_query
# name: find_airports
# description: Finds airports by their codes.
# parameters:
#   airport: {class: fl:Airport, description: the airport}
SELECT ?code WHERE { ?airport a fl:Airport ; fl:code ?code }
""",
    "tools/functions.py": '''\
from abi import tool


@tool
def add(a: int) -> int:
    """Adds one."""
    return a + 1
''',
    "prompts/how.prompt": """\
---
record_kind: raw_prompt
name: how_to
description: How to answer.
tools:
  - name: find_airports
---
Answer.
""",
    "agents/guide.yaml": """\
record_kind: agent
name: guide
description: Guides through airports.
system_prompt: {prompt: how_to}
tools: [find_airports, add]
intents:
  - {values: [find an airport], type: tool, target: find_airports}
""",
    "agents/boss.yaml": """\
record_kind: agent
name: boss
description: Hands over to the guide.
agents: [guide]
intents:
  - {values: [ask the guide], type: agent, target: guide}
""",
    "agents/other.ttl": """\
@prefix abi: <https://w3id.org/abi/> .
@prefix : <https://example.org/t/> .
<https://example.org/t/agent/other> a abi:AgentSpecification , <http://www.w3.org/2002/07/owl#NamedIndividual> ;
  abi:name "other" ;
  <http://www.w3.org/2000/01/rdf-schema#label> "other" ;
  abi:description "Another one." ; abi:systemPrompt "Answer." ;
  abi:hasTool <https://example.org/t/tool/find_airports> .
""",
}
BREAKS = {
    "not UTF-8": lambda data: b"\xff\xfe" + data,
    "binary": lambda data: b"\x00\x01\x02" + data,
    "cut off": lambda data: data.rstrip()[:-1].replace(b"description", b'"descr', 1),
    "too large": lambda data: data + b"\n" + b"#" * (21 * 1024 * 1024),
}


def workspace(root: Path) -> Workspace:
    Workspace.init(root, base_iri="https://example.org/t/")
    for path, text in FILES.items():
        (root / path).write_text(text)
    settings = root / "abi.yaml"
    settings.write_text(settings.read_text().replace("prefixes:", "prefixes:\n  fl: https://example.org/t/schema#"))
    return Workspace.open(root)


def test_whole_files_have_no_fault(tmp_path: Path) -> None:
    with workspace(tmp_path / "w") as ws:
        assert [str(f) for f in ws.check().findings] == []


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("how", BREAKS)
def test_only_the_broken_file_is_told(tmp_path: Path, path: str, how: str) -> None:
    with workspace(tmp_path / "w") as ws:
        file = ws.root / path
        file.write_bytes(BREAKS[how](file.read_bytes()))
        report = ws.check()
        assert {f.path for f in report.findings} == {path}
        assert not report.conforms
        assert {f.path for f in ws.index().findings} == {path}


def test_the_settings_file_is_told_of_as_any_other(tmp_path: Path) -> None:
    with workspace(tmp_path / "w") as ws:
        file = ws.root / "abi.yaml"
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    with Workspace.open(tmp_path / "w") as ws:
        told = {("abi.yaml", "file-byte-order-mark"), ("abi.yaml", "file-line-ends")}
        assert {(f.path, f.code) for f in ws.check().findings} == told
        assert {(f.path, f.code) for f in ws.index().findings} == told


def test_what_stands_nowhere_is_told_although_another_file_is_broken(tmp_path: Path) -> None:
    with workspace(tmp_path / "w") as ws:
        (ws.root / "tools/functions.py").write_text(FILES["tools/functions.py"].replace("-> int:", "-> int"))
        more = FILES["agents/boss.yaml"].replace("boss", "more").replace("[guide]", "[gone]")
        (ws.root / "agents/more.yaml").write_text(more)
        assert {(f.path, f.code) for f in ws.check().findings if f.severity == "error"} == {
            ("tools/functions.py", "python-syntax"),
            ("agents/more.yaml", "reference-dangling"),
        }
