"""`holdfast demo`: show in a throw-away project what Holdfast does."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from holdfast.commands.narration import tell
from holdfast.testkit import demo, stage


@click.command(name="demo")
def command() -> None:
    """Show in a throw-away project how a workflow is saved, restored and moved on by a subagent.

    Each event is a recorded payload of the real client, and goes through the registered command. Nothing outside the
    throw-away folders is read or written. The exit code is 1 if something did not work.

    \b
    Example:
      holdfast demo
    """
    with stage.opened() as throwaway:
        tell(throwaway, demo.story(throwaway), "Saved, restored and moved on. Nothing is left behind.")
    name = _name()
    click.echo(
        "\nNow try it on your own work. This registers the handlers in your settings:\n"
        f"  {name} install\n"
        "Then, in a project of yours:\n"
        f'  {name} start "What you work on" --phase "First step" --phase "Second step"\n'
        "Start claude there. Its model is told of the workflow, and after a compaction it still knows where it was."
    )


def _name() -> str:
    """Return what the reader types to call this program, from any folder."""
    called, found = Path(sys.argv[0]).absolute(), shutil.which("holdfast")
    if called.name != "holdfast":  # python -m holdfast
        return f"{sys.executable} -m holdfast"
    return "holdfast" if found and called.exists() and called.samefile(found) else str(called)
