"""A workspace with a record of every kind, made of the templates of `abi add`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import Workspace
from abi.cli.templates import TEMPLATES

NESTED = '''from pydantic import BaseModel

from abi import tool


class Point(BaseModel):
    x: float
    y: float = 0.0


class Line(BaseModel):
    points: list[Point]


@tool(annotations={"domain": "geometry"})
def length_of(line: Line, unit: str = "m") -> dict[str, float]:
    """How long a line is."""
    return {"length": 1.0}


@tool
def twice(number: int) -> int:
    """The double of a number."""
    return 2 * number
'''


SEARCH = """record_kind: semantic_search
name: reviews
description: Reviews of hotels by what they say.
input: '{"type": "object", "properties": {"about": {"type": "string"}}}'
secrets:
  - couchbase: {conn_string: CB_CONN_STRING, username: CB_USERNAME, password: CB_PASSWORD}
vector_search:
  bucket: travel-sample
  scope: inventory
  collection: reviews
  index: reviews_index
  vector_field: vector
  text_field: text
  embedding_model: sentence-transformers/all-MiniLM-L6-v2
  num_candidates: 5
"""


def write_files(root: Path) -> None:
    files = {"abi.yaml": "base_iri: https://example.org/x/\n", "tools/lines.py": NESTED, "tools/s.yaml": SEARCH}
    for kind, template in TEMPLATES.items():
        name = f"a_{kind}"
        files |= {path.format(name=name): text.replace("NAME", name) for path, text in template.files()}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Read only."""
    root = tmp_path_factory.mktemp("exchange")
    write_files(root)
    with Workspace.open(root) as workspace:
        report = workspace.index()
        assert report.written, report.findings
        yield workspace
