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
@click.option("--done", is_flag=True, help="Complete this phase, and begin no other.")
@click.option(
    "--set", "assignments", multiple=True, metavar="FIELD=VALUE", help="A field of the phase. VALUE may be JSON."
)
@workflow_option
@options.json_option
@options.project_option
def phase(
    name: str, done: bool, assignments: tuple[str, ...], wanted: str | None, as_json: bool, project_dir: str | None
) -> None:
    """Go to phase NAME, and complete the phase before it.

    A transition that the skill's machine doesn't allow is refused. The message
    names those that it allows.

    \b
    Examples:
      holdfast skills phase create_branch
      holdfast skills phase verification --done
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
    """Record that work on step NAME of the phase has begun.

    \b
    Example:
      holdfast skills step lint
    """
    project = options.open_project(project_dir)
    workflow, changed = targets.move(
        project, wanted, lambda data, _, at: results.step(data, name, at), why=f"step {name}"
    )
    targets.tell(workflow, as_json, f"Step {name} is in progress.", changed=changed)


@click.command()
@click.argument("number", type=int)
@click.option("--start", "action", flag_value="start", help="Begin it.")
@click.option("--done", "action", flag_value="done", help="Complete it.")
@click.option("--reopen", "action", flag_value="reopen", help="Make a completed task active again.")
@click.option("--commit", default="", metavar="SHA", help="The commit of the task. Use it with --done.")
@workflow_option
@options.json_option
@options.project_option
def task(
    number: int, action: str | None, commit: str, wanted: str | None, as_json: bool, project_dir: str | None
) -> None:
    """Begin, complete or reopen a task. Tasks count from 1.

    \b
    Examples:
      holdfast skills task 1 --start
      holdfast skills task 1 --done --commit 172c0b0
    """
    if action is None:
        raise click.UsageError("say what to do with the task: --start, --done or --reopen")
    if commit and action != "done":
        raise click.UsageError("--commit needs --done")
    if any(each.isspace() for each in commit) or len(commit) > 64:
        raise click.BadParameter(f"{commit!r} isn't a commit id", param_hint="--commit")
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
@click.option("--file", default="", metavar="FILE", help="The file of the test; in green, the file of the code.")
@click.option("--test-name", "name", default="", metavar="NAME", help="The name of the test.")
@click.option("--reason", default="", metavar="TEXT", help="Why the test fails.")
@click.option("--command", "ran", default="", metavar="COMMAND", help="The command that ran the tests.")
@click.option("--failing", multiple=True, metavar="TEST", help="A test that fails. Repeat it.")
@click.option("--passing", multiple=True, metavar="TEST", help="A test that passes. Repeat it.")
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
    """Go to a part of the test-driven cycle, and record its test.

    In a /tdd workflow the parts are the phases. In a /dev workflow they are parts
    of the active task.

    \b
    Example:
      holdfast skills tdd red --test-name test_login --reason "no method login"
    """
    project = options.open_project(project_dir)
    tests, doubts = results.Tests(file, name, reason, ran, failing, passing), list[str]()

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        doubts[:] = filter(None, [results.part(data, rules, part, tests, at)])

    workflow, changed = targets.move(project, wanted, edit, why=f"tdd {part}")
    targets.tell(workflow, as_json, f"{part.upper()} is in progress.", changed=changed, notes=doubts)


@click.command()
@click.argument("name")
@click.option("--passed/--failed", "passed", default=None, help="The result.")
@click.option("--count", type=click.IntRange(min=0), help="How many tests ran.")
@click.option("--findings", metavar="TEXT", help="What a review found. It may be JSON.")
@click.option("--issues", metavar="TEXT", help="What is to be simplified. It may be JSON.")
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
    """Record whether checkpoint NAME passed.

    A phase can't be completed while one of its checkpoints is pending or failed.

    \b
    Example:
      holdfast skills checkpoint test --passed --count 42
    """
    if passed is None:
        raise click.UsageError("say how it ended: --passed or --failed")
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
@click.option("--url", default="", metavar="URL", help="The URL of the pull request.")
@workflow_option
@options.json_option
@options.project_option
def pr(number: int | None, url: str, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Record the pull request.

    \b
    Example:
      holdfast skills pr --number 7
    """
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
    """Block the workflow until `unblock`.

    \b
    Example:
      holdfast skills block "The API key is missing"
    """
    if not reason.strip():
        raise HoldfastError("say what blocks the workflow; REASON is empty")
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
    """Continue a blocked workflow where it stopped.

    \b
    Example:
      holdfast skills unblock
    """
    project = options.open_project(project_dir)
    workflow, changed = targets.move(project, wanted, lambda data, _, at: transitions.unblock(data, at), why="unblock")
    targets.tell(workflow, as_json, "The workflow is unblocked.", changed=changed)


COMMANDS = (phase, step, task, tdd, checkpoint, pr, block, unblock)
