"""Requests to the server that runs in a workspace, with the key that it left for programs of the same user."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from abi import errors
from abi.errors import AbiError, Invalid, NetworkError
from abi.findings import Finding
from abi.running import RunningServer

__all__ = ["Answer", "ServerClient", "findings_of"]

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 3600.0
"""An index of a large workspace takes its time; the server ends by itself what must not go on."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes

    def document(self) -> Any:
        return json.loads(self.body)


class ServerClient:
    """Each request has a connection of its own. Errors are raised as the verbs themselves raise them."""

    def __init__(self, server: RunningServer) -> None:
        self.server = server
        self._parts = urlsplit(server.url)

    def get(self, path: str, accept: str = "application/json", **parameters: Any) -> Answer:
        return self.request("GET", path, accept=accept, parameters=parameters)

    def post(self, path: str, document: Any, accept: str = "application/json") -> Answer:
        return self.request("POST", path, accept=accept, body=json.dumps(document).encode("utf-8", "backslashreplace"))

    def request(
        self,
        method: str,
        path: str,
        *,
        accept: str = "application/json",
        parameters: dict[str, Any] | None = None,
        body: bytes | None = None,
        media: str = "application/json",
    ) -> Answer:
        """Raises whatever the verb raises there, NetworkError where the server does not answer."""
        connection = self._connection()
        try:
            answer = self._sent(connection, method, path, accept, parameters or {}, body, media)
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise _error(answer.status, data)
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)

    def events(self, path: str, document: Any) -> tuple[http.client.HTTPConnection, Iterator[tuple[str, str]]]:
        """A stream of events, as (name, data); closing the connection ends what makes them."""
        connection = self._connection()
        body = json.dumps(document).encode("utf-8", "backslashreplace")
        try:
            answer = self._sent(connection, "POST", path, "text/event-stream", {}, body, "application/json")
            if answer.status >= 400:
                raise _error(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._silent(error) from error
        except BaseException:
            connection.close()
            raise
        return connection, self._events(answer)

    def _events(self, answer: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
        name, data = "", list[str]()
        try:
            for raw in answer:
                line = raw.decode("utf-8").removesuffix("\n")
                key, _, value = line.partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    data.append(value)
                elif not line and name:
                    if name == "error":
                        raise _error(500, "\n".join(data).encode())
                    yield name, "\n".join(data)
                    name, data = "", []
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._silent(error) from error

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        accept: str,
        parameters: dict[str, Any],
        body: bytes | None,
        media: str,
    ) -> http.client.HTTPResponse:
        given = {name: value for name, value in parameters.items() if value is not None}
        headers = {"Accept": accept, "Authorization": f"Bearer {self.server.key}"}
        if body is not None:
            headers["Content-Type"] = media
        connection.connect()
        connection.sock.settimeout(_ANSWER_SECONDS)
        connection.request(method, f"{path}?{urlencode(given)}" if given else path, body, headers)
        return connection.getresponse()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        # Its certificate is of its public name, which is not the one by which it is called here; it is known itself.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(self.server.certificate)
        return http.client.HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=context)

    def _silent(self, error: Exception) -> NetworkError:
        return NetworkError(
            f"The server of this workspace (process {self.server.pid}, {self.server.url}) does not answer: {error}",
            hint="Its log may tell more; where it hangs, end it and start `abi serve` anew.",
        )


def findings_of(documents: Sequence[dict[str, Any]]) -> list[Finding]:
    return [Finding(**document) for document in documents]


def _error(status: int, body: bytes) -> AbiError:
    """The error of a document, in its class of the tree."""
    try:
        told = json.loads(body)["error"]
        code, message, details, hint = told["code"], told["message"], told["details"], told["hint"]
    except (ValueError, KeyError, TypeError):
        return NetworkError(f"The server answered {status} and no document of an error.")
    if code == Invalid.code:
        return Invalid(message, findings_of(details.get("findings", [])), hint=hint)
    for name in errors.__all__:
        kind: type[AbiError] = getattr(errors, name)
        if kind.code == code and kind is not Invalid:
            return kind(message, hint=hint, details=details)
    return AbiError(message, hint=hint, details=details)
