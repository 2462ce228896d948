"""As much of a Couchbase server as its SDK needs to sign in, to ask the query service and to search: on this machine.

It speaks the two protocols that a client uses: the binary one of the data service, over which it signs in by SCRAM and
learns where the services are, and HTTP. What it answers is what a test says; what it was asked it keeps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HEADER = struct.Struct(">BBHBBHIIQ")
_HELLO, _MECHANISMS, _AUTH, _STEP, _SELECT, _CONFIG, _ERRORS = 0x1F, 0x20, 0x21, 0x22, 0x89, 0xB5, 0xFE
_OK, _FAILED, _GO_ON, _UNKNOWN = 0x00, 0x20, 0x21, 0x81
_FEATURES = {0x07, 0x08, 0x0B, 0x12}  # extended errors, buckets chosen later, JSON, collections
_ROUNDS = 4096


class _Scram:
    """The server's side of one sign-in, RFC 5802."""

    def __init__(self, mechanism: str, users: dict[str, str]) -> None:
        self._hash = {"SCRAM-SHA512": "sha512", "SCRAM-SHA256": "sha256", "SCRAM-SHA1": "sha1"}[mechanism]
        self._users = users
        self._salt = os.urandom(16)

    def first(self, message: str) -> str:
        self._bare = message.split(",", 2)[2]
        parts = dict(p.split("=", 1) for p in self._bare.split(","))
        self._user = parts["n"]
        self._server = f"r={parts['r']}abc,s={base64.b64encode(self._salt).decode()},i={_ROUNDS}"
        return self._server

    def final(self, message: str) -> str | None:
        """The server's proof; None where the client's is wrong."""
        without, _, proof = message.rpartition(",p=")
        password = self._users.get(self._user)
        if password is None:
            return None
        salted = hashlib.pbkdf2_hmac(self._hash, password.encode(), self._salt, _ROUNDS)
        spoken = f"{self._bare},{self._server},{without}".encode()
        client = self._mac(salted, b"Client Key")
        signature = self._mac(hashlib.new(self._hash, client).digest(), spoken)
        if base64.b64decode(proof) != bytes(a ^ b for a, b in zip(client, signature, strict=True)):
            return None
        return "v=" + base64.b64encode(self._mac(self._mac(salted, b"Server Key"), spoken)).decode()

    def _mac(self, key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, self._hash).digest()


class _Data(socketserver.StreamRequestHandler):
    server: _DataServer

    def handle(self) -> None:
        scram: _Scram | None = None
        bucket = ""
        while len(head := self.rfile.read(_HEADER.size)) == _HEADER.size:
            _, code, key_size, extras, _, _, size, opaque, _ = _HEADER.unpack(head)
            body = self.rfile.read(size)
            key, value = body[extras : extras + key_size], body[extras + key_size :]
            status, reply = _OK, b""
            if code == _HELLO:
                asked = struct.unpack(f">{len(value) // 2}H", value)
                accepted = [f for f in asked if f in _FEATURES]
                reply = struct.pack(f">{len(accepted)}H", *accepted)
            elif code == _MECHANISMS:
                reply = b"SCRAM-SHA512 SCRAM-SHA256 SCRAM-SHA1"
            elif code == _AUTH:
                scram = _Scram(key.decode(), self.server.owner.users)
                status, reply = _GO_ON, scram.first(value.decode()).encode()
            elif code == _STEP and scram is not None:
                proof = scram.final(value.decode())
                status, reply = (_OK, proof.encode()) if proof else (_FAILED, b"")
            elif code == _ERRORS:
                reply = json.dumps({"version": 2, "revision": 1, "errors": {}}).encode()
            elif code == _SELECT:
                bucket = key.decode()
            elif code == _CONFIG:
                reply = json.dumps(self.server.owner.config(bucket)).encode()
            else:
                status = _UNKNOWN
            datatype = 1 if code in (_CONFIG, _ERRORS) else 0
            self.wfile.write(_HEADER.pack(0x81, code, 0, 0, datatype, status, len(reply), opaque, 0) + reply)


class _DataServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    owner: CouchbaseServer


class _Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _HttpServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        user, _, password = base64.b64decode(self.headers["Authorization"].split()[1]).decode().partition(":")
        owner = self.server.owner
        owner.asked.append({"path": self.path, "user": user, "password": password, "body": body})
        answer = next((a for start, a in owner.answers.items() if self.path.startswith(start)), {})
        data = json.dumps(answer.get("body", {})).encode()
        self.send_response(answer.get("status", 200))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        return


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    owner: CouchbaseServer


class CouchbaseServer:
    """`users` are names and passwords; `answers` say by the beginning of a path what comes back: status and body."""

    def __init__(self) -> None:
        self.users = {"ann": "secret-of-ann"}
        self.asked: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self._data = _DataServer(("127.0.0.1", 0), _Data)
        self._http = _HttpServer(("127.0.0.1", 0), _Http)
        self._data.owner = self._http.owner = self
        self.port = self._data.server_address[1]
        self.place = f"couchbase://127.0.0.1:{self.port}"
        self._threads = [
            threading.Thread(target=s.serve_forever, kwargs={"poll_interval": 0.01}) for s in (self._data, self._http)
        ]
        for thread in self._threads:
            thread.start()

    def config(self, bucket: str) -> dict[str, Any]:
        """Where the services are; of a bucket, where its documents are, too."""
        port = self._http.server_port
        services = {"kv": self.port, "mgmt": port, "n1ql": port, "fts": port}
        config: dict[str, Any] = {
            "rev": 1,
            "revEpoch": 1,
            "nodesExt": [{"services": services, "thisNode": True, "hostname": "127.0.0.1"}],
            "clusterCapabilitiesVer": [1, 0],
            "clusterCapabilities": {
                "search": ["vectorSearch", "scopedSearchIndex"],
                "n1ql": ["enhancedPreparedStatements"],
            },
        }
        if bucket:
            config |= {
                "name": bucket,
                "uuid": "0" * 32,
                "nodeLocator": "vbucket",
                "bucketCapabilitiesVer": "",
                "bucketCapabilities": ["collections", "xattr", "couchapi"],
                "nodes": [{"hostname": f"127.0.0.1:{port}", "ports": {"direct": self.port}}],
                "vBucketServerMap": {
                    "hashAlgorithm": "CRC",
                    "numReplicas": 0,
                    "serverList": [f"127.0.0.1:{self.port}"],
                    "vBucketMap": [[0]] * 64,
                },
            }
        return config

    def close(self) -> None:
        for server in (self._data, self._http):
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()


@contextmanager
def running() -> Iterator[CouchbaseServer]:
    made = CouchbaseServer()
    try:
        yield made
    finally:
        made.close()
