"""`holdfast start`: start a workflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from holdfast import formats
from holdfast.commands import options, verbs
from holdfast.sessions import templates
from holdfast.sessions.ownership import claims, owners, sessions
from holdfast.workflow import registry
from holdfast.workflow.model import Start
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

# A title that ends in `@name` without a space before it: perhaps meant as an agent. No mail address, no version.
_STUCK = re.compile(r"(?P<title>.*[^\s@])@(?P<agent>[A-Za-z][\w:-]*)", re.DOTALL)


@click.command(name="start")
@click.argument("title")
@click.option("--format", "format_name", type=click.Choice(formats.NAMES), help="How it is kept; see above.")
@click.option("--type", "kind", default="", metavar="T", help="planning, qa-loop, implementation, custom or your own.")
@click.option("--phase", "phases", multiple=True, metavar="'TITLE [@AGENT]'", help="A phase, in order; repeat it.")
@click.option(
    "--total", type=click.IntRange(min=1), metavar="N", help="How many phases there are, if not all are named."
)
@click.option("--replace", is_flag=True, help="Let an unfinished workflow in its way go, as it is, to the archive.")
@click.option(
    "--template", "pattern", metavar="NAME", help="Take phases and more from a template; see list --templates."
)
@options.content_options
@options.json_option
@options.project_option
def command(
    title: str,
    format_name: str | None,
    kind: str,
    phases: tuple[str, ...],
    total: int | None,
    replace: bool,
    pattern: str | None,
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    assignments: tuple[str, ...],
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Start a workflow called TITLE and say what its first step is.

    A phase may name the agent that works on it, behind its title and a space: --phase "Write tests @test-writer".

    With --format hybrid it is kept in .claude/state/workflow.json with a Markdown view, phases move when their agents
    end, and one that names no agent gets general-purpose. With --format compaction it is kept in a file of its own
    under untracked/workflow-state/, and agents do not move it. Without --format the template decides, or the
    configuration, or it is compaction; but if a phase names an agent, it is a format whose phases agents move.

    What is given beside a template is added to it; phases replace its phases.
    """
    project = options.open_project(project_dir)
    template = templates.EMPTY if pattern is None else templates.get(project, pattern)
    given = tuple(map(templates.phase, phases)) or template.phases
    usual = template.format or project.config.format
    if usual not in formats.WITH_AGENTS and any(agent for _, agent in given):
        usual = formats.WITH_AGENTS[0]
    keeper = registry.get(format_name or usual)
    session = options.session()
    start = Start(
        title=title,
        kind=kind or template.kind,
        phases=given,
        total=total or (None if phases else template.total),
        reading=options.as_reading((*template.reading, *reading)),
        reminders=(*template.reminders, *reminders),
        context={**template.context, **options.as_context(assignments)},
        session=session,
        replace=replace,
    )
    before = {each.key for each in registry.all_found(project).workflows if each.paused}
    seen = options.seen_by_git(project, keeper.NAME)
    workflow = keeper.start(project, start)
    paused = [each for each in registry.all_found(project).workflows if each.paused and each.key not in before]
    news = [
        _started(workflow),
        _whose(project, workflow, session),
        *(f"{quoted(each.title)} ({each.id}) is paused." for each in paused),
        seen,
    ]
    verbs.tell(workflow, as_json, "\n".join(filter(None, news)))
    options.tell_outside(project, start.reading)
    if here := options.inside(project, project_dir):
        click.echo(_where(project.root, here), err=True)
    for name, agent in given:
        if not agent and (stuck := _STUCK.fullmatch(name)):
            click.echo(_hint(stuck["title"], stuck["agent"], name), err=True)


def _started(workflow: Workflow) -> str:
    """Return where and in which format the workflow is stored, and what moves it."""
    units = f"{workflow.unit}s"
    how = f"{units} move as agents finish" if workflow.format in formats.WITH_AGENTS else "move on with `holdfast done`"
    return f"Started in {workflow.place}. Its format is {workflow.format}: {how}."


def _whose(project: Workspace, workflow: Workflow, session: str | None) -> str:
    """Give a new workflow to the session that runs the command, or to the only live session if that owns none.

    Returns:
        A sentence about the owner; empty if it is the session that runs the command, or no session is live.
    """
    if session:
        owners.own(project, workflow, session)
        return ""
    live = sorted(sessions.live_others(project, ""))
    busy = {owners.owner(project, each) for each in registry.all_found(project).workflows if each.resumable}
    if len(live) == 1 and live[0] not in busy:
        claims.give(project, workflow, live[0])
        return f"It belongs to session {live[0][:8]}, which is live here; its model hears of it at your next prompt."
    if not live:
        return 'No session is live here. To begin one with it: claude "$(holdfast resume)"'
    named = ", ".join(each[:8] for each in live)
    which = f"{len(live)} sessions are live here ({named})" if len(live) > 1 else f"Session {named} is live here"
    return (
        f"{which}, but it belongs to none. Give it to one with "
        f"`holdfast resume {workflow.id} --session {live[0][:8]}`, or have a session run `holdfast next {workflow.id}`."
    )


def _where(root: Path, here: Path) -> str:
    """Return a note that sessions of the folder `here` don't find it: that folder is its own project (client fact)."""
    return (
        f"Note: this is a workflow of {root}, where a session of {here} does not find it; "
        "for a workflow of this folder alone add --project ."
    )


def _hint(title: str, agent: str, name: str) -> str:
    """Return a note on how to name an agent, for a title that ends in `@name` without a space before it."""
    meant = quoted(f"{title} @{agent}")
    return f"Note: the title of a phase is {quoted(name)}; an agent has a space before its @, as in {meant}."
