"""`holdfast report`: write what happened as one page for a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.commands.verb import Output, SessionId, Since, verb
from holdfast.errors import HoldfastError
from holdfast.report.gather import gather
from holdfast.report.page import render
from holdfast.sessions import conversations
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import holdfast_folder


@verb("report")
def command(
    project: Workspace,
    output: Output = None,
    *,
    opens: Annotated[bool, "--open", "Open it in the browser."] = False,
    session_id: SessionId = None,
    since: Since = None,
) -> None:
    """Write what happened as one HTML page to FILE, or to .claude/holdfast/report.html in the project.

    If FILE is -, the page goes to the screen.

    It lists sessions, compactions, workflows, agents, what the context got, and the log.
    The page loads nothing and runs no scripts. Secrets are masked. Times are UTC.
    In a project without a .claude folder, the page goes to your state folder.

    \b
    Examples:
      holdfast report --open
      holdfast report --since 2d report.html
    """
    session = conversations.resolve(project, session_id) if session_id else ""
    report = gather(project, since=since, session=session)
    text = render(report)
    if output == Path("-"):
        click.echo(text, nl=False)
        return
    place = _write(project, output, text.encode())
    click.echo(f"Wrote {paths.shown(str(place))}.")
    if report.empty and not (session or since):
        click.echo("Nothing has happened in this project yet. The page says how to start.")
    if opens and click.launch(str(place)) != 0:
        click.echo("No browser could be started. Open the file in one.", err=True)


def _write(project: Workspace, output: Path | None, data: bytes) -> Path:
    """Write the page with mode 0600, and return its path."""
    place = output.absolute() if output else holdfast_folder.report_place(project.root, project.ledger_file)
    if output is None:
        if os.path.lexists(place) and not holdfast_folder.wrote(place):
            raise HoldfastError(f"{place} isn't a report of Holdfast; name another file, or move it away")
        if place.is_relative_to(project.root):
            holdfast_folder.put(project.root, place, data)
            return place
    options.write_private(place, data)
    return place
