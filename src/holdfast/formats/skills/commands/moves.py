"""`holdfast skills phase|step|task|tdd|checkpoint|pr|block|unblock`: move a workflow and record what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.skills import results, transitions
from holdfast.formats.skills.commands import targets
from holdfast.formats.skills.commands.targets import workflow_option

if TYPE_CHECKING:
    from holdfast.formats.skills.machine import Machine

PARTS = ("red", "green", "refactor", "commit")


@click.command()
@click.argument("name")
@click.option("--done", is_flag=True, help="Complete it, without beginning another one.")
@click.option("--set", "assignments", multiple=True, metavar="FIELD=VALUE", help="A field of it; VALUE may be JSON.")
@workflow_option
@options.json_option
@options.project_option
def phase(
    name: str, done: bool, assignments: tuple[str, ...], wanted: str | None, as_json: bool, project_dir: str | None
) -> None:
    """Go to phase NAME; the phase before it is completed.

    A transition that the skill's machine doesn't allow is refused, with those that it does.
    """
    project = options.open_project(project_dir)
    fields = options.as_context(assignments)

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if not (done and transitions.current(data) == name):
            transitions.enter(data, rules, name, at)
        if fields:
            results.fields(data, rules, fields, at)
        if done:
            transitions.complete(data, rules, name, at)

    workflow, changed = targets.move(project, wanted, edit, why=f"phase {name}")
    targets.tell(workflow, as_json, f"Phase {name} is {'completed' if done else 'in progress'}.", changed=changed)


@click.command()
@click.argument("name")
@workflow_option
@options.json_option
@options.project_option
def step(name: str, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Say that step NAME of the current phase is being worked on."""
    project = options.open_project(project_dir)
    workflow, changed = targets.move(
        project, wanted, lambda data, _, at: results.step(data, name, at), why=f"step {name}"
    )
    targets.tell(workflow, as_json, f"Step {name} is in progress.", changed=changed)


@click.command()
@click.argument("number", type=int)
@click.option("--start", "action", flag_value="start", help="Begin it.")
@click.option("--done", "action", flag_value="done", help="Complete it.")
@click.option("--reopen", "action", flag_value="reopen", help="Make it active again, though it is completed.")
@click.option("--commit", default="", metavar="SHA", help="The commit that has it; for --done.")
@workflow_option
@options.json_option
@options.project_option
def task(
    number: int, action: str | None, commit: str, wanted: str | None, as_json: bool, project_dir: str | None
) -> None:
    """Begin or complete task NUMBER, counted from 1."""
    if action is None:
        raise click.UsageError("say what to do with the task: --start, --done or --reopen")
    if commit and action != "done":
        raise click.UsageError("--commit belongs to a task that is completed; give it with --done")
    if any(each.isspace() for each in commit) or len(commit) > 64:
        raise click.BadParameter(f"{commit!r} is no commit's id", param_hint="--commit")
    project = options.open_project(project_dir)

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if action == "start":
            transitions.start_task(data, rules, number, at)
        elif action == "done":
            transitions.complete_task(data, number, at, commit=commit)
        else:
            transitions.reopen_task(data, rules, number, at)

    workflow, changed = targets.move(project, wanted, edit, why=f"task {number} {action}")
    word = {"start": "in progress", "done": "completed", "reopen": "in progress again"}[action]
    targets.tell(workflow, as_json, f"Task {number} is {word}.", changed=changed)


@click.command()
@click.argument("part", type=click.Choice(PARTS))
@click.option("--test-file", "--file", "file", default="", metavar="FILE", help="The test's file; in green the code's.")
@click.option("--test-name", "name", default="", metavar="NAME", help="The test's name.")
@click.option("--reason", default="", metavar="TEXT", help="Why the test fails.")
@click.option("--command", "ran", default="", metavar="COMMAND", help="The command that ran the tests.")
@click.option("--failing", multiple=True, metavar="TEST", help="A test that fails; repeat it.")
@click.option("--passing", multiple=True, metavar="TEST", help="A test that passes; repeat it.")
@workflow_option
@options.json_option
@options.project_option
def tdd(
    part: str,
    file: str,
    name: str,
    reason: str,
    ran: str,
    failing: tuple[str, ...],
    passing: tuple[str, ...],
    wanted: str | None,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Go to a part of the cycle, and record its test: red, green, refactor or commit.

    In a /tdd workflow these are the phases. In a /dev workflow they are parts of the task that is in progress.
    """
    project = options.open_project(project_dir)
    tests, doubts = results.Tests(file, name, reason, ran, failing, passing), list[str]()

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        doubts[:] = filter(None, [results.part(data, rules, part, tests, at)])

    workflow, changed = targets.move(project, wanted, edit, why=f"tdd {part}")
    targets.tell(workflow, as_json, f"{part.upper()} is in progress.", changed=changed, notes=doubts)


@click.command()
@click.argument("name")
@click.option("--passed/--failed", "passed", default=None, help="What came of it.")
@click.option("--count", type=int, help="How many tests ran.")
@click.option("--findings", metavar="TEXT", help="What a review found; may be JSON.")
@click.option("--issues", metavar="TEXT", help="What is to be simplified; may be JSON.")
@workflow_option
@options.json_option
@options.project_option
def checkpoint(
    name: str,
    passed: bool | None,
    count: int | None,
    findings: str | None,
    issues: str | None,
    wanted: str | None,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Record whether checkpoint NAME passed. One that failed keeps its phase from being completed."""
    if passed is None:
        raise click.UsageError("say what came of it: --passed or --failed")
    project = options.open_project(project_dir)
    given = [f"{key}={value}" for key, value in (("findings", findings), ("issues", issues)) if value is not None]
    more = ({} if count is None else {"count": count}) | options.as_context(given)
    workflow, changed = targets.move(
        project,
        wanted,
        lambda data, _, at: results.checkpoint(data, name, at, passed=passed, more=more),
        why=f"checkpoint {name}",
    )
    targets.tell(workflow, as_json, f"{name} {'passed' if passed else 'failed'}.", changed=changed)


@click.command()
@click.option("--number", type=click.IntRange(min=1), help="The pull request's number.")
@click.option("--url", default="", metavar="URL", help="Its address.")
@workflow_option
@options.json_option
@options.project_option
def pr(number: int | None, url: str, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Record the pull request."""
    if number is None and not url:
        raise click.UsageError("name the pull request: --number N, --url URL, or both")
    project = options.open_project(project_dir)
    workflow, changed = targets.move(
        project, wanted, lambda data, _, at: results.pull_request(data, number, url, at), why="pr"
    )
    targets.tell(workflow, as_json, "The pull request is recorded.", changed=changed)


@click.command()
@click.argument("reason")
@workflow_option
@options.json_option
@options.project_option
def block(reason: str, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Block the workflow because of REASON: nothing moves until it is unblocked."""
    if not reason.strip():
        raise HoldfastError("a blocked workflow needs a reason, which is shown at its resumption")
    project = options.open_project(project_dir)
    workflow, changed = targets.move(
        project, wanted, lambda data, _, at: transitions.block(data, reason, at), why="block", error=reason
    )
    targets.tell(workflow, as_json, "The workflow is blocked.", changed=changed)


@click.command()
@workflow_option
@options.json_option
@options.project_option
def unblock(wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Let a blocked workflow go on where it stopped."""
    project = options.open_project(project_dir)
    workflow, changed = targets.move(project, wanted, lambda data, _, at: transitions.unblock(data, at), why="unblock")
    targets.tell(workflow, as_json, "The workflow is unblocked.", changed=changed)


COMMANDS = (phase, step, task, tdd, checkpoint, pr, block, unblock)
