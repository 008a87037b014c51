"""`holdfast wfs task …`: the tasks of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast.commands import options, workflow_commands
from holdfast.formats.wfs import check, context, index, store, transitions
from holdfast.formats.wfs import next as wfs_next
from holdfast.formats.wfs import steps as wfs_steps
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.commands import content as contents
from holdfast.formats.wfs.commands import pages, steps, targets
from holdfast.formats.wfs.edit import Edit
from holdfast.formats.wfs.task import New
from holdfast.sessions import phases
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.transitions import After
    from holdfast.sessions.workspace import Workspace


@click.group(name="task")
def task() -> None:
    """Manage the tasks of a session.

    A task's id is IMPL-N, a subtask's IMPL-N.M.

    \b
    Example:
      holdfast wfs task add "Write the login form"
    """


for each in (steps.step, steps.resolve):
    task.add_command(each)


@task.command()
@click.argument("title")
@click.option("--parent", default="", metavar="ID", help="Make it a subtask of this task.")
@contents.content_options
@targets.session_option
@options.json_option
@options.project_option
def add(title: str, parent: str, name: str | None, as_json: bool, project_dir: str | None, **content: Any) -> None:
    """Add a task called TITLE.

    Without --agent the title decides who works on it: @general-purpose if it begins with review or audit, and
    @test-fix-agent if tests are to be run or fixed. @action-planning-agent plans or designs a feature, and
    @code-developer does everything else.

    \b
    Example:
      holdfast wfs task add "Write the login form" --accept "Tests pass"
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    given = contents.given(content)
    parts = {part: given.pop(option, default) for option, (part, default) in contents.OF_NEW.items()}
    _tell(project, transitions.add(project, session, New(title, **parts), parent, Edit(given)), as_json, "added")


@task.command(name="set")
@targets.id_argument
@click.option("--title", metavar="TEXT", help="A new title.")
@contents.content_options
@click.option(
    "--remove",
    multiple=True,
    metavar="OPTION[=VALUE]",
    help="Remove a value, or all values of an option: step=NAME, context.",
)
@targets.session_option
@options.json_option
@options.project_option
def change(
    id_: str,
    title: str | None,
    remove: tuple[str, ...],
    name: str | None,
    as_json: bool,
    project_dir: str | None,
    **content: Any,
) -> None:
    """Change the content of task ID, but not its status.

    Title, type, agent and approach are replaced. Everything else is added. A step of the same name, an artifact of the
    same path and a context value of the same key are changed. --remove is applied first, so "--remove require --require
    TEXT" replaces all requirements.

    \b
    Examples:
      holdfast wfs task set IMPL-2 --target-file src/auth.py:login --context ttl=5
      holdfast wfs task set IMPL-2 --step check --action "Look for patterns" \\
          --command "rg auth src" --output-to patterns --on-error retry_once
      holdfast wfs task set IMPL-2 --remove step=check --remove artifact
    """
    project = options.open_project(project_dir)
    given = contents.given(content) | ({"title": title} if title is not None else {})
    removed = [contents.removal(each) for each in remove]
    if not given and not removed:
        raise click.UsageError("nothing to change; --help lists what you can change")
    after = transitions.change(project, store.current(project, name), id_, Edit(given, removed))
    _tell(project, after, as_json, "changed" if after.changed else "unchanged")


@task.command()
@targets.id_argument
@click.argument("titles", nargs=-1, required=True, metavar="TITLE…")
@targets.session_option
@options.json_option
@options.project_option
def decompose(id_: str, titles: tuple[str, ...], name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Split task ID into subtasks.

    The task becomes a container. Each subtask inherits its context.

    \b
    Example:
      holdfast wfs task decompose IMPL-1 "Draw the form" "Check the input"
    """
    project = options.open_project(project_dir)
    after = transitions.decompose(project, store.current(project, name), id_, [New(title) for title in titles])
    _tell(project, after, as_json, "added")


@task.command()
@targets.id_argument
@click.option("--anyway", is_flag=True, help="Begin it even if it waits for other tasks.")
@targets.session_option
@options.json_option
@options.project_option
def start(id_: str, anyway: bool, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Begin task ID.

    \b
    Example:
      holdfast wfs task start IMPL-1
    """
    project = options.open_project(project_dir)
    _tell(project, transitions.begin(project, store.current(project, name), id_, anyway=anyway), as_json, "active")


@task.command()
@targets.id_argument
@targets.session_option
@options.json_option
@options.project_option
def reopen(id_: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Make completed task ID active again.

    This is for people. No hook does it.

    \b
    Example:
      holdfast wfs task reopen IMPL-1
    """
    project = options.open_project(project_dir)
    after = transitions.begin(project, store.current(project, name), id_, anyway=True, reopen=True)
    _tell(project, after, as_json, "active")


@task.command()
@targets.id_argument
@click.option(
    "--summary",
    default="",
    metavar="TEXT",
    help="The result, for tasks that depend on it. - reads stdin, @FILE a file.",
)
@targets.session_option
@options.json_option
@options.project_option
def complete(id_: str, summary: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Complete task ID and write its summary.

    \b
    Example:
      holdfast wfs task complete IMPL-1 --summary "The form is in src/login.html"
    """
    project = options.open_project(project_dir)
    session, board, found, steps = targets.find_task(project, name, id_)
    waits = board.waits_for(found)
    notes = [f"{found.id} depends on {', '.join(waits)}, which is not completed"] if waits else []
    left = [f"{each.step.name} ({each.state})" for each in steps if not each.over]
    notes += [f"these steps were left out: {', '.join(left)}"] if left else []
    text = targets.text(project, summary)
    after = transitions.complete(project, session, id_, text)
    if text.strip() and not after.changed:
        notes.append("its summary stays as it was; edit the file to change it")
    _tell(project, after, as_json, "completed", notes=notes)


@task.command()
@targets.id_argument
@click.option("--reason", default="", metavar="TEXT", help="What blocks it. The ledger stores it.")
@targets.session_option
@options.json_option
@options.project_option
def block(id_: str, reason: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Block task ID until it is begun again.

    \b
    Example:
      holdfast wfs task block IMPL-1 --reason "The API key is missing"
    """
    project = options.open_project(project_dir)
    after = transitions.block(project, store.current(project, name), id_)
    _tell(project, after, as_json, "blocked", error=reason)


@task.command(name="list")
@targets.session_option
@options.json_option
@options.project_option
def listed(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """List the tasks with their statuses.

    The status of a container follows from its subtasks.

    \b
    Example:
      holdfast wfs task list
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    board = index.board(project, session.folder)
    if as_json:
        options.print_json([pages.task_row(board, each) for each in board.tasks])
        return
    lines = [pages.line(board, each) for each in board.tasks]
    lines += [f"problem: {problem.path.name}: {problem.reason}" for problem in board.problems]
    options.say("\n".join(lines) or f"{session.name} has no tasks. `holdfast wfs task add TITLE` adds one.")


@task.command()
@targets.id_argument
@click.option(
    "--for-agent", is_flag=True, help="Print it as its agent gets it, with what it inherits and variables filled in."
)
@targets.session_option
@options.json_option
@options.project_option
def show(id_: str, for_agent: bool, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Show task ID: status, context, steps, and what it waits for.

    Holdfast shows the commands of its steps and never runs them.

    \b
    Example:
      holdfast wfs task show IMPL-1 --for-agent
    """
    project = options.open_project(project_dir)
    session, board, found, steps = targets.find_task(project, name, id_)
    given = context.task_context(project, session, board, found, wfs_steps.outputs(steps))
    if for_agent:
        options.print_json(given.as_json())
    elif as_json:
        options.print_json(
            pages.task_row(board, found) | {"file": given.task, "steps": [pages.step_row(each) for each in steps]}
        )
    else:
        options.say("\n".join(pages.page(board, found, given, steps)))


@task.command(name="next")
@targets.session_option
@options.json_option
@options.project_option
def following(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """List the tasks that can be begun now.

    They can be worked on in parallel.

    \b
    Example:
      holdfast wfs task next
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    board = index.board(project, session.folder)
    active = board.active
    ready = board.executable
    if as_json:
        rows = {
            "active": [pages.task_row(board, each) for each in active],
            "ready": [pages.task_row(board, each) for each in ready],
        }
        options.print_json(rows | {"reason": "" if active or ready else wfs_next.nothing_due(board)})
        return
    lines = [f"active: {pages.line(board, each).strip()}" for each in active]
    lines += [f"ready:  {pages.line(board, each).strip()}" for each in ready]
    options.say("\n".join(lines) or f"{session.name}: {wfs_next.nothing_due(board)}.")


@task.command()
@targets.session_option
@options.json_option
@options.project_option
def validate(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Check the tasks against the nine rules.

    The exit code is 1 if one breaks a rule.

    \b
    Example:
      holdfast wfs task validate
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    found = check.tasks(project, session.folder)
    pages.print_findings(found, f"No task of {session.name} breaks a rule.", as_json=as_json)


def _tell(
    project: Workspace, after: After, as_json: bool, what: str, error: str = "", notes: Sequence[str] = ()
) -> None:
    workflow = views.workflow(project, after.session, after.board)
    phases.observe(project, workflow, error=error)
    workflow_commands.take(project, workflow)
    if as_json:
        options.print_json(
            {
                "changed": after.changed,
                "tasks": [pages.task_row(after.board, each) for each in after.tasks],
                "session": workflow.id,
            }
            | {"current_tasks": [each.id for each in after.board.current], "notes": [*notes, *after.notes]}
            | ({"changes": list(after.changes)} if what in ("changed", "unchanged") else {})
        )
        return
    verb = what if after.changed or what == "unchanged" else f"already {what}"
    lines = [f"{_named(each)} is {verb}." for each in after.tasks]
    lines += [f"  {each}" for each in after.changes]
    ready = [each for each in after.board.executable if each not in after.tasks]
    if ready and what not in ("added", "changed", "unchanged"):
        lines.append(f"Ready now: {', '.join(map(_named, ready[:5]))}{', …' if len(ready) > 5 else ''}")
    options.say("\n".join([*lines, *(f"warning: {each}" for each in (*notes, *after.notes, *workflow.warnings))]))
    if what == "added":  # by its title, where nobody named one
        workflow_commands.warn_of_unknown(project, filter(None, (each.agent for each in after.tasks)))


def _named(task: Brief) -> str:
    return f"{task.id} {quoted(task.title)}"
