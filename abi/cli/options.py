"""The options that every command takes, and the completion of names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AtVersion",
    "Directory",
    "Json",
    "Verbose",
    "Version",
    "complete_agents",
    "complete_names",
    "complete_versions",
]


def _set_directory(ctx: typer.Context, value: Path | None) -> Path | None:
    if value is not None:
        ctx.obj.directory = value
    return value


def _set_json(ctx: typer.Context, value: bool) -> bool:
    if value:
        ctx.obj.output.as_json = True
    return value


def _set_verbose(ctx: typer.Context, value: bool) -> bool:
    if value:
        ctx.obj.verbose = True
    return value


def _print_version(ctx: typer.Context, value: bool) -> None:
    if value:
        from abi.cli.version import print_version

        print_version(ctx.obj)
        raise typer.Exit


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the workspace's records, for the shell; nothing where there is no workspace or no graph."""
    return _names(ctx, None, incomplete)


def complete_agents(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "agents", incomplete)


def complete_versions(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the published versions, for the shell."""
    try:
        from abi.workspace import Workspace

        with Workspace.open(_directory(ctx) or Path.cwd(), read_only=True) as workspace:
            versions = [version.version for version in workspace.versions()]
    except Exception:  # a completion has no place to tell an error
        return []
    return [version for version in ["latest", *reversed(versions)] if version.startswith(incomplete)]


def _names(ctx: typer.Context, kind: str | None, incomplete: str) -> list[str]:
    try:
        from abi.workspace import Workspace

        root = Workspace.find_root(_directory(ctx) or Path.cwd())
        with Workspace.open(root, read_only=True) as workspace:
            records = workspace.ls(kind).document()["records"]
    except Exception:  # a completion has no place to tell an error
        return []
    return sorted({record["name"] for record in records if record["name"].startswith(incomplete)})


def _directory(ctx: typer.Context) -> Path | None:
    """What `-C` says, which a completion meets unread."""
    given = ctx.params.get("directory") or ctx.find_root().params.get("directory")
    return Path(given) if given else None


Directory = Annotated[
    Path | None,
    typer.Option(
        "-C",
        metavar="DIR",
        help="The workspace; default: the nearest folder upward with an abi.yaml.",
        callback=_set_directory,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.", callback=_set_json)]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Add a trace to an error.", callback=_set_verbose),
]
Version = Annotated[
    bool,
    typer.Option(
        "--version",
        help="Print the versions of abi, its ontology and its store.",
        callback=_print_version,
    ),
]
AtVersion = Annotated[
    str | None,
    typer.Option(
        "--version",
        metavar="V",
        help="In a published version: latest, or digits of its name or its commit.",
        autocompletion=complete_versions,
    ),
]
