"""Print the demo's story step by step, as it happens on the stage."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from holdfast.commands import sheet
from holdfast.testkit.acts import NotShown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from holdfast.testkit.acts import Shown
    from holdfast.testkit.stage import Stage


def tell(stage: Stage, story: Iterable[Shown], moral: str) -> None:
    """Print each step of a story once it has happened, then the moral.

    If a step doesn't show what it promised, print why with Holdfast's log, and end the process with exit code 1.
    """
    console = sheet.console()
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
