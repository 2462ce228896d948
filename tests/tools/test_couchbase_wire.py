"""Runs `couchbase_wire_cases.py` in a process of its own: the SDK's native part now and then takes its process down
when a cluster is closed, which says nothing about abi and must not end the other tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("couchbase_wire_cases.py")
FAULT = "Fatal Python error"


def test_the_sdk_over_its_wire() -> None:
    done = attempt()
    if done.returncode < 0 or FAULT in done.stderr:
        done = attempt()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout and "skipped" not in done.stdout


def attempt() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=", str(CASES)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
