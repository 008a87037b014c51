"""`holdfast start`: start a workflow."""

from __future__ import annotations

import re

import click

from holdfast.commands import moving, options
from holdfast.survival import owners
from holdfast.workflow import formats
from holdfast.workflow.model import Start

_AGENT = re.compile(r"(?P<title>.*\S)\s+@(?P<agent>[\w:.-]+)")
DEFAULT_AGENT = "general-purpose"


@click.command(name="start")
@click.argument("title")
@click.option("--format", "format_name", type=click.Choice(formats.NAMES), help="How it is kept; see the README.")
@click.option("--type", "kind", default="", metavar="T", help="planning, qa-loop, implementation, custom or your own.")
@click.option("--phase", "phases", multiple=True, metavar="'TITLE [@AGENT]'", help="A phase, in order; repeat it.")
@click.option("--total", type=click.IntRange(min=1), help="How many phases there are, if not all are named yet.")
@options.content_options
@options.json_option
@options.project_option
def command(
    title: str,
    format_name: str | None,
    kind: str,
    phases: tuple[str, ...],
    total: int | None,
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    assignments: tuple[str, ...],
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Start a workflow called TITLE and say what its first step is.

    The hybrid format names an agent for each phase: --phase "Write tests @test-writer".
    """
    project = options.open_project(project_dir)
    keeper = formats.get(format_name or project.config.format)
    session = options.session()
    start = Start(
        title=title,
        kind=kind,
        phases=tuple(_with_agent(phase) if keeper.NAME == "hybrid" else (phase, "") for phase in phases),
        total=total,
        reading=options.as_reading(reading),
        reminders=reminders,
        context=options.as_context(assignments),
        session=session,
    )
    workflow = keeper.start(project, start)
    if session:
        owners.own(project, workflow, session)
    moving.tell(workflow, as_json, f"Started in {workflow.place}.")


def _with_agent(phase: str) -> tuple[str, str]:
    """Split `Write tests @test-writer` into title and agent."""
    found = _AGENT.fullmatch(phase.strip())
    return (found["title"], found["agent"]) if found else (phase, DEFAULT_AGENT)
