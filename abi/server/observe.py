"""What a server tells of itself: a line of JSON for each request, counts for Prometheus, and what went wrong inside.

A line has the path and never the query string, and no header: there is no secret in it to be hidden.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from abi.server.problems import InternalFault, problem
from abi.server.service import Gone

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Metrics", "Observer"]

_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class Metrics:
    """Requests by route, method and status, and how long they took; written out as Prometheus reads it."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._times: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)
        self.running = 0

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests[route, method if method in _METHODS else "other", status] += 1
        times = self._times[route]
        times[-1] += 1
        for number, bound in enumerate(_BUCKETS):
            if seconds <= bound:
                times[number] += 1
        self._seconds[route] += seconds

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """The exposition format. `gauges`: name to what it is and its value."""
        lines = ["# HELP abi_requests_total Requests answered.", "# TYPE abi_requests_total counter"]
        for (route, method, status), number in sorted(self._requests.items()):
            lines.append(f'abi_requests_total{{route="{route}",method="{method}",status="{status}"}} {number}')
        lines += ["# HELP abi_request_seconds Time to the end of the answer.", "# TYPE abi_request_seconds histogram"]
        for route, times in sorted(self._times.items()):
            for bound, number in zip((*_BUCKETS, "+Inf"), times, strict=True):
                lines.append(f'abi_request_seconds_bucket{{route="{route}",le="{bound}"}} {number}')
            lines.append(f'abi_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'abi_request_seconds_count{{route="{route}"}} {times[-1]}')
        for name, (about, value) in {**gauges, "requests_running": ("Requests at work.", self.running)}.items():
            lines += [f"# HELP abi_{name} {about}", f"# TYPE abi_{name} gauge", f"abi_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Observer:
    """The outermost layer. `log` gets a line for each request (None: no log)."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log: TextIO | None) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._routes: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = secrets.token_hex(8)
        scope["request_id"] = number
        status, size, started = 0, 0, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        self._metrics.running += 1
        try:
            await self._app(scope, receive, watched)
        except Gone:
            status = status or 499
        except Exception as error:
            self._tell_fault(number, error)
            if status == 0:
                fault = InternalFault("abi itself failed.", hint=f"The log tells more of the request {number}.")
                await problem(fault)(scope, receive, watched)
            else:
                raise  # the answer had begun: its end must not look like one
        finally:
            self._metrics.running -= 1
            seconds = time.perf_counter() - started
            self._metrics.count(self._route(scope), scope["method"], status, seconds)
            if self._log is not None:
                self._tell(scope, number, status, size, seconds)

    def _route(self, scope: Scope) -> str:
        """The first part of the path where there is such a route: not whatever anybody asks for."""
        if not self._routes and "app" in scope:
            paths = (getattr(route, "path", "") for route in scope["app"].routes)
            self._routes = frozenset("/" + path.split("/")[1] for path in paths if path.startswith("/"))
        first = "/" + scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        return first if first in self._routes else "other"

    def _tell(self, scope: Scope, number: str, status: int, size: int, seconds: float) -> None:
        principal = scope.get("principal")
        self._write(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "request": number,
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "bytes": size,
                "ms": round(seconds * 1000, 2),
                "principal": principal.name if principal is not None else None,
            }
        )

    def _tell_fault(self, number: str, error: Exception) -> None:
        """Where it went wrong, without what the exception says: that may hold anything."""
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{f.filename.rsplit('/', 1)[-1]}:{f.lineno} {f.name}" for f in frames[-12:]]
        self._write({"request": number, "fault": type(error).__name__, "at": places}, sys.stderr.write)

    def _write(self, line: dict[str, object], write: Callable[[str], object] | None = None) -> None:
        target = self._log.write if self._log is not None else write
        if target is not None:
            target(json.dumps(line, ensure_ascii=True) + "\n")
