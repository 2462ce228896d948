"""Print what a turn over HTTP costs: `python tests/benchmarks/http_turn_benchmark.py [TURNS]`.

A raw intent's reply by `POST /agents/NAME/completion`, of an agent with no sub-agent and of one with thirty: CPU
milliseconds of the server's process for one turn, each in a thread of its own, over one connection that is kept.
Exit code 1 where a figure is over its bound.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BOUNDS = {0: 8.0, 30: 9.0}
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@contextlib.contextmanager
def serving(root: Path, *options: str) -> Iterator[tuple[int, int, str]]:
    """Port and process of `abi serve`, and an admin key."""
    program = shutil.which("abi", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("There is no `abi` beside this Python; install the project first.")
    key = "benchmark-key-of-this-run"
    place = root / ".abi" / "server.json"
    process = subprocess.Popen(
        [program, "-C", str(root), "serve", "--port", "0", "--quiet", *options],
        env={**os.environ, "ABI_API_KEY": key},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            if process.poll() is not None:
                raise SystemExit(f"abi serve ended with {process.returncode}")
            with contextlib.suppress(OSError, ValueError):
                told = json.loads(place.read_text())
                if told["pid"] == process.pid:
                    break
            time.sleep(0.02)
        yield int(told["url"].rpartition(":")[2]), process.pid, key
    finally:
        process.terminate()
        process.wait()


def cpu_ms(pid: int) -> float:
    """CPU milliseconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / _TICK


def agents(root: Path, count: int) -> str:
    """An agent with so many sub-agents; gives its name."""
    folder = root / "agents"
    folder.mkdir(exist_ok=True)
    names = [f"helper_{count}_{n}" for n in range(count)]
    for n, name in enumerate(names):
        (folder / f"{name}.yaml").write_text(
            f"record_kind: agent\nname: {name}\ndescription: Helps with matter number {n}.\nintents:\n"
            f"  - {{values: [help me with matter {n}, tell me of matter {n}], type: raw, target: Done {n}.}}\n"
        )
    name = f"chief_{count}"
    (folder / f"{name}.yaml").write_text(
        f"record_kind: agent\nname: {name}\ndescription: Chief of {count}.\nagents: [{', '.join(names)}]\nintents:\n"
        "  - {values: [thank you, thanks a lot], type: raw, target: You are welcome.}\n"
    )
    return name


def main(turns: int) -> int:
    over = 0
    with tempfile.TemporaryDirectory(prefix="abi-turns-") as folder:
        root = Path(folder)
        (root / "abi.yaml").write_text("base_iri: https://example.org/turns/\n")
        names = {count: agents(root, count) for count in BOUNDS}
        program = Path(sys.executable).with_name("abi")
        subprocess.run([program, "-C", root, "index"], check=True, stdout=subprocess.DEVNULL)
        with serving(root) as (port, pid, key):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

            def say(agent: str, thread: str) -> None:
                body = json.dumps({"prompt": "thank you", "thread_id": thread})
                connection.request("POST", f"/agents/{agent}/completion", body, headers)
                answer = connection.getresponse()
                told = answer.read()
                if answer.status != 200 or b"You are welcome." not in told:
                    raise SystemExit(f"{answer.status}: {told[:300]!r}")

            for count, name in names.items():
                for n in range(20):
                    say(name, f"warm{n}")
                before = cpu_ms(pid)
                for n in range(turns):
                    say(name, f"t{count}-{n}")
                taken = (cpu_ms(pid) - before) / turns
                over += taken > BOUNDS[count]
                verdict = "ok" if taken <= BOUNDS[count] else "OVER"
                print(f"raw intent, {count:2} sub-agents {taken:6.2f} ms CPU  bound {BOUNDS[count]:g} ms {verdict}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
