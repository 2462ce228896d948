from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.allow_list import AllowList
from abi.errors import AbiError, Denied, NetworkError
from abi.net import NetClient


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]] = []
    release: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        self.seen.append(f"{self.headers['Host']} {self.path}")
        if self.path == "/hang":
            self.release.wait(20)
        elif self.path == "/drip":
            self._drip()
        elif self.path.startswith("/to/"):
            self.answer(302, b"", {"Location": self.path.removeprefix("/to/").replace("~", "/")})
        elif self.path.startswith("/post/"):
            status, _, target = self.path.removeprefix("/post/").partition("/")
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            location = {"Location": target.replace("~", "/"), "Set-Cookie": "session=1"}
            self.answer(int(status), b"", location)
        elif self.path == "/echo":
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            kept = {k.lower(): v for k, v in self.headers.items()}
            self.answer(200, json.dumps({"method": self.command, "headers": kept, "body": body}).encode())
        elif self.path == "/loop":
            self.answer(302, b"", {"Location": "/loop"})
        elif self.path.startswith("/big"):
            self.answer(500 if self.path.endswith("error") else 200, b"x" * 200_000)
        else:
            self.answer(200, b"hello")

    do_POST = do_GET

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(200):
            if self.release.wait(0.05):
                return
            try:
                self.wfile.write(b"x")
            except OSError:
                return

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    Handler.seen.clear()
    Handler.release.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    Handler.release.set()
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def client(server: str) -> Iterator[NetClient]:
    made = NetClient([server], seconds=1.0, max_bytes=100_000)
    yield made
    made.close()


def test_a_listed_host_is_reached(client: NetClient, server: str) -> None:
    reply = client.request("GET", f"{server}/x?secret=1")
    assert (reply.status, reply.content, reply.url) == (200, b"hello", f"{server}/x?secret=1")
    assert client.get(server) == b"hello"


def test_nothing_is_reached_without_being_listed(server: str) -> None:
    with pytest.raises(Denied) as caught:
        NetClient().request("GET", server)
    assert f"add {server} to net_allow" in caught.value.hint
    assert Handler.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "//127.0.0.1/x",
        "/x",
        "",
        "http://user:pass@127.0.0.1/",
        "http://",
        "http://127.0.0.1:99999/",
        "http://[::1/",
        "javascript:alert(1)",
        "http://127.0.0.1\\@example.org/",
    ],
)
def test_what_is_no_http_target_is_refused(url: str) -> None:
    with pytest.raises(Denied):
        NetClient(["http://127.0.0.1", "example.org", "http://example.org"]).request("GET", url)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "fc00::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
    ],
)
def test_a_listed_name_that_resolves_to_a_private_address_leads_nowhere(address: str) -> None:
    client = NetClient(["http://inside.example"], resolver=lambda host, port: [address])
    with pytest.raises(Denied, match="private"):
        client.request("GET", "http://inside.example/")


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    client = NetClient(["http://inside.example"], resolver=lambda host, port: ["93.184.216.34", "127.0.0.1"])
    with pytest.raises(Denied, match="private"):
        client.request("GET", "http://inside.example/")


def test_a_name_may_resolve_into_a_listed_network(server: str) -> None:
    port = server.rpartition(":")[2]
    client = NetClient([f"http://inside.example:{port}", "127.0.0.0/8"], resolver=lambda host, port: ["127.0.0.1"])
    assert client.get(f"http://inside.example:{port}/") == b"hello"
    assert Handler.seen == [f"inside.example:{port} /"]
    client.close()


def test_metadata_addresses_are_never_reached_even_if_listed() -> None:
    client = NetClient(["http://169.254.169.254", "169.254.0.0/16", "http://name.example"])
    with pytest.raises(Denied, match="private"):
        client.request("GET", "http://169.254.169.254/latest/meta-data/")
    client = NetClient(["http://name.example", "169.254.0.0/16"], resolver=lambda host, port: ["169.254.169.254"])
    with pytest.raises(Denied, match="private"):
        client.request("GET", "http://name.example/")


def test_a_name_is_resolved_once_for_a_connection_which_goes_to_that_address(server: str) -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    port = server.rpartition(":")[2]
    client = NetClient([f"http://name.example:{port}", "127.0.0.0/8"], resolver=lambda host, port: next(answers))
    for _ in range(3):  # one connection, kept open
        assert client.get(f"http://name.example:{port}/") == b"hello"
    client.close()
    with pytest.raises(Denied, match="private"):
        client.get(f"http://name.example:{port}/")


def test_a_name_that_is_not_known(server: str) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(NetworkError, match=r"http://name\.example/ cannot be reached: the host name\.example"):
        NetClient(["http://name.example"], resolver=unknown).get("http://name.example/?key=secret")


def test_redirects_stay_on_their_host(client: NetClient, server: str) -> None:
    assert client.get(f"{server}/to/~x") == b"hello"
    port = server.rpartition(":")[2]
    for target in (
        f"http:~~localhost:{port}~x",
        "http:~~169.254.169.254~",
        "https:~~example.org~x",
        "file:~~~etc~passwd",
    ):
        with pytest.raises(AbiError) as caught:
            client.get(f"{server}/to/{target}")
        assert isinstance(caught.value, (Denied, NetworkError))
    assert all(line.split(" ")[1].startswith(("/to/", "/x")) for line in Handler.seen)


def test_a_listed_host_is_no_target_of_another_hosts_redirect(server: str) -> None:
    port = server.rpartition(":")[2]
    client = NetClient([server, f"http://localhost:{port}"])
    with pytest.raises(Denied, match="redirects to another host"):
        client.get(f"{server}/to/http:~~localhost:{port}~x")
    client.close()


def test_redirects_end(client: NetClient, server: str) -> None:
    with pytest.raises(NetworkError, match="more than 5 times"):
        client.get(f"{server}/loop")


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(301, "GET", ""), (302, "GET", ""), (303, "GET", ""), (307, "POST", "a=1"), (308, "POST", "a=1")],
)
def test_a_redirect_is_followed_as_its_status_says(
    client: NetClient, server: str, status: int, method: str, body: str
) -> None:
    headers = [("Content-Type", "text/x"), ("Authorization", "Bearer k"), ("X-Own", "1")]
    reply = client.request("POST", f"{server}/post/{status}/~echo", headers=headers, content=b"a=1")
    told = json.loads(reply.content)
    assert (told["method"], told["body"], told["headers"].get("content-type")) == (
        method,
        body,
        "text/x" if body else None,
    )
    assert told["headers"]["authorization"] == "Bearer k" and told["headers"]["x-own"] == "1"
    # What one service sets is no business of the next request, which may be another tool's.
    assert "cookie" not in told["headers"]
    assert "cookie" not in json.loads(client.get(f"{server}/echo"))["headers"]


def test_a_redirect_to_another_port_carries_no_key(client: NetClient, server: str) -> None:
    other = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    there = f"http://127.0.0.1:{other.server_port}"
    both = NetClient([server, there], seconds=20)
    try:
        target = f"{server}/to/{there.replace('/', '~')}~echo"
        told = json.loads(both.request("GET", target, headers={"Authorization": "Bearer k", "Cookie": "a=b"}).content)
    finally:
        both.close()
        other.shutdown()
        other.server_close()
        thread.join()
    assert not {"authorization", "cookie"} & told["headers"].keys()
    assert told["headers"]["host"] == there.removeprefix("http://")


def test_headers_that_a_caller_gives_stand_alone(client: NetClient, server: str) -> None:
    told = json.loads(client.request("GET", f"{server}/echo", headers={"User-Agent": "mine", "accept": "a/b"}).content)
    assert (told["headers"]["user-agent"], told["headers"]["accept"]) == ("mine", "a/b")


@pytest.mark.parametrize("path", ["/hang", "/drip"])
def test_time_is_limited_however_slowly_bytes_come(client: NetClient, server: str, path: str) -> None:
    started = time.monotonic()
    with pytest.raises(NetworkError, match="too long"):
        client.get(server + path)
    assert time.monotonic() - started < 10


def test_size_is_limited(client: NetClient, server: str) -> None:
    with pytest.raises(NetworkError, match="more than 100,000 bytes"):
        client.get(f"{server}/big")
    reply = client.request("GET", f"{server}/big-error")
    assert (reply.status, len(reply.content), reply.truncated) == (500, 100_000, True)


def test_a_port_where_nobody_listens() -> None:
    with pytest.raises(NetworkError, match="cannot be reached"):
        NetClient(["http://127.0.0.1:1"]).get("http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("entry", "url", "allowed"),
    [
        ("api.example.org", "https://api.example.org/v1", True),
        ("api.example.org", "https://API.example.org./v1", True),
        ("api.example.org", "http://api.example.org/v1", False),
        ("api.example.org", "https://api.example.org:8443/", False),
        ("api.example.org", "https://api.example.org.evil.example/", False),
        ("http://api.example.org:8080", "http://api.example.org:8080/x", True),
        ("*.example.org", "https://a.b.example.org/", True),
        ("*.example.org", "https://example.org/", False),
        ("*.example.org", "https://evilexample.org/", False),
        ("10.0.0.0/8", "http://10.0.0.1/", False),
    ],
)
def test_entries(entry: str, url: str, allowed: bool) -> None:
    assert AllowList([entry]).allows(url) is allowed


@pytest.mark.parametrize(
    "entry", ["", "ftp://x", "10.0.0.0/99", "https://x/path", "a*.example.org", "https://u:p@x", "*"]
)
def test_entries_that_are_none(entry: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        AllowList([entry])


@given(st.text(max_size=60))
def test_any_text_is_judged(text: str) -> None:
    assert AllowList(["api.example.org"]).allows(text) in (True, False)
