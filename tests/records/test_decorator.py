from __future__ import annotations

from abi.records.decorator import tool


def test_it_gives_the_function_back_in_every_form() -> None:
    def f() -> int:
        """Doc."""
        return 1

    assert tool(f) is f
    assert tool()(f) is f
    assert tool(name="g", description="d", annotations={"a": "b"}, answer="{{ result }}")(f) is f
    assert f() == 1
