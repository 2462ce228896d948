"""`abi mcp`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import typer

from abi.cli.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from abi.running import RunningServer

__all__ = ["EXAMPLES", "mcp"]

EXAMPLES = (
    "abi mcp",
    "abi -C ~/flights mcp",
)


def mcp(ctx: typer.Context) -> None:
    """Speak MCP on stdin and stdout, for a client that starts this.

    Its agents, tools, prompts and what the graph holds. Where `abi serve` runs in the workspace it goes through that
    server; over HTTP any client reaches the same at `/mcp`. Changes are made only where the client can ask a person.
    """
    from abi.mcp.stdio import speaks_mcp
    from abi.running import running_server

    speaks_mcp()
    session: Session = ctx.obj
    root = session.root()
    server = running_server(root)
    if server is not None:
        _through(root, server)
    else:
        _here(session, root)


def _through(root: Path, server: RunningServer) -> None:
    from abi.mcp.routes import Remote
    from abi.mcp.stdio import serve
    from abi.settings import Settings

    settings, _ = Settings.load(root)
    serve(root.name, Remote(server), settings.all_prefixes(), server.key)


def _here(session: Session, root: Path) -> None:
    from abi.mcp.stdio import quiet, serve

    with contextlib.ExitStack() as stack:
        with quiet():
            from abi.keys import Keys
            from abi.mcp.routes import InProcess
            from abi.server.app import create_app

            workspace = stack.enter_context(session.workspace(here=True))
            keys = Keys(root)
            app = create_app(workspace, keys=keys)
            stack.callback(app.state.service.close)

        async def version() -> int:
            found: int = await app.state.service.work(workspace.version)
            return found

        serve(root.name, InProcess(app, version), workspace.settings.all_prefixes(), keys.for_this_run())
