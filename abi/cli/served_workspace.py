"""A workspace whose server runs: the verbs of `abi.Workspace` that commands call, done by that server.

What they give back is of the same types, so a command prints the same. A test compares the signatures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abi.cli.server_client import ServerClient, findings_of
from abi.errors import Denied, StoreError, Unreadable
from abi.running import RunningServer
from abi.settings import Settings

if TYPE_CHECKING:
    from abi.agents.derive import DeriveReport
    from abi.exchange.formats import CatalogExport
    from abi.graph.indexing import IndexReport, Progress
    from abi.graph.loads import LoadReport
    from abi.graph.rows import Rows, Term
    from abi.graph.update import UpdateReport
    from abi.graph.version_file import CatalogVersion
    from abi.graph.versions import PublishReport
    from abi.records.record import Parameter
    from abi.reports import FindReport, LsReport, StatusReport, VectorsReport

__all__ = ["ServedWorkspace"]

_PAGE = 1_000
_ROWS = "application/sparql-results+json, application/n-triples;q=0.9"


@dataclass(frozen=True, slots=True)
class Told:
    """What the server answered, as the document that it is."""

    data: dict[str, Any]

    def document(self) -> dict[str, Any]:
        return self.data


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """Something that happened in a turn; see `abi.agents.turn.Event`."""

    type: str
    data: str


@dataclass(frozen=True, slots=True)
class ToldAgent:
    """An agent that is there."""

    name: str


@dataclass(frozen=True, slots=True)
class ToldRecord:
    """One record or turn; its Turtle is asked for where it is wanted."""

    data: dict[str, Any]
    client: ServerClient
    path: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return self.data

    def turtle(self) -> str:
        return self.client.get(self.path, "text/turtle", **self.parameters).body.decode()


class ServedWorkspace:
    """The verbs. `read_only` is kept as a promise: no verb that writes goes out."""

    def __init__(self, root: Path, server: RunningServer, *, read_only: bool = False) -> None:
        self.root = root
        self.read_only = read_only
        self.settings, _ = Settings.load(root)
        self.client = ServerClient(server)

    def __enter__(self) -> ServedWorkspace:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    # Files and graph

    def index(
        self,
        paths: Sequence[str | Path] = (),
        *,
        dry_run: bool = False,
        restore: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        from abi.graph.indexing import IndexReport

        self._writes()
        if progress:
            progress("index, by the server", 0, 0)
        body = {"paths": [self._relative(p) for p in paths], "dry_run": dry_run, "restore": restore}
        told = self.client.post("/index", body).document()
        return IndexReport(**{**told, "findings": findings_of(told["findings"])})

    def update(self, text: str, *, dry_run: bool = False) -> UpdateReport:
        from abi.graph.update import UpdateReport

        self._writes()
        told = self.client.post("/change", {"update": text, "dry_run": dry_run}).document()
        return UpdateReport(told["added"], told["removed"], findings_of(told["findings"]), told["version"])

    def load(self, files: Sequence[str | Path], *, graph: str | None = None) -> LoadReport:
        from abi.graph.loads import LoadReport

        self._writes()
        body, media = _form([Path(f) for f in files])
        sent = self.client.request("POST", "/load", parameters={"graph": graph}, body=body, media=media)
        told = sent.document()
        return LoadReport(told["graph"], told["triples"], findings_of(told["findings"]))

    def derive(self, graph: str | None = None) -> DeriveReport:
        from abi.agents.derive import DeriveReport

        self._writes()
        return DeriveReport(**self.client.post("/intents/derive", {"graph": graph}).document())

    def vectors_build(self, names: Sequence[str] = ()) -> VectorsReport:
        from abi.reports import VectorsReport

        self._writes()
        return VectorsReport(self.client.post("/vectors/build", {"names": list(names)}).document()["built"])

    def export(self, *, graph: str | None = None, source: str | None = None, format: str | None = None) -> bytes:
        return self.client.get("/export", "*/*", graph=graph, source=source, format=format).body

    def has_edits_to_write(self, source: str) -> bool:
        return self.client.get("/export", "*/*", source=source, edited="true").status != 204

    def export_catalog(self, format: str, *, annotations: str | None = None) -> CatalogExport:
        import json

        from abi.exchange.formats import CatalogExport

        sent = self.client.get("/export", "*/*", format=format, annotations=annotations)
        return CatalogExport(sent.body, findings_of(json.loads(sent.headers.get("x-abi-findings", "[]"))))

    # Versions

    def publish(self, message: str = "", *, allow_dirty: bool = False) -> PublishReport:
        from abi.graph.versions import PublishReport

        self._writes()
        told = self.client.post("/versions", {"message": message, "allow_dirty": allow_dirty}).document()
        version = self._version(told)
        return PublishReport(version, told["published"], Path(told["path"]), findings_of(told["findings"]))

    def versions(self) -> list[CatalogVersion]:
        return [self._version(told) for told in self._pages("/versions", "versions")][::-1]

    def diff(self, before: str, after: str | None = None) -> _Difference:
        return _Difference(self.client.get(f"/versions/{quote(before, safe='')}/diff", to=after).document())

    def _version(self, told: dict[str, Any]) -> CatalogVersion:
        from dataclasses import fields

        from abi.graph.version_file import CatalogVersion

        known = {**told, "schema": 0, "base_iri": self.settings.base_iri}
        return CatalogVersion(**{f.name: known[f.name] for f in fields(CatalogVersion)})

    # Looking

    def find(self, kind: str | None = None, query: str | None = None, **filters: Any) -> FindReport:
        from abi.reports import FindReport
        from abi.search.find import Hit

        told = self.client.post("/catalog/find", {"kind": kind, "query": query, **filters}).document()
        return FindReport([Hit(**hit) for hit in told["results"]])

    def ls(self, kind: str | None = None) -> LsReport:
        from abi.graph.catalog import Entry
        from abi.reports import LsReport

        found = self._pages(f"/catalog/{quote(kind or 'records', safe='')}", "records")
        return LsReport([Entry(**told) for told in found])

    def show(self, name: str) -> ToldRecord:
        turn = f"{self.settings.base_iri}thread/"
        if name.startswith("thread/") or turn in name:
            path, parameters = "/turn", {"name": name}
        else:
            path, parameters = f"/catalog/records/{quote(name, safe='')}", {}
        return ToldRecord(self.client.get(path, **parameters).document(), self.client, path, parameters)

    def status(self) -> StatusReport:
        from abi.reports import StatusReport

        return StatusReport(**self.client.get("/status").document())

    def parameters_of(self, name: str) -> list[Parameter]:
        from abi.records.record import Parameter

        return [Parameter(**told) for told in self.show(name).document().get("parameters", [])]

    # Asking

    def sparql(self, text: str) -> Rows:
        started = time.monotonic()
        media = "application/sparql-query"
        sent = self.client.request("POST", "/sparql", accept=_ROWS, body=text.encode(), media=media)
        rows = _rows(sent.body, sent.headers.get("content-type", ""))
        rows.truncated = sent.headers.get("x-abi-truncated") == "true"
        rows.seconds = time.monotonic() - started
        return rows

    def run_report(self, name: str, arguments: dict[str, Any]) -> Told:
        return Told(self.client.post("/run", {"name": name, "arguments": arguments}).document())

    def chat(self, text: str, *, agent: str | None = None, thread_id: str | None = None, **options: Any) -> Told:
        *_, last = self.chat_stream(text, agent=agent, thread_id=thread_id, **options)
        assert isinstance(last, Told)
        return last

    def chat_stream(
        self,
        text: str,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        model: str | None = None,
        may_write: bool = False,
        stop: threading.Event | None = None,
    ) -> Iterator[ToldEvent | Told]:
        """Once `stop` is set the connection is closed, which ends the turn; StoreError tells so."""
        import json

        body = {"prompt": text, "thread_id": thread_id, "model": model, "write": may_write}
        path = f"/agents/{quote(agent or 'Abi', safe='')}/stream-completion"
        connection, events = self.client.events(path, body)
        ended, watched = threading.Event(), stop is not None
        if stop is not None:
            threading.Thread(target=_end_when, args=(stop, ended, connection), daemon=True).start()
        result: Told | None = None
        try:
            for name, data in events:
                if name == "result":
                    result = Told(json.loads(data))
                else:
                    yield ToldEvent(name, data)
        except Exception as error:
            if watched and stop is not None and stop.is_set():
                raise StoreError("The turn was ended.", hint="The thread is as it was before it.") from error
            raise
        finally:
            ended.set()
            connection.close()
        if result is None:
            raise StoreError("The turn was ended.", hint="The server's log may tell more.")
        yield result

    def agent(self, name: str | None = None) -> ToldAgent:
        return ToldAgent(self.client.get(f"/agents/{quote(name or 'Abi', safe='')}").document()["name"])

    @property
    def threads(self) -> _ServedThreads:
        return _ServedThreads(self.client, self._writes)

    def _pages(self, path: str, key: str, limit: int | None = None, **parameters: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            most = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page = self.client.get(path, limit=most, offset=len(found), **parameters).document()
            found += page[key]
            if page["next"] is None or not page[key] or (limit is not None and len(found) >= limit):
                return found

    def _writes(self) -> None:
        if self.read_only:
            raise Denied("The workspace was opened read-only.", hint="Open it without read_only to write.")

    def _relative(self, path: str | Path) -> str:
        absolute = Path(path).absolute()
        return absolute.relative_to(self.root).as_posix() if absolute.is_relative_to(self.root) else str(absolute)


class _Difference(Told):
    def __bool__(self) -> bool:
        return any(self.data.values())


class _ServedThreads:
    """See `abi.agents.threads.Threads`."""

    def __init__(self, client: ServerClient, writes: Any) -> None:
        self._client = client
        self._writes = writes

    def list(self, principal: str | None = None, *, limit: int = 50) -> list[Told]:
        found: list[Told] = []
        while len(found) < limit:
            most = min(_PAGE, limit - len(found))
            page = self._client.get("/threads", limit=most, offset=len(found), owner=principal).document()
            found += [Told(told) for told in page["threads"]]
            if page["next"] is None:
                break
        return found

    def show(self, thread_id: str, principal: str | None = None) -> dict[str, Any]:
        told: dict[str, Any] = self._client.get(_thread(thread_id), owner=principal).document()
        return told

    def export(self, principal: str | None = None) -> Iterator[dict[str, Any]]:
        import json

        for line in self._client.get("/threads", "application/x-ndjson", owner=principal).body.splitlines():
            yield json.loads(line)

    def delete(self, thread_id: str, principal: str | None = None) -> None:
        self._writes()
        self._client.request("DELETE", _thread(thread_id), parameters={"owner": principal})

    def prune(self, days: float, principal: str | None = "*") -> Sequence[str]:
        self._writes()
        told = self._client.post("/threads/prune", {"days": days, "owner": principal}).document()
        deleted: Sequence[str] = told["deleted"]
        return deleted


def _thread(thread_id: str) -> str:
    return f"/threads/{quote(thread_id, safe='')}"


def _end_when(stop: threading.Event, ended: threading.Event, connection: Any) -> None:
    import contextlib
    import socket

    while not ended.is_set():
        if stop.wait(0.1):
            with contextlib.suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            return


def _form(files: list[Path]) -> tuple[bytes, str]:
    """Files as a form, each under its whole path. Raises Unreadable."""
    import secrets

    mark = secrets.token_hex(16)
    parts: list[bytes] = []
    for path in files:
        if not path.is_file():
            raise Unreadable(f"There is no file {path}.")
        name = quote(str(path), safe="")
        head = f"--{mark}\r\nContent-Disposition: form-data; name=\"file\"; filename*=utf-8''{name}\r\n"
        try:
            parts += [f"{head}Content-Type: application/octet-stream\r\n\r\n".encode(), path.read_bytes(), b"\r\n"]
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def _rows(body: bytes, media: str) -> Rows:
    """SPARQL results in JSON, or triples, as rows."""
    import json

    from abi.graph.rows import Rows

    if not media.startswith("application/sparql-results+json"):
        from abi.graph.formats import parse
        from abi.graph.results import rows_of

        return rows_of(parse(body, "ntriples"), None)
    told = json.loads(body)
    if "boolean" in told:
        return Rows("ask", boolean=told["boolean"])
    rows = [{name: _term(value) for name, value in row.items()} for row in told["results"]["bindings"]]
    return Rows("select", told["head"]["vars"], rows)


def _term(told: dict[str, Any]) -> Term:
    from abi.graph.rows import XSD, Term

    if told["type"] == "uri":
        return Term("iri", told["value"])
    if told["type"] == "bnode":
        return Term("bnode", told["value"])
    datatype = told.get("datatype")
    plain = datatype in (None, XSD + "string") or "xml:lang" in told
    return Term("literal", str(told["value"]), None if plain else datatype, told.get("xml:lang"))
