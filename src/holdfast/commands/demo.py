"""`holdfast demo`: show what Holdfast does, in a temporary project."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from holdfast.commands import terminal
from holdfast.testkit import demo, stage
from holdfast.testkit.stage import NotShown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from holdfast.testkit.stage import Shown, Stage


@click.command(name="demo")
def command() -> None:
    """Show how a workflow is saved, restored and moved on by a subagent, in a temporary project.

    Each event is a recorded payload of the real client, and goes through the registered command. Nothing outside the
    temporary folders is read or written. The exit code is 1 if something did not work.

    \b
    Example:
      holdfast demo
    """
    with stage.opened() as throwaway:
        narrate(throwaway, demo.story(throwaway), "Saved, restored and moved on. Nothing is left behind.")
    name = _name()
    click.echo(
        f"\nNow try it on your own work:\n  {name} install\n"
        "Then start claude in a project of yours, and type\n  /holdfast start a workflow for login"
    )


def narrate(stage: Stage, story: Iterable[Shown], moral: str) -> None:
    """Print each step of a story once it has happened, then the moral.

    If a step doesn't show what it promised, print why with Holdfast's log, and end the process with exit code 1.
    """
    console = terminal.console()
    try:
        for number, shown in enumerate(story, 1):
            _print(console, number, shown)
    except NotShown as error:
        console.print(Text(str(error), style="bold red"))
        console.print(Text("\n".join(stage.log()), style="dim"))
        sys.exit(1)
    console.print(Rule(Text(moral)))


def _print(console: Console, number: int, shown: Shown) -> None:
    console.print(Rule(Text(f"{number}. {shown.title}"), align="left"))
    if shown.words:
        console.print(Text(shown.words))
    console.print(Text(f"> {shown.did}", style="cyan"))
    for panel in shown.panels:
        if panel.text:
            console.print(Panel(Text(panel.text.rstrip()), title=Text(panel.title), title_align="left"))
    console.print()


def _name() -> str:
    """Return the command with which the reader calls this program from any folder."""
    called, found = Path(sys.argv[0]).absolute(), shutil.which("holdfast")
    if called.name != "holdfast":  # python -m holdfast
        return f"{sys.executable} -m holdfast"
    return "holdfast" if found and called.exists() and called.samefile(found) else str(called)
