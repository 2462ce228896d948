"""Where output goes: full disks, devices, pipes and links."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = [
    ["ls"],
    ["--json", "ls"],
    ["settings"],
    ["export"],
    ["sparql", "SELECT * WHERE { ?s ?p ?o } LIMIT 5"],
]


def abi(workspace: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "abi", "-C", str(workspace), *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_under_stdout_is_told(workspace: Path, command: list[str]) -> None:
    with FULL.open("wb") as full:
        done = abi(workspace, *command, stdout=full)
    assert done.returncode == 3
    assert "The output cannot be written: No space left on device." in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_an_export_into_a_pipe_goes_through_it(workspace: Path, tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert abi(workspace, "export", "-o", str(pipe), "--format", "nt").returncode == 0
    assert pipe.is_fifo()
    reader.join(60)
    assert got and got[0].count(b"\n") > 100


def test_an_export_over_a_link_replaces_what_it_leads_to(workspace: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "real.nt", tmp_path / "link.nt"
    target.write_text("old")
    link.symlink_to(target)
    assert abi(workspace, "export", "-o", str(link)).returncode == 0
    assert link.is_symlink()
    assert target.stat().st_size > 1000
