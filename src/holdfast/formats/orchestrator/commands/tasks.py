"""`holdfast orchestrator task …` and `phase …`: the tasks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import adapter, store, transitions
from holdfast.formats.orchestrator.commands.change import change, opened

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run

id_argument = click.argument("id_", metavar="ID")
cost_option = click.option("--cost", metavar="$N", help="What the attempt cost; without it the cost is unknown.")


@click.group()
def task() -> None:
    """The tasks of the run, named as in the task document: 1.2."""


@task.command()
@id_argument
@options.json_option
@options.project_option
def start(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Start task ID."""
    change(
        opened(project_dir), lambda run: transitions.begin(run, id_), "task start", as_json, f"Task {id_} is active."
    )


@task.command()
@id_argument
@options.json_option
@options.project_option
def iterate(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Begin the next iteration of task ID."""
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
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file that it modified; repeat it.")
@click.option("--met", multiple=True, metavar="NAME", help="A success criterion that is met; repeat it.")
@click.option("--unmet", multiple=True, metavar="NAME", help="One that is not; repeat it.")
@click.option("--note", default="", metavar="TEXT", help="What the next task needs to know.")
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

    The last task of a phase writes its milestone and a checkpoint. The last of
    all leaves the run in review: it ends with `holdfast orchestrator complete`.
    """
    if both := sorted(set(met) & set(unmet)):
        raise HoldfastError(f"a criterion is met or not: {', '.join(both)}")
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
    """End an attempt at task ID without success; retry or skip it then."""
    project = opened(project_dir)
    news = (
        f"Task {id_} failed. Go on with `holdfast orchestrator task retry {id_}`, "
        f"or leave it out with `holdfast orchestrator task skip {id_}`."
    )
    change(project, lambda run: transitions.fail(run, id_, reason, cost=cost), "task fail", as_json, news, error=reason)


@task.command()
@id_argument
@options.json_option
@options.project_option
def retry(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Go on with task ID, which failed or was skipped; it is its next iteration."""
    change(
        opened(project_dir), lambda run: transitions.retry(run, id_), "task retry", as_json, f"Task {id_} is active."
    )


@task.command()
@id_argument
@options.json_option
@options.project_option
def skip(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Leave task ID out of the run; `task retry` takes it in again."""
    change(opened(project_dir), lambda run: transitions.skip(run, id_), "task skip", as_json, f"Task {id_} is skipped.")


@task.command()
@id_argument
@options.json_option
@options.project_option
def show(id_: str, as_json: bool, project_dir: str | None) -> None:
    """Show task ID as its agent gets it: the document's section, its success criteria, learnings."""
    project = options.open_project(project_dir)
    store.current(project)[1].task(id_)
    workflow = adapter.find(project).workflows[0]
    phase = next((each for each in workflow.phases if each.id == id_), None)
    if phase is None:
        raise HoldfastError(f"task {id_} is skipped; `holdfast orchestrator task retry {id_}` takes it in again")
    brief = adapter.brief(project, workflow, phase)
    lines = list(brief.lines) if brief else []
    if as_json:
        options.print_json({"task": id_, "name": phase.title, "status": phase.status, "lines": lines})
    else:
        options.say("\n".join(lines))


@click.group()
def phase() -> None:
    """The phases of the run, counted from 1 as in the task document."""


@phase.command(name="finish")
@click.argument("number", type=click.IntRange(min=1))
@click.option("--issue-url", default="", metavar="URL", help="The milestone's issue.")
@options.json_option
@options.project_option
def finish_phase(number: int, issue_url: str, as_json: bool, project_dir: str | None) -> None:
    """Write the milestone of phase NUMBER, once its tasks are completed, or the URL of its issue into it."""
    project = opened(project_dir)
    news = f"Phase {number} is finished."
    change(project, lambda run: transitions.finish_phase(run, number, issue_url), "phase finish", as_json, news)
