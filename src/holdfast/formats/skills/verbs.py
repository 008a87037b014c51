"""Move workflows of skills such as /dev and /tdd (.claude/workflow-state/).

A skill's phases, checkpoints and transitions are its machine, a TOML file.
Holdfast ships dev and tdd. Your own skill needs no code.

\b
Examples:
  holdfast skills start dev features/login.md
  holdfast skills phase create_branch
  holdfast skills task 1 --start
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from holdfast import clock
from holdfast.errors import HoldfastError, TransitionError, command_line
from holdfast.files import access
from holdfast.formats.skills import display, moves, results, upkeep, view
from holdfast.formats.skills.format import CORRUPTED, FORMAT
from holdfast.formats.skills.schema import TASK_ID, status_of
from holdfast.workflow import values, verbs
from holdfast.workflow.format import Answer
from holdfast.workflow.model import Start, Workflow  # the commands read the annotations
from holdfast.workflow.records import Records  # noqa: TC001 - likewise
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.formats.skills.schema import State

PARTS = ("red", "green", "refactor", "commit")
_Many = tuple[str, ...]


def start(
    project: Records,
    skill: str,
    about: str,
    *,
    phases: Annotated[
        _Many,
        "--phase",
        {"metavar": "TITLE"},
        "A task, or a phase of a skill without a machine. Repeat it. Default: the checkboxes of the feature file.",
    ] = (),
    assignments: Annotated[_Many, "--set", {"metavar": "K=V"}, "A context value. V may be JSON."] = (),
    yes: Annotated[bool, "Continue the unfinished workflow without the question."] = False,
) -> Answer:
    """Show the unfinished workflow of SKILL, or start one.

    ABOUT is a feature file, a folder of feature files, or a task. First this
    removes workflows that were finished more than a day ago or that nobody
    touched for a week.

    \b
    Examples:
      holdfast skills start dev features/login.md
      holdfast skills start dev features/login.md --yes
      holdfast skills start tdd "Add a login method"
    """
    if not about.strip():
        raise HoldfastError("say what it is about: a feature file, a folder of them, or a task")
    request = Start(
        about, kind=skill, phases=tuple((each, "") for each in phases), context=values.assigned(assignments)
    )
    stem = FORMAT.location(project, request).stem
    found = {each.path: each for name in (about, stem) for each in FORMAT.asked(project, skill, name)}
    if len(found) > 1:
        ids = ", ".join(f"{each.path.stem} ({quoted(each.title)})" for each in found.values())
        raise HoldfastError(f"several workflows fit: {ids}; name one by its id")
    old = [each for each in upkeep.old_ones(FORMAT, project) if each.path not in found]
    upkeep.remove(FORMAT, project, old)
    lines = [*filter(None, [upkeep.summary(old)]), display.CHECKING]
    workflow = next(iter(found.values()), None)
    if workflow is None or workflow.recovered:
        if about.endswith(".md") and not access.is_there(project.root / about):
            raise HoldfastError(f"there is no {about} in the project; correct the path of the feature file")
        made = FORMAT.start(project, request)
        begun = verbs.begin(project, made)
        news = [each for each in made.warnings if each not in begun.warnings]
        lines += [] if any(each.startswith(CORRUPTED) for each in news) else [display.STARTING]
        return Answer("\n".join([*lines, *news]), begun)
    state, now = view.state_of(workflow), clock.now()
    lines += ["", *display.found(project.root, state, now), "", *_branches(project, state)]
    if not yes:
        question = display.question(state)
        way = f"`{command_line('skills', 'start', skill, about, '--yes')}` continues it."
        return Answer("\n".join([*lines, question, way]), data={"shown": lines, "question": question})
    task = "none" if state.current_task is None else state.current_task
    lines += [*display.resumed(project.root, state, now), display.RESUMING, f"Current phase: {state.current}"]
    return Answer("\n".join([*lines, f"Current task: {task}"]), workflow)


def phase(
    project: Records,
    workflow: Workflow,
    name: str,
    *,
    step: Annotated[str, {"metavar": "STEP"}, "The step of the phase that work has begun on."] = "",
    done: Annotated[bool, "Complete this phase, and begin no other."] = False,
) -> Answer:
    """Go to phase NAME, and complete the phase before it.

    A transition that the skill's machine doesn't allow is refused. The message
    names those that it allows.

    \b
    Examples:
      holdfast skills phase create_branch
      holdfast skills phase verification --step lint
      holdfast skills phase verification --done
    """

    def edit(state: State) -> None:
        if not (done and state.current == name):
            moves.enter(state, name)
        if step:
            results.step(state, step)
        if done:
            moves.complete(state, name)

    return _moved(
        project, workflow, edit, f"phase {name}", f"Phase {name} is {'completed' if done else 'in progress'}."
    )


def task(
    project: Records,
    workflow: Workflow,
    number: Annotated[int, click.INT],
    *,
    start: Annotated[bool, "Begin it."] = False,
    done: Annotated[bool, "Complete it."] = False,
    reopen: Annotated[bool, "Make a completed task active again."] = False,
    commit: Annotated[str, {"metavar": "SHA"}, "The commit of the task. Use it with --done."] = "",
) -> Answer:
    """Begin, complete or reopen a task. Tasks count from 1.

    \b
    Examples:
      holdfast skills task 1 --start
      holdfast skills task 1 --done --commit 172c0b0
    """
    if [start, done, reopen].count(True) != 1:
        raise HoldfastError("say what to do with the task: --start, --done or --reopen")
    if commit and not done:
        raise HoldfastError("--commit needs --done")
    if any(each.isspace() for each in commit) or len(commit) > 64:
        raise HoldfastError(f"{commit!r} isn't a commit id")

    def edit(state: State) -> None:
        if start:
            moves.start_task(state, number)
        elif done:
            moves.complete_task(state, number, commit=commit)
        elif (status := status_of(state.task(number))) != "completed":
            raise TransitionError(
                f"task {number} is {status.replace('_', ' ')}, and only a completed one can be reopened"
            )
        else:
            moves.reopen_unit(state, f"{TASK_ID}{number}")

    word = "in progress" if start else "completed" if done else "in progress again"
    return _moved(project, workflow, edit, f"task {number}", f"Task {number} is {word}.")


def tdd(
    project: Records,
    workflow: Workflow,
    part: Annotated[str, click.Choice(PARTS)],
    *,
    file: Annotated[str, {"metavar": "FILE"}, "The file of the test; in green, the file of the code."] = "",
    test_name: Annotated[str, {"metavar": "NAME"}, "The name of the test."] = "",
    reason: Annotated[str, {"metavar": "TEXT"}, "Why the test fails."] = "",
    command: Annotated[str, {"metavar": "COMMAND"}, "The command that ran the tests."] = "",
    failing: Annotated[_Many, {"metavar": "TEST"}, "A test that fails. Repeat it."] = (),
    passing: Annotated[_Many, {"metavar": "TEST"}, "A test that passes. Repeat it."] = (),
) -> Answer:
    """Go to PART of the test-driven cycle, and record its test.

    In a /tdd workflow the parts are the phases. In a /dev workflow they are parts
    of the active task.

    \b
    Example:
      holdfast skills tdd red --test-name test_login --reason "no method login"
    """
    tests, doubts = results.Tests(file, test_name, reason, command, failing, passing), list[str]()

    def edit(state: State) -> None:
        doubts[:] = filter(None, [results.part(state, part, tests)])

    answer = _moved(project, workflow, edit, f"tdd {part}", f"{part.upper()} is in progress.")
    return answer._replace(text="\n".join([answer.text, *(f"warning: {each}" for each in doubts)]))


def checkpoint(
    project: Records,
    workflow: Workflow,
    name: str,
    *,
    passed: Annotated[bool, "It passed."] = False,
    failed: Annotated[bool, "It failed."] = False,
    assignments: Annotated[
        _Many, "--set", {"metavar": "FIELD=VALUE"}, "A field of the checkpoint. VALUE may be JSON."
    ] = (),
) -> Answer:
    """Record whether checkpoint NAME passed.

    A phase can't be completed while one of its checkpoints is pending or failed.

    \b
    Examples:
      holdfast skills checkpoint test --passed --set count=42
      holdfast skills checkpoint pr --passed --set pr_number=7
    """
    if passed is failed:
        raise HoldfastError("say how it ended: --passed or --failed")
    fields = values.assigned(assignments)
    return _moved(
        project,
        workflow,
        lambda state: results.checkpoint(state, name, passed=passed, fields=fields),
        f"checkpoint {name}",
        f"{name} {'passed' if passed else 'failed'}.",
    )


def pending(project: Records, workflow: Workflow) -> Answer:
    """Print the checkpoints that haven't run yet, in order.

    \b
    Example:
      holdfast skills pending
    """
    state = view.state_of(workflow)
    names = state.open_checkpoints(state.checkpoints).get("pending", [])
    return Answer("\n".join(names) or "No checkpoint is pending.", data=names)


VERBS = {"start": start, "phase": phase, "task": task, "tdd": tdd, "checkpoint": checkpoint, "pending": pending}


def _moved(project: Records, workflow: Workflow, edit: Callable[[State], None], why: str, text: str) -> Answer:
    """Change a workflow, and return the answer to a command."""
    now, changed, _ = FORMAT.edit(project, workflow, lambda draft: edit(draft.state), why=why)
    return Answer(text if changed else f"{text} Nothing changed.", now)


def _branches(project: Records, state: State) -> list[str]:
    """Return the document's lines about a workflow of another branch (R004-41); none if it is of this one."""
    text = view.mismatch(state, project.branch)
    if not text and state.branch and project.in_git and project.branch is None:
        text = f"State is for branch '{state.branch}' but no branch is checked out"
    if not text:
        return []
    return [f"⚠️ {text}", f"Options: 1) Switch to {state.branch}  2) Abandon state and start fresh", ""]
