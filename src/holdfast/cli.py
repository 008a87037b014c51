"""The `holdfast` command: finds the subcommand, loads only that, and turns errors into a sentence and an exit code."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS

# name -> one line for `holdfast --help`; the module is holdfast.commands.<name>, loaded only when it is called
_OWN = {
    "install": "Register Holdfast in a settings.json.",
    "uninstall": "Remove it again.",
    "doctor": "Find what is wrong, and mend it.",
    "status": "Show what was saved, restored and what failed.",
    "simulate": "Plant facts, compact again and again, and see what survives.",
    "demo": "Run the main job on recorded events and watch it happen.",
    "start": "Start a workflow.",
    "next": "Say what is to be done next, and begin it.",
    "done": "Complete the current phase and move on.",
    "resume": "Claim a workflow for a session, and print what brings it back.",
    "update": "Change a workflow's phase, reading, reminders or context.",
    "list": "List the workflows of all formats.",
    "show": "Show one workflow.",
    "watch": "Show the current workflow and follow it live.",
    "log": "Say what happened, and show, compare or put back what was kept.",
    "profile": "Replay recorded events and say where the time went.",
    "cost": "Say what was put into the model's context.",
    "report": "Write what happened as one page for a browser.",
    "forget": "Forget a session, a workflow, a span of time or everything.",
    "export": "Print all that is known of a project as one JSON document.",
    "explain": "Say what is detected, saved and restored here, and why.",
    "server": "Show, start or stop the warm server.",
    "handlers": "List, trust, check and write handlers.",
}
_OF_FORMATS = {name: record.COMMANDS for name, record in RECORDS.items() if record.COMMANDS}
COMMANDS = {
    **_OWN,
    **_OF_FORMATS,
    "dispatch": "Answer one event from stdin; what the entrypoint does.",
}


def module(name: str) -> str:
    """Return the module of a command: one of `holdfast.commands`, or a format's own group."""
    return f"holdfast.formats.{name}.commands" if name in _OF_FORMATS else f"holdfast.commands.{name}"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command's module and return its `command`."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(module(name)).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was given."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # of a page (`sheet.put`); click would end with 1
            from holdfast.terminal_text import nobody_reads

            nobody_reads()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from holdfast.version import version

        click.echo(f"holdfast, version {version()}")
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def holdfast() -> None:
    """Make long Claude Code work survive context compaction, and route hook events to handlers."""


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line.

    Args:
        arguments: without the program's name; by default the process's own.

    Returns:
        Never; ends with exit code 0, 1 for an error the user can mend (a sentence on stderr), 2 for a wrong call, or
        141 where nobody reads the output any more. `holdfast dispatch` ends with 0 whatever happens, for a usage error
        must not refuse a tool call.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["dispatch"] and given[1:] not in (["-h"], ["--help"]):
        from holdfast.engine import main as answer

        sys.exit(answer(given[1] if len(given) > 1 else None))
    from holdfast.terminal_text import guarded

    with guarded():
        return _run(given)


def _run(given: list[str]) -> Any:
    try:
        holdfast(args=given)
    except HoldfastError as error:
        click.echo(f"holdfast: {error}", err=True)
        sys.exit(1)
    except OSError as error:  # a folder that cannot be read or written; the text names it
        click.echo(f"holdfast: {error}", err=True)
        sys.exit(1)
