"""LangGraph's own conformance suite, on the checkpointers as abi opens them.

The suite calls the asynchronous half of a checkpointer and abi the other one, so that each call is led over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from abi.agents.memory import open_memory

from .postgres_server import PostgresServer, missing

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}
VERBS = ("put", "put_writes", "get_tuple", "delete_thread", "delete_for_runs", "copy_thread", "prune")


def _led_over(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """A checkpointer whose asynchronous verbs are the synchronous ones of `saver`, as far as it has them."""

    def verb(name: str) -> Any:
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(saver, name)(*args, **kwargs)

        return call

    async def alist(self: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        for found in saver.list(*args, **kwargs):
            yield found

    own = {f"a{n}": verb(n) for n in VERBS if getattr(type(saver), n) is not getattr(BaseCheckpointSaver, n)}
    return type("LedOver", (BaseCheckpointSaver,), {**own, "alist": alist})(serde=saver.serde)  # type: ignore[no-any-return]


@pytest.mark.parametrize("place", ["memory", "sqlite", "postgres"])
def test_langgraphs_conformance(place: str, tmp_path: Path) -> None:
    conformance = pytest.importorskip(
        "langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed"
    )
    server = None
    if place == "postgres":
        reason = missing()
        if reason is not None:
            pytest.skip(reason)
        server = PostgresServer()
    memory = open_memory(tmp_path / "memory.sqlite" if place == "sqlite" else None, server.url if server else None)

    @conformance.checkpointer_test(name=place)  # type: ignore[untyped-decorator, unused-ignore]
    async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield _led_over(memory.saver)

    try:
        report = asyncio.run(conformance.validate(checkpointer)).to_dict()["results"]
    finally:
        memory.close()
        if server is not None:
            server.remove()
    assert {name: r["failures"] for name, r in report.items() if r["failures"]} == {}
    assert {name for name, r in report.items() if r["passed"]} >= BASE
    assert all(r["tests_passed"] for name, r in report.items() if name in BASE)
