from __future__ import annotations

import os
from pathlib import Path

import pytest

from abi.records.scan import ScanResult, scan
from abi.settings import Settings

SOURCES = ["tools", "prompts"]


def make(root: Path, *paths: str, text: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def run(root: Path, sources: list[str] | None = None, only: list[Path] | None = None, **more: object) -> ScanResult:
    sources = SOURCES if sources is None else sources
    values: dict[str, object] = {"base_iri": "https://example.org/w/", "sources": sources, **more}
    return scan(root, sources, only, Settings.model_validate(values))


def paths(result: ScanResult) -> list[str]:
    return [f.path for f in result.files]


def codes(result: ScanResult) -> set[tuple[str, str]]:
    return {(f.path, f.code) for f in result.findings}


def test_files_under_the_sources_sorted_and_once(tmp_path: Path) -> None:
    make(tmp_path, "tools/b.rq", "tools/a/x.PY", "tools/notes.md", "prompts/p.jinja", "elsewhere/c.rq", "abi.yaml")
    result = run(tmp_path, ["tools", "tools/a", "prompts/p.jinja", "./tools"])
    assert paths(result) == ["prompts/p.jinja", "tools/a/x.PY", "tools/b.rq"]
    assert result.findings == []
    (first, *_) = result.files
    assert (first.data, first.size) == (b"x", 1)
    assert first.content_hash == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


def test_folders_that_are_something_else_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path, "abi.yaml", "a.yaml", "shapes/s.ttl", "sub/shapes/s.ttl")
    make(tmp_path, ".hidden/a.rq", ".abi/a.ttl", "__pycache__/a.py", "node_modules/a.py", "x/.y.rq")
    make(tmp_path, "other/abi.yaml", "other/tools/a.rq", "venv/pyvenv.cfg", "venv/a.py")
    assert paths(run(tmp_path, ["."])) == ["a.yaml", "sub/shapes/s.ttl"]


def test_ignore_files_as_in_git(tmp_path: Path) -> None:
    make(
        tmp_path, *(f"tools/{n}.rq" for n in ("a", "b", "c", "d")), "tools/sub/e.rq", "tools/sub/f.rq", "tools/out/g.rq"
    )
    (tmp_path / ".gitignore").write_text("a.rq\nout/\n")
    (tmp_path / ".agentcignore").write_text("b.rq\n")
    (tmp_path / "tools/.abiignore").write_text("/c.rq\n!a.rq\n")
    (tmp_path / "tools/sub/.gitignore").write_text("e.rq\n[broken\n")
    assert paths(run(tmp_path)) == ["tools/a.rq", "tools/d.rq", "tools/sub/f.rq"]


def test_an_ignored_source_is_told(tmp_path: Path) -> None:
    make(tmp_path, "tools/a.rq")
    (tmp_path / ".gitignore").write_text("tools/\n")
    result = run(tmp_path)
    assert paths(result) == []
    assert ("abi.yaml", "source-ignored") in codes(result)


def test_links_out_of_the_workspace_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "w", tmp_path / "out"
    make(root, "tools/a.rq", "prompts/p.jinja")
    make(outside, "secret.rq", "folder/x.rq")
    (root / "tools/link.rq").symlink_to(outside / "secret.rq")
    (root / "tools/folder").symlink_to(outside / "folder")
    (root / "tools/broken.rq").symlink_to(root / "nowhere")
    (root / "tools/inner").symlink_to(root / "prompts")
    (root / "tools/same.rq").symlink_to(root / "tools/a.rq")
    result = run(root)
    assert paths(result) == ["prompts/p.jinja", "tools/a.rq", "tools/same.rq"]
    assert codes(result) == {
        ("tools/link.rq", "link-outside"),
        ("tools/folder", "link-outside"),
        ("tools/broken.rq", "link-broken"),
        ("tools/inner", "link-folder"),
    }
    assert all(f.fix for f in result.findings)


def test_links_in_a_circle_and_names_with_control_characters_are_told(tmp_path: Path) -> None:
    make(tmp_path, "tools/a.rq", "tools/b\n.rq", "tools/c\x1b[31m.py")
    (tmp_path / "tools/one.py").symlink_to(tmp_path / "tools/two.py")
    (tmp_path / "tools/two.py").symlink_to(tmp_path / "tools/one.py")
    result = run(tmp_path, ["tools"])
    assert paths(result) == ["tools/a.rq"]
    assert codes(result) == {
        ("tools/one.py", "link-broken"),
        ("tools/two.py", "link-broken"),
        ("tools/b\\n.rq", "path-control"),
        ("tools/c\\x1b[31m.py", "path-control"),
    }
    assert all(f.fix for f in result.findings)


@pytest.mark.parametrize("source", ["../out", "/etc", "linked"])
def test_sources_outside_are_refused(tmp_path: Path, source: str) -> None:
    root = tmp_path / "w"
    make(root, "tools/a.rq")
    make(tmp_path, "out/b.rq")
    (root / "linked").symlink_to(tmp_path / "out")
    result = run(root, [source])
    assert (paths(result), codes(result)) == ([], {("abi.yaml", "source-outside")})


def test_size_limits_pipes_and_quads(tmp_path: Path) -> None:
    make(tmp_path, "tools/big.rq", "tools/big.ttl", text="x" * 100)
    make(tmp_path, "tools/a.trig")
    os.mkfifo(tmp_path / "tools/pipe.rq")
    result = run(tmp_path, max_record_bytes=99, max_rdf_bytes=100)
    assert paths(result) == ["tools/big.ttl"]
    assert codes(result) >= {
        ("tools/big.rq", "file-large"),
        ("tools/pipe.rq", "file-special"),
        ("tools/a.trig", "file-quads"),
    }


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    make(tmp_path, "tools/a.rq")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/tools/\xff.rq")).write_text("x")
    except OSError:
        return  # this file system takes no such names
    assert {f.code for f in run(tmp_path).findings} >= {"path-encoding"}


def test_only_what_is_under_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "tools/a.rq", "tools/sub/b.rq", "tools/subway.rq", "prompts/p.jinja", "other/c.rq")
    (tmp_path / "prompts/broken.rq").symlink_to(tmp_path / "nowhere")
    monkeypatch.chdir(tmp_path / "tools")
    assert paths(run(tmp_path, only=[Path("sub")])) == ["tools/sub/b.rq"]
    assert paths(run(tmp_path, only=[tmp_path / "tools/a.rq", tmp_path / "prompts"])) == [
        "prompts/p.jinja",
        "tools/a.rq",
    ]
    assert paths(run(tmp_path, only=[tmp_path])) == paths(run(tmp_path))
    assert run(tmp_path, only=[tmp_path / "tools/gone.rq"]) == ScanResult()
    assert codes(run(tmp_path, only=[tmp_path / "other"])) == {("other", "path-no-source")}
    outside = run(tmp_path, only=[tmp_path.parent / "elsewhere"])
    assert [f.code for f in outside.findings] == ["path-outside"]


def test_a_workspace_reached_by_a_link(tmp_path: Path) -> None:
    make(tmp_path, "w/tools/a.rq")
    (tmp_path / "link").symlink_to(tmp_path / "w")
    assert paths(run(tmp_path / "link", only=[tmp_path / "link/tools/a.rq"])) == ["tools/a.rq"]


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    assert codes(run(tmp_path, ["tols"])) == {("abi.yaml", "source-missing")}
    default = Settings(base_iri="https://example.org/w/")
    assert scan(tmp_path, default.sources, None, default) == ScanResult()
