"""`holdfast wfs task step|resolve`: record the steps before a task's work, and fill in the variables they give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.formats.wfs import context, transitions, variables
from holdfast.formats.wfs import steps as wfs_steps
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.commands import pages, targets
from holdfast.sessions import phases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.steps import Standing
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.records import Outcome


@click.command()
@targets.id_argument
@click.argument("text", required=False)
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=TEXT", help="The value of a variable, for this call."
)
@targets.session_option
@options.json_option
@options.project_option
def resolve(
    id_: str,
    text: str | None,
    assignments: tuple[str, ...],
    name: str | None,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Fill in the [variables] of TEXT for task ID.

    Without TEXT, list the variables with their values. The exit code is 1 if one is unknown.

    \b
    Example:
      holdfast wfs task resolve IMPL-1 "Read [patterns] first"
    """
    project = options.open_project(project_dir)
    session, board, found, steps = targets.find_task(project, name, id_)
    given = dict(_pair(each) for each in assignments)
    filled = context.task_context(project, session, board, found, wfs_steps.outputs(steps) | given)
    known = context.variable_values(session, board, found, filled.task["context"], wfs_steps.outputs(steps) | given)
    if text is None:
        if as_json:
            options.print_json({"variables": known, "unresolved": list(filled.unresolved)})
        else:
            options.say("\n".join([*(f"[{each}]: {value}" for each, value in known.items()), *filled.unresolved]))
        return
    done = variables.resolve(text, known)
    if as_json:
        options.print_json({"text": done.text, "unknown": list(done.unknown)})
    else:
        options.say(done.text)
    if done.unknown:
        click.echo(f"unknown: {', '.join(f'[{each}]' for each in done.unknown)}", err=True)
        raise SystemExit(1)


@click.command()
@targets.id_argument
@click.argument("step_name", metavar="STEP")
@click.option("--output", default="", metavar="TEXT", help="The step's output. - reads stdin, @FILE a file.")
@click.option("--failed", is_flag=True, help="The step failed. Its on_error says what that means.")
@click.option("--skipped", is_flag=True, help="The step was left out on purpose.")
@targets.session_option
@options.json_option
@options.project_option
def step(
    id_: str,
    step_name: str,
    output: str,
    failed: bool,
    skipped: bool,
    name: str | None,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Record the result of a STEP of task ID.

    Its output becomes the [variable] that its output_to names. Whoever works on the task takes its steps. Holdfast runs
    none of them.

    \b
    Example:
      holdfast wfs task step IMPL-1 check --output "2 patterns found"
    """
    project = options.open_project(project_dir)
    session, _, found, steps = targets.find_task(project, name, id_)
    session.must_be_open(f"`holdfast wfs resume {session.name}` opens it again")
    outcome: Outcome = "failed" if failed else "skipped" if skipped else "completed"
    wfs_steps.record(project, views.key(session), found.id, steps, step_name, outcome, targets.text(project, output))
    now = wfs_steps.standings(
        context.read(project, session, found.name), wfs_steps.runs(project, views.key(session), found.id)
    )
    news = _stopped(project, session, found, now, step_name)
    if as_json:
        options.print_json([pages.step_row(each) for each in now])
    else:
        options.say("\n".join([*(pages.step_line(number, each) for number, each in enumerate(now, 1)), *news]))


def _stopped(project: Workspace, session: Session, task: Brief, steps: Sequence[Standing], name: str) -> list[str]:
    """Block a task whose step failed, if its `on_error` says so (R002-26); return what to tell the user."""
    step = next(each for each in steps if each.step.name == name)
    said = {"retry": "try it once more", "skipped": "it is optional, so go on with the next"}
    if step.run is None or step.run.outcome != "failed":
        return []
    if step.state in said:
        return [f"{name} failed: {said[step.state]}."]
    after = transitions.block(project, session, task.id)
    reason = f"step {name} failed" + (", and a person has to decide" if step.state == "manual" else "")
    phases.observe(project, views.workflow(project, after.session, after.board), error=reason)
    return [f"{task.id} is blocked: {reason}. `holdfast wfs task start {task.id}` continues it."]


def _pair(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise click.BadParameter(f"{given!r} is not NAME=TEXT", param_hint="--set")
    return name, value
