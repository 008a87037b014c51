"""`holdfast forget`: delete what Holdfast knows of a session, a workflow, or all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import click

from holdfast.commands import options
from holdfast.commands.verb import Yes, verb
from holdfast.errors import HoldfastError
from holdfast.sessions import agent_list, conversations, erasure, selection
from holdfast.sessions.erasure import Scope
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from holdfast.sessions.erasure import Forgotten

_FILES = 10  # how many files are named
_ID_CHARS = 32  # the shortest session id


@verb("forget")
def command(
    project: Workspace,
    *,
    session_id: Annotated[
        str | None, "--session", {"metavar": "ID"}, "Forget this session. The beginning of its id will do."
    ] = None,
    wanted: Annotated[
        str | None,
        "--workflow",
        {"metavar": "WORKFLOW", "shell_complete": options.workflow_names},
        "Forget this workflow. It may be in the archive.",
    ] = None,
    agent: Annotated[
        str | None,
        "--agent",
        {"metavar": "ID"},
        "Forget this agent or run, with its results. The beginning of its id will do.",
    ] = None,
    everything: Annotated[bool, "Forget all of this project, in all of its worktrees."] = False,
    dry_run: Annotated[bool, "Print what would go, and change nothing."] = False,
    yes: Yes = False,
) -> None:
    """Delete what Holdfast knows of a session, a workflow, an agent or the whole project.

    A session is removed with all the ids that it has had.

    \b
    Examples:
      holdfast forget --workflow payments --dry-run
      holdfast forget --everything

    These go, also from the disk: rows of the ledger with earlier contents and the archive, recorded events, sidecars,
    the report, and lines of the log. Of a workflow, the recorded events and lines go that name it or an agent of it.

    Your own files stay: state files of workflows with their backups, CLAUDE.local.md, plans, Claude Code's transcripts,
    the configuration, and which handlers you trust. With --everything, you are asked whether to
    delete the state files too. A hash of a completed workflow's name stays too, unless you give
    --everything. Otherwise an old CLAUDE.local.md or plan would bring the workflow back.
    """
    if [bool(session_id), bool(wanted), bool(agent), everything].count(True) != 1:
        raise click.UsageError("choose what to forget: --session, --workflow, --agent or --everything")
    erasure.insist_on_ledger(project)
    scope = _agent(project, agent) if agent else _scope(project, session_id, wanted)
    planned = erasure.forget(project, scope, dry=True)
    files = erasure.workflow_files(project) if everything and not yes and sys.stdin.isatty() else []
    if planned.nothing:
        if not dry_run:  # an earlier run may have left text in the file beside the ledger
            _close(project, clean=erasure.forget(project, scope).clean)
        click.echo("There is nothing of that kind to forget in this project.")
        if not dry_run:
            _offer(project, files)
        return
    lines = _lines(planned, "These would go" if dry_run else "These go")
    options.say_short("\n".join(lines))
    if dry_run:
        return
    if not yes:
        click.confirm("Forget this for good?", abort=True)
    live = conversations.live_others(project, "")
    done = erasure.forget(project, scope)
    _close(project, clean=done.clean)
    click.echo("Forgotten.")
    if live and (not scope.conversation or scope.conversation in live):
        click.echo("A session is live here. Holdfast remembers what it does from now on.")
    _offer(project, files)


def _offer(project: Workspace, files: Sequence[Path]) -> None:
    """Ask whether to delete the workflows, too."""
    question = f"Delete your workflows here too ({count(len(files), 'file')})? There is no other copy."
    if files and click.confirm(question):
        erasure.delete_workflows(project, files)


def _close(project: Workspace, *, clean: bool) -> None:
    """Close a project. Raises HoldfastError if its ledger could not be cleaned."""
    project.close()
    if not clean:
        raise erasure.unclean(project)


def _scope(project: Workspace, session_id: str | None, wanted: str | None) -> Scope:
    if session_id:
        return _session(project, session_id)
    if wanted:
        workflow, worktree = selection.anywhere(project, wanted, whole=True)
        return Scope(workflow=workflow, worktree=worktree)
    return Scope(everything=True)


def _agent(project: Workspace, name: str) -> Scope:
    row = agent_list.named(project, name)
    return Scope(agents=agent_list.ids(project, row))


def _session(project: Workspace, beginning: str) -> Scope:
    """Return the scope of a session; one known only from a recording or the log needs its full id."""
    try:
        return erasure.of_conversation(project, conversations.resolve(project, beginning))
    except HoldfastError:
        scope = Scope(conversation=beginning, sessions=(beginning,))
        if len(beginning) < _ID_CHARS or erasure.forget(project, scope, dry=True).nothing:
            raise
        return scope


def _lines(forgotten: Forgotten, heading: str) -> list[str]:
    counted = [
        (sum(forgotten.rows.values()), "ledger row"),
        (forgotten.recorded, "recorded event"),
        (forgotten.logged, "log line"),
    ]
    known = ", ".join(count(number, one) for number, one in counted if number)
    lines = [f"{heading}:"]
    lines += [f"  {known}"] if known else []
    files = list(dict.fromkeys([*forgotten.files, *forgotten.reports]))
    lines += [f"  file: {each}" for each in files[:_FILES]]
    lines += [f"  and {count(len(files) - _FILES, 'more file')}"] if len(files) > _FILES else []
    if forgotten.stays:
        lines += ["These are your own and stay:", *(f"  {each}" for each in forgotten.stays)]
    return lines
