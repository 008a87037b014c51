"""The `holdfast` command: load only the subcommand that is called, and turn errors into a sentence and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from holdfast import formats, paths
from holdfast.commands import choices
from holdfast.errors import ChoiceError, HoldfastError, because, command_line, did_you_mean
from holdfast.formats import RECORDS
from holdfast.process import reset_signals
from holdfast.process.terminal_text import guarded, nobody_reads
from holdfast.version import version

if TYPE_CHECKING:
    from collections.abc import Sequence

PURPOSES = {
    "Set up": ("install", "uninstall", "doctor", "config", "demo"),
    "Keep a workflow": ("start", "next", "done", "update", "cancel", "reopen", "claim"),
    "See what happened": ("status", "log", "report", "restore", "agents"),
    "Add your own": ("handlers", "formats"),
    "Export and delete": ("export", "telemetry", "forget"),
}
_OF_FORMATS = "One format only"
_UNLISTED = ("server", "dispatch")
"""Commands that `holdfast --help` leaves out: few people need them by hand."""
_FORMER = {
    "server status": "use `holdfast server`",
    "server start": "the next event of a session starts a server, and `holdfast server` shows it",
    "server stop": "use `holdfast server --stop`",
    "config show": "use `holdfast config`",
    "config check": "use `holdfast doctor configuration`",
    "config schema": "use `holdfast config --schema`",
    "list": "use `holdfast status`",
    "show": "use `holdfast status`, or `holdfast status WORKFLOW`",
    "watch": "use `holdfast status --watch`",
    "explain": "use `holdfast status --why`",
    "simulate": "`holdfast status --why` says what a compaction restores",
    "profile": "`holdfast handlers` lists what runs; the guide about the warm server says how to find what is slow",
    "resume": "use `holdfast claim`",
    "cost": "`holdfast report` shows what Claude's context got",
    "log list": "use `holdfast log`",
    "log show": "use `holdfast restore N --show`",
    "log diff": "use `holdfast restore N --diff`",
    "log restore": "use `holdfast restore N`",
    "agents list": "use `holdfast agents`",
    "agents show": "use `holdfast agents ID`",
    "agents rerun": "use `holdfast agents ID --rerun`",
    "agents forget": "use `holdfast forget --agent ID`",
}


def commands() -> dict[str, str]:
    """Return every command's line of help, by name, without importing a command."""
    listed = [name for names in PURPOSES.values() for name in names]
    others = [name for name in paths.modules("commands") if name not in listed]
    return {name: line for name in (*listed, *others, *RECORDS) if (line := help_line(name))}


def _sections() -> dict[str, list[tuple[str, str]]]:
    """Return the names and lines of help by purpose, without `_UNLISTED` and groups of formats that nothing here uses.

    Each other module of `holdfast.commands` that is a command stands under "Others".
    """
    known = commands()
    listed = {name for names in PURPOSES.values() for name in names} | {*_UNLISTED, *RECORDS}
    sections = PURPOSES | {"Others": tuple(name for name in known if name not in listed), _OF_FORMATS: _used_here()}
    return {title: [(name, known[name]) for name in names if name in known] for title, names in sections.items()}


def _used_here() -> tuple[str, ...]:
    """Return the formats that have files in the project here; none if its folder can't be found."""
    try:
        root = paths.find_root(None, os.environ, paths.working_folder())
    except HoldfastError:
        return ()
    return tuple(
        name for name, record in RECORDS.items() if any(os.path.lexists(root / path) for path in record.PRESENCE)
    )


def former(words: Sequence[str]) -> str:
    """Return which command is gone that the words name, and what replaces it; empty if they name none."""
    gone = dict(_FORMER)
    for record in RECORDS.values():
        gone |= dict(each.split(" = ", 1) for each in record.FORMER)
    names = (" ".join(words[:number]) for number in range(3, 0, -1))
    return next((f"`holdfast {name}` is gone: {gone[name]}" for name in names if name in gone), "")


def help_line(name: str) -> str:
    """Return a command's line of help; empty if there is no such command.

    A module of `holdfast.commands` is a command if its docstring begins with "`holdfast NAME`: " and the line of help.
    A format's record holds the line of its group.
    """
    if name in RECORDS:
        return RECORDS[name].COMMANDS
    if name not in paths.modules("commands"):
        return ""
    with (Path(__file__).parent / "commands" / f"{name}.py").open(encoding="utf-8") as file:
        _, _, line = file.readline().partition(f'"""`holdfast {name}`: ')
    return f"{line[:1].upper()}{line[1:].rstrip()}".removesuffix('"""')


def module(name: str) -> str:
    """Return the name of a command's module; that of formats makes their groups."""
    return f"holdfast.commands.{'format_verbs' if name in RECORDS else name}"


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands' names in the order of `commands`."""
        return list(commands())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command's module and return its `command`."""
        if not help_line(name):
            return None
        try:
            with formats.off_stdout():
                found = import_module(module(name))
                command: click.Command = found.group(name) if name in RECORDS else found.command
        except Exception as error:
            if name not in RECORDS or name in formats.OURS:
                raise
            text = f"the commands of the format {name!r} can't be loaded ({error}); `holdfast doctor` says what to do"
            raise HoldfastError(text) from error
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # from printing a page (`terminal.put`); click would end with exit code 1
            nobody_reads()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines of help by purpose, without importing any of them."""
        width = max(len(name) for lines in _sections().values() for name, _ in lines)
        for purpose, lines in _sections().items():
            if lines:
                with formatter.section(purpose):
                    formatter.write_dl([(name.ljust(width), line) for name, line in lines])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, with their lines of help, that begin with a text; click would import each of them."""
        listed = [each for lines in _sections().values() for each in lines]
        found = [CompletionItem(name, help=line) for name, line in listed if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name.

        Raises UsageError, which says what replaces a former command, or names one that is spelt alike.
        """
        if gone := former(args):
            raise click.UsageError(gone, ctx)
        if not ctx.resilient_parsing and args and not args[0].startswith("-") and not help_line(args[0]):
            raise click.UsageError(f"there is no command {args[0]!r}{did_you_mean(args[0], commands())}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"holdfast, version {version()}")
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def holdfast() -> None:
    """Make long Claude Code work survive context compaction, and route hook events to handlers.

    \b
    Examples:
      holdfast install
      holdfast start "User auth" --phase Design --phase Build
    """
    paths.home()


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line.

    Args:
        arguments: without the program's name; by default the process's own.

    Returns:
        Never. The process ends with exit code 0, 1 for an error the user can fix (a sentence on stderr), 2 for wrong
        usage, or 141 if nobody reads the output any more. `holdfast dispatch` ends with 0 whatever happens, because a
        usage error must not refuse a tool call.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["dispatch"] and words[1:] not in (["-h"], ["--help"]):
        sys.exit(_answer(words[1] if len(words) > 1 else None))
    reset_signals()
    with guarded():
        return _run(words)


def _answer(event: str | None) -> int:
    """Answer an event, and tell somebody who tries it by hand what it lacks. Return the exit code."""
    from holdfast import engine

    # A hook has no terminal, and stays silent.
    if sys.stderr.isatty() and (reason := engine.CLIENT.foreign({}, os.environ)):
        words = command_line("dispatch", *([event] if event else []))
        click.echo(f"The event is ignored: {reason}. Try:", err=True)
        click.echo(f"  CLAUDECODE=1 {engine.CLIENT.ROOT_VARIABLE}=$PWD {words}", err=True)
    return engine.main(event)


def _run(words: list[str]) -> Any:
    try:
        holdfast(args=words)
    except ChoiceError as error:
        click.echo("\n".join([f"holdfast: {error.reason}:", *choices.lines(error, holdfast, words)]), err=True)
        sys.exit(1)
    except (HoldfastError, OSError) as error:  # OSError: a file or folder that can't be read or written; it is named
        message = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{os.fsdecode(error.filename)}: {because(error)}"
        click.echo(f"holdfast: {paths.shown(message)}", err=True)
        sys.exit(1)
