"""`holdfast orchestrator task …` and `phase …`: the tasks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import adapter, schema, store, transitions
from holdfast.formats.orchestrator.commands.change import change, opened

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run

id_argument = click.argument("id_", metavar="ID")
cost_option = click.option("--cost", metavar="$N", help="What the attempt cost. Default: unknown.")


@click.group()
def task() -> None:
    """Move the tasks of the run.

    A task has the number that the task document gives it, such as 1.2.

    \b
    Example:
      holdfast orchestrator task start 1.2
    """


@task.command()
@id_argument
@options.json_option
@options.project_option
def start(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Start task ID.

    \b
    Example:
      holdfast orchestrator task start 1.2
    """
    change(
        opened(project_dir), lambda run: transitions.begin(run, id_), "task start", as_json, f"Task {id_} is active."
    )


@task.command()
@id_argument
@options.json_option
@options.project_option
def iterate(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Begin the next iteration of task ID.

    \b
    Example:
      holdfast orchestrator task iterate 1.2
    """
    project = opened(project_dir)
    change(
        project,
        lambda run: transitions.iterate(run, id_),
        "task iterate",
        as_json,
        f"Task {id_} begins its next iteration.",
    )


@task.command()
@id_argument
@cost_option
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that it modified. Repeat it.")
@click.option("--met", multiple=True, metavar="NAME", help="A success criterion that is met. Repeat it.")
@click.option("--unmet", multiple=True, metavar="NAME", help="A success criterion that isn't met. Repeat it.")
@click.option("--note", default="", metavar="TEXT", help="Tell the next task what it needs to know.")
@options.json_option
@options.project_option
def finish(
    id_: str,
    cost: str | None,
    files: tuple[str, ...],
    met: tuple[str, ...],
    unmet: tuple[str, ...],
    note: str,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Complete task ID.

    After the last task of a phase, Holdfast writes the phase's milestone and a
    checkpoint. After the last task of all, the run is in review: `holdfast
    orchestrator complete` ends it.

    \b
    Example:
      holdfast orchestrator task finish 1.2 --cost 0.20 --met tests_pass
    """
    if both := sorted(set(met) & set(unmet)):
        raise HoldfastError(f"name a criterion with --met or --unmet, not both: {', '.join(both)}")
    criteria = {**dict.fromkeys(met, True), **dict.fromkeys(unmet, False)}

    def edit(run: Run) -> None:
        transitions.finish(run, id_, cost=cost, files=files, criteria=criteria, handover=note)

    change(opened(project_dir), edit, "task finish", as_json, f"Task {id_} is completed.")


@task.command()
@id_argument
@click.option("--reason", default="", metavar="TEXT", help="What went wrong.")
@cost_option
@options.json_option
@options.project_option
def fail(id_: str, reason: str, cost: str | None, as_json: bool, project_dir: str | None) -> None:
    """Record that an attempt at task ID failed. Then retry or skip the task.

    \b
    Example:
      holdfast orchestrator task fail 1.2 --reason "No database"
    """
    project = opened(project_dir)
    news = (
        f"Task {id_} failed. To try again: `holdfast orchestrator task retry {id_}`. "
        f"To leave it out: `holdfast orchestrator task skip {id_}`."
    )
    change(project, lambda run: transitions.fail(run, id_, reason, cost=cost), "task fail", as_json, news, error=reason)


@task.command()
@id_argument
@options.json_option
@options.project_option
def retry(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Try failed or skipped task ID again, as its next iteration.

    \b
    Example:
      holdfast orchestrator task retry 1.2
    """
    change(
        opened(project_dir), lambda run: transitions.retry(run, id_), "task retry", as_json, f"Task {id_} is active."
    )


@task.command()
@id_argument
@options.json_option
@options.project_option
def skip(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Leave task ID out of the run. `task retry` brings it back.

    \b
    Example:
      holdfast orchestrator task skip 1.2
    """
    change(opened(project_dir), lambda run: transitions.skip(run, id_), "task skip", as_json, f"Task {id_} is skipped.")


@task.command()
@id_argument
@options.json_option
@options.project_option
def show(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Show what the agent of task ID is told.

    That is the document's section, the success criteria and the learnings.

    \b
    Example:
      holdfast orchestrator task show 1.2
    """
    project = options.open_project(project_dir)
    store.current(project)[1].task(id_)
    workflow = adapter.find(project).workflows[0]
    phase = next((each for each in workflow.phases if each.id == id_), None)
    if phase is None:
        raise HoldfastError(f"task {id_} is skipped; `holdfast orchestrator task retry {id_}` brings it back")
    brief = adapter.brief(project, workflow, phase)
    lines = list(brief.lines) if brief else []
    if as_json:
        options.print_json({"task": id_, "name": phase.title, "status": phase.status, "lines": lines})
    else:
        options.say("\n".join(lines))


@click.group()
def phase() -> None:
    """Finish a phase of the run. Phases count from 1.

    \b
    Example:
      holdfast orchestrator phase finish 1
    """


@phase.command(name="finish")
@click.argument("number", type=click.IntRange(min=1), required=False)
@click.option("--issue-url", default="", metavar="URL", help="The URL of the milestone's issue.")
@options.json_option
@options.project_option
def finish_phase(number: int | None, issue_url: str, as_json: bool, project_dir: str | None) -> None:
    """Write the milestone of a phase whose tasks are completed.

    NUMBER is by default the phase of the task that was completed last. Run it
    again with --issue-url to add the URL of the milestone's issue.

    \b
    Example:
      holdfast orchestrator phase finish 1
    """
    project = opened(project_dir)
    meant = number or schema.phase_of(store.current(project)[1].last_completed()) or 1
    news = f"Phase {meant} is finished."
    change(project, lambda run: transitions.finish_phase(run, meant, issue_url), "phase finish", as_json, news)
