"""Requests as spans of OpenTelemetry, where its SDK is installed (`abi-graph[otel]`) and told where to send them.

Everything is set by OpenTelemetry's own variables: `OTEL_EXPORTER_OTLP_ENDPOINT` turns it on, `OTEL_SERVICE_NAME`,
`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER` and the others mean what they mean everywhere. A span has the route,
the method and the status: never a query string, a body or a key.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from abi.errors import Unsupported

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Spans", "tracer_provider"]

_WHERE = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def tracer_provider() -> Any | None:
    """What spans are sent by; None where nobody wants any. Raises Unsupported where the SDK is wanted and missing."""
    if not any(os.environ.get(name) for name in _WHERE) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise Unsupported(
            f"{_WHERE[0]} is set, and OpenTelemetry's SDK is not installed.",
            hint="pip install 'abi-graph[otel]', or unset the variable.",
        ) from error
    name = os.environ.get("OTEL_SERVICE_NAME", "abi")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Spans:
    """A span for each request, within the trace that its `traceparent` header names."""

    def __init__(self, app: ASGIApp, provider: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._app = app
        self._tracer = provider.get_tracer("abi.server")
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"]
        with self._tracer.start_as_current_span(
            method,
            context=self._propagator.extract(headers),
            kind=SpanKind.SERVER,
            record_exception=False,  # what an exception says may hold anything
            set_status_on_exception=False,
        ) as span:
            try:
                await self._app(scope, receive, watched)
            finally:
                route = getattr(scope.get("route"), "path", None) or "/" + scope["path"].split("/")[1]
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                span.set_attribute("abi.request", scope.get("request_id", ""))
                if status >= 500 or status == 0:
                    span.set_status(Status(StatusCode.ERROR))
