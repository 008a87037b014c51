"""`holdfast status`: say whether your work is safe, and show it."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.live import Live
from rich.text import Text

from holdfast import clock, log
from holdfast.clients.claude import claude
from holdfast.commands import options, safety, terminal, workflow_commands, workflow_page
from holdfast.commands.verb import Json, Name, ProjectDir, verb
from holdfast.errors import ChoiceError, HoldfastError
from holdfast.files.redact import redact, redact_value
from holdfast.install import inspection, skill
from holdfast.plugins import discovery
from holdfast.sessions import (
    agent_list,
    archive,
    compactions,
    conversations,
    explain,
    overview,
    owners,
    phases,
    progress,
    saving,
    selection,
)
from holdfast.workflow import registry, todos, views
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, RenderableType

    from holdfast.memory.rows import Conversation
    from holdfast.sessions.agent_list import Entry
    from holdfast.sessions.archive import Archived
    from holdfast.sessions.overview import Overview
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Found, Workflow

_PAUSE_S = 1.0  # durations are shown in seconds
_LISTED = 5  # compactions, and lines of the log
_MARKED = {"completed": "completed", "in_progress": "active", "pending": "pending"}


@verb("status")
def command(
    name: Name = None,
    *,
    watch: Annotated[bool, "Show it every second, until Ctrl-C."] = False,
    why: Annotated[bool, "Say what a compaction would save and restore here, and why."] = False,
    todo: Annotated[bool, "--todos", "Print the workflow's to-do list."] = False,
    everything: Annotated[bool, "--all", "Also completed workflows."] = False,
    protocol: Annotated[bool, "Print how Claude keeps a workflow, as a section for a CLAUDE.md."] = False,
    verbose: Annotated[bool, "-v", "Also the ledger and the last compactions."] = False,
    as_json: Json = False,
    project_dir: ProjectDir = None,
) -> None:
    """Say whether a compaction can lose work here, and show workflows, agents and problems.

    The current workflow is shown whole, or WORKFLOW, which may be completed and in the archive.

    \b
    Examples:
      holdfast status
      holdfast status payments --watch
      holdfast status --why
    """
    options.at_most_one({"--watch": watch, "--why": why, "--todos": todo, "--protocol": protocol})
    if protocol:
        click.echo(skill.protocol(), nl=False)
        return
    if watch:
        _watch(project_dir, name)
        return
    project = options.open_project(project_dir)
    if everything and not why:
        options.insist_on_ledger(project)  # the archive is in it
    if why:
        _explain(project, as_json=as_json)
    elif todo:
        _print_todos(project, name, as_json=as_json)
    elif as_json:
        options.print_json(_json(project, name, everything=everything))
    else:
        console = terminal.console()
        terminal.put_wrapped(console, *_page(project, name, everything=everything, verbose=verbose))


def _explain(project: Workspace, *, as_json: bool) -> None:
    """Print whether all is safe, and everything that decides about it."""
    if as_json:
        options.print_json(explain.explain(project, options.conversation(project)))
    else:
        _, _, verdict, explanation = _look(project, None)
        options.say_short(f"{project.root}\n{redact(verdict.text)}\n\n{explain.text(explanation)}".rstrip())


def _print_todos(project: Workspace, name: str | None, *, as_json: bool) -> None:
    """Print a workflow's to-do list: for people, as JSON, or as instructions for the model."""
    session = options.conversation(project)
    workflow_commands.settle(project)
    workflow = selection.select(project, name, session)
    if as_json:
        options.print_json(todos.todo_list(workflow))
    elif sys.stdout.isatty() and not session:
        for each in todos.todo_list(workflow):
            options.say(f"{views.MARKS[_MARKED[each['status']]]} {one_line(each['content'])}")
    else:  # not `options.say`, which would break the tags around the data
        click.echo(todos.request(workflow, progress.task_ids(project, session) if session else {}))


def _watch(project_dir: str | None, name: str | None) -> None:
    """Show the page again and again. On the terminal it is a brief one if the whole one doesn't fit."""
    console = terminal.console()
    lines = _screen(console, project_dir, name, waits=name is None)
    if not console.is_terminal or console.is_dumb_terminal:
        raise HoldfastError("this needs a terminal; `holdfast status` prints it once")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the terminal is restored
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(Text("\n").join(_cropped(lines, console.height)), refresh=True)
                time.sleep(_PAUSE_S)
                lines = _screen(console, project_dir, name, waits=True)
    except KeyboardInterrupt:
        terminal.put(console, lines)


def _screen(console: Console, project_dir: str | None, name: str | None, *, waits: bool) -> list[Text]:
    """Return the lines of the page. With `waits`, why it can't be shown yet is the page. Else that is raised."""
    with closing(options.find_project(project_dir, tell=False)) as project:
        try:
            lines = terminal.lines(console, *_page(project, name, live=True))
            if len(lines) > console.height:
                lines = terminal.lines(console, *_page(project, name, live=True, brief=True))
            return lines
        except HoldfastError as error:
            if not waits or isinstance(error, ChoiceError):
                raise
            return terminal.lines(console, Text(str(error)))


def _cropped(page: list[Text], height: int) -> list[Text]:
    """Return the lines that fit; the last one says how many don't."""
    note = Text(f"{len(page) - height + 1} more lines: `holdfast status` prints all", "dim")
    return page if len(page) <= height else [*page[: height - 1], note]


def _page(
    project: Workspace,
    name: str | None,
    *,
    everything: bool = False,
    verbose: bool = False,
    live: bool = False,
    brief: bool = False,
) -> Iterator[RenderableType]:
    """Yield the parts of the page: whether all is safe, the workflow, and without a name what else is here.

    Args:
        project: the project.
        name: the workflow to show; None for the current one.
        everything: add the archive.
        verbose: add what `_sections` adds.
        live: leave out the sections of the project, because the page is made every second.
        brief: leave out phases, as `workflow_page.page` does.
    """
    saving.take_over(project, options.conversation(project) or "")  # a plan in CLAUDE.local.md is a workflow, too
    found, seen, verdict, _ = _look(project, name)
    agents = _agents(project, name, seen)
    yield terminal.text(redact(verdict.text), {True: "green", False: "bold red", None: "dim"}[verdict.safe])
    if seen:
        yield Text()
        yield from workflow_page.page(seen, agents, clock.now(), brief=brief)
    else:
        yield from workflow_page.agents_section(agents)
    if name is None:
        yield from _workflows(project, found, seen)
        yield from _unreadable(project, found, seen)
    if name is None and not live:
        yield from _sections(project, verbose=verbose)
    if everything:
        archived = archive.entries(project)
        lines = [_archived(project, each) for each in archived]
        yield from _section("Archive", lines or ["No workflow of this project has been completed yet."])


def _look(project: Workspace, name: str | None) -> tuple[Found, Overview | None, safety.Safety, dict[str, Any]]:
    """Return the workflows here, the one to show, whether it is safe, and everything that decides about that.

    Raises HoldfastError for an unknown name.
    """
    session = options.conversation(project)
    found = registry.all_found(project)
    workflow = _chosen(project, name, session, found)
    seen = overview.gather(project, workflow, found) if workflow else None
    explanation = explain.explain(project, session)
    return found, seen, safety.judge(project, seen, explanation, clock.now(), named=name is not None), explanation


def _chosen(project: Workspace, name: str | None, session: str | None, found: Found) -> Workflow | None:
    """Return the named workflow, from the archive too; without a name the current one, or the last that ended."""
    for each in found.workflows:
        phases.observe(project, each)  # it may have been changed by hand
    if name is not None:
        return selection.anywhere(project, name)[0]
    if all(each.finished for each in found.workflows):
        return archive.last(project, found.workflows)
    try:
        return selection.select(project, None, session)
    except HoldfastError:
        return None  # several could be meant, so all of them are listed


def _json(project: Workspace, name: str | None, *, everything: bool) -> dict[str, Any]:
    """Return the named workflow, or all that is known of the project, as JSON values."""
    saving.take_over(project, options.conversation(project) or "")  # a plan in CLAUDE.local.md is a workflow, too
    found, seen, verdict, _ = _look(project, name)
    judged: dict[str, Any] = {"safe": verdict.safe, "summary": redact(verdict.text)}
    judged["agents"] = redact_value([each._asdict() for each in _agents(project, name, seen)])
    current: dict[str, Any] = overview.as_json(seen) if seen else {}
    if name is not None:
        return judged | current
    rows: dict[str, Any] = judged | {"current": current or None} | redact_value(_status(project, found))
    if everything:
        archived = archive.entries(project)
        rows["archive"] = [
            views.row(each.workflow) | {"completed_at": each.completed_at, "worktree": each.worktree}
            for each in archived
        ]
    return rows


def _agents(project: Workspace, name: str | None, seen: Overview | None) -> list[Entry]:
    """Return the agents that run or have an unused result: all, or of a named workflow those that work for it."""
    left = agent_list.list_left(project)
    if name is not None:
        # Another checkout's workflow of this key is another one.
        here = [each for each in left if each.worktree == project.worktree]
        left = [each for each in here if seen and each.workflow == seen.workflow.key]
    return agent_list.describe(project, left)


def _workflows(project: Workspace, found: Found, seen: Overview | None) -> Iterator[RenderableType]:
    """Yield the workflows besides the one that is shown."""
    others = [each for each in found.workflows if seen is None or each.key != seen.workflow.key]
    yield from _section("Other workflows" if seen else "Workflows", [_line(project, each) for each in others])


def _unreadable(project: Workspace, found: Found, seen: Overview | None) -> Iterator[RenderableType]:
    """Yield the files that aren't known to be a workflow's: broken ones, and those of other programs."""
    rest = [each for each in found.problems if seen is None or each not in seen.problems]
    for heading, foreign in (("Unreadable files", False), ("Other programs' files", True)):
        lines = [f"{each.path}: {each.reason}" for each in rest if each.foreign is foreign]
        yield from _section(heading, lines)


def _line(project: Workspace, workflow: Workflow) -> str:
    owner = owners.owner(project, workflow)
    belongs = f", owned by session {conversations.session_id(project, owner)[:8]}" if owner else ""
    ended = f"; {one_line(workflow.ended)}" if workflow.ended else ""
    return views.line(workflow, f"{belongs}{ended}")


def _sections(project: Workspace, *, verbose: bool) -> Iterator[RenderableType]:
    """Yield the project's sections below the workflow that is shown."""
    if verbose:
        root, shared = str(project.root), " (folders with the same identity share the ledger)"
        identity = [f"Identity {project.identity}{shared}"] if project.identity != root else []
        yield from _section("Project", [root, *identity, f"Ledger {project.ledger.problem or project.ledger.file}"])
        yield from _section("Last compactions", map(_compaction, _compactions(project)))
    yield from _section("Failing handlers", (f"{each['file']}: {each['fault']}" for each in _faults(project)))
    yield from _section("Last warnings and errors", map(_trouble, _troubles(project)))


def _section(heading: str, lines: Iterable[str]) -> Iterator[RenderableType]:
    return workflow_page.section(heading, (terminal.text(redact(each)) for each in lines))


def _archived(project: Workspace, each: Archived) -> str:
    place = "" if each.worktree == project.worktree else f", in {one_line(each.worktree, 1_000)}"
    return f"{clock.minute(each.completed_at)}  {views.line(each.workflow, place)}"


def _status(project: Workspace, found: Found) -> dict[str, Any]:
    return {
        "root": str(project.root),
        "identity": project.identity,
        "ledger": project.ledger.problem or str(project.ledger.file),
        "workflows": [_row(project, each) for each in found.workflows],
        "problems": [{"path": str(each.path), "reason": each.reason} for each in found.problems],
        "sessions": [_session(each) for each in conversations.every(project)],
        "compactions": _compactions(project),
        "faults": _faults(project),
        "log": _troubles(project),
    }


def _faults(project: Workspace) -> list[dict[str, str]]:
    found = inspection.complaints(project, discovery.find(claude, project), loading=False)
    return [{"file": str(file.path), "fault": fault} for file, fault in found]


def _troubles(project: Workspace) -> list[str]:
    """Return the last warnings and errors of this project and those that name no project, each as it last came."""
    lines = (line.partition(" ") for line in log.tail(500, project=project.root))
    latest = {text: at for at, _, text in lines if text.startswith(("error ", "warning "))}
    return sorted(f"{at} {text}" for text, at in latest.items())[-_LISTED:]


def _trouble(line: str) -> str:
    """Return a line of the log for people, without the project, which stands above."""
    stamp, _, message = log.without_project(line).partition(" ")
    return f"{clock.second(stamp)} {message}"


def _row(project: Workspace, workflow: Workflow) -> dict[str, Any]:
    phase = workflow.current_name if workflow.in_order else workflow.phase
    owner = owners.owner(project, workflow)
    return views.row(workflow) | {
        "position": workflow.position,
        "phase": phase,
        "owner": conversations.session_id(project, owner) if owner else None,
    }


def _session(row: Conversation) -> dict[str, Any]:
    names = ("worktree", "transcript", "first_seen", "last_seen", "ended_at")
    return {"id": row.session} | {name: getattr(row, name) for name in names}


def _compactions(project: Workspace) -> list[dict[str, Any]]:
    """Return the last compactions."""
    reports, found = compactions.recent(project, _LISTED), []
    named = (name for each in reports for name in (each.row.conversation, each.row.restored_in) if name)
    sessions = conversations.session_ids(project, named)
    for report in reports:
        row, restored = report.row, report.workflows and report.came_at and not report.not_restored
        values = {
            "session": sessions[row.conversation],
            "trigger": row.trigger,
            "saved_at": report.announced_at,
            "workflows": [f"{each.title} ({each.phase})" for each in report.workflows],
            "restored_at": row.restored_at if restored else None,
            "restored_in": sessions.get(row.restored_in) if restored else None,
            "not_restored": report.not_restored,
            "facts": row.facts,
            "facts_kept": row.facts_kept,
        }
        found.append(values)
    return found


def _compaction(row: dict[str, Any]) -> str:
    if not row["workflows"]:
        return f"{row['trigger']}, session {row['session'][:8]}: nothing was saved, because it owned no workflow"
    saved = f"saved {clock.second(row['saved_at'])}" if row["saved_at"] else "PreCompact never fired"
    why = row["not_restored"] or "no compaction has followed"
    restored = f"restored {clock.second(row['restored_at'])}" if row["restored_at"] else f"not restored ({why})"
    summary = f"; Claude's summary kept {row['facts_kept']} of {row['facts']} facts" if row["facts"] else ""
    return (
        f"{row['trigger']}, session {row['session'][:8]}: {saved}; {restored}: {'; '.join(row['workflows'])}{summary}"
    )
