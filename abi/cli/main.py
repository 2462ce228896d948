"""The command line: which commands there are, and what happens around each of them.

A command's module is imported when that command is called, so that `abi --help` costs next to nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from abi.cli.options import Directory, Json, Verbose, Version
from abi.cli.output import Output
from abi.cli.session import Session
from abi.errors import AbiError, UsageError

__all__ = ["COMMANDS", "load", "main"]

INTERNAL_ERROR_EXIT = 70
"""A fault of abi itself; kept apart from the codes that speak of the input."""

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@dataclass(frozen=True)
class Entry:
    """One line of `abi --help`. The command is the function `name` of the module `abi.cli.name`."""

    group: str
    summary: str


COMMANDS: dict[str, Entry] = {
    "demo": Entry("Start", "Make the example workspace, index it and ask it a few questions."),
    "init": Entry("Start", "Make a new workspace."),
    "add": Entry("Start", "Add a commented template of a record, ready to edit."),
    "check": Entry("Files and graph", "Read and validate the files; write nothing."),
    "index": Entry("Files and graph", "Bring the graph up to date with the files."),
    "vectors": Entry("Files and graph", "Fill the vectors that semantic searches look through."),
    "load": Entry("Files and graph", "Load RDF files into the graph, through the gate."),
    "intents": Entry("Files and graph", "Derive intents and tools from what the graph holds."),
    "calibrate": Entry("Files and graph", "Fit the scale of intents' scores, and measure it."),
    "update": Entry("Files and graph", "Change the graph by SPARQL Update, through the gate."),
    "export": Entry("Files and graph", "Write out the graph, or the catalog for another program."),
    "publish": Entry("Versions", "Write what the graph holds as an immutable version."),
    "versions": Entry("Versions", "List the published versions, the newest first."),
    "diff": Entry("Versions", "Show what changed from version A to B, by record, then by field."),
    "chat": Entry("Ask", "Talk with an agent: one turn with -m, else a conversation."),
    "find": Entry("Ask", "Search records and entities, by words and by meaning."),
    "run": Entry("Ask", "Call a tool, or render a prompt."),
    "sparql": Entry("Ask", "Ask the graph by SPARQL."),
    "serve": Entry("Serve", "Serve the workspace over HTTP: agents, tools, catalog, SPARQL, MCP."),
    "mcp": Entry("Serve", "Speak MCP on stdin and stdout, for a client that starts this."),
    "ls": Entry("Look", "List the records of the graph."),
    "show": Entry("Look", "Show one record, turn or thing whole, and who uses it."),
    "status": Entry("Look", "Show what the graph holds, and which graphs were edited."),
    "settings": Entry("Look", "Show every setting and where its value came from."),
    "doctor": Entry("Look", "Find what is wrong with this workspace and how to mend it."),
    "threads": Entry("Look", "List, show, export, delete or prune conversations."),
    "key": Entry("Set up", "Make, list and revoke the keys of a server."),
    "trust": Entry("Set up", "Let this workspace's Python run."),
    "completion": Entry("Set up", "Print the completion script of a shell."),
}

_EPILOG = """\b
Exit codes: 0 done, 1 findings (a check failed, a search found nothing), 2 usage,
3 an input cannot be read or parsed, 4 store or network, 5 denied.

\b
Begin with:
  abi demo
"""


def _everywhere(directory: Directory = None, as_json: Json = False, verbose: Verbose = False) -> None:
    """The options that every command takes."""


def _abi(
    directory: Directory = None,
    as_json: Json = False,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Tools, prompts, agents and intents as triples: validated by SHACL, asked by SPARQL, search and chat."""


class _Command(typer.core.TyperCommand):
    """A command whose help names its arguments as the reference does: `KIND NAME`, `[PATH]...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_metavar(p) for p in self.params if p.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        parameters: list[Any] = self.get_params(ctx)
        arguments = [(_metavar(p), p.help) for p in parameters if p.param_type_name == "argument"]
        options = [p.get_help_record(ctx) for p in parameters if p.param_type_name == "option"]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _command(function: Any, **options: Any) -> _Command:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=_Command, context_settings=_SETTINGS, **options)(function)
    command: _Command = typer.main.get_command(app)  # type: ignore[assignment]
    return command


def load(name: str) -> _Command:
    """The command `name`, its module imported, with the options that every command takes."""
    module = import_module(f"abi.cli.{name}")
    examples = "\n".join(f"  {line}" for line in module.EXAMPLES)
    command = _command(getattr(module, name), name=name, epilog=f"\b\nExamples:\n{examples}")
    for parameter in _command(_everywhere).params:
        parameter.expose_value = False  # its callback has done with it
        command.params.append(parameter)
    return command


class _LazyGroup(typer.core.TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return load(cmd_name)
        if ctx.resilient_parsing:
            return None
        from difflib import get_close_matches

        near = get_close_matches(cmd_name, COMMANDS, n=1)
        meant = f"Did you mean `abi {near[0]}`? " if near else ""
        raise UsageError(f"There is no command {cmd_name!r}.", hint=f"{meant}`abi --help` lists all.")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for group in dict.fromkeys(entry.group for entry in COMMANDS.values()):
            with formatter.section(group):
                formatter.write_dl([(n, e.summary) for n, e in COMMANDS.items() if e.group == group], col_max=12)


def group() -> typer.core.TyperGroup:
    """The whole command line as one command object."""
    app = typer.Typer(cls=_LazyGroup, rich_markup_mode=None, epilog=_EPILOG)
    app.callback(context_settings=_SETTINGS)(_abi)
    made: typer.core.TyperGroup = typer.main.get_command(app)  # type: ignore[assignment]
    # typer answers a shell's questions only where it has added these two; `abi completion` prints the scripts.
    made.params = [p for p in made.params if p.name not in ("install_completion", "show_completion")]
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Errors are told on stderr, without a trace unless `-v` was given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # An index makes millions of objects that all stay: looking among them for rubbish each 700 takes a tenth of it.
    gc.set_threshold(50_000, 20, 20)
    session = Session(given)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = group().main(given or ["--help"], prog_name="abi", standalone_mode=False, obj=session)
        return code if isinstance(code, int) else 0
    except SystemExit as end:  # a closed pipe; the answer to a shell that completes
        return end.code if isinstance(end.code, int) else 0
    except typer.TyperException as error:  # what the parser of the command line itself refuses
        error.show()  # type: ignore[attr-defined]
        return error.exit_code
    except AbiError as error:
        _trace_if(session)
        session.output.error(error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        session.output.note("")
        return 130
    except Exception as error:
        _trace_if(session)
        _tell_internal(session.output, error, traced=session.verbose)
        return INTERNAL_ERROR_EXIT


def _trace_if(session: Session) -> None:
    if session.verbose:
        import traceback

        sys.stderr.write(traceback.format_exc())


def _tell_internal(output: Output, error: Exception, *, traced: bool) -> None:
    fault = AbiError(
        f"abi itself failed: {type(error).__name__}: {error}",
        hint="Please report this with the trace above." if traced else "Run it again with -v for the trace.",
    )
    output.error(fault)


if __name__ == "__main__":
    sys.exit(main())
