"""`holdfast start`: start a workflow."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from holdfast import formats, paths
from holdfast.commands import options, workflow_commands
from holdfast.commands.verb import Assignments, Json, ProjectDir, Reading, Reminders, verb
from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.formats.described import catalog
from holdfast.sessions import owners, templates
from holdfast.workflow import registry, verbs, wording
from holdfast.workflow.model import Start
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.workflow.model import Workflow

_NOBODYS = "Start claude {}, and it gets this workflow. An open session is told with your next prompt."


def _templates(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of template files that complete a text."""
    try:
        project = options.open_project(context.params.get("project_dir"), tell=False)
    except HoldfastError:
        return []
    return [each for each in templates.file_names(project) if each.startswith(incomplete)]


def _formats(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of formats that complete a text."""
    with suppress(HoldfastError):
        options.open_project(context.params.get("project_dir"), tell=False)  # with those without code
    return [name for name in formats.NAMES if name.startswith(incomplete.casefold())]


def _format(root: Path, name: str) -> str:
    """Return the name of a format as it is spelt. Raises BadParameter for an unknown one, or one that can't be used."""
    known = name.casefold()
    if known not in formats.NAMES:
        unused = [each.reason for each in catalog.listed(root) if each.name == known]
        fault = unused[0] if unused else f"{name!r} is not one of {', '.join(formats.NAMES)}"
        raise click.BadParameter(fault, param_hint="--format")
    return known


@verb("start")
def command(
    title: str,
    *,
    format_name: Annotated[
        str | None,
        "--format",
        {"metavar": "FORMAT", "shell_complete": _formats},
        f"How the workflow is stored: {', '.join(RECORDS)}, or a format without code.",
    ] = None,
    kind: Annotated[str, "--type", {"metavar": "T"}, "The kind of work. Each format says which kinds it knows."] = "",
    phases: Annotated[
        tuple[str, ...], "--phase", {"metavar": "'TITLE [@AGENT]'"}, "A phase. Repeat it, in order."
    ] = (),
    total: Annotated[
        int | None,
        click.IntRange(min=1),
        {"metavar": "N"},
        "How many phases there are, if you don't name all of them.",
    ] = None,
    replace: Annotated[bool, "Archive the unfinished workflow whose place this one takes."] = False,
    pattern: Annotated[
        str | None,
        "--template",
        {"metavar": "NAME", "shell_complete": _templates},
        "Take phases and more from a template. A NAME that doesn't exist lists them.",
    ] = None,
    reading: Reading = (),
    reminders: Reminders = (),
    assignments: Assignments = (),
    as_json: Json = False,
    project_dir: ProjectDir = None,
) -> None:
    """Start a workflow called TITLE and print its first step.

    A phase may name the agent that works on it, after a space and an @.

    \b
    Examples:
      holdfast start "Payments" --phase "Design" --phase "Build it @coder"
      holdfast start "Release 2" --template implementation --read release.md

    A format says where a workflow is stored and what moves it. Without --format the template decides, then `format` in
    holdfast.toml. If a phase names an agent, it is a format whose phases agents move. `holdfast formats list` lists all
    formats.

    Your options are added to what a template has. Your phases replace its phases.
    """
    project = options.open_project(project_dir)
    named = _format(project.root, format_name) if format_name else None
    template = templates.EMPTY if pattern is None else templates.get(project, pattern)
    chosen = tuple(map(templates.phase, phases)) or template.phases
    usual = template.format or project.config.format
    if usual not in formats.WITH_AGENTS and any(agent for _, agent in chosen):
        usual = formats.WITH_AGENTS[0]
    session = options.conversation(project)
    start = Start(
        title=title,
        kind=kind or template.kind,
        phases=chosen,
        total=total or (None if phases else template.total),
        reading=options.as_reading((*template.reading, *reading)),
        reminders=(*template.reminders, *reminders),
        context={**template.context, **options.as_context(assignments)},
        session=session,
        replace=replace,
    )
    here = options.inside(project, project_dir)
    before = {each.key for each in registry.all_found(project).workflows if each.paused}
    seen = options.seen_by_git(project, named or usual)
    workflow = verbs.start(project, named or usual, start)
    owners.begin(project, workflow, session)
    paused = [each for each in registry.all_found(project).workflows if each.paused and each.key not in before]
    news = [
        _started(workflow),
        *(f"warning: {each}" for each in workflow.remarks),
        "" if session else _NOBODYS.format(f"in {paths.shown(str(project.root))}" if here else "here"),
        *(f"{quoted(each.title)} ({each.id}) is paused." for each in paused),
        seen,
    ]
    workflow_commands.tell(workflow, as_json, "\n".join(filter(None, news)))
    options.tell_reading(project, start.reading)
    if os.geteuid() == 0 and (owner := project.root.stat().st_uid):
        click.echo(
            f"Warning: you are root here, and the folder belongs to user {owner}, who can't change this workflow. "
            f'To give it to them: chown -R {owner} "{project.root / Path(workflow.place).parts[0]}"',
            err=True,
        )
    options.note_enclosing(project, project_dir)


def _started(workflow: Workflow) -> str:
    """Return where and in which format the workflow is stored, and what moves it."""
    how = f"{workflow.unit}s move as agents finish"
    if workflow.format not in formats.WITH_AGENTS:
        how = f"`holdfast done` completes {wording.a(workflow.unit)} and begins the next"
    return f"Started in {workflow.place}. Its format is {workflow.format}: {how}."
