"""Manage the tasks of a session (.workflow/WFS-*/.task/IMPL-*.json).

The JSON files count. TODO_LIST.md is generated from them and never read back. Holdfast records the steps in a task's
flow_control. It never runs the commands in task files.

\b
Examples:
  holdfast start "User auth" --format wfs
  holdfast wfs task add "Write the login form" --agent @code-developer
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

import click

from holdfast import clock
from holdfast.errors import StateError
from holdfast.formats.wfs import choice, context, moves, paths, session, tree, view
from holdfast.formats.wfs.moves import NewTask
from holdfast.workflow import names, statefile, views
from holdfast.workflow.format import Answer
from holdfast.workflow.records import Records  # noqa: TC001 - the annotations of a verb are evaluated
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.formats.wfs.context import StepState
    from holdfast.formats.wfs.moves import Change
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.records import Outcome

Id = Annotated[str, {"metavar": "ID"}]
SessionName = Annotated[str, "--session", {"metavar": "NAME"}, "The session. Default: the active one."]
Many = {"metavar": "TEXT"}
_DESIGN = ("design", "ui-design")  # commands whose output is a folder (R002-34)
_DESCRIPTION_LIMIT_CHARS = 40  # characters of a description in a file's name
_LEADING_VERBS = frozenset(
    (
        *("add", "analyze", "analyse", "create", "debug", "explain", "explore", "extract", "find", "fix", "generate"),
        *("implement", "improve", "investigate", "migrate", "optimize", "refactor", "remove", "rename", "rewrite"),
        *("trace", "upgrade", "write"),
    )
)  # without words that are nouns as often


def add(
    project: Records,
    title: str,
    *,
    parent: Annotated[str, {"metavar": "ID"}, "Make it a subtask of this task."] = "",
    kind: Annotated[str | None, "--type", click.Choice(choice.TYPES), "Its type. Default: by its title."] = None,
    agent: Annotated[str, {"metavar": "@NAME"}, "Who works on it. Default: see above."] = "",
    requirements: Annotated[tuple[str, ...], "--require", Many, "A requirement. Repeat it."] = (),
    focus: Annotated[tuple[str, ...], {"metavar": "PATH"}, "A path to work on. Repeat it."] = (),
    acceptance: Annotated[tuple[str, ...], "--accept", Many, "How to tell that it is done. Repeat it."] = (),
    after: Annotated[tuple[str, ...], {"metavar": "ID"}, "A task that has to be completed before. Repeat it."] = (),
    session_name: SessionName = "",
) -> Answer:
    """Add a task called TITLE. Edit its file to change what it says, or to add more.

    Without --agent the title decides who works on it: @general-purpose if it begins with review or audit, and
    @test-fix-agent if it is about running or fixing tests. @action-planning-agent plans or designs a feature, and
    @code-developer does everything else.

    \b
    Example:
      holdfast wfs task add "Write the login form" --accept "Tests pass"
    """
    new = [NewTask(title, kind or "", choice.at(agent), requirements, focus, acceptance, after)]
    with moves.changing(project, session.current(project, session_name), why="add a task") as change:
        added = moves.decompose(change, parent, new) if parent else moves.chain(change, new)
    return _answer(change, added, "added")


def decompose(project: Records, id_: Id, *titles: str, session_name: SessionName = "") -> Answer:
    """Split task ID into subtasks called TITLES.

    The task becomes a container. Each subtask inherits its context.

    \b
    Example:
      holdfast wfs task decompose IMPL-1 "Draw the form" "Check the input"
    """
    with moves.changing(project, session.current(project, session_name), why=f"decompose {id_}") as change:
        added = moves.decompose(change, id_, [NewTask(each) for each in titles])
    return _answer(change, added, "added")


def complete(
    project: Records,
    id_: Id,
    *,
    summary: Annotated[str, Many, "The result, for tasks that depend on it."] = "",
    session_name: SessionName = "",
) -> Answer:
    """Complete task ID, whichever is current, and write its summary.

    \b
    Example:
      holdfast wfs task complete IMPL-1 --summary "The form is in src/login.html"
    """
    with moves.changing(project, session.current(project, session_name), why=f"complete {id_}") as change:
        task = change.tree.find(id_)
        waits = ", ".join(change.tree.waits_for(task))
        states = context.step_states(project, view.key(change.session), task)
        moves.complete(change, id_, summary)
    left = [f"{each.name} ({each.state})" for each in states if not each.is_over]
    notes = [f"{task.id} depends on {waits}, which is not completed"] if waits else []
    notes += [f"these steps were left out: {', '.join(left)}"] if left else []
    if summary.strip() and not change.written:
        notes.append("its summary stays as it was; edit the file to change it")
    return _answer(change, [task.id], "completed", notes)


def step(
    project: Records,
    id_: Id,
    name: Annotated[str, {"metavar": "STEP"}],
    *,
    output: Annotated[str, Many, "The step's output."] = "",
    failed: Annotated[bool, "The step failed. Its on_error says what that means."] = False,
    skipped: Annotated[bool, "The step was left out on purpose."] = False,
    session_name: SessionName = "",
) -> Answer:
    """Record the result of a STEP of task ID.

    Its output becomes the [variable] that its output_to names. Whoever works on the task takes its steps. Holdfast runs
    none of them.

    \b
    Example:
      holdfast wfs task step IMPL-1 check --output "2 patterns found"
    """
    now = session.current(project, session_name)
    now.ensure_open()
    task = tree.read(project, now.folder).find(id_)
    outcome: Outcome = "failed" if failed else "skipped" if skipped else "completed"
    states = context.record_step(project, view.key(now), task, name, outcome, output)
    lines = [*_step_lines(states), *_stopped(project, now, task, states, name)]
    return Answer("\n".join(lines), data=[_step_row(each) for each in states])


def show(project: Records, id_: Annotated[str, {"metavar": "[ID]"}] = "", *, session_name: SessionName = "") -> Answer:
    """List a session's tasks, or print all of task ID.

    A container's status follows from its subtasks. A task is printed with all that it inherits and its [variables]
    filled in.

    \b
    Example:
      holdfast wfs task show IMPL-1
    """
    now = session.current(project, session_name)
    tasks = tree.read(project, now.folder)
    if not id_:
        lines = [session.detected([now.name]) if now.standing == "active" else f"{now.name} is {now.standing}"]
        lines += [_line(tasks, each) for each in tasks.tasks]
        lines += [f"problem: {each.path.name}: {each.reason}" for each in tasks.problems]
        return Answer("\n".join(lines), data=[_row(tasks, each) for each in tasks.tasks])
    task = tasks.find(id_)
    states = context.step_states(project, view.key(now), task)
    whole = context.for_agent(project, now, tasks, task, context.step_outputs(states))
    extra = {"status": _row(tasks, task), "steps": [_step_row(each) for each in states]}
    return Answer("\n".join([*whole.lines(), *_step_lines(states)]), data=whole.as_json() | extra)


def scratch(
    project: Records,
    command_name: Annotated[str, {"metavar": "COMMAND"}],
    description: str,
    *,
    unrelated: Annotated[bool, "The output has nothing to do with the active session."] = False,
) -> Answer:
    """Print the path for the output of COMMAND.

    It is in the .chat/ of the active session, else in .scratchpad/. Holdfast makes the folder. You write the file. A
    leading verb of DESCRIPTION is left out: "trace auth flow" becomes auth-flow.

    \b
    Example:
      holdfast wfs scratch code-analysis "trace auth flow"
    """
    path = scratch_path(project, command_name, description, clock.now(), unrelated=unrelated)
    return Answer(paths.shown(project, path), data={"path": str(path)})


GROUPS = {
    "task": """Add, split, show and complete tasks.

    A task's id is IMPL-N, a subtask's IMPL-N.M.

    \b
    Example:
      holdfast wfs task add "Build login page"
    """
}
VERBS = {
    "task add": add,
    "task decompose": decompose,
    "task complete": complete,
    "task step": step,
    "task show": show,
    "scratch": scratch,
}


def _answer(change: Change, ids: Sequence[str], what: str, notes: Sequence[str] = ()) -> Answer:
    workflow = view.workflow(change.project, change.session, change.tree)
    change.project.observe(workflow)
    verb, tasks = what if change.written else f"already {what}", list(map(change.tree.find, ids))
    every = (*notes, *change.notes)
    data = {
        "changed": change.written,
        "tasks": [_row(change.tree, each) for each in tasks],
        "session": workflow.id,
        "current_tasks": [each.id for each in change.tree.current],
        "notes": list(every),
    }
    text = "\n".join(f"{each.id} {quoted(each.title)} is {verb}." for each in tasks)
    return Answer(text, replace(workflow, warnings=(*every, *workflow.warnings)), data)


def _stopped(project: Records, now: Session, task: Task, states: Sequence[StepState], name: str) -> list[str]:
    """Block a task whose step failed, if its `on_error` says so (R002-26); return what to tell the user."""
    failed = next(each for each in states if each.name == name)
    if failed.run is None or failed.run.outcome != "failed":
        return []
    goes_on = {"retry": "try it once more", "skipped": "it is optional, so go on with the next"}
    if failed.state in goes_on:
        return [f"{name} failed: {goes_on[failed.state]}."]
    with moves.changing(project, now, why=f"block {task.id}") as change:
        moves.block(change, task.id)
    reason = f"step {name} failed" + (", and a person has to decide" if failed.state == "manual" else "")
    project.observe(view.workflow(project, change.session, change.tree), error=reason)
    return [f"{task.id} is blocked: {reason}. `holdfast update --phase {task.id} --status active` continues it."]


def _row(tasks: Tree, task: Task) -> dict[str, Any]:
    """Return a task's row for --json."""
    return {
        "id": task.id,
        "title": task.title,
        "status": "container" if tasks.is_container(task) else task.raw_status or task.status,
        "progress": tasks.status(task),
        "type": task.file.meta.type,
        "agent": task.agent,
        "parent": tasks.parent_id(task) or None,
        "depends_on": list(task.depends_on),
        "waits_for": [] if task.status == "completed" else tasks.waits_for(task),
    }


def _line(tasks: Tree, task: Task) -> str:
    """Return a task as one line; a subtask is indented."""
    indent = "  " if tasks.parent(task) else ""
    sign = "[+]" if tasks.is_container(task) else views.MARKS.get(task.status, views.MARKS["pending"])
    waits = tasks.waits_for(task) if task.status == "pending" and not tasks.is_container(task) else []
    behind = f"  (waits for {', '.join(waits)})" if waits else ""
    return f"{indent}{sign} {task.id}  {task.title}  [{tasks.status(task)}]  {task.agent}{behind}".rstrip()


def _step_row(state: StepState) -> dict[str, Any]:
    """Return a step's row for --json, with its recorded result."""
    fields = {
        "name": state.name,
        "action": state.step.action,
        "commands": list(state.step.commands),
        "output_to": state.step.output_to,
        "on_error": state.step.on_error,
    }
    return fields | {"state": state.state, "run": state.run._asdict() if state.run else None}


def _step_lines(states: Sequence[StepState]) -> list[str]:
    """Return each step as one line, with its state."""
    lines = []
    for number, each in enumerate(states, 1):
        variable = f" -> [{each.step.output_to}]" if each.step.output_to else ""
        error = f", on error {each.step.on_error}" if each.step.on_error != "fail" else ""
        lines.append(f"{number}. {each.name}: {each.step.action}{variable} ({each.state}{error})")
    return lines


def scratch_path(
    project: Records, command: str, description: str, moment: datetime, *, unrelated: bool = False
) -> Path:
    """Return the path for an output, and create its folder, which is needed now (R002-39).

    Output that is related to the active session goes to its `.chat/` (R002-36), anything else to the scratchpad
    (R002-35), which is never cleaned up (R002-38). A design gets its own folder, in the session or in `.design/`
    (I002-18). A command's name is what follows its last colon (I002-17).

    Args:
        project: the project.
        command: the command that made it, such as `/cli:mode:code-analysis`.
        description: what it is about.
        moment: when it was made, in UTC.
        unrelated: whether it has nothing to do with the active session.

    Raises:
        StateError: the folder can't be created.
    """
    name, top = names.words(command.rpartition(":")[2]) or "output", paths.top(project)
    stamp = moment.strftime("%Y%m%d-%H%M%S")  # R002-37
    active = [each for each in session.active(project) if (top / each).is_dir()]
    folder = top / active[0] if len(active) == 1 and not unrelated else None
    if name in _DESIGN:
        design = folder / f"design-{stamp}" if folder else top / paths.DESIGN / f"run-{stamp}"
        return _create(project, _free(design, ""))
    if folder:
        return _free(_create(project, folder / paths.CHAT) / f"{name}-{stamp}", ".md")
    stem = "-".join(filter(None, (name, _short(description), stamp)))
    return _free(_create(project, top / paths.SCRATCH) / stem, ".md")


def _short(description: str) -> str:
    """Return a description for file names, without its leading verb if other words are left (I002-19)."""
    words = names.words(description).split("-")
    if len(words) > 1 and words[0] in _LEADING_VERBS:
        del words[0]
    return paths.cut("-".join(words), _DESCRIPTION_LIMIT_CHARS)


def _create(project: Records, folder: Path) -> Path:
    statefile.guard(project.root, folder / "x")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(folder, f"cannot be made: {error.strerror or error}") from error
    return folder


def _free(path: Path, ending: str) -> Path:
    """Return a path with an ending, and with a number if it exists already."""
    tried = (path.with_name(f"{path.name}{'' if number == 1 else f'-{number}'}{ending}") for number in count(1))
    return next(each for each in tried if not os.path.lexists(each))
