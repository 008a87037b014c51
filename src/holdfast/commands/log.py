"""`holdfast log`: print what happened here."""

from __future__ import annotations

from typing import Annotated

import click

from holdfast import clock
from holdfast.commands import options, terminal
from holdfast.commands.verb import Json, Other, SessionId, Since, verb
from holdfast.sessions import conversations, selection, timeline
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording


@verb("log")
def command(
    project: Workspace,
    *,
    session_id: SessionId = None,
    workflow_id: Other = None,
    since: Since = None,
    limit: Annotated[
        int, click.IntRange(1, 1_000_000), {"metavar": "N", "show_default": True}, "At most this many, the newest."
    ] = timeline.LIMIT,
    as_json: Json = False,
) -> None:
    """Print what happened here, the newest first.

    These are sessions, compactions, guidance restored or refused, agents, phases, owners, decisions of handlers, and
    saved versions of state files, which `holdfast restore` puts back. Times are UTC.

    A decision is what a handler denied, asked, allowed, deferred, blocked or changed. Its line names the event, the
    tool, the handler and the reason; if the decision was dropped, it says why.

    \b
    Examples:
      holdfast log --since 2h
      holdfast log --workflow "User auth" --limit 10
    """
    options.insist_on_ledger(project)
    workflow = selection.anywhere(project, workflow_id)[0] if workflow_id else None
    session = conversations.completed(project, session_id) if session_id else None
    found = timeline.happened(project, since=since, session=session, workflow=workflow, limit=limit)
    if session_id and not found:  # only an agent or a claim may have mentioned it, so it is unknown until here
        conversations.resolve(project, session_id)
    if as_json:
        options.print_json([timeline.as_json(each) for each in found])
        return
    if not found:
        what = "nothing like that" if since or session_id or workflow else "nothing"
        options.note(f"{what} has happened in this project yet; `holdfast start TITLE` starts a workflow")
        return
    names, rows = timeline.phase_names(project), []
    for each in found:
        where = "" if each.worktree in ("", project.worktree) else f" (in {wording.one_line(each.worktree)})"
        cells = clock.second(each.at), each.session[:8] or "-", f"{timeline.sentence(each, names)}{where}"
        rows.append(cells)
    terminal.put_wrapped(terminal.console(), terminal.table(rows))
