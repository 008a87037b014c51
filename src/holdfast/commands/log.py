"""`holdfast log`: print what happened, and show or restore earlier contents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.table import Column, Table
from rich.text import Text

from holdfast.commands import options, terminal
from holdfast.sessions.history import rewind, timeline
from holdfast.sessions.ownership import selection, sessions
from holdfast.workflow import wording

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace


of_option = options.workflow_option("--workflow", help="The workflow, if it isn't the current one.")


def _file(project: Workspace, wanted: str | None, *numbers: str | None) -> Path:
    """Return the state file that a command is about. Raises UsageError for a name in place of a generation's number."""
    for each in filter(None, numbers):
        if each != rewind.NOW and not each.removeprefix("-").isdecimal():
            raise click.UsageError(f"{each!r} isn't the number of a generation; to name a workflow: --workflow {each}")
    return rewind.find(project, wanted, options.session())


@click.group(name="log", invoke_without_command=True)
@options.session_option
@options.workflow_option("--workflow", help="Only this workflow.")
@click.option("--since", type=options.Moment(), metavar="TIME", help="Not before this time or age: 30m, 2h, 3d.")
@options.number_option("--limit", timeline.LIMIT, "At most this many, the newest.", most=1_000_000)
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
    """Print what happened here, the newest first.

    These are sessions, compactions, guidance given or refused, agents, phases, owners, decisions of handlers, and
    generations: the earlier contents of state files. Times are UTC.

    A decision is what a handler denied, asked, allowed, deferred, blocked or changed. Its line names the event, the
    tool, the handler and the reason; if the decision was dropped, it says why.

    \b
    Examples:
      holdfast log --since 2h
      holdfast log --workflow "User auth" --limit 10
    """
    context.obj = project_dir
    if context.invoked_subcommand is not None:
        return
    project = options.open_project(project_dir)
    options.insist_on_ledger(project)
    workflow = selection.anywhere(project, wanted)[0] if wanted else None
    # First as a full id: `sessions.resolve` doesn't know a session that only an agent or a claim mentions.
    found = timeline.happened(project, since=since, session=session_id, workflow=workflow, limit=limit)
    if session_id and not found:
        session = sessions.resolve(project, session_id)
        found = timeline.happened(project, since=since, session=session, workflow=workflow, limit=limit)
    if as_json:
        options.print_json([timeline.as_json(each) for each in found])
        return
    names = timeline.phase_names(project)
    table = Table.grid(*(Column(overflow="fold") for _ in range(3)), padding=(0, 2, 0, 0))
    for each in found:
        where = "" if each.worktree in ("", project.worktree) else f" (in {wording.one_line(each.worktree)})"
        cells = f"{each.at[:10]} {each.at[11:19]}", each.session[:8] or "-", f"{timeline.sentence(each, names)}{where}"
        table.add_row(*(Text(wording.clean(cell)) for cell in cells))
    if found:
        terminal.put_wrapped(terminal.console(), table)
    else:
        what = "nothing like that" if since or session_id or workflow else "nothing"
        options.note(f"{what} has happened in this project yet; `holdfast start TITLE` starts a workflow")


@command.command()
@click.argument("number", metavar="N")
@of_option
@options.project_option
@click.pass_obj
def show(before: str | None, number: str, wanted: str | None, project_dir: str | None) -> None:
    """Print an earlier content of a state file: generation N.

    A pipe gets it byte for byte. `holdfast log` lists the generations.

    \b
    Examples:
      holdfast log show 2
      holdfast log show 2 --workflow "User auth" > before.json
    """
    project = options.open_project(project_dir or before)
    content = rewind.read(project, _file(project, wanted, number), number)
    if sys.stdout.isatty():
        options.say(content.raw.decode("utf-8", "replace").removesuffix("\n"))
    else:
        sys.stdout.buffer.write(content.raw)


@command.command()
@click.argument("first", metavar="[A]", required=False)
@click.argument("second", metavar="[B]", required=False)
@of_option
@options.project_option
@click.pass_obj
def diff(
    before: str | None, first: str | None, second: str | None, wanted: str | None, project_dir: str | None
) -> None:
    """Print what changed between two generations of a state file.

    Without A and B, these are the last two. Without B, it is what changed from A to what the file holds now. Either can
    also be the word now.

    \b
    Examples:
      holdfast log diff
      holdfast log diff 2 now
      holdfast log diff 1 3 --workflow "User auth"
    """
    project = options.open_project(project_dir or before)
    path = _file(project, wanted, first, second)
    pair = (first, second or rewind.NOW) if first else rewind.last_two(project, path)
    old, new = (rewind.read(project, path, each) for each in pair)
    for line in rewind.diff(old, new):
        options.say(line.removesuffix("\n"))
    if old.raw == new.raw:
        options.note(f"No difference between {old.name} and {new.name}.")


@command.command()
@click.argument("number", metavar="N")
@of_option
@click.option("--replace", is_flag=True, help="Also over another workflow that is unfinished.")
@options.project_option
@click.pass_obj
def restore(before: str | None, number: str, wanted: str | None, replace: bool, project_dir: str | None) -> None:
    """Put generation N of a state file back, byte for byte.

    What the file holds now is kept as a generation first.

    \b
    Examples:
      holdfast log restore 2
      holdfast log restore 2 --workflow "User auth"
    """
    project = options.open_project(project_dir or before)
    path = _file(project, wanted, number)
    put = rewind.restore(project, path, number, replace=replace)
    workflow = put.workflow
    where = path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)
    name = f"{where}: {wording.quoted(workflow.title)}"
    if not put.changed:
        click.echo(f"{name} already holds generation {number}, so nothing changed.")
        return
    if workflow.in_order:
        options.say(f"{name} is back at {workflow.progress_text} ({workflow.status}), as in generation {number}.")
    else:  # its tasks decide its state, which is recomputed at once and may differ from the generation's
        at = f"{workflow.progress_text} ({workflow.word})"
        options.say(f"{name}: put generation {number} back; it is now at {at}.")
    if put.aside:
        click.echo(f"Its former content is kept next to it as {put.aside.name}.")
