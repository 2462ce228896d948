"""What holds for the project as a whole: its public names, what importing costs, its reference, what it ships."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import abi
from abi import errors
from abi.errors import AbiError
from abi.files import shipped

ROOT = Path(__file__).parents[1]
HEAVY = {
    "fastapi",
    "httpx",
    "langchain_core",
    "langgraph",
    "numpy",
    "onnxruntime",
    "oxrdflib",
    "pydantic",
    "pyoxigraph",
    "pyshacl",
    "rdflib",
    "rich",
    "yaml",
}
SHIPPED = ("data", "ontology", "shapes", "sparql")


def test_public_names_are_sorted_and_can_be_had() -> None:
    assert abi.__all__ == sorted(abi.__all__)
    for name in abi.__all__:
        assert getattr(abi, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        abi.nothing_of_that_name  # noqa: B018


@pytest.mark.parametrize(
    "program", ["import abi", "from abi.cli.main import main; main(['--help'])"], ids=["import abi", "abi --help"]
)
def test_importing_loads_nothing_heavy(program: str) -> None:
    report = "; import sys; print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program + report], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stderr.split())


def _all_errors(cls: type[AbiError] = AbiError) -> list[type[AbiError]]:
    children = [c for c in cls.__subclasses__() if c.__module__ == errors.__name__]
    return [cls, *(found for child in children for found in _all_errors(child))]


def test_the_drawn_tree_of_errors_is_the_tree() -> None:
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        words = line.strip(" │├└─").split()
        if len(words) > 3 and words[2].isdigit():
            drawn[words[0]] = (words[1], int(words[2]), int(words[3]))
    declared = {e.__name__: (e.code, e.http_status, e.exit_code) for e in _all_errors() if e is not AbiError}
    assert drawn == declared
    assert sorted(["AbiError", *declared]) == errors.__all__


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "settings.md", "errors.md"])
def test_the_reference_says_what_the_code_does(page: str) -> None:
    written = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    assert written == _generator().PAGES[page](), "run: python docs/generate.py"


def test_the_wheel_is_told_to_carry_the_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    carried = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert carried == {folder: f"abi/_files/{folder}" for folder in SHIPPED}


@pytest.mark.parametrize("folder", SHIPPED)
def test_the_installed_package_has_the_files(folder: str) -> None:
    """Meaningful where the package was installed from its wheel; true by itself in an editable install."""
    done = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = done.stdout.splitlines()
    assert tracked
    assert [path for path in tracked if not shipped(*path.split("/")).is_file()] == []


def test_project_files_name_no_leftovers() -> None:
    """No name that does not say what is inside, and no file that a newcomer could not find one thing in."""
    vague = {"utils", "util", "helpers", "helper", "common", "core", "base", "manager", "misc"}
    modules = list((ROOT / "abi").rglob("*.py"))
    assert [m for m in modules if m.stem in vague or m.parent.name in vague] == []
