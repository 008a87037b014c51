"""`holdfast start`: start a workflow."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from holdfast import config, formats, paths
from holdfast.commands import agent_names, options
from holdfast.commands import verbs as shared
from holdfast.config import Config
from holdfast.errors import HoldfastError
from holdfast.files import trust
from holdfast.formats import RECORDS
from holdfast.sessions import templates
from holdfast.sessions.ownership import owners
from holdfast.workflow import registry, verbs
from holdfast.workflow.model import Start
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_NOBODYS = "Start claude here: its model is told of this workflow. An open session is told at your next prompt."
# A title that ends in `@name` without a space before it: perhaps meant as an agent. No mail address, no version.
_STUCK = re.compile(r"(?P<title>.*[^\s@])@(?P<agent>[A-Za-z][\w:-]*)", re.DOTALL)


def _help() -> str:
    """Return the command's help, with each format that is installed."""
    width = max(map(len, RECORDS))
    usual = Config().format
    listed = [
        f"  {name:<{width}}  {record.TOP}/; {_moving(name)}{' (default)' if name == usual else ''}"
        for name, record in RECORDS.items()
    ]
    return _HELP.format(formats="\n".join(listed))


def _moving(name: str) -> str:
    return f"agents move its {RECORDS[name].UNIT}s" if RECORDS[name].AGENTS else "`holdfast done` moves it"


def _templates(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of template files that complete a text."""
    try:
        project = options.open_project(context.params.get("project_dir"), tell=False)
    except HoldfastError:
        return []
    return [each.name for each in templates.from_files(project)[0] if each.name.startswith(incomplete)]


def _formats(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of formats that complete a text."""
    with suppress(HoldfastError):
        options.open_project(context.params.get("project_dir"), tell=False)  # with those without code
    return [name for name in formats.NAMES if name.startswith(incomplete.casefold())]


def _format(name: str) -> str:
    """Return the name of a format as it is spelt. Raises BadParameter for an unknown one."""
    if name.casefold() not in formats.NAMES:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(formats.NAMES)}", param_hint="--format")
    return name.casefold()


_HELP = """Start a workflow called TITLE and print its first step.

A phase may name the agent that works on it, after a space and an @.

\b
Examples:
  holdfast start "Payments" --phase "Design" --phase "Build it @coder"
  holdfast start "Release 2" --template implementation --read release.md

A format says where a workflow is stored and what moves it. Without --format the template decides, then `format` in
holdfast.toml. If a phase names an agent, it is a format whose phases agents move.

\b
Formats:
{formats}

`holdfast formats list` also lists those without code.

Your options are added to what a template has. Your phases replace its phases.
"""


@click.command(name="start", help=_help())
@click.argument("title")
@click.option(
    "--format",
    "format_name",
    metavar="FORMAT",
    shell_complete=_formats,
    help="How the workflow is stored; listed above.",
)
@click.option(
    "--type", "kind", default="", metavar="T", help="The kind of work. Each format says which kinds it knows."
)
@click.option("--phase", "phases", multiple=True, metavar="'TITLE [@AGENT]'", help="A phase. Repeat it, in order.")
@click.option(
    "--total", type=click.IntRange(min=1), metavar="N", help="How many phases there are, if you don't name all of them."
)
@click.option("--replace", is_flag=True, help="Put an unfinished workflow that is in the way into the archive.")
@click.option(
    "--template",
    "pattern",
    metavar="NAME",
    shell_complete=_templates,
    help="Take phases and more from a template. `holdfast list --templates` lists them.",
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
    """Start a workflow."""
    project = options.open_project(project_dir)
    named = _format(format_name) if format_name else None
    template = templates.EMPTY if pattern is None else templates.get(project, pattern)
    given = agent_names.spelt(project, tuple(map(templates.phase, phases)) or template.phases)
    usual = template.format or project.config.format
    if usual not in formats.WITH_AGENTS and any(agent for _, agent in given):
        usual = formats.WITH_AGENTS[0]
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
    seen = options.seen_by_git(project, named or usual)
    workflow = verbs.start(project, named or usual, start)
    owners.begin(project, workflow, session)
    paused = [each for each in registry.all_found(project).workflows if each.paused and each.key not in before]
    news = [
        _started(workflow),
        _counted_from_zero(workflow),
        *(f"warning: {each}" for each in workflow.remarks),
        "" if session else _NOBODYS,
        *(f"{quoted(each.title)} ({each.id}) is paused." for each in paused),
        seen,
    ]
    shared.tell(workflow, as_json, "\n".join(filter(None, news)))
    options.tell_reading(project, start.reading)
    agents = [*(agent for _, agent in given), *(each.agent for each in workflow.phases)]  # a format may choose some
    agent_names.tell_unknown(project, filter(None, agents))
    _tell_faulty_configuration(project)
    if here := options.inside(project, project_dir):
        click.echo(_where(project.root, here), err=True)
    for name, agent in given:
        if not agent and (stuck := _STUCK.fullmatch(name)):
            click.echo(_hint(stuck["title"], stuck["agent"], name), err=True)


def _tell_faulty_configuration(project: Workspace) -> None:
    """Say on stderr what a faulty `holdfast.toml` may have cost: its `format`, above all."""
    for problem in config.load(project.root, trusted=trust.config_trusted(project.root)).problems:
        click.echo(paths.shown(f"warning: {problem}; to check it: holdfast config --check"), err=True)


def _started(workflow: Workflow) -> str:
    """Return where and in which format the workflow is stored, and what moves it."""
    how = f"{workflow.unit}s move as agents finish"
    if workflow.format not in formats.WITH_AGENTS:
        how = f"`holdfast done` completes a {workflow.unit} and begins the next"
    return f"Started in {workflow.place}. Its format is {workflow.format}: {how}."


def _counted_from_zero(workflow: Workflow) -> str:
    """Return a note if the ids in the files of a workflow count from 0, since everything else counts from 1."""
    if not workflow.in_order or not workflow.phases or workflow.phases[0].id != "phase_0":
        return ""
    return "Phases count from 1. Only in its files is the first one phase_0."


def _where(root: Path, here: Path) -> str:
    """Return a note that sessions of the folder `here` don't find it: that folder is its own project (client fact)."""
    return (
        f"Note: this workflow belongs to the project {paths.shown(str(root))}. A session that you start in "
        f"{here.name}/ doesn't find it. For a workflow of this folder alone, add --project ."
    )


def _hint(title: str, agent: str, name: str) -> str:
    """Return a note on how to name an agent, for a title that ends in `@name` without a space before it."""
    meant = quoted(f"{title} @{agent}")
    return f"Note: the phase is called {quoted(name)}. To name an agent, put a space before its @: {meant}."
