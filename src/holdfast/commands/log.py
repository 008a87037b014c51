"""`holdfast log`: say what happened, and show, compare or put back what was kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.sessions.history import rewind, timeline
from holdfast.sessions.ownership import selection, sessions
from holdfast.workflow import wording

if TYPE_CHECKING:
    from datetime import datetime


of_option = click.option("--of", "wanted", metavar="WORKFLOW", help="Of which workflow, if it is not the current one.")


@click.group(name="log", invoke_without_command=True)
@click.option("--session", "session_id", metavar="ID", help="Only this session; the beginning of its id will do.")
@click.option("--workflow", "wanted", metavar="WORKFLOW", help="Only this workflow.")
@click.option(
    "--since", type=options.Moment(), metavar="TIME", help="Not before this time, or so long ago: 30m, 2h, 3d."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=timeline.LIMIT,
    show_default=True,
    metavar="N",
    help="At most so many, the newest.",
)
@options.json_option
@options.project_option
@click.pass_context
def command(
    context: click.Context,
    session_id: str | None,
    wanted: str | None,
    since: datetime | None,
    limit: int,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Say what happened, the newest first, as in git log: sessions, compactions, guidance given or refused, agents,
    phases, owners and kept generations. Times are UTC.
    """
    context.obj = project_dir
    if context.invoked_subcommand is not None:
        return
    project = options.open_project(project_dir)
    options.insist_on_ledger(project)
    workflow = selection.anywhere(project, wanted)[0] if wanted else None
    # First as a full id: `sessions.meant` doesn't know a session that only an agent or a claim mentions.
    found = timeline.happened(project, since=since, session=session_id, workflow=workflow, limit=limit)
    if session_id and not found:
        session = sessions.meant(project, session_id)
        found = timeline.happened(project, since=since, session=session, workflow=workflow, limit=limit)
    if as_json:
        options.print_json([timeline.as_json(each) for each in found])
        return
    phases = timeline.phase_titles(project)
    for each in found:
        session = each.session[:8] or "-"
        where = "" if each.worktree in ("", project.worktree) else f" (in {wording.one_line(each.worktree)})"
        line = f"{each.at[:10]} {each.at[11:19]}  {session:<8}  {timeline.sentence(each, phases)}{where}"
        options.say(line)
    if not found:
        click.echo(f"Nothing of that kind has happened in {project.root} yet.", err=True)


@command.command()
@click.argument("number", metavar="N")
@of_option
@options.project_option
@click.pass_obj
def show(before: str | None, number: str, wanted: str | None, project_dir: str | None) -> None:
    """Print generation N of a workflow's file as it was, byte for byte unless on a terminal."""
    project = options.open_project(project_dir or before)
    content = rewind.read(project, rewind.find(project, wanted, options.session()), number)
    if sys.stdout.isatty():
        options.say(content.raw.decode("utf-8", "replace").removesuffix("\n"))
    else:
        sys.stdout.buffer.write(content.raw)


@command.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@of_option
@options.project_option
@click.pass_obj
def diff(before: str | None, first: str, second: str, wanted: str | None, project_dir: str | None) -> None:
    """Print what changed from generation A to generation B of a workflow's file.

    Either can be the word now: what the file holds at present.
    """
    project = options.open_project(project_dir or before)
    path = rewind.find(project, wanted, options.session())
    for line in rewind.diff(*(rewind.read(project, path, each) for each in (first, second))):
        options.say(line.removesuffix("\n"))


@command.command()
@click.argument("number", metavar="N")
@of_option
@click.option("--replace", is_flag=True, help="Also in place of another workflow that is unfinished.")
@options.project_option
@click.pass_obj
def restore(before: str | None, number: str, wanted: str | None, replace: bool, project_dir: str | None) -> None:
    """Put generation N of a workflow's file back, byte for byte.

    What the file holds now is kept as a generation first.
    """
    project = options.open_project(project_dir or before)
    path = rewind.find(project, wanted, options.session())
    put = rewind.restore(project, path, number, replace=replace)
    workflow = put.workflow
    where = path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)
    name = f"{where}: {wording.quoted(workflow.title)}"
    if not put.changed:
        click.echo(f"{name} holds generation {number} already; nothing was changed.")
        return
    if workflow.in_order:
        options.say(f"{name} is at {workflow.progress_text} ({workflow.status}) again, as in generation {number}.")
    else:  # its tasks decide its state, which is recomputed at once and may differ from the generation's
        at = f"{workflow.progress_text} ({workflow.word})"
        options.say(f"{name}: generation {number} is put back; it is now at {at}.")
    if put.aside:
        click.echo(f"What it held before is kept as {put.aside.name} beside it.")
