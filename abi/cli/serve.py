"""`abi serve`."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abi.cli.session import Session
from abi.errors import Denied, StoreError, StoreLocked, UsageError

if TYPE_CHECKING:
    from abi.keys import Keys

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = (
    "abi serve",
    "abi serve --port 9000",
    "abi serve --host 0.0.0.0 --certificate cert.pem --private-key key.pem",
    "abi serve --host 0.0.0.0 --behind-proxy",
)
_LOOPBACK = ("127.", "localhost", "::1")
_STACK = 16 * 1024 * 1024
"""Parsers recurse; some systems give threads half a megabyte."""
_BACKLOG = 2048


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="H", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="P", min=0, max=65535, help="The port; 0: any.")] = 8765,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="A TLS certificate, with its chain.")
    ] = None,
    private_key: Annotated[Path | None, typer.Option("--private-key", help="Its private key.")] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option("--behind-proxy", help="A proxy in front of this does TLS; its X-Forwarded headers are read."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write no line for each request to stderr.")] = False,
) -> None:
    """Serve the workspace over HTTP: agents, tools, catalog, SPARQL, MCP.

    `/docs` tells what there is. Without keys it listens on this machine only, and lets it read and chat; changes need a
    key (`abi key create`). While it runs it alone writes to the graph, and the other commands go through it:
    `.abi/server.json`, which only you can read, tells them where it is.
    """
    from abi.keys import Keys
    from abi.running import announced, running_server

    session: Session = ctx.obj
    root = session.root()
    keys = Keys(root)
    if (certificate is None) != (private_key is None):
        raise UsageError("A certificate and its private key are given together.")
    if (other := running_server(root)) is not None:
        raise StoreLocked(
            f"A server of this workspace runs already at {other.url} (process {other.pid}).", hint="End that one first."
        )
    _may_listen(host, keys, secure=certificate is not None or behind_proxy)
    threading.stack_size(_STACK)
    with session.workspace(here=True) as workspace, _listener(host, port) as listener:
        workspace.hold()
        threading.Thread(target=workspace.pool.start, daemon=True).start()  # while the rest is imported
        scheme = "http" if certificate is None else "https"
        shown = f"[{host}]" if ":" in host else host
        url = f"{scheme}://{shown}:{listener.getsockname()[1]}"
        listener.listen(_BACKLOG)  # whoever reads where it is may come before everything is imported
        with announced(root, url, keys.for_this_run(), certificate):
            from uvicorn import Config, Server

            from abi.server.app import create_app

            app = create_app(workspace, keys=keys, hosts=[shown], log=None if quiet else sys.stderr)
            config = Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=behind_proxy,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=5,
                ssl_certfile=certificate,
                ssl_keyfile=private_key,
            )
            if session.as_json:
                session.output.document({"url": url, "workspace": str(root)})
            else:
                session.output.note(f"Serving {root} at {url} (Ctrl-C ends it)")
                if not keys.exist():
                    session.output.note("There is no key: this machine may read and chat. `abi key create` makes one.")
            # The server ends in good order, and then raises the signal once more.
            signal.signal(signal.SIGTERM, _end)
            with contextlib.suppress(KeyboardInterrupt):
                Server(config).run(sockets=[listener])


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


def _may_listen(host: str, keys: Keys, *, secure: bool) -> None:
    if host.startswith(_LOOPBACK):
        return
    if not keys.exist():
        raise Denied(f"Nobody has a key, so it cannot listen at {host}.", hint="`abi key create NAME --role ROLE`")
    if not secure:
        raise Denied(
            f"At {host} keys would go over the network in the clear.",
            hint="Give --certificate and --private-key, or --behind-proxy where a proxy does TLS.",
        )


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay of 40 ms off only where the protocol is said.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StoreError(
            f"It cannot listen at {host}:{port}: {error.strerror}.", hint="Choose another --port."
        ) from error
    return listener
