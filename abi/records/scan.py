"""Which files of a workspace are read: under its sources, not ignored, inside it, of a bearable size."""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from abi.findings import Finding, Severity
from abi.settings import Settings

__all__ = ["IGNORE_FILES", "RDF_SUFFIXES", "ScanResult", "SourceFile", "scan"]

IGNORE_FILES = (".gitignore", ".agentcignore", ".abiignore")
"""Read in this order in each folder; a later line and a deeper folder win, as in git."""
RDF_SUFFIXES = frozenset({".ttl", ".nt", ".jsonld", ".rdf", ".owl"})
_RECORD_SUFFIXES = frozenset({".py", ".rq", ".prompt", ".jinja", ".yaml", ".yml", ".sqlpp"})
_QUADS = frozenset({".trig", ".nq"})
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
# A folder that holds one of these is something of its own: another workspace, a virtual environment.
_FOREIGN_MARKS = frozenset({"abi.yaml", "pyvenv.cfg"})
_MAX_DEPTH = 64


@dataclass(frozen=True)
class SourceFile:
    """A file to read. `path` is relative to the workspace, with forward slashes; `size` is in bytes."""

    path: str
    absolute: Path
    size: int
    mtime_ns: int

    @cached_property
    def data(self) -> bytes:
        """The bytes, read once. Raises OSError."""
        return self.absolute.read_bytes()

    @cached_property
    def content_hash(self) -> str:
        """sha256 of the bytes, in hex. Raises OSError."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(slots=True)
class ScanResult:
    """`files` are sorted by path; each is there once."""

    files: list[SourceFile] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def scan(root: Path, sources: list[str], only: list[Path] | None, settings: Settings) -> ScanResult:
    """List the files under `sources` (relative to `root`).

    `only`: nothing but what is at or under one of these paths, absolute or relative to the current folder. A path of
    `only` that does not exist is no fault here: it may have been removed on purpose.
    """
    scanner = _Scanner(root, settings)
    wanted = None if only is None else [scanner.wanted(path) for path in only]
    for source in sources:
        scanner.source(source)
    result = scanner.result
    if wanted is not None:
        kept = [w for w in wanted if w is not None]
        result.files = [f for f in result.files if any(_under(f.path, w) for w in kept)]
        result.findings = [
            f for f in result.findings if f.code == "path-outside" or any(_under(f.path, w) for w in kept)
        ]
        for path in kept:
            if not any(_under(path, s) or _under(s, path) for s in scanner.places):
                fix = (
                    f"Give a path under {', '.join(scanner.places) or 'a source'}, or add it to `sources` in abi.yaml."
                )
                scanner.say(path, "warning", "path-no-source", f"{path} is under none of the workspace's sources.", fix)
    result.files = sorted({f.path: f for f in result.files}.values(), key=lambda f: f.path)
    result.findings = sorted(set(result.findings))
    return result


def _under(path: str, folder: str) -> bool:
    return folder in ("", ".") or path == folder or path.startswith(folder + "/")


def _absolute(path: Path) -> Path:
    """`path` without `.` and `..`, its symbolic links kept: what a person wrote is what a finding names."""
    return Path(os.path.abspath(path))  # noqa: PTH100


class _Scanner:
    def __init__(self, root: Path, settings: Settings) -> None:
        self.given_root = _absolute(root)
        self.root = root.resolve()
        self.settings = settings
        self.result = ScanResult()
        self.places: list[str] = []

    def say(self, path: str, severity: Severity, code: str, message: str, fix: str) -> None:
        self.result.findings.append(Finding(path, 0, "", severity, code, message, fix))

    def wanted(self, path: Path) -> str | None:
        """`path` relative to the workspace; None, with a finding, where it is outside."""
        absolute = _absolute(path)
        for root in (self.given_root, self.root):
            if absolute.is_relative_to(root):
                return absolute.relative_to(root).as_posix()
        if absolute.resolve().is_relative_to(self.root):
            return absolute.resolve().relative_to(self.root).as_posix()
        self.say(str(path), "error", "path-outside", "The path is outside the workspace.", "Give a path inside it.")
        return None

    def source(self, source: str) -> None:
        absolute = _absolute(self.root / source)
        if not absolute.is_relative_to(self.root) or not absolute.resolve().is_relative_to(self.root):
            message = f"The source {source!r} is outside the workspace."
            self.say("abi.yaml", "error", "source-outside", message, "Move it inside, and correct `sources`.")
            return
        relative = absolute.relative_to(self.root).as_posix()
        self.places.append(relative)
        if not absolute.exists():
            if self.settings.sources != Settings.default_of("sources"):
                message = f"The source {source!r} does not exist."
                self.say("abi.yaml", "warning", "source-missing", message, "Make it, or correct `sources`.")
            return
        ignores: list[tuple[str, Any]] = []
        folder = ""
        for part in () if relative == "." else Path(relative).parts:
            self._load_ignores(folder, ignores)
            folder = f"{folder}/{part}" if folder else part
        if relative != "." and self._ignored(relative, absolute.is_dir(), ignores):
            message = f"The source {source!r} is ignored by {' or '.join(IGNORE_FILES)}."
            self.say("abi.yaml", "warning", "source-ignored", message, f"Add !{relative} to .abiignore to read it.")
            return
        if absolute.is_dir():
            self._folder(absolute, "" if relative == "." else relative, ignores, 0)
        else:
            self._file(absolute, relative)

    def _load_ignores(self, folder: str, ignores: list[tuple[str, Any]]) -> None:
        from pathspec import GitIgnoreSpec

        lines: list[str] = []
        for name in IGNORE_FILES:
            path = self.root / folder / name
            try:
                if path.resolve().is_relative_to(self.root) and path.is_file():
                    lines += path.read_bytes()[: self.settings.max_record_bytes].decode("utf-8", "replace").splitlines()
            except OSError:
                continue
        patterns: list[str] = []
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:
                continue  # git, too, passes over a pattern that it cannot read
            patterns.append(line)
        if patterns:
            ignores.append((folder, GitIgnoreSpec.from_lines(patterns)))

    @staticmethod
    def _ignored(path: str, is_folder: bool, ignores: list[tuple[str, Any]]) -> bool:
        for folder, spec in reversed(ignores):
            inner = path[len(folder) + 1 :] if folder else path
            verdict = spec.check_file(inner + "/" if is_folder else inner).include
            if verdict is not None:
                return bool(verdict)
        return False

    def _folder(self, absolute: Path, relative: str, ignores: list[tuple[str, Any]], depth: int) -> None:
        if depth > _MAX_DEPTH:
            self.say(
                relative, "error", "folder-deep", f"Folders are nested more than {_MAX_DEPTH} deep.", "Move it up."
            )
            return
        try:
            with os.scandir(absolute) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as error:
            message = f"The folder cannot be read: {error.strerror or error}."
            self.say(relative, "error", "folder-unreadable", message, "Check that you may read it.")
            return
        names = {entry.name for entry in entries}
        if relative and names & _FOREIGN_MARKS:
            return
        ignores = list(ignores)
        if names & set(IGNORE_FILES):
            self._load_ignores(relative, ignores)
        for entry in self._visible(entries, relative):
            path = f"{relative}/{entry.name}" if relative else entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=True)
            except OSError:  # links in a circle: as a file it is told to lead nowhere
                is_folder = False
            if self._ignored(path, is_folder, ignores):
                continue
            if not is_folder:
                self._file(Path(entry.path), path)
            elif entry.is_symlink():
                self._linked_folder(Path(entry.path), path)
            else:
                self._folder(Path(entry.path), path, ignores, depth + 1)

    def _visible(self, entries: list[os.DirEntry[str]], relative: str) -> Iterator[os.DirEntry[str]]:
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
                continue
            # At the top of a workspace stand its settings and its own shapes, which are no records.
            if not relative and entry.name in ("abi.yaml", "shapes"):
                continue
            yield entry

    def _linked_folder(self, absolute: Path, path: str) -> None:
        if self._outside(absolute, path):
            return
        message = "The folder is a symbolic link; its files are read where they are."
        self.say(path, "warning", "link-folder", message, "Name the folder itself in `sources`.")

    def _outside(self, absolute: Path, path: str) -> bool:
        try:
            inside = absolute.resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):
            self.say(path, "error", "link-broken", "The symbolic link leads nowhere.", "Remove or correct it.")
            return True
        if not inside:
            message = "The symbolic link leads out of the workspace."
            self.say(path, "error", "link-outside", message, "Copy the file into the workspace.")
        return not inside

    def _file(self, absolute: Path, path: str) -> None:
        suffix = Path(path).suffix.lower()
        if suffix in _QUADS:
            message = f"A {suffix} file names its graphs itself; a source file is one graph."
            self.say(path, "warning", "file-quads", message, f"Load it with `abi load {path}`, or save it as Turtle.")
        if suffix not in RDF_SUFFIXES | _RECORD_SUFFIXES:
            return
        if any(unicodedata.category(character) == "Cc" for character in path):
            readable = "".join(ascii(c)[1:-1] if unicodedata.category(c) == "Cc" else c for c in path)
            message = "The name of the file holds a control character."
            self.say(readable.encode("utf-8", "replace").decode(), "error", "path-control", message, "Rename it.")
            return
        if absolute.is_symlink() and self._outside(absolute, path):
            return
        try:
            path.encode("utf-8")
            status = absolute.stat()
        except UnicodeEncodeError:
            readable = path.encode("utf-8", "replace").decode()
            self.say(readable, "error", "path-encoding", "The name of the file is not in UTF-8.", "Rename it.")
            return
        except OSError as error:
            message = f"The file cannot be read: {error.strerror or error}."
            self.say(path, "error", "file-unreadable", message, "Check that it exists and that you may read it.")
            return
        if not stat.S_ISREG(status.st_mode):
            self.say(path, "error", "file-special", "This is a device or a pipe, not a file.", "Remove it.")
            return
        name = "max_rdf_bytes" if suffix in RDF_SUFFIXES else "max_record_bytes"
        limit: int = getattr(self.settings, name)
        if status.st_size > limit:
            message = f"The file has {status.st_size} bytes; {limit} are allowed."
            self.say(path, "error", "file-large", message, f"Make it smaller, or raise {name} in abi.yaml.")
            return
        self.result.files.append(SourceFile(path, absolute, status.st_size, status.st_mtime_ns))
