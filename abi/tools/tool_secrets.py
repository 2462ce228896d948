"""The secrets of one call: looked up by their names, used, and kept out of everything that is said."""

from __future__ import annotations

from abi.errors import AbiError, ToolFailed
from abi.tools.runner import RunContext

__all__ = ["ToolSecrets"]


class ToolSecrets:
    """`secrets["CB_PASSWORD"]` is the value. Raises ToolFailed, which names tool and secret, where there is none."""

    def __init__(self, tool: str, context: RunContext) -> None:
        self._tool = tool
        self._context = context
        self._values: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            if self._context.secret is None:
                raise ToolFailed(f"The tool {self._tool} needs the secret {name}, and there are none here.")
            try:
                self._values[name] = self._context.secret(name)
            except AbiError as error:
                raise ToolFailed(f"The tool {self._tool} cannot run: {error.message}", hint=error.hint) from error
        return self._values[name]

    def hidden(self, text: str) -> str:
        """A text of somebody else without the values, which an error message may repeat."""
        for value in sorted(self._values.values(), key=len, reverse=True):
            if len(value) > 2:
                text = text.replace(value, "***")
        return text
