"""`holdfast skills …`: workflows of skills such as /dev and /tdd, in .claude/workflow-state/.

`complete` prints the document's signal (R004-31), and `resume` names a live session that works on it (I004-16).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from holdfast import clock
from holdfast.commands import options, workflow_commands
from holdfast.errors import HoldfastError, LedgerError
from holdfast.formats.skills import (
    adapter,
    display,
    folder,
    lookup,
    retention,
    store,
    transitions,
    view,
)
from holdfast.formats.skills import file as files
from holdfast.formats.skills.commands import machines, moves, targets, upkeep
from holdfast.formats.skills.commands.targets import workflow_option
from holdfast.sessions import conversations, owners
from holdfast.workflow import values
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.formats.skills.machine import Machine
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_MOST_REMOVED = 100  # old workflows that `start` removes before it starts one


@click.group(name="skills")
def command() -> None:
    """Manage workflows of skills such as /dev and /tdd (.claude/workflow-state/).

    A skill's phases, checkpoints and transitions are its machine, a TOML file.
    Holdfast ships dev and tdd. Your own skill needs no code.

    \b
    Examples:
      holdfast skills start dev --feature features/login.md
      holdfast skills resume
    """


for each in (*moves.COMMANDS, *upkeep.COMMANDS, *machines.COMMANDS):
    command.add_command(each)


@command.command()
@click.argument("skill")
@click.option("--feature", default="", metavar="FILE", help="The feature file, or a folder of feature files.")
@click.option("--task", "about", default="", metavar="TEXT", help="The task, if there is no feature file.")
@click.option(
    "--item",
    "items",
    multiple=True,
    metavar="TEXT",
    help="A task of the workflow. Repeat it. Default: the checkboxes of the feature file.",
)
@click.option(
    "--phase", "phases", multiple=True, metavar="NAME", help="A phase of a skill without a machine. Repeat it."
)
@click.option(
    "--index", "index_", type=click.IntRange(min=1), metavar="N", help="The number of the task in its feature."
)
@options.json_option
@options.project_option
def start(
    skill: str,
    feature: str,
    about: str,
    items: tuple[str, ...],
    phases: tuple[str, ...],
    index_: int | None,
    as_json: bool,
    project_dir: str | None,
) -> None:
    """Start a workflow of SKILL, or continue the unfinished one.

    First it removes workflows that were finished more than a day ago or that
    nobody touched for a week.

    \b
    Examples:
      holdfast skills start dev --feature features/login.md
      holdfast skills start tdd --task "Add a login method"
    """
    project = options.open_project(project_dir)
    if not (feature or about).strip():
        raise click.UsageError("say what it is about: --feature FILE or --task TEXT")
    plan = store.plan(project, skill, feature=feature, task=about, items=items, phases=phases)
    key, more = plan.key, {} if index_ is None else {"task_index": index_}
    present = [*lookup.named(project, feature or about, skill), *lookup.named(project, key, skill)]
    found = list({each.key: each for each in present}.values())
    if len(found) > 1:
        raise HoldfastError(
            f"several workflows fit: {lookup.listing(found)}; choose one with `holdfast skills resume ID`"
        )
    gone = _clean(project, keep=[each.path.stem for each in found])
    if found and not found[0].recovered:
        store.relist(project, found[0])
        workflow_commands.take(project, found[0])
        number = view.current_task(view.of(found[0]).data)
        lines = [display.RESUMING, f"Current phase: {transitions.current(view.of(found[0]).data)}"]
        lines += [f"Current task: {'none' if number is None else number}", *gone]
        targets.tell(found[0], as_json, "\n".join([*lines, *_options(found[0], project)]))
        return
    made = store.create(
        project, plan._replace(begin=True), Start(key, context=more, session=options.conversation(project))
    )
    owners.begin(project, made.workflow, options.conversation(project))
    news = [display.CHECKING, store.CORRUPTED if made.aside else display.STARTING]
    news += [f"The corrupted file is kept as {made.aside.name}."] if made.aside else []
    notes = [f"there is no {key} in the project"] if feature and not (project.root / key).exists() else []
    lines = [*news, f"Its state is {made.workflow.place}.", *gone]
    targets.tell(made.workflow, as_json, "\n".join(lines), notes=notes)


@command.command()
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--yes", is_flag=True, help="Don't ask; resume it.")
@options.json_option
@options.project_option
def resume(key: str | None, yes: bool, as_json: bool, project_dir: str | None) -> None:
    """Show the unfinished workflow, and resume it.

    KEY chooses one: a feature, a folder of features, a task or an id. On a
    terminal, the command asks before it resumes. Elsewhere it only shows the
    workflow, unless you add --yes.

    \b
    Examples:
      holdfast skills resume
      holdfast skills resume features/login.md --yes
    """
    project = options.open_project(project_dir)
    workflow = targets.find(project, key)
    seen, now = view.read(project, workflow.path), clock.now()
    if as_json:
        if yes:
            workflow_commands.take(project, workflow)
        step = adapter.step(workflow)
        more = {"shown": display.found(project, seen, now), "next": step.text if step else None}
        more |= {"question": display.question(seen), "resumed": display.resumed(project, seen, now) if yes else None}
        options.print_json(targets.row(workflow) | more | {"notes": list(workflow.warnings)})
        return
    lines = [display.CHECKING, "", *display.found(project, seen, now), ""]
    lines += [*_options(workflow, project), *_busy(project, workflow, seen)]
    if yes or not sys.stdin.isatty():
        options.say("\n".join(lines if yes else [*lines, display.question(seen)]))
        if not yes:
            options.note("To resume it without a terminal: `holdfast skills resume --yes`.")
    else:
        options.say("\n".join(lines))
        if not click.confirm(display.question(seen).removesuffix(" [Y/n]"), default=True, prompt_suffix=" "):
            return
        yes = True
    if yes:
        workflow_commands.take(project, workflow)
        options.say("\n".join(display.resumed(project, seen, now)))


@command.command()
@workflow_option
@options.json_option
@options.project_option
def pending(wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Print the checkpoints that haven't run yet, in order.

    \b
    Example:
      holdfast skills pending
    """
    project = options.open_project(project_dir)
    names = display.pending(view.of(targets.find(project, wanted)).data)
    if as_json:
        options.print_json(names)
    elif names:
        options.say("\n".join(names))


@command.command()
@click.option("--all", "everything", is_flag=True, help="Also complete the phases and tasks that are open.")
@workflow_option
@options.json_option
@options.project_option
def complete(everything: bool, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Complete the workflow.

    Its file moves to completed/ and stays there for a day.

    \b
    Example:
      holdfast skills complete
    """
    project = options.open_project(project_dir)
    workflow = targets.find(project, wanted)
    workflow_commands.take(project, workflow)

    def edit(data: dict[str, Any], rules: Machine, at: str) -> None:
        if not everything and transitions.current(data) in files.phases(data):
            transitions.complete(data, rules, transitions.current(data), at)
        transitions.end(data, rules, at, everything=everything)

    after = store.finish(project, workflow, edit, why="complete")
    seen = view.of(after)
    signal = f"DEV_COMPLETE: {_name(files.key(seen.data, seen.rules)) or after.title}"
    if as_json:
        options.print_json(targets.row(after) | {"signal": signal})
    else:
        options.say(signal)


@command.command()
@click.argument("reason", required=False, default="")
@workflow_option
@options.json_option
@options.project_option
def abandon(reason: str, wanted: str | None, as_json: bool, project_dir: str | None) -> None:
    """Give up the workflow for good. Its file moves to completed/.

    \b
    Example:
      holdfast skills abandon "Superseded by the new login"
    """
    project = options.open_project(project_dir)
    workflow = targets.find(project, wanted)
    workflow_commands.take(project, workflow)
    after = store.finish(project, workflow, lambda data, _, at: transitions.abandon(data, reason, at), why="abandon")
    targets.tell(after, as_json, f"{after.path.stem} is abandoned.")


def _clean(project: Workspace, keep: list[str]) -> list[str]:
    due = retention.due(project, options.conversation(project) or "")
    old = [each for each in due.old if each.path.stem not in keep]
    gone = retention.remove(project, old[:_MOST_REMOVED])
    more = len(old) - _MOST_REMOVED
    said = [retention.summary(gone), f"{more} more are old; run `{folder.CLEANUP}`." if more > 0 else ""]
    line = " ".join(filter(None, [*said, f"{due.said}." if due.said else ""]))
    return [line] if line else []


def _options(workflow: Workflow, project: Workspace) -> list[str]:
    """Return the document's lines about a workflow of another branch; none if it is of this one."""
    data = view.of(workflow).data
    named = values.text(values.members(data.get("workflow")).get("branch"))
    said = view.mismatch(data, project.branch)
    if not said and named and project.in_git and project.branch is None:
        said = f"State is for branch '{named}' but no branch is checked out"
    return [f"⚠️ {said}", f"Options: 1) Switch to {named}  2) Abandon state and start fresh", ""] if said else []


def _busy(project: Workspace, workflow: Workflow, seen: view.Seen) -> list[str]:
    """Return a line about the live session that works on it; none if that is the asking one, or none is live."""
    try:
        owner = owners.owner(project, workflow)
        if owner is None or owner not in conversations.live_others(project, options.conversation(project) or ""):
            return []
    except LedgerError:
        return []
    moved = clock.parse(values.text(values.members(seen.data.get("workflow")).get("updated_at")))
    return [
        f"Note: last activity {display.ago(moved, clock.now(), short=True)} by session "
        f"{conversations.session_id(project, owner)[:8]}, which is live.",
        "",
    ]


def _name(key: str) -> str:
    """Return the name of a feature: its file's, without the ending; a task as it is."""
    last = key.rstrip("/").rpartition("/")[2]
    return last.removesuffix(".md") if last.endswith(".md") else key
