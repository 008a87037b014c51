"""`holdfast watch`: show a workflow live."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING

from rich.live import Live
from rich.text import Text

from holdfast import clock
from holdfast.commands import options, show, terminal, workflow_page
from holdfast.commands.verb import Name, ProjectDir, verb
from holdfast.errors import ChoiceError, HoldfastError
from holdfast.sessions import overview
from holdfast.workflow import registry

if TYPE_CHECKING:
    from rich.console import Console

_PAUSE_S = 1.0  # durations are shown in seconds


@verb("watch")
def command(workflow_id: Name = None, *, project_dir: ProjectDir = None) -> None:
    """Show every second what `holdfast show` prints, until Ctrl-C.

    What doesn't fit on the terminal is left out.

    \b
    Example:
      holdfast watch payments
    """
    console = terminal.console()
    page = _page(console, project_dir, workflow_id, waits=workflow_id is None)
    if not console.is_terminal or console.is_dumb_terminal:
        raise HoldfastError("this needs a terminal; `holdfast show` prints the workflow once")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the terminal is restored
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(Text("\n").join(_cropped(page, console.height)), refresh=True)
                time.sleep(_PAUSE_S)
                page = _page(console, project_dir, workflow_id, waits=True)
    except KeyboardInterrupt:
        terminal.put(console, page)


def _page(console: Console, project_dir: str | None, wanted: str | None, *, waits: bool) -> list[Text]:
    """Return the lines of a workflow's page, a brief one if the whole one is longer than the terminal.

    With `waits`, a workflow that can't be shown is shown later, so the reason is the page. Else it is raised.
    """
    project = options.open_project(project_dir, tell=False)
    try:
        seen = overview.gather(project, show.find(project, wanted), registry.all_found(project))
    except HoldfastError as error:
        if not waits or isinstance(error, ChoiceError):
            raise
        return terminal.lines(console, Text(str(error)))
    finally:
        project.close()
    page = terminal.lines(console, *workflow_page.page(seen, clock.now()))
    if len(page) > console.height:
        page = terminal.lines(console, *workflow_page.page(seen, clock.now(), brief=True))
    return page


def _cropped(page: list[Text], height: int) -> list[Text]:
    """Return the lines that fit; the last one says how many don't."""
    left_out = len(page) - height + 1
    note = Text(f"{left_out} more lines: `holdfast show` prints all", "dim")
    return page if len(page) <= height else [*page[: height - 1], note]
