"""`holdfast orchestrator supervise|learn|checkpoint|agents`: what a run records besides its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import agents as present
from holdfast.formats.orchestrator import amounts, learnings, schema, store, supervision, transitions
from holdfast.formats.orchestrator.commands.change import change, opened

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run

task_option = click.option("--task", "task_id", default="", metavar="ID", help="Whose; by default the one at work.")


@click.command()
@click.argument("check_type", type=click.Choice(schema.CHECK_TYPES))
@task_option
@click.option(
    "--conflict", type=click.Choice(schema.CONFLICT_TYPES), help="What the conflict is about, if there is one."
)
@click.option("--severity", type=click.Choice(schema.SEVERITIES), help="How bad it is.")
@click.option("--action", type=click.Choice(schema.ACTIONS), help="What was done.")
@click.option("--resolution", default="", metavar="TEXT", help="How it was resolved.")
@options.json_option
@options.project_option
def supervise(
    check_type: str,
    task_id: str,
    conflict: str | None,
    severity: str | None,
    action: str | None,
    resolution: str,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Record a supervisor's check and its conflict.

    Before a re-plan or a fix is recorded, a checkpoint is written.

    \b
    holdfast orchestrator supervise pre_task --task 1.2
    holdfast orchestrator supervise post_task --conflict pattern --severity low \\
        --action auto_fix --resolution "Fixed naming in 3 files"
    """
    found = None
    if conflict is None and (severity or action or resolution):
        raise HoldfastError("name what the conflict is about: --conflict")
    if conflict is not None:
        if severity is None or action is None:
            raise HoldfastError("a conflict needs --severity, --action and --resolution")
        found = supervision.Conflict(conflict, severity, action, resolution)
    supervision.insist_valid(check_type, found)
    project = opened(project_dir)

    def before(run: Run) -> None:
        transitions.insist_open(run)
        run.checkpoint = task_id or run.at_work()

    def edit(run: Run) -> None:
        supervision.supervise(run, check_type, task_id or run.at_work(), found)

    if found is not None and found.action != "pass":  # R003-33
        store.change(project, before, why="orchestrator supervise")
    change(project, edit, "supervise", as_json, "The check is recorded.")


@click.command()
@click.argument("kind", metavar="TYPE", type=click.Choice(schema.LEARNING_TYPES))
@click.argument("lesson")
@click.option("--pattern", default="", metavar="TEXT", help="What to do in future tasks.")
@click.option("--context", default="", metavar="TEXT", help="Where it applies.")
@task_option
@options.json_option
@options.project_option
def learn(
    kind: str, lesson: str, pattern: str, context: str, task_id: str, as_json: bool, project_dir: str | None
) -> None:
    """Record a LESSON, for agents of its task and phase.

    TYPE is pattern, antipattern or insight.
    """
    project = opened(project_dir)

    def edit(run: Run) -> None:
        transitions.insist_open(run)
        learnings.add(run, kind, lesson, pattern=pattern, context=context, task=task_id)

    change(project, edit, "learn", as_json, "The learning is recorded.")


@click.command()
@task_option
@options.json_option
@options.project_option
def checkpoint(task_id: str, as_json: bool, project_dir: str | None) -> None:
    """Write a checkpoint.

    It is a whole copy of the state, with the commit that the project is at.
    """
    project = opened(project_dir)

    def edit(run: Run) -> None:
        run.checkpoint = task_id or run.at_work()

    made = store.change(project, edit, why="orchestrator checkpoint")
    entry = schema.objects(made.run.data["checkpoints"])[-1]
    if as_json:
        options.print_json(entry)
    else:
        at = f" at commit {entry['git_sha'][:12]}" if entry["git_sha"] else ", without a commit"
        options.say("\n".join([f"Wrote .claude/{entry['state_snapshot']}{at}.", *made.run.said]))


@click.group()
def agents() -> None:
    """The agents that the state lists."""


@agents.command()
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option("--older", default="", metavar="TIME", help="Only those that were started longer ago, such as 1h.")
@options.json_option
@options.project_option
def prune(ids: tuple[str, ...], older: str, as_json: bool, project_dir: str | None) -> None:
    """Remove agents that are gone: those of tasks ID, or all. Their tasks become pending again."""
    age = amounts.seconds(amounts.asked_time(older)) if older else 0
    project = opened(project_dir)
    gone = list[str]()

    def edit(run: Run) -> None:
        gone[:] = present.prune(run, older_s=age or 0, tasks=ids)

    made = store.change(project, edit, why="orchestrator agents prune")
    if as_json:
        options.print_json(gone)
    else:
        options.say("\n".join([*(f"Removed {each}." for each in gone), *made.run.said]) or "No agent was removed.")
