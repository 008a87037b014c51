"""Run a task document with phases, safety bounds and learnings (.claude/agent-state.json).

\b
Examples:
  holdfast start docs/tasks/user-auth.md --format orchestrator
  holdfast orchestrator task 1.1 --cost 0.20 --met migration_tested
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from holdfast.errors import HoldfastError, command_line
from holdfast.formats.orchestrator import bounds as safety
from holdfast.formats.orchestrator import learnings, moves, schema, snapshots, supervision, task_document
from holdfast.formats.orchestrator.format import FORMAT
from holdfast.workflow import values
from holdfast.workflow.format import Answer
from holdfast.workflow.records import Records  # noqa: TC001 - the annotations of a verb are evaluated

if TYPE_CHECKING:
    from holdfast.formats.orchestrator.run import Run
    from holdfast.formats.orchestrator.supervision import Conflict

Texts = tuple[str, ...]
Task = Annotated[str, "--task", {"metavar": "ID"}, "The task that it belongs to. Default: the active one."]


def approve(project: Records) -> Answer:
    """Approve the plan. The run goes from planning to executing.

    \b
    Example:
      holdfast orchestrator approve
    """
    workflow, _ = FORMAT.move(project, moves.approve, why="orchestrator approve")
    return Answer("The plan is approved.", workflow)


def task(
    project: Records,
    id_: Annotated[str, {"metavar": "ID"}],
    *,
    cost: Annotated[str | None, {"metavar": "$N"}, "What it has cost, all attempts together."] = None,
    met: Annotated[Texts, {"metavar": "NAME"}, "A success criterion that is met. Repeat it."] = (),
    unmet: Annotated[Texts, {"metavar": "NAME"}, "A success criterion that isn't met. Repeat it."] = (),
    iterate: Annotated[bool, "Begin its next iteration, also after it failed or was skipped."] = False,
    skip: Annotated[bool, "Leave it out of the run; --iterate brings it back."] = False,
    issue_url: Annotated[str, {"metavar": "URL"}, "The issue of its phase's milestone."] = "",
) -> Answer:
    """Record what task ID cost and met, iterate it, or leave it out.

    A task has the number that the task document gives it, such as 1.2. `holdfast next`, `done` and `update` start and
    end tasks.

    \b
    Examples:
      holdfast orchestrator task 1.2 --cost 0.20 --met migration_tested
      holdfast orchestrator task 1.3 --skip
    """
    if both := sorted(set(met) & set(unmet)):
        raise HoldfastError(f"name a criterion with --met or --unmet, not both: {', '.join(both)}")
    if skip and iterate:
        raise HoldfastError("a task is either skipped or iterated")
    if not (cost or met or unmet or iterate or skip or issue_url):
        raise HoldfastError(f"nothing to record; `{command_line('next', id_)}` shows what the task's agent is told")

    def edit(run: Run) -> None:
        run.task(id_)
        task_document.ensure_criteria(project, run, id_, (*met, *unmet))
        if cost:
            moves.price(run, id_, cost)
        if met or unmet:
            moves.judge_criteria(run, id_, {**dict.fromkeys(met, True), **dict.fromkeys(unmet, False)})
        if iterate:
            moves.iterate(run, id_)
        if skip:
            moves.skip(run, id_)
        if issue_url:
            moves.name_issue(run, id_, issue_url)

    workflow, _ = FORMAT.move(project, edit, why=f"orchestrator task {id_}")
    done = "is skipped" if skip else "begins its next iteration" if iterate else "is recorded"
    return Answer(f"Task {id_} {done}.", workflow)


def supervise(
    project: Records,
    check_type: Annotated[str, click.Choice(schema.CHECK_TYPES)],
    *,
    task_id: Task = "",
    conflict: Annotated[str | None, click.Choice(schema.CONFLICT_TYPES), "What the conflict is about."] = None,
    severity: Annotated[str | None, click.Choice(schema.SEVERITIES), "How bad it is."] = None,
    action: Annotated[str | None, click.Choice(schema.ACTIONS), "What was done."] = None,
    resolution: Annotated[str, {"metavar": "TEXT"}, "How it was resolved."] = "",
) -> Answer:
    """Record a supervisor's check, and the conflict that it found.

    Holdfast writes a checkpoint before it records a re-plan or a fix.

    \b
    Examples:
      holdfast orchestrator supervise pre_task --task 1.2
      holdfast orchestrator supervise post_task --conflict pattern \\
          --severity low --action auto_fix --resolution "Fixed naming in 3 files"
    """
    found = _conflict(conflict, severity, action, resolution)

    def before(run: Run) -> None:
        moves.ensure_open(run)
        run.checkpoint = _task(run, task_id)

    def edit(run: Run) -> None:
        supervision.supervise(run, check_type, _task(run, task_id), found)

    if found is not None and found.action != "pass":  # R003-33
        FORMAT.move(project, before, why="orchestrator supervise")
    workflow, _ = FORMAT.move(project, edit, why="orchestrator supervise")
    return Answer("The check is recorded.", workflow)


def _conflict(kind: str | None, severity: str | None, action: str | None, resolution: str) -> Conflict | None:
    """Return the conflict that was named, None for none. Raises HoldfastError if a part of it is missing."""
    if kind is None:
        if severity or action or resolution:
            raise HoldfastError("name what the conflict is about: --conflict")
        return None
    if severity is None or action is None or not resolution.strip():
        raise HoldfastError("a conflict needs --severity, --action and --resolution")
    return supervision.Conflict(kind, severity, action, resolution)


def learn(
    project: Records,
    kind: Annotated[str, {"metavar": "TYPE"}, click.Choice(schema.LEARNING_TYPES)],
    lesson: str,
    *,
    pattern: Annotated[str, {"metavar": "TEXT"}, "What to do in future tasks."] = "",
    context: Annotated[str, {"metavar": "TEXT"}, "Where it applies."] = "",
    task_id: Task = "",
) -> Answer:
    """Record a LESSON for the agents of its task and phase.

    TYPE is pattern, antipattern or insight.

    \b
    Example:
      holdfast orchestrator learn pattern "Tests need a database"
    """

    def edit(run: Run) -> None:
        moves.ensure_open(run)
        learnings.add(run, kind, lesson, pattern=pattern, context=context, task=_task(run, task_id))

    workflow, _ = FORMAT.move(project, edit, why="orchestrator learn")
    return Answer("The learning is recorded.", workflow)


def checkpoint(
    project: Records,
    name: Annotated[str, {"metavar": "[CHECKPOINT]"}] = "",
    *,
    task_id: Task = "",
    restore: Annotated[bool, "Go back to CHECKPOINT; by default to the newest one of this run."] = False,
    replace: Annotated[bool, "With --restore, archive an unfinished run first."] = False,
) -> Answer:
    """Write a checkpoint: a copy of the state with its commit. Or go back to one.

    Only the state goes back. Your project's files stay: Holdfast never runs git.

    \b
    Examples:
      holdfast orchestrator checkpoint
      holdfast orchestrator checkpoint --restore checkpoint-003.json
    """
    if restore:
        return _restored(project, name, replace=replace)
    if name:
        raise HoldfastError(f"to go back to {name}, add --restore")

    def edit(run: Run) -> None:
        run.checkpoint = _task(run, task_id)

    _, run = FORMAT.move(project, edit, why="orchestrator checkpoint")
    entry = values.objects(run.data["checkpoints"])[-1]
    commit = f" at commit {entry['git_sha'][:12]}" if entry["git_sha"] else ", without a commit"
    return Answer("\n".join([f"Wrote .claude/{entry['state_snapshot']}{commit}.", *run.messages]), data=entry)


def _restored(project: Records, name: str, *, replace: bool) -> Answer:
    """Make the state what a checkpoint holds, and say how to bring the files back too (R003-29, I003-9)."""
    snapshot = snapshots.choose(project, name)
    FORMAT.recover(project)
    place = snapshot.document.path.relative_to(project.root).as_posix()
    path, raw = schema.state_path(project.root), snapshot.document.raw
    restored = FORMAT.restore(project, path, raw, why=f"restore {snapshot.document.path.name}", replace=replace)
    head, sha = values.members(snapshot.document.data.get("orchestrator")), snapshot.git_sha
    at = f"{values.text(head.get('status'))}, task {values.text(head.get('current_task'))} of its phase"
    undo = "`holdfast restore` lists what it held before."
    lines = [
        f"Restored {place}: {at}.",
        f"What the state held is kept as {restored.aside.name}." if restored.aside else undo,
    ]
    if sha:
        lines += [
            f"The project was at commit {sha} then. To bring its files back as well, run: git reset --hard {sha}",
            "That discards uncommitted changes. Commit or stash them first (`git stash -u`). Holdfast never runs it.",
        ]
    return Answer("\n".join(lines), data={"checkpoint": place, "git_sha": sha})


def bounds(
    project: Records,
    *,
    iterations: Annotated[
        int | None, click.IntRange(min=1), {"metavar": "N"}, "How many iterations a task may take."
    ] = None,
    cost: Annotated[str | None, {"metavar": "$N"}, "What the run may cost."] = None,
    time: Annotated[str | None, {"metavar": "TIME"}, "How long the run may take, such as 3h."] = None,
) -> Answer:
    """Show the safety bounds, and how much of each is used. Or set bounds.

    Warnings that no longer hold go. They come again when the new bound is near.

    \b
    Examples:
      holdfast orchestrator bounds
      holdfast orchestrator bounds --cost 20 --time 3h
    """
    if iterations is not None or cost is not None or time is not None:
        workflow, _ = FORMAT.move(
            project,
            lambda run: safety.extend(run, iterations=iterations, cost=cost, time=time),
            why="orchestrator bounds",
        )
        return Answer("The bounds are set.", workflow)
    run = FORMAT.current(project)
    used = safety.used(run)
    lines = [f"{each.percent:>5.0f}%  {each.name}: {each.used} of {each.limit}" for each in used]
    lines += [f"{unknown}."] if (unknown := safety.unknown_costs(run)) else []
    rows = [
        {"bound": each.name, "percent": float(round(each.percent, 1)), "used": each.used, "limit": each.limit}
        for each in used
    ]
    return Answer("\n".join(lines), data=rows)


def _task(run: Run, id_: str) -> str:
    """Return the id of a task that the run has, by default of the one at work. Raises HoldfastError for another."""
    return run.task(id_).id if id_ else run.at_work()


VERBS = {
    "approve": approve,
    "task": task,
    "supervise": supervise,
    "learn": learn,
    "checkpoint": checkpoint,
    "bounds": bounds,
}
