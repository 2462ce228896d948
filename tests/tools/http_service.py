"""A real HTTP service on this machine, which answers with what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Service

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode() if length else ""
        path, _, query = self.path.partition("?")
        asked = {
            "method": self.command,
            "path": path,
            "query": query,
            "headers": {key.lower(): value for key, value in self.headers.items()},
            "body": body,
        }
        self.server.asked.append(asked)
        answer = self.server.answers.get(path, self.server.answers.get("*", {}))
        if answer.get("hang"):
            self.server.released.wait(20)
            self.close_connection = True
            return
        content = answer["content"] if "content" in answer else json.dumps(asked).encode()
        self.send_response(answer.get("status", 200))
        for key, value in {"Content-Type": "application/json", **answer.get("headers", {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_OPTIONS = do_HEAD = do_PATCH = do_TRACE = answer

    def log_message(self, *args: object) -> None:
        return


class Service(ThreadingHTTPServer):
    """`asked` has every request; `answers` say for a path (or `*`) what comes back: status, headers, content, hang."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no fault of the service."""


@contextmanager
def running() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        service.shutdown()
        service.server_close()
        thread.join()
