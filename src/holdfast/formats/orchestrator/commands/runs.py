"""`holdfast orchestrator start|approve|bounds|review|complete|fail`: the run as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from holdfast.commands import options, workflow_commands
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import bounds as limits
from holdfast.formats.orchestrator import store, transitions
from holdfast.formats.orchestrator.commands.change import change, opened
from holdfast.sessions import owners
from holdfast.workflow.model import Start

_AWAY = "`holdfast orchestrator archive` puts its files away."


@click.command()
@click.argument("task_doc")
@click.option("--max-iterations", type=click.IntRange(min=1), metavar="N", help="How many iterations a task may take.")
@click.option("--max-cost", metavar="$N", help="What the run may cost.")
@click.option("--max-time", metavar="TIME", help="How long the run may take, such as 2h.")
@click.option("--replace", is_flag=True, help="Archive an unfinished run that is in the way.")
@options.content_options
@options.json_option
@options.project_option
def start(
    task_doc: str,
    max_iterations: int | None,
    max_cost: str | None,
    max_time: str | None,
    replace: bool,
    reading: tuple[str, ...],
    reminders: tuple[str, ...],
    assignments: tuple[str, ...],
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Start a run of TASK_DOC.

    Its headings name phases (### Phase 1: NAME) and tasks (#### Task 1.1: NAME).
    Its section "Safety Bounds" sets the bounds. Without one, a task may take 30
    iterations, and the run $10 and 2h.

    \b
    Example:
      holdfast orchestrator start docs/tasks/user-auth.md --max-cost 5
    """
    project = options.open_project(project_dir)
    given: dict[str, Any] = {
        "max_iterations_per_task": max_iterations,
        "max_cost": None if max_cost is None else limits.asked_cost(max_cost),
        "max_time": None if max_time is None else limits.asked_time(max_time),
    }
    path = _absolute(task_doc)
    session = options.conversation(project)
    wanted = Start(
        title=path.stem,
        reading=options.as_reading(reading),
        reminders=reminders,
        context=options.as_context(assignments),
        session=session,
        replace=replace,
    )
    workflow = store.create(project, wanted, path, given={name: each for name, each in given.items() if each})
    owners.begin(project, workflow, session)
    workflow_commands.tell(workflow, as_json, f"Started in {workflow.place}.")


@click.command()
@options.json_option
@options.project_option
def approve(as_json: bool, project_dir: str | None) -> None:
    """Approve the plan. The run goes from planning to executing.

    \b
    Example:
      holdfast orchestrator approve
    """
    change(opened(project_dir), transitions.approve, "approve", as_json, "The plan is approved.")


@click.command()
@options.json_option
@options.project_option
def review(as_json: bool, project_dir: str | None) -> None:
    """Begin the outer review of a run whose tasks are done.

    Holdfast writes a checkpoint first.

    \b
    Example:
      holdfast orchestrator review
    """
    project = opened(project_dir)

    store.change(project, _checkpointed, why="orchestrator review", silent=True)
    change(
        project,
        transitions.review,
        "review",
        as_json,
        "The outer review has begun. To end it: `holdfast orchestrator complete`.",
    )


@click.command()
@options.json_option
@options.project_option
def complete(as_json: bool, project_dir: str | None) -> None:
    """Complete a run whose tasks are completed or skipped.

    \b
    Example:
      holdfast orchestrator complete
    """
    change(opened(project_dir), transitions.complete, "complete", as_json, f"The run is completed. {_AWAY}")


@click.command()
@click.argument("reason")
@options.json_option
@options.project_option
def fail(reason: str, as_json: bool, project_dir: str | None) -> None:
    """End the run as failed, for good.

    \b
    Example:
      holdfast orchestrator fail "The API is gone"
    """
    change(opened(project_dir), transitions.abort, "fail", as_json, f"The run failed: {reason}. {_AWAY}", error=reason)


@click.group(invoke_without_command=True)
@options.json_option
@options.project_option
@click.pass_context
def bounds(context: click.Context, as_json: bool, project_dir: str | None) -> None:
    """Show the safety bounds, and how much of each is used.

    \b
    Example:
      holdfast orchestrator bounds
    """
    if context.invoked_subcommand:
        return
    _, run = store.current(options.open_project(project_dir))
    used = limits.used(run)
    if as_json:
        options.print_json(
            [{"bound": e.name, "percent": float(round(e.percent, 1)), "used": e.used, "limit": e.most} for e in used]
        )
        return
    lines = [f"{each.percent:>5.0f}%  {each.name}: {each.used} of {each.most}" for each in used]
    lines += [f"{unknown}."] if (unknown := limits.unknown(run)) else []
    options.say("\n".join(lines))


@bounds.command()
@click.option("--iterations", type=click.IntRange(min=1), metavar="N", help="How many iterations a task may take.")
@click.option("--cost", metavar="$N", help="What the run may cost.")
@click.option("--time", metavar="TIME", help="How long the run may take, such as 3h.")
@options.json_option
@options.project_option
def extend(iterations: int | None, cost: str | None, time: str | None, as_json: bool, project_dir: str | None) -> None:
    """Set a bound of the run.

    Warnings that no longer hold go. They come again when the new bound is near.

    \b
    Example:
      holdfast orchestrator bounds extend --cost 20 --time 3h
    """
    if iterations is None and cost is None and time is None:
        raise HoldfastError("say what to extend: --cost, --time or --iterations")
    project = opened(project_dir)
    change(
        project,
        lambda run: limits.extend(run, iterations=iterations, cost=cost, time=time),
        "bounds extend",
        as_json,
        "The bounds are set.",
    )


def _checkpointed(run: Any) -> None:
    transitions.insist_open(run)
    transitions.insist_done(run)
    run.checkpoint = run.last_completed()


def _absolute(task_doc: str) -> Path:
    """Return the document's absolute path (R003-05). Raises HoldfastError for a text that can't be a path."""
    if "\0" in task_doc or not task_doc.strip():
        raise HoldfastError(f"{task_doc!r} isn't a path of a task document")
    return (Path.cwd() / Path(task_doc).expanduser()).resolve()
