"""Queries and vector searches on Couchbase, through its SDK (the extra `couchbase`)."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from abi.errors import ToolFailed, Unsupported
from abi.records.record import CouchbaseSecrets, VectorSearch
from abi.tools.tool_secrets import ToolSecrets

if TYPE_CHECKING:
    from couchbase.cluster import Cluster as SdkCluster

__all__ = ["Cluster"]

_SCHEME = re.compile(r"(couchbases?|https?)://[^\s]+\Z")


class Cluster:
    """A connection for one call, a context manager. Errors are ToolFailed, name the tool, and hold no secret.

    `certificate` names a secret that is a path of a PEM file, or the PEM itself. `seconds` bounds the connection and
    each request.
    """

    def __init__(self, tool: str, names: CouchbaseSecrets, secrets: ToolSecrets, *, seconds: float) -> None:
        self._tool = tool
        self._secrets = secrets
        self._seconds = seconds
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        lacking = [n for n in ("conn_string", "username", "password") if getattr(names, n) is None]
        if lacking:
            message = f"The tool {tool} cannot run: its secrets of couchbase lack {', '.join(lacking)}."
            raise ToolFailed(message, hint="Add the names by which they are looked up.")
        self._place = secrets[str(names.conn_string)]
        if not _SCHEME.match(self._place):
            raise ToolFailed(
                f"The tool {tool} cannot run: the secret {names.conn_string} is no connection string.",
                hint="It begins with couchbase://, couchbases:// or, for the embedded engine, duckdb:.",
            )
        user, password = secrets[str(names.username)], secrets[str(names.password)]
        certificate = secrets[names.certificate] if names.certificate is not None else None
        self._cluster = self._connect(user, password, certificate)

    def _connect(self, user: str, password: str, certificate: str | None) -> SdkCluster:
        try:
            from couchbase.auth import PasswordAuthenticator
            from couchbase.cluster import Cluster as SdkCluster
            from couchbase.options import ClusterOptions, ClusterTimeoutOptions
        except ImportError as error:
            message = f"The tool {self._tool} asks Couchbase, which needs its SDK."
            raise Unsupported(message, hint="pip install 'abi-graph[couchbase]'") from error
        limit = timedelta(seconds=self._seconds)
        more = {"cert_path": str(self._certificate(certificate))} if certificate is not None else {}
        timeouts = ClusterTimeoutOptions(
            bootstrap_timeout=limit, connect_timeout=limit, query_timeout=limit, search_timeout=limit
        )
        with self._told("cannot connect"):
            options = ClusterOptions(PasswordAuthenticator(user, password, **more), timeout_options=timeouts)
            cluster: SdkCluster = SdkCluster.connect(self._place, options)
            return cluster

    def _certificate(self, value: str) -> Path:
        if "-----BEGIN" not in value:
            path = Path(value).expanduser()
            if not path.is_file():
                message = f"The tool {self._tool} cannot run: the file of its certificate is not there."
                raise ToolFailed(message, hint="The secret is the path of a PEM file, or the PEM itself.")
            return path
        # The SDK takes a file only.
        self._folder = tempfile.TemporaryDirectory(prefix="abi-")
        path = Path(self._folder.name) / "certificate.pem"
        path.write_text(value, encoding="utf-8")
        return path

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.close()
        if self._folder is not None:
            self._folder.cleanup()

    def query(self, text: str, values: Mapping[str, Any], limit: int) -> tuple[list[Any], bool]:
        """The rows of a SQL++ query, read-only and with named parameters, and whether there are more than `limit`."""
        from couchbase.options import QueryOptions

        with self._told("failed"):
            options = QueryOptions(
                named_parameters=dict(values), readonly=True, timeout=timedelta(seconds=self._seconds)
            )
            rows: list[Any] = []
            for row in self._cluster.query(text, options).rows():
                if len(rows) == limit:
                    return rows, True
                rows.append(row)
            return rows, False

    def nearest(self, where: VectorSearch, vector: Sequence[float]) -> list[dict[str, Any]]:
        """The documents nearest to a vector, best first: {text, score, id}."""
        from couchbase.options import SearchOptions
        from couchbase.search import SearchRequest
        from couchbase.vector_search import VectorQuery
        from couchbase.vector_search import VectorSearch as SdkVectorSearch

        # The SDK's Scope.search gives its own lower part an option that this part warns about, at each search.
        warnings.filterwarnings("ignore", "Option scope_name is deprecated")
        with self._told("failed"):
            query = VectorQuery.create(where.vector_field, list(vector), num_candidates=where.num_candidates)
            request = SearchRequest.create(SdkVectorSearch.from_vector_query(query))
            options = SearchOptions(
                limit=where.num_candidates, fields=[where.text_field], timeout=timedelta(seconds=self._seconds)
            )
            scope = self._cluster.bucket(where.bucket).scope(where.scope)
            found = scope.search(where.index, request, options)
            return [
                {"text": (row.fields or {}).get(where.text_field), "score": row.score, "id": row.id}
                for row in found.rows()
            ]

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """The SDK's errors as ours: which tool, which server, what it said."""
        from couchbase.exceptions import CouchbaseException

        try:
            yield
        except CouchbaseException as error:
            self._close_folder()
            kind = type(error).__name__.removesuffix("Exception")
            details = {"tool": self._tool, "remote": "couchbase", "error": kind}
            said = self._secrets.hidden(" ".join(self._said(error)))
            message = f"The tool {self._tool} {what} on Couchbase: {kind}{f': {said}' if said else ''}."
            raise ToolFailed(message, hint=_HINTS.get(kind, ""), details=details) from None

    def _said(self, error: Exception) -> list[str]:
        """What the query service said, with its codes; else the SDK's own words."""
        context = getattr(error, "error_context", None)
        code = getattr(context, "first_error_code", None)
        text = getattr(context, "first_error_message", None) or getattr(error, "message", None) or ""
        return [part for part in (str(code) if code else "", " ".join(str(text).split()).rstrip(".")) if part]

    def _close_folder(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


_HINTS = {
    "Authentication": "Check the user name, the password and what the user may read.",
    "ParsingFailed": "Correct the query.",
    "UnAmbiguousTimeout": "Check that the server can be reached, and its certificate; or raise query_seconds.",
    "AmbiguousTimeout": "Narrow the query, or raise query_seconds.",
    "SearchIndexNotFound": "Make the vector index, or correct its name.",
    "KeyspaceNotFound": "Correct the name of the bucket, scope or collection.",
}
