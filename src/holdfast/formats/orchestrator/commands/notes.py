"""`holdfast orchestrator supervise|learn|checkpoint|agents|locks`: what a run records besides its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.orchestrator import agents as present
from holdfast.formats.orchestrator import amounts, learnings, schema, store, supervision, transitions
from holdfast.formats.orchestrator import locks as file_locks
from holdfast.formats.orchestrator.commands.change import change, known, opened

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run

task_option = click.option(
    "--task", "task_id", default="", metavar="ID", help="The task that it belongs to. Default: the active one."
)


@click.command()
@click.argument("check_type", type=click.Choice(schema.CHECK_TYPES))
@task_option
@click.option("--conflict", type=click.Choice(schema.CONFLICT_TYPES), help="What the conflict is about.")
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
    """Record a supervisor's check, and the conflict that it found.

    Holdfast writes a checkpoint before it records a re-plan or a fix.

    \b
    Examples:
      holdfast orchestrator supervise pre_task --task 1.2
      holdfast orchestrator supervise post_task --conflict pattern \\
          --severity low --action auto_fix --resolution "Fixed naming in 3 files"
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
        known(run, task_id)
        run.checkpoint = task_id or run.at_work()

    def edit(run: Run) -> None:
        known(run, task_id)
        supervision.supervise(run, check_type, task_id or run.at_work(), found)

    if found is not None and found.action != "pass":  # R003-33
        store.change(project, before, why="orchestrator supervise", silent=True)
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
    """Record a LESSON for the agents of its task and phase.

    TYPE is pattern, antipattern or insight.

    \b
    Example:
      holdfast orchestrator learn pattern "Tests need a database"
    """
    project = opened(project_dir)

    def edit(run: Run) -> None:
        transitions.insist_open(run)
        known(run, task_id)
        learnings.add(run, kind, lesson, pattern=pattern, context=context, task=task_id)

    change(project, edit, "learn", as_json, "The learning is recorded.")


@click.command()
@task_option
@options.json_option
@options.project_option
def checkpoint(task_id: str, as_json: bool, project_dir: str | None) -> None:
    """Write a checkpoint: a copy of the state with its commit.

    \b
    Example:
      holdfast orchestrator checkpoint
    """
    project = opened(project_dir)

    def edit(run: Run) -> None:
        known(run, task_id)
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
    """Remove agents that are gone from the state.

    \b
    Example:
      holdfast orchestrator agents prune --older 1h
    """


@agents.command()
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option("--older", default="", metavar="TIME", help="Only agents that were started longer ago, such as 1h.")
@options.json_option
@options.project_option
def prune(ids: tuple[str, ...], older: str, as_json: bool, project_dir: str | None) -> None:
    """Remove agents that are gone from the state.

    Without ID, it removes all of them. Their tasks become pending again.

    \b
    Example:
      holdfast orchestrator agents prune 1.2
    """
    age = amounts.seconds(amounts.asked_time(older)) if older else 0
    project = opened(project_dir)
    gone = list[str]()

    def edit(run: Run) -> None:
        known(run, *ids)
        gone[:] = present.prune(run, older_s=age or 0, tasks=ids)

    made = store.change(project, edit, why="orchestrator agents prune")
    if as_json:
        options.print_json(gone)
        return
    lines = [f"Removed {each}." for each in gone] or [_kept(made.run, ids, older)]
    lines += ["Tasks without an agent are pending again. `holdfast next` says what to do."] if gone else []
    options.say("\n".join([*lines, *made.run.said]))


def _kept(run: Run, ids: tuple[str, ...], older: str) -> str:
    """Return why no agent was removed."""
    listed = schema.objects(run.data.get("active_agents"))
    mine = [each for each in listed if not ids or schema.task_of(each) in ids]
    failed = [schema.task_of(each) for each in mine if each.get("status") == "blocked"]
    if len(failed) < len(mine):
        return f"No agent was removed: none was started {older} ago or earlier."
    if failed:
        one = failed[0] if len(failed) == 1 else "ID"
        return (
            f"No agent was removed: {', '.join(failed)} failed. `holdfast orchestrator task retry {one}` tries again, "
            f"and `holdfast orchestrator task skip {one}` leaves it out."
        )
    return f"No agent was removed: the state lists none{' of these tasks' if ids else ''}."


@click.group(invoke_without_command=True)
@options.json_option
@options.project_option
@click.pass_context
def locks(context: click.Context, as_json: bool, project_dir: str | None) -> None:
    """Show the files that agents have locked.

    \b
    Example:
      holdfast orchestrator locks
    """
    if context.invoked_subcommand:
        return
    _show(file_locks.load(options.open_project(project_dir)), as_json, "{0.path}: agent {0.owner}, until {0.expires}")


@locks.command(name="release")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--owner", default="", metavar="AGENT", help="All locks of this agent.")
@click.option("--all", "everything", is_flag=True, help="All locks.")
@options.json_option
@options.project_option
def release(paths: tuple[str, ...], owner: str, everything: bool, as_json: bool, project_dir: str | None) -> None:
    """Free locked files.

    PATH is relative to the project.

    \b
    Examples:
      holdfast orchestrator locks release src/user.py
      holdfast orchestrator locks release --all
    """
    if not (paths or owner or everything):
        raise HoldfastError("say which locks to free: PATH, --owner or --all")
    gone = file_locks.release(
        options.open_project(project_dir), lambda each: everything or each.path in paths or each.owner == owner
    )
    if not gone and not everything:
        asked = ", ".join([*paths, *([f"agent {owner}"] if owner else [])])
        raise HoldfastError(f"there is no lock of {asked}; `holdfast orchestrator locks` lists all")
    _show(gone, as_json, "Freed {0.path}, which agent {0.owner} had locked.")


def _show(found: list[file_locks.Lock], as_json: bool, form: str) -> None:
    if as_json:
        options.print_json([each._asdict() for each in found])
    else:
        options.say("\n".join(form.format(each) for each in found) or "No file is locked.")
