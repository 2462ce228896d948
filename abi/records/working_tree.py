"""Which commit a workspace's files are at, and which of them differ from it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from abi.records.commits import GIT, git_environment

__all__ = ["WorkingTree", "working_tree"]

_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class WorkingTree:
    """`commit` is in full; `changed` are paths relative to the workspace, untracked ones among them."""

    commit: str
    changed: list[str]


def working_tree(root: Path) -> WorkingTree | None:
    """What git says of the folder `root`; None without git, outside a repository, or before its first commit.

    Only files under `root` count: a repository may hold more than this workspace. `.abi` never does.
    """
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    said = _git(
        root,
        *("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"),
        *("--", ".", ":(exclude).abi"),
    )
    prefix = (_git(root, "rev-parse", "--show-prefix") or "").rstrip("\n")
    # Paths are relative to the repository here, whatever status.relativePaths says.
    changed = [entry[3:].removeprefix(prefix) for entry in (said or "").split("\0") if len(entry) > 3]
    return WorkingTree(commit.strip(), sorted(changed))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*GIT, *arguments], cwd=root, env=git_environment(), capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")
