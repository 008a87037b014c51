"""`holdfast start`: start a workflow."""

from __future__ import annotations

import click

from holdfast.commands import moving, options
from holdfast.survival import owners
from holdfast.workflow import formats, templates
from holdfast.workflow.formats.hybrid_functions import DEFAULT_AGENT
from holdfast.workflow.model import Start


@click.command(name="start")
@click.argument("title")
@click.option("--format", "format_name", type=click.Choice(formats.NAMES), help="How it is kept; see the README.")
@click.option("--type", "kind", default="", metavar="T", help="planning, qa-loop, implementation, custom or your own.")
@click.option("--phase", "phases", multiple=True, metavar="'TITLE [@AGENT]'", help="A phase, in order; repeat it.")
@click.option("--total", type=click.IntRange(min=1), help="How many phases there are, if not all are named yet.")
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
    pattern: str | None,
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    assignments: tuple[str, ...],
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Start a workflow called TITLE and say what its first step is.

    The hybrid format names an agent for each phase: --phase "Write tests @test-writer". What is given beside a template
    is added to it; phases replace its phases.
    """
    project = options.open_project(project_dir)
    template = templates.get(project, pattern) if pattern else templates.EMPTY
    keeper = formats.get(format_name or template.format or project.config.format)
    agents = keeper.NAME == "hybrid"
    given = tuple(templates.phase(phase) if agents else (phase, "") for phase in phases) or template.phases
    session = options.session()
    start = Start(
        title=title,
        kind=kind or template.kind,
        phases=tuple((name, agent or DEFAULT_AGENT) for name, agent in given) if agents else given,
        total=total or (None if phases else template.total),
        reading=options.as_reading((*template.reading, *reading)),
        reminders=(*template.reminders, *reminders),
        context={**template.context, **options.as_context(assignments)},
        session=session,
    )
    workflow = keeper.start(project, start)
    if session:
        owners.own(project, workflow, session)
    moving.tell(workflow, as_json, f"Started in {workflow.place}.")
