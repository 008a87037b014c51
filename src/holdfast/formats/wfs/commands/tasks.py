"""`holdfast wfs task …`: the tasks of a session."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.files import document
from holdfast.formats.wfs import check, choice, context, edit, flow, index, rules, store, transitions, variables
from holdfast.formats.wfs import next as wfs_next
from holdfast.formats.wfs import steps as wfs_steps
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.commands import pages
from holdfast.formats.wfs.edit import Edit
from holdfast.formats.wfs.task import New
from holdfast.sessions.history import history
from holdfast.sessions.ownership import owners

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.steps import Standing
    from holdfast.formats.wfs.transitions import After
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.records import Outcome

session_option = click.option("--session", "name", metavar="NAME", help="Whose; the active session's by default.")
id_argument = click.argument("id_", metavar="ID")


@click.group(name="task")
def task() -> None:
    """The tasks of a session: IMPL-N, and IMPL-N.M for subtasks."""


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a task's content, which `add` and `set` share."""
    many: dict[str, Any] = {"multiple": True}
    for option in (
        click.option("--on-error", type=click.Choice(flow.ON_ERROR), help="What happens when the step fails."),
        click.option("--output-to", metavar="NAME", help="The variable that the step's output is."),
        click.option("--command", "command_text", metavar="TEXT", help="The step's command; Holdfast does not run it."),
        click.option("--action", metavar="TEXT", help="What the step is for."),
        click.option("--step", metavar="NAME", help="A step before the work; the four options below belong to it."),
        click.option("--target-file", **many, metavar="FILE[:FUNCTION[:LINES]]", help="What it changes; repeat it."),
        click.option("--logic", **many, metavar="TEXT", help="What happens in which order; repeat it."),
        click.option("--point", **many, metavar="TEXT", help="Where something is modified; repeat it."),
        click.option("--approach", metavar="TEXT", help="How it is done."),
        click.option("--context", **many, metavar="K=V", help="A shared context value; V may be JSON; repeat it."),
        click.option(
            "--artifact", **many, metavar="TYPE=PATH", help="What it builds on, or a JSON object of it; repeat it."
        ),
        click.option("--after", **many, metavar="ID", help="What comes before it; repeat it."),
        click.option("--accept", **many, metavar="TEXT", help="By what it is known to be done; repeat it."),
        click.option("--focus", **many, metavar="PATH", help="Where it is done; repeat it."),
        click.option("--require", "--requirement", "require", **many, metavar="TEXT", help="What it does; repeat it."),
        click.option("--agent", metavar="@NAME", help="Who works on it; a new task's follows from type and title."),
        click.option(
            "--type", type=click.Choice(choice.TYPES), help="Of what type; a new task's follows from its title."
        ),
    ):
        command = option(command)
    return command


@task.command()
@click.argument("title")
@click.option("--parent", default="", metavar="ID", help="The task it is a subtask of.")
@content_options
@session_option
@options.json_option
@options.project_option
def add(title: str, parent: str, name: str | None, as_json: bool, project_dir: str | None, **content: Any) -> None:
    """Make a task called TITLE.

    Without --agent it is for @general-purpose where the title begins with
    review or audit, @test-fix-agent where tests are to be run or fixed,
    @action-planning-agent where a feature is planned or designed, and else
    @code-developer.
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    given = _given(content)
    parts = {part: given.pop(option, default) for option, (part, default) in _OF_NEW.items()}
    _tell(project, transitions.add(project, session, New(title, **parts), parent, Edit(given)), as_json, "made")


@task.command(name="set")
@id_argument
@click.option("--title", metavar="TEXT", help="What it is called.")
@content_options
@click.option(
    "--remove", multiple=True, metavar="OPTION[=VALUE]", help="Take a value away, or all of them: step=NAME, context."
)
@session_option
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
    """Change what task ID says; its status is moved by the other verbs.

    Title, type, agent and approach are replaced. All else is added to what is
    there: a step of the same name, an artifact of the same path and a context
    value of the same key are changed. --remove comes first, so that
    "--remove require --require TEXT" replaces all requirements.

    \b
    holdfast wfs task set IMPL-2 --target-file src/auth.py:login --context ttl=5
    holdfast wfs task set IMPL-2 --step check --action "Look for patterns" \\
        --command "rg auth src" --output-to patterns --on-error retry_once
    holdfast wfs task set IMPL-2 --remove step=check --remove artifact
    """
    project = options.open_project(project_dir)
    given = _given(content) | ({"title": title} if title is not None else {})
    removed = [_removal(each) for each in remove]
    if not given and not removed:
        raise click.UsageError("give what is to be changed; --help lists the options")
    after = transitions.change(project, store.current(project, name), id_, Edit(given, removed))
    _tell(project, after, as_json, "changed" if after.changed else "unchanged")


@task.command()
@id_argument
@click.argument("titles", nargs=-1, required=True, metavar="TITLE…")
@session_option
@options.json_option
@options.project_option
def decompose(id_: str, titles: tuple[str, ...], name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Take task ID apart into subtasks called TITLE…; it becomes a container, they inherit its context."""
    project = options.open_project(project_dir)
    after = transitions.decompose(project, store.current(project, name), id_, [New(title) for title in titles])
    _tell(project, after, as_json, "made")


@task.command()
@id_argument
@click.option("--anyway", is_flag=True, help="Also if it waits for others.")
@session_option
@options.json_option
@options.project_option
def start(id_: str, anyway: bool, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Begin task ID."""
    project = options.open_project(project_dir)
    _tell(project, transitions.begin(project, store.current(project, name), id_, anyway=anyway), as_json, "active")


@task.command()
@id_argument
@session_option
@options.json_option
@options.project_option
def reopen(id_: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Make completed task ID active again; for people, no hook ever does this."""
    project = options.open_project(project_dir)
    after = transitions.begin(project, store.current(project, name), id_, anyway=True, reopen=True)
    _tell(project, after, as_json, "active")


@task.command()
@id_argument
@click.option(
    "--summary", default="", metavar="TEXT", help="What came of it, for the tasks that depend on it; - reads it."
)
@session_option
@options.json_option
@options.project_option
def complete(id_: str, summary: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Complete task ID and write its summary."""
    project = options.open_project(project_dir)
    session, board, found, steps = _found(project, name, id_)
    waits = board.waits_for(found)
    notes = [f"{found.id} depends on {', '.join(waits)}, not completed yet"] if waits else []
    left = [f"{each.step.name} ({each.state})" for each in steps if not each.over]
    notes += [f"steps of it were not taken: {', '.join(left)}"] if left else []
    text = _text(project, summary)
    after = transitions.complete(project, session, id_, text)
    if text.strip() and not after.changed:
        notes.append("its summary stays as it was; it is a file of yours to change")
    _tell(project, after, as_json, "completed", notes=notes)


@task.command()
@id_argument
@click.option("--reason", default="", metavar="TEXT", help="What blocks it; the ledger keeps it.")
@session_option
@options.json_option
@options.project_option
def block(id_: str, reason: str, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Block task ID: nobody goes on with it until it is begun again."""
    project = options.open_project(project_dir)
    after = transitions.block(project, store.current(project, name), id_)
    _tell(project, after, as_json, "blocked", error=reason)


@task.command(name="list")
@session_option
@options.json_option
@options.project_option
def listed(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """List the tasks with their statuses; a container's follows from its subtasks."""
    project = options.open_project(project_dir)
    session = store.current(project, name)
    board = index.board(project, session.folder)
    if as_json:
        options.print_json([pages.task_row(board, each) for each in board.tasks])
        return
    lines = [pages.line(board, each) for each in board.tasks]
    lines += [f"problem: {problem.path.name}: {problem.reason}" for problem in board.problems]
    options.say("\n".join(lines) or f"{session.name} has no tasks; holdfast wfs task add TITLE makes one.")


@task.command()
@id_argument
@click.option("--for-agent", is_flag=True, help="As its agent gets it: with all that it inherits, variables filled in.")
@session_option
@options.json_option
@options.project_option
def show(id_: str, for_agent: bool, name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Show task ID: status, context, steps, and what it waits for.

    The commands of its steps are shown and never run by Holdfast.
    """
    project = options.open_project(project_dir)
    session, board, found, steps = _found(project, name, id_)
    given = context.given(project, session, board, found, wfs_steps.outputs(steps))
    if for_agent:
        options.print_json(given.as_json())
    elif as_json:
        options.print_json(
            pages.task_row(board, found) | {"file": given.task, "steps": [pages.step_row(each) for each in steps]}
        )
    else:
        options.say("\n".join(pages.page(board, found, given, steps)))


@task.command(name="next")
@session_option
@options.json_option
@options.project_option
def following(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Say which tasks can be begun now; those that stand together can be worked on in parallel."""
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
        options.print_json(rows | {"why": "" if active or ready else wfs_next.nothing_due(board)})
        return
    lines = [f"active: {pages.line(board, each).strip()}" for each in active]
    lines += [f"ready:  {pages.line(board, each).strip()}" for each in ready]
    options.say("\n".join(lines) or f"{session.name}: {wfs_next.nothing_due(board)}.")


@task.command()
@session_option
@options.json_option
@options.project_option
def validate(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Check the tasks against the nine rules and name every violation. Exits with 1 where there is one."""
    project = options.open_project(project_dir)
    session = store.current(project, name)
    found = check.tasks(project, session.folder)
    pages.print_findings(found, f"The tasks of {session.name} break no rule.", as_json=as_json)


@task.command()
@id_argument
@click.argument("text", required=False)
@click.option("--set", "assignments", multiple=True, metavar="NAME=TEXT", help="What a variable stands for, this time.")
@session_option
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
    """Fill in the [variables] of TEXT for task ID, or list what they stand for. Exits with 1 where one is unknown."""
    project = options.open_project(project_dir)
    session, board, found, steps = _found(project, name, id_)
    given = dict(_pair(each) for each in assignments)
    filled = context.given(project, session, board, found, wfs_steps.outputs(steps) | given)
    known = context.known(session, board, found, filled.task["context"], wfs_steps.outputs(steps) | given)
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


@task.command()
@id_argument
@click.argument("step_name", metavar="STEP")
@click.option("--output", default="", metavar="TEXT", help="What it put out; - reads it from stdin, @FILE from a file.")
@click.option("--failed", is_flag=True, help="It failed; its on_error says what that means.")
@click.option("--skipped", is_flag=True, help="It was left out on purpose.")
@session_option
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
    """Record what came of a STEP of task ID; [variables] that its output_to names stand for it from then on.

    Whoever works on the task takes its steps. Holdfast runs none of them.
    """
    project = options.open_project(project_dir)
    session, _, found, steps = _found(project, name, id_)
    session.must_be_open("nothing more is recorded of its tasks")
    outcome: Outcome = "failed" if failed else "skipped" if skipped else "completed"
    wfs_steps.record(project, views.key(session), found.id, steps, step_name, outcome, _text(project, output))
    now = wfs_steps.standings(_data(project, session, found), wfs_steps.runs(project, views.key(session), found.id))
    news = _stopped(project, session, found, now, step_name)
    if as_json:
        options.print_json([pages.step_row(each) for each in now])
    else:
        options.say("\n".join([*(pages.step_line(number, each) for number, each in enumerate(now, 1)), *news]))


def _stopped(project: Workspace, session: Session, task: Brief, steps: Sequence[Standing], name: str) -> list[str]:
    """Block a task whose step failed, if its `on_error` says so (R002-26); return what to tell the user."""
    step = next(each for each in steps if each.step.name == name)
    said = {"retry": "it is to be tried once more", "skipped": "it is optional, so the next one may be taken"}
    if step.run is None or step.run.outcome != "failed":
        return []
    if step.state in said:
        return [f"{name} failed: {said[step.state]}."]
    after = transitions.block(project, session, task.id)
    reason = f"step {name} failed" + (", and a person is to decide" if step.state == "manual" else "")
    history.observe(project, views.workflow(project, after.session, after.board), error=reason)
    return [f"{task.id} is blocked: {reason}; holdfast wfs task start {task.id} goes on with it."]


def _found(project: Workspace, name: str | None, id_: str) -> tuple[Session, Board, Brief, list[Standing]]:
    session = store.current(project, name)
    board = index.board(project, session.folder)
    found = board.find(id_)
    runs = wfs_steps.runs(project, views.key(session), found.id)
    return session, board, found, wfs_steps.standings(_data(project, session, found), runs)


def _data(project: Workspace, session: Session, found: Brief) -> dict[str, Any]:
    return context.read(project, session, found.name)


def _tell(
    project: Workspace, after: After, as_json: bool, what: str, error: str = "", notes: Sequence[str] = ()
) -> None:
    workflow = views.workflow(project, after.session, after.board)
    history.observe(project, workflow, error=error)
    if own := options.session():
        owners.take(project, workflow, own)
    if as_json:
        options.print_json(
            {
                "changed": after.changed,
                "tasks": [pages.task_row(after.board, each) for each in after.tasks],
                "session": workflow.id,
            }
            | {"current_tasks": [each.id for each in after.board.current], "notes": [*notes, *after.notes]}
            | ({"changes": list(after.said)} if what in ("changed", "unchanged") else {})
        )
        return
    verb = what if after.changed or what == "unchanged" else f"{what} already"
    lines = [f"{each.id} “{each.title}” is {verb}." for each in after.tasks]
    lines += [f"  {each}" for each in after.said]
    ready = [each for each in after.board.executable if each not in after.tasks]
    if ready and what not in ("made", "changed", "unchanged"):
        lines.append(
            f"Ready now: {', '.join(f'{each.id} “{each.title}”' for each in ready[:5])}{' …' if len(ready) > 5 else ''}"
        )
    options.say("\n".join([*lines, *(f"warning: {each}" for each in (*notes, *after.notes, *workflow.warnings))]))


_OF_NEW: dict[str, tuple[str, Any]] = {
    "type": ("kind", ""),
    "agent": ("agent", ""),
    "require": ("requirements", ()),
    "focus": ("focus_paths", ()),
    "accept": ("acceptance", ()),
    "after": ("depends_on", ()),
}
_STEP = {"action": "action", "command_text": "command", "output_to": "output_to", "on_error": "on_error"}


def _given(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content that the options give, by the names of `edit.FIELDS`."""
    given = {name.replace("_", "-"): value for name, value in content.items() if value and name not in _STEP}
    step = {key: content[option] for option, key in _STEP.items() if content[option] is not None}
    if "step" in given:
        given["step"] = [{"step": given["step"], **step}]
    elif step:
        raise click.UsageError(f"--{next(iter(step)).replace('_', '-')} belongs to a step; give --step NAME")
    if "agent" in given:
        given["agent"] = f"@{given['agent'].removeprefix('@')}"
    if "artifact" in given:
        given["artifact"] = [_artifact(each) for each in given["artifact"]]
    if "context" in given:
        given["context"] = options.as_context(given["context"], "--context")
    return given


def _artifact(text: str) -> dict[str, Any]:
    kind, sign, path = text.partition("=")
    if text.lstrip().startswith("{"):
        with suppress(ValueError):
            found = json.loads(text)
            if isinstance(found, dict):
                return found
        sign = ""
    if not sign:
        raise click.BadParameter(f"{text!r} is not TYPE=PATH or a JSON object", param_hint="--artifact")
    source, priority = rules.ARTIFACTS.get(kind, ("", ""))
    return {"type": kind, "source": source, "path": path, "priority": priority}


def _removal(text: str) -> tuple[str, str | None]:
    name, sign, entry = text.partition("=")
    name = {"requirement": "require"}.get(name, name)
    if name not in edit.REMOVABLE:
        known = ", ".join(edit.REMOVABLE)
        raise click.BadParameter(f"{name!r} is not one of {known}", param_hint="--remove")
    return name, entry if sign else None


def _pair(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise click.BadParameter(f"{given!r} is not NAME=TEXT", param_hint="--set")
    return name, value


def _text(project: Workspace, given: str) -> str:
    """Return a given text, or that of stdin for `-` and of a file for `@FILE`.

    A session may name only files of its project, because its permission rules allow this command with any file.
    """
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    path = Path(given[1:])
    if options.session() and not project.contains(path):
        raise HoldfastError(f"{path} is outside the project {project.root}; copy it there, or give its text with -")
    return document.read(path)[0].decode("utf-8", "replace")
