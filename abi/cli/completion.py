"""`abi completion`."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["EXAMPLES", "completion"]

EXAMPLES = (
    'eval "$(abi completion bash)"                                  # in ~/.bashrc',
    'eval "$(abi completion zsh)"                                   # in ~/.zshrc, after compinit',
    "abi completion fish > ~/.config/fish/completions/abi.fish",
)

_ASKED = "_ABI_COMPLETE"


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(ctx: typer.Context, shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion script of a shell.

    It completes commands and options, and the names of the workspace's records and agents.
    """
    from abi.cli.main import group

    os.environ[_ASKED] = f"source_{shell.value}"  # typer's own way of being asked for the script
    try:
        group().main([], prog_name="abi", complete_var=_ASKED)
    finally:
        del os.environ[_ASKED]
