"""`holdfast demo`: run the main job on recorded events and watch it happen."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from holdfast.demo import Demo, DemoFailed, Shown

LINES = 14  # of one file; settings.json is longer


@click.command(name="demo")
def command() -> None:
    """Run the main job in a throw-away project and home: save, restore, move on when a subagent finishes.

    Every event is a recorded payload of the real client, sent through the registered command as a process of its
    own. Nothing outside the throw-away folders is read or written. Exit code 1 if anything did not happen.
    """
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        top = Path(folder).resolve()
        demo = Demo(top / "project", top / "home")
        try:
            for number, shown in enumerate(demo.steps(), 1):
                _print(console, number, shown)
        except DemoFailed as error:
            console.print(Text(str(error), style="bold red"))
            console.print(Text("\n".join(demo.log()), style="dim"))
            sys.exit(1)
    console.print(Rule("Saved, restored and moved on; nothing was left behind."))


def _print(console: Console, number: int, shown: Shown) -> None:
    console.print(Rule(f"{number}. {shown.title}", align="left"))
    console.print(Text(shown.did, style="cyan"))
    if shown.said:
        console.print(Panel(Text(shown.said.rstrip()), title="said", title_align="left"))
    if shown.file:
        lines = shown.content.rstrip().splitlines()
        more = [f"… {len(lines) - LINES} more lines"] if len(lines) > LINES else []
        text = Text("\n".join([*lines[:LINES], *more]), style="dim")
        console.print(Panel(text, title=shown.file, title_align="left"))
    console.print()
