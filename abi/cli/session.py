"""What one run of the command line knows: the options that every command takes, and how to reach the workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from abi.cli.output import Output
from abi.errors import Unreadable

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["Session"]


class Session:
    """`ctx.obj` of every command."""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.directory: Path | None = None
        self.verbose = False
        self.output = Output()

    @property
    def as_json(self) -> bool:
        return self.output.as_json

    @property
    def interactive(self) -> bool:
        """A person sits there and can be asked."""
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.as_json

    def root(self, directory: Path | None = None) -> Path:
        """The workspace's folder: the nearest one upward that holds `abi.yaml`. Raises NotFound."""
        from abi.workspace import Workspace

        return Workspace.find_root(directory or self.directory or Path.cwd())

    def workspace(self, *, read_only: bool = False, version: str | None = None, here: bool = False) -> Workspace:
        """The opened workspace, to be used as a context manager: where its server runs, through that server.

        `here`: in this process in any case, for what needs only files. A published `version` is a file, too.
        Raises NotFound, StoreLocked, StoreMissing.
        """
        root = self.root()
        if not here and version is None and (root / ".abi" / "server.json").exists():
            from abi.running import running_server

            server = running_server(root)
            if server is not None:
                from abi.cli.served_workspace import ServedWorkspace

                served = ServedWorkspace(root, server, read_only=read_only)
                self.output.prefixes = served.settings.all_prefixes()
                return cast("Workspace", served)  # it has every verb that a command calls
        from abi.workspace import Workspace

        workspace = Workspace.open(root, read_only=read_only, version=version)
        self.output.prefixes = workspace.settings.all_prefixes()
        return workspace

    def paths(self, given: list[Path] | None) -> list[Path]:
        """Paths as they were typed, made absolute; under `-C` they may be relative to that folder, as in make."""
        return [self.path(path) for path in given or []]

    def path(self, given: Path) -> Path:
        if given.exists() or self.directory is None:
            return given.absolute()
        return (self.directory / given).absolute()

    def text_of(self, given: str, what: str) -> str:
        """The text itself, or that of the file it names, or stdin's for `-`. Raises Unreadable."""
        if given == "-":
            return sys.stdin.read()
        if "\n" in given or len(given) > 1024 or any(mark in given for mark in "{?"):
            return given
        path = self.path(Path(given))
        if not path.is_file():
            if " " in given.strip():
                return given
            raise Unreadable(f"There is no file {given}.", hint=f"Give {what}, a file that holds it, or - for stdin.")
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"{given} cannot be read: {error}") from error
