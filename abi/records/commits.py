"""The last commit of each file, by one pass over git's log."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["GIT", "git_environment", "last_commits"]

_SECONDS = 20.0
# A repository's own configuration can name programs to run: none of them is needed for a list of names.
GIT = [
    "git",
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
]


def last_commits(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Map each of `paths` (relative to `root`) that git tracks to the last commit that touched it.

    Empty without git, outside a repository, or where the log takes too long: a commit is only ever a remark.
    """
    missing = set(paths)
    if not missing:
        return {}
    env = git_environment()
    try:
        tracked = subprocess.run(
            [*GIT, "ls-files", "-z"], cwd=root, env=env, capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    missing &= set(tracked.stdout.decode("utf-8", "surrogateescape").split("\0"))
    return _walk(root, env, missing) if missing else {}


def git_environment() -> dict[str, str]:
    """The environment for a git that asks nothing and fetches nothing."""
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def _walk(root: Path, env: dict[str, str], missing: set[str]) -> dict[str, str]:
    command = [*GIT, "log", "--format=%x01%H", "--name-only", "--no-renames", "--relative", "-z", "--", "."]
    found: dict[str, str] = {}
    deadline = time.monotonic() + _SECONDS
    with subprocess.Popen(
        command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        commit, rest = "", b""
        while missing and time.monotonic() < deadline:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            *tokens, rest = (rest + chunk).split(b"\0") if chunk else [rest, b""]
            for token in tokens:
                text = token.decode("utf-8", "surrogateescape").lstrip("\n")
                if text.startswith("\x01"):
                    commit = text[1:].strip()
                elif text in missing:
                    found[text] = commit
                    missing.discard(text)
            if not chunk:
                break
        process.kill()
    return found
