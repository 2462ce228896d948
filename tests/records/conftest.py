"""Files of a workspace, made from texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from abi.records.reader import ReadContext, ReadResult, read_file
from abi.records.scan import SourceFile
from abi.settings import Settings

Read = Callable[..., ReadResult]


@pytest.fixture
def settings() -> Settings:
    return Settings(base_iri="https://example.org/w/", prefixes={"fl": "https://example.org/fl#"})


@pytest.fixture
def read(tmp_path: Path, settings: Settings) -> Read:
    """`read(text or bytes, "tools/a.rq")`: what the reader makes of such a file."""

    def reader(content: str | bytes, path: str) -> ReadResult:
        absolute = tmp_path / path
        absolute.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        absolute.write_bytes(data)
        status = absolute.stat()
        return read_file(SourceFile(path, absolute, status.st_size, status.st_mtime_ns), ReadContext.of(settings))

    return reader


def places(result: ReadResult) -> set[tuple[int, str, str]]:
    """(line, field, code) of each finding."""
    return {(f.line, f.field, f.code) for f in result.findings}
