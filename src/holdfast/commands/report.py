"""`holdfast report`: write what happened as one page for a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.errors import HoldfastError, StateError
from holdfast.files import atomic
from holdfast.report import page, story
from holdfast.sessions.ownership import sessions
from holdfast.workflow import ownfolder

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.sessions.workspace import Workspace


@click.command(name="report")
@options.output_argument
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@options.session_option
@click.option("--since", type=options.Moment(), metavar="TIME", help="Not before this time or age: 30m, 2h, 3d.")
@options.number_option("--limit", story.LIMIT, "List at most N events, the newest.", most=100_000)
@options.project_option
def command(
    output: Path | None,
    opens: bool,
    session_id: str | None,
    since: datetime | None,
    limit: int,
    project_dir: str | None,
) -> None:
    """Write what happened as one HTML page to FILE, or to .claude/holdfast/report.html in the project.

    If FILE is -, the page goes to the screen.

    It shows a timeline of sessions, compactions, agents and phases, and the log.
    The page loads nothing and runs no scripts. Secrets are masked. Times are UTC.
    In a project without a .claude folder, the page goes to your state folder.

    \b
    Examples:
      holdfast report --open
      holdfast report --since 2d report.html
    """
    project = options.open_project(project_dir)
    session = sessions.resolve(project, session_id) if session_id else ""
    told = story.gather(project, since=since, session=session, limit=limit)
    text = page.render(told)
    if output == Path("-"):
        click.echo(text, nl=False)
        return
    place = _write(project, output, text.encode())
    click.echo(f"Wrote {paths.shown(str(place))}.")
    if told.empty and not (session or since):
        click.echo("Nothing has happened in this project yet. The page says how to start.")
    if opens and click.launch(str(place)) != 0:
        click.echo("No browser could be started. Open the file in one.", err=True)


def _write(project: Workspace, output: Path | None, data: bytes) -> Path:
    """Write the page with mode 0600, and return its path."""
    if output is None:
        place = ownfolder.report_place(project.root, project.ledger_file)
        if os.path.lexists(place) and not ownfolder.wrote(place):
            raise HoldfastError(f"{place} isn't a report of Holdfast; name another file, or move it away")
        if place.is_relative_to(project.root):
            ownfolder.put(project.root, place, data)
            return place
    else:
        place = output.absolute()
    try:
        atomic.write(place, data, mode=0o600)
        place.chmod(0o600)  # an existing file would keep its mode
    except OSError as error:
        raise StateError(place, f"cannot be written: {error.strerror or error}") from error
    return place
