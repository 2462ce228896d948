"""New workspaces: an empty one, and the example."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abi.errors import UsageError
from abi.files import shipped
from abi.settings import Settings

__all__ = ["InitResult", "example_questions", "make_example", "make_workspace"]

_ABI_YAML = """\
# The settings of this workspace. Everything has a default but base_iri; `abi settings` shows them all.
base_iri: {base_iri}

# Prefixes that every query and record of this workspace may use without declaring them.
prefixes:
  ex: {base_iri}schema#

# What `abi index` reads. Tools are .rq and .py files, prompts .prompt and .jinja, agents .yaml or Turtle.
sources: [ontology, graph, tools, prompts, agents]

# The chat model, as provider:model. The default needs no key and no network, and states only what rows say.
model: offline:grounded

# Any other model: one of OpenRouter, with one key, which is read from the environment...
# model: openrouter:openai/gpt-4o-mini
# secrets:
#   OPENROUTER_API_KEY: env:OPENROUTER_API_KEY
# ...or one of Ollama on this machine, without a key: qwen2.5:3b, qwen3:8b, deepseek-r1:8b, gemma3:4b.
# model: ollama:qwen3:8b
"""

_IGNORE = "# The graph, the traces, the search index and the memory of conversations: all of it made.\n.abi/\n"


@dataclass(frozen=True, slots=True)
class InitResult:
    """`created` are paths relative to the workspace."""

    root: Path
    created: list[str]

    def document(self) -> dict[str, Any]:
        return {"created": self.created}


def make_workspace(root: Path, base_iri: str | None = None) -> InitResult:
    """An empty workspace in `root`, which may hold other files. Raises UsageError where it already is a workspace."""
    root = root.absolute()
    if (root / "abi.yaml").exists():
        raise UsageError(
            f"{root} is a workspace already: it holds abi.yaml.", hint="Edit that file, or choose another folder."
        )
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file.", hint="Give a folder; it is made where it does not exist.")
    name = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-") or "workspace"
    settings = Settings(base_iri=base_iri or f"https://example.org/{name}/")
    created = []
    for folder in [*settings.sources, "shapes"]:
        if not (root / folder).exists():
            (root / folder).mkdir(parents=True)
            created.append(folder + "/")
    for path, text in (("abi.yaml", _ABI_YAML.format(base_iri=settings.base_iri)), (".gitignore", _IGNORE)):
        if not (root / path).exists():
            (root / path).write_text(text, encoding="utf-8")
            created.append(path)
    return InitResult(root, sorted(created))


def make_example(root: Path) -> InitResult:
    """The example workspace, copied to `root`. Raises UsageError where the folder holds something else."""
    root = root.absolute()
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise UsageError(f"{root} is not empty.", hint="Give a folder that does not exist yet, or is empty.")
    shutil.copytree(
        shipped("data", "flights"), root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".abi", "__pycache__")
    )
    return InitResult(root, sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()))


def example_questions(root: Path) -> list[tuple[str | None, str]]:
    """The questions that the example is shown with, each with the agent that it is put to."""
    from abi.yaml_reader import load_yaml

    path = root / "demo.yaml"
    questions = load_yaml(path.read_text(encoding="utf-8"), path.name).value
    return [(entry.get("agent"), entry["question"]) for entry in questions]
