"""Query processes by the dozen: one process that has everything imported, and forks others in a few milliseconds.

Only where a process can be passed open files and be held by a handle of its own, which is Linux; elsewhere `spawn`
gives None, and a worker starts its process from nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

__all__ = ["Child", "Nursery"]

_WAIT = 10.0


class Child:
    """A process that was forked elsewhere, with the part of `Popen` that a worker needs."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None and self._has_ended(0):
            self._ended()
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError, OSError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            self._has_ended(_WAIT)
            self._ended()
        return self.returncode or 0

    def _has_ended(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _ended(self) -> None:
        self.returncode = -signal.SIGKILL  # its own parent has taken the true one
        os.close(self._handle)


class Nursery:
    """Starts processes for workers. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._first = True

    def spawn(self) -> Child | None:
        """A process that waits for its first request; None where it must be started otherwise, as the first is."""
        first, self._first = self._first, False
        if first:
            return None  # for one alone, a process that forks it would be one too many
        if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
            return None
        with self._lock:
            try:
                return self._spawn()
            except (OSError, ValueError):
                self._end()
                return None

    def close(self) -> None:
        """End the process that forks; the forked ones go on."""
        with self._lock:
            self._end()

    def _spawn(self) -> Child:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        assert self._socket is not None
        (its_input, our_output), (our_input, its_output) = os.pipe(), os.pipe()
        try:
            socket.send_fds(self._socket, [b"f"], [its_input, its_output])
            answer = self._socket.recv(16)
            if not answer:
                raise OSError("the process that forks is gone")
            return Child(int(answer), os.fdopen(our_output, "wb"), os.fdopen(our_input, "rb"))
        except BaseException:
            os.close(our_output)
            os.close(our_input)
            raise
        finally:
            os.close(its_input)
            os.close(its_output)

    def _start(self) -> None:
        import pyoxigraph

        from abi.graph import worker_process

        ours, its = socket.socketpair()
        ours.settimeout(_WAIT)
        library = Path(pyoxigraph.__file__).parents[1]
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(worker_process.__file__)), str(library), str(its.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"LC_ALL": "C.UTF-8"},
                pass_fds=[its.fileno()],
            )
        self._socket = ours

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._socket = None
