"""`holdfast demo`: run the main job on recorded events and watch it happen."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from holdfast.commands.narration import tell
from holdfast.testkit import demo, stage


@click.command(name="demo")
def command() -> None:
    """Run the main job in a throw-away project and home: save, restore, move on when a subagent finishes.

    Every event is a recorded payload of the real client, sent through the registered command as a process of its
    own. Nothing outside the throw-away folders is read or written. Exit code 1 if anything did not happen.
    """
    with stage.opened() as throwaway:
        tell(throwaway, demo.story(throwaway), "Saved, restored and moved on; nothing was left behind.")
    name = _name()
    click.echo(
        "\nNow try it on your own work. This registers the handlers in your settings:\n"
        f"  {name} install\n"
        "Then, in a project of yours:\n"
        f'  {name} start "What you work on" --phase "First step" --phase "Second step"\n'
        "Start claude there. After a compaction it still knows where it was."
    )


def _name() -> str:
    """Return what the reader types to call this program, from any folder."""
    called, found = Path(sys.argv[0]).absolute(), shutil.which("holdfast")
    if called.name != "holdfast":  # python -m holdfast
        return f"{sys.executable} -m holdfast"
    return "holdfast" if found and called.exists() and called.samefile(found) else str(called)
