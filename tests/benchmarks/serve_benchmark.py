"""Print what `abi serve` takes beside `oxigraph serve`: `python tests/benchmarks/serve_benchmark.py [TRIPLES]`.

Both hold the same triples on disk and are asked over one connection that is kept; the rounds take turns, so that a busy
machine slows both. Ratios of medians, and the time from the start of a process to its first answer. Exit code 1 where a
figure is over its bound.
"""

from __future__ import annotations

import contextlib
import http.client
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

EX = "https://example.org/bench/"
POINT = "SELECT ?l WHERE { <%sr%d> <%slabel> ?l }"
JOIN = "SELECT ?a ?b ?l WHERE { <%sr%d> <%snext> ?a . ?a <%snext> ?b . ?b <%slabel> ?l }"
BIG = "SELECT ?s ?l ?n WHERE { ?s <%slabel> ?l ; <%snumber> ?n } LIMIT 7600"
BOUNDS = {"point": 2.0, "join": 2.0, "big": 1.5}


def triples(count: int) -> str:
    lines = []
    for number in range(count // 5):
        subject = f"<{EX}r{number}>"
        lines += [
            f'{subject} <{EX}label> "record {number}" .',
            f"{subject} <{EX}number> {number} .",
            f"{subject} <{EX}next> <{EX}r{(number * 7 + 1) % (count // 5)}> .",
            f"{subject} <{EX}kind> <{EX}kind{number % 20}> .",
            f'{subject} <{EX}note> "a note on {number} that is somewhat longer"@en .',
        ]
    return "\n".join(lines)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, path: str) -> Iterator[float]:
    """The process, and how long it took to its first answer."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request("GET", f"{path}?{urlencode({'query': 'ASK {}'})}")
                connection.getresponse().read()
                break
            except ConnectionError:
                if process.poll() is not None:
                    raise SystemExit(f"{command[0]} ended with {process.returncode}") from None
                time.sleep(0.005)
            finally:
                connection.close()
        yield time.perf_counter() - start
    finally:
        process.terminate()
        process.wait()


class Client:
    def __init__(self, port: int, path: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._path = path

    def ask(self, query: str) -> float:
        start = time.perf_counter()
        self._connection.request(
            "GET",
            f"{self._path}?{urlencode({'query': query})}",
            headers={"Accept": "application/sparql-results+json"},
        )
        answer = self._connection.getresponse()
        body = answer.read()
        taken = time.perf_counter() - start
        if answer.status != 200 or b'"bindings":[{' not in body:
            raise SystemExit(f"{self._path} answered {answer.status}: {body[:300]!r}")
        return taken


def main(count: int) -> int:
    programs = Path(sys.executable).parent
    peer, abi = (shutil.which(name, path=str(programs)) for name in ("oxigraph", "abi"))
    if peer is None or abi is None:
        raise SystemExit("There is no `oxigraph` or no `abi` beside this Python; install the test extra.")
    with tempfile.TemporaryDirectory(prefix="abi-serve-") as folder:
        root = Path(folder)
        (root / "data.nt").write_text(triples(count), encoding="utf-8")
        (root / "data.ttl").write_text(triples(count), encoding="utf-8")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([peer, "load", "--location", str(root / "ox"), "--file", str(root / "data.ttl")], **quiet)  # type: ignore[call-overload]
        (root / "w").mkdir()
        (root / "w" / "abi.yaml").write_text(f"base_iri: {EX}\n", encoding="utf-8")
        subprocess.run([abi, "-C", str(root / "w"), "load", str(root / "data.ttl")], **quiet)  # type: ignore[call-overload]
        ports = free_port(), free_port()
        theirs = [peer, "serve", "--location", str(root / "ox"), "--bind", f"127.0.0.1:{ports[0]}"]
        ours = [abi, "-C", str(root / "w"), "serve", "--port", str(ports[1]), "--quiet"]
        with running(theirs, ports[0], "/query") as their_start, running(ours, ports[1], "/sparql") as our_start:
            clients = Client(ports[0], "/query"), Client(ports[1], "/sparql")
            over = 0
            for name, rounds in (("point", 600), ("join", 600), ("big", 30)):
                taken: tuple[list[float], list[float]] = ([], [])
                for number in range(rounds):
                    key = number * 31 % (count // 5)
                    query = {
                        "point": POINT % (EX, key, EX),
                        "join": JOIN % (EX, key, EX, EX, EX),
                        "big": BIG % (EX, EX),
                    }[name]
                    for client, times in zip(clients, taken, strict=True):
                        times.append(client.ask(query))
                their, our = (statistics.median(times) * 1000 for times in taken)
                ratio = our / their
                over += ratio > BOUNDS[name]
                verdict = "ok" if ratio <= BOUNDS[name] else "OVER"
                print(
                    f"{name:6} oxigraph {their:8.2f} ms  abi {our:8.2f} ms  {ratio:5.2f}x  bound {BOUNDS[name]}x "
                    f"{verdict}"
                )
            over += our_start > 1.5
            print(f"start  oxigraph {their_start:8.2f} s   abi {our_start:8.2f} s   bound 1.5 s "
                  f"{'ok' if our_start <= 1.5 else 'OVER'}")  # fmt: skip
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
