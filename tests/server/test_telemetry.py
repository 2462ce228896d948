"""Spans of OpenTelemetry, received by a collector on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from .conftest import lay_out, serving


@pytest.fixture
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", received
        server.shutdown()
        thread.join()


def test_a_request_is_a_span_of_the_callers_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: tuple[str, list[ExportTraceServiceRequest]]
) -> None:
    address, received = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "the-shop")
    trace = "0af7651916cd43dd8448eb211c80319c"
    root = tmp_path / "w"
    root.mkdir()
    lay_out(root)
    with serving(root) as served, served.client("reader") as reader:
        served.workspace.index()
        key = served.keys["reader"]
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        body = {"prompt": "thank you", "thread_id": "a-secret-thread"}
        answer = reader.post(f"/agents/grocer/completion?token={key}", json=body, headers=headers)
        assert answer.status_code == 200
        reader.get("/catalog/tools/nothing")
    assert received, "nothing was sent at the end"
    spans = [s for r in received for one in r.resource_spans for scope in one.scope_spans for s in scope.spans]
    names = {span.name for span in spans}
    assert {"POST /agents/{name}/completion", "GET /catalog/{kind}/{name:path}"} <= names
    ours = next(s for s in spans if s.name.startswith("POST /agents"))
    assert ours.trace_id.hex() == trace
    told = {a.key: a.value for a in ours.attributes}
    assert told["http.response.status_code"].int_value == 200
    assert told["abi.request"].string_value == answer.headers["x-request-id"]
    everything = b"".join(r.SerializeToString() for r in received)
    assert b"the-shop" in everything and key.encode() not in everything and b"a-secret-thread" not in everything


def test_without_an_address_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from abi.server.telemetry import tracer_provider

    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    assert tracer_provider() is None
