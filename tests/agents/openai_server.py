"""A scripted OpenAI-compatible service over real HTTP on 127.0.0.1: chat completions, streamed or not, and embeddings.

    with OpenAIServer([says("Hello."), calls("find", origin="BOI"), fails(429), hangs()]) as server:
        ChatOpenAI(base_url=server.url, ...)

Each request to `/chat/completions` takes the next step of the script; `server.requests` are the bodies that came.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["OpenAIServer", "Step", "calls", "drips", "fails", "hangs", "raw", "says"]


@dataclass
class Step:
    """One answer of the script."""

    text: str = ""
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: float = 0.0
    """Seconds of silence before the answer."""
    pause: float = 0.0
    """Seconds between the pieces of a stream."""
    usage: tuple[int, int] = (10, 5)


def says(text: str, *, usage: tuple[int, int] = (10, 5)) -> Step:
    return Step(text, usage=usage)


def calls(name: str, /, **arguments: Any) -> Step:
    """A call of one tool; `_raw` gives the text of its arguments as it stands, `_text` what is said beside it."""
    text = arguments.pop("_text", "")
    given = arguments.pop("_raw", None)
    return Step(text, [{"name": name, "arguments": given if given is not None else json.dumps(arguments)}])


def fails(status: int, message: str = "scripted failure", **headers: str) -> Step:
    body = json.dumps({"error": {"message": message, "type": "scripted", "code": str(status)}}).encode()
    return Step(status=status, raw=body, headers=headers)


def hangs(seconds: float = 30.0) -> Step:
    return Step("too late", hang=seconds)


def drips(text: str, pause: float) -> Step:
    """A stream of the text's words with a pause after each."""
    return Step(text, pause=pause)


def raw(body: bytes, status: int = 200) -> Step:
    return Step(raw=body, status=status)


class OpenAIServer:
    """The service. `script` may be a function of the request's body instead of a list of steps."""

    def __init__(self, script: Iterable[Step] | Callable[[dict[str, Any]], Step] = ()) -> None:
        self.script: Any = script if callable(script) else list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.broken_off = threading.Event()
        """Set when a client went away in the middle of a stream."""
        self.embedding: Callable[[str], list[float]] = lambda text: [float(len(text)), 1.0, 0.0]
        self.embedding_failures: list[Step] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer._answer(self, body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:
                """A client that has gone is no fault of the service."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._lock:
            self.requests.append(body)
            self.keys.append(handler.headers.get("Authorization"))
            if handler.path.endswith("/embeddings"):
                step = self.embedding_failures.pop(0) if self.embedding_failures else None
            elif callable(self.script):
                step = self.script(body)
            else:
                step = self.script.pop(0) if self.script else fails(400, "the script has ended")
        if step is None:
            data = [{"index": i, "embedding": self.embedding(t)} for i, t in enumerate(body["input"])]
            _send(handler, 200, json.dumps({"data": list(reversed(data))}).encode())
            return
        if step.hang:
            self._closing.wait(step.hang)
        try:
            if step.raw is not None:
                _send(handler, step.status, step.raw, step.headers)
            elif handler.path.endswith("/api/chat"):
                self._ollama(handler, body, step)
            elif body.get("stream"):
                self._stream(handler, body, step)
            else:
                _send(handler, step.status, json.dumps(_completion(body, step)).encode())
        except (BrokenPipeError, ConnectionResetError):
            self.broken_off.set()

    def _stream(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], step: Step) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for delta in [{"role": "assistant", "content": ""}, *_deltas(step)]:
            self._piece(handler, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}, body)
            if step.pause:
                time.sleep(step.pause)
        reason = "tool_calls" if step.tool_calls else "stop"
        self._piece(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}, body)
        self._piece(handler, {"choices": [], "usage": _usage(step)}, body)
        handler.wfile.write(b"data: [DONE]\n\n")
        handler.close_connection = True

    def _piece(self, handler: BaseHTTPRequestHandler, piece: dict[str, Any], body: dict[str, Any]) -> None:
        whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], **piece}
        handler.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        handler.wfile.flush()

    def _ollama(self, handler: BaseHTTPRequestHandler, body: dict[str, Any], step: Step) -> None:
        """Ollama's own interface: one JSON document a line."""
        message: dict[str, Any] = {"role": "assistant", "content": step.text}
        if step.tool_calls:
            message["tool_calls"] = [
                {"function": {"name": c["name"], "arguments": json.loads(c["arguments"])}} for c in step.tool_calls
            ]
        said = {"model": body["model"], "created_at": "2025-01-01T00:00:00Z", "message": message, "done": False}
        end = {**said, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        end |= {"prompt_eval_count": step.usage[0], "eval_count": step.usage[1]}
        _send(handler, 200, (json.dumps(said) + "\n" + json.dumps(end) + "\n").encode())


def _deltas(step: Step) -> list[dict[str, Any]]:
    words = [w for w in step.text.replace(" ", " \0").split("\0") if w]
    deltas: list[dict[str, Any]] = [{"content": w} for w in words]
    for i, call in enumerate(step.tool_calls):
        head = {"index": i, "id": f"call_{i}_{id(step)}", "type": "function"}
        half = len(call["arguments"]) // 2
        deltas.append({"tool_calls": [{**head, "function": {"name": call["name"], "arguments": ""}}]})
        for part in (call["arguments"][:half], call["arguments"][half:]):
            deltas.append({"tool_calls": [{"index": i, "function": {"arguments": part}}]})
    return deltas


def _usage(step: Step) -> dict[str, int]:
    read, written = step.usage
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _completion(body: dict[str, Any], step: Step) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": step.text or None}
    if step.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{i}_{id(step)}", "type": "function", "function": c} for i, c in enumerate(step.tool_calls)
        ]
    reason = "tool_calls" if step.tool_calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": _usage(step),
    }


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)
