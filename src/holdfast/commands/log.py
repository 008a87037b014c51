"""`holdfast log`: print what happened, and show or restore earlier contents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import click
from rich.table import Column, Table
from rich.text import Text

from holdfast.commands import options, terminal
from holdfast.commands.verb import Json, ListGroup, SessionId, Since, verb
from holdfast.sessions import conversations, rewind, selection, timeline
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording

if TYPE_CHECKING:
    from pathlib import Path


_OPTION = {"metavar": "WORKFLOW", "shell_complete": options.workflow_names}
Of = Annotated[str | None, "--workflow", _OPTION, "The workflow, if it isn't the current one."]
Number = Annotated[str, {"metavar": "N"}]


def _file(project: Workspace, wanted: str | None, *numbers: str | None) -> Path:
    """Return the state file that a command is about. Raises UsageError for a name in place of a generation's number."""
    for each in filter(None, numbers):
        if each != rewind.NOW and not each.removeprefix("-").isdecimal():
            raise click.UsageError(f"{each!r} isn't the number of a generation; to name a workflow: --workflow {each}")
    return rewind.find(project, wanted, options.conversation(project))


@click.group(name="log", cls=ListGroup)
def command() -> None:
    """Print what happened here, and show or restore earlier contents of state files.

    Without a command it lists, so `list` can be left out.

    \b
    Examples:
      holdfast log
      holdfast log diff
      holdfast log restore 2
    """


@verb("list", command)
def list_(
    project: Workspace,
    *,
    session_id: SessionId = None,
    wanted: Annotated[str | None, "--workflow", _OPTION, "Only this workflow."] = None,
    since: Since = None,
    limit: Annotated[
        int, click.IntRange(1, 1_000_000), {"metavar": "N", "show_default": True}, "At most this many, the newest."
    ] = timeline.LIMIT,
    as_json: Json = False,
) -> None:
    """Print what happened here, the newest first.

    These are sessions, compactions, guidance given or refused, agents, phases, owners, decisions of handlers, and
    generations: the earlier contents of state files. Times are UTC.

    A decision is what a handler denied, asked, allowed, deferred, blocked or changed. Its line names the event, the
    tool, the handler and the reason; if the decision was dropped, it says why.

    \b
    Examples:
      holdfast log list --since 2h
      holdfast log list --workflow "User auth" --limit 10
    """
    options.insist_on_ledger(project)
    workflow = selection.anywhere(project, wanted)[0] if wanted else None
    # First as a full id: `sessions.resolve` doesn't know a session that only an agent or a claim mentions.
    found = timeline.happened(project, since=since, session=session_id, workflow=workflow, limit=limit)
    if session_id and not found:
        session = conversations.resolve(project, session_id)
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


@verb("show", command)
def show(project: Workspace, number: Number, *, wanted: Of = None) -> None:
    """Print an earlier content of a state file: generation N.

    A pipe gets it byte for byte. `holdfast log` lists the generations.

    \b
    Examples:
      holdfast log show 2
      holdfast log show 2 --workflow "User auth" > before.json
    """
    content = rewind.read(project, _file(project, wanted, number), number)
    if sys.stdout.isatty():
        options.say(content.raw.decode("utf-8", "replace").removesuffix("\n"))
    else:
        sys.stdout.buffer.write(content.raw)


@verb("diff", command)
def diff(
    project: Workspace,
    first: Annotated[str | None, {"metavar": "[A]"}] = None,
    second: Annotated[str | None, {"metavar": "[B]"}] = None,
    *,
    wanted: Of = None,
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
    path = _file(project, wanted, first, second)
    pair = (first, second or rewind.NOW) if first else rewind.last_two(project, path)
    old, new = (rewind.read(project, path, each) for each in pair)
    for line in rewind.diff(old, new):
        options.say(line.removesuffix("\n"))
    if old.raw == new.raw:
        options.note(f"No difference between {old.name} and {new.name}.")


@verb("restore", command)
def restore(
    project: Workspace,
    number: Number,
    *,
    wanted: Of = None,
    replace: Annotated[bool, "Also over another workflow that is unfinished."] = False,
) -> None:
    """Put generation N of a state file back, byte for byte.

    What the file holds now is kept as a generation first.

    \b
    Examples:
      holdfast log restore 2
      holdfast log restore 2 --workflow "User auth"
    """
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
