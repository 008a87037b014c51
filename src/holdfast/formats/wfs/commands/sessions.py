"""`holdfast wfs …`: what only the wfs format has: sessions in .workflow/ with markers, checks and repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast import clock, paths
from holdfast.commands import options
from holdfast.errors import HoldfastError, StateError
from holdfast.formats.wfs import choice, index, markers, places, store, turns
from holdfast.formats.wfs import scratch as wfs_scratch
from holdfast.formats.wfs import session as wfs_session
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.commands import pages, targets, tasks, upkeep
from holdfast.formats.wfs.foreign import foreign
from holdfast.sessions import owners, phases

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace

anyway_option = click.option("--anyway", is_flag=True, help="Do it even if another live client session works in it.")


@click.group(name="wfs")
def command() -> None:
    """Manage sessions with tasks and subtasks (.workflow/WFS-*/.task/IMPL-*.json).

    The JSON files count. TODO_LIST.md is generated from them and never read back. Holdfast records the steps in a
    task's flow_control. It never runs the commands in task files.

    \b
    Examples:
      holdfast wfs start "User auth"
      holdfast wfs task add "Write the login form" --agent @code-developer
    """


for each in (tasks.task, upkeep.check, upkeep.repair, upkeep.todo):
    command.add_command(each)


@command.command()
@click.argument("topic")
@click.option(
    "--type",
    "kind",
    type=click.Choice(choice.COMPLEXITIES),
    help="How complex the session is at least. It rises with the number of tasks.",
)
@anyway_option
@options.json_option
@options.project_option
def start(topic: str, kind: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Start a session about TOPIC and make it active.

    Another active session is paused.

    \b
    Example:
      holdfast wfs start "User auth"
    """
    project = options.open_project(project_dir)
    before = turns.active(project)
    _leave(project, before, anyway)
    seen = options.seen_by_git(project, "wfs")
    session = store.create(project, topic, kind or "")
    owners.begin(project, views.of_session(project, session), options.conversation(project))
    news = [f"Started {session.name} in {places.TOP}/{session.name}/."]
    news += [f"{name} is paused." for name in before]
    news += [seen] if seen else []
    _tell(project, session, as_json, *news, 'Next, add a task: holdfast wfs task add "What is to be done"')


@command.command(name="list")
@options.json_option
@options.project_option
def listed(as_json: bool, project_dir: str | None) -> None:
    """List the sessions with status, completed tasks and phase.

    \b
    Example:
      holdfast wfs list
    """
    project = options.open_project(project_dir)
    rows, problems = list[dict[str, Any]](), list[str]()
    for folder in store.folders(project):
        try:
            session, board = store.get(project, folder.name), index.board(project, folder)
        except StateError as error:
            rows.append(pages.broken_row(folder.name, error.reason))
            problems.append(f"problem: {error}")
            continue
        rows.append(pages.session_row(session, board))
        if session.file.broken:
            problems.append(f"problem: {session.file.path}: {session.file.broken}, so its last good content is used")
        problems += [f"problem: {problem.path}: {problem.reason}" for problem in board.problems]
    problems += [f"{each.path} {each.meaning}; to work on one, run `{each.remedy}`" for each in foreign(project)]
    if as_json:
        options.print_json(rows)
        return
    lines = [
        f"{row['status']:<9} {row['done']:>4}/{row['tasks']:<4} {row['phase']:<9}  {row['session']}  {row['project']}"
        for row in rows
    ]
    none = f"There is no session in {places.TOP}/. `holdfast wfs start TOPIC` starts one."
    options.say(paths.shown("\n".join([*lines, *problems])) or none)


@command.command()
@options.json_option
@options.project_option
def active(as_json: bool, project_dir: str | None) -> None:
    """Print the active session.

    \b
    Example:
      holdfast wfs active
    """
    project = options.open_project(project_dir)
    names = wfs_session.active(project)
    if as_json:
        options.print_json({"active": names, "text": markers.detected(names)})
    else:
        options.say(markers.detected(names))


@command.command()
@click.argument("name", metavar="SESSION", shell_complete=targets.session_names)
@anyway_option
@options.json_option
@options.project_option
def switch(name: str, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Make SESSION the active one.

    The one that was active is paused.

    \b
    Example:
      holdfast wfs switch user-auth
    """
    project = options.open_project(project_dir)
    wanted = store.get(project, name).name
    _leave(project, [wanted, *turns.active(project, but=wanted)], anyway)
    session = store.switch(project, name)
    _own(project, session)
    _tell(project, session, as_json, f"{session.name} is active.")


@command.command()
@targets.session_argument
@anyway_option
@options.json_option
@options.project_option
def pause(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Pause the active session, or SESSION.

    \b
    Example:
      holdfast wfs pause
    """
    project = options.open_project(project_dir)
    wanted = store.current(project, name).name
    _leave(project, [wanted], anyway)
    session = store.pause(project, wanted)
    _tell(project, session, as_json, f"{session.name} is paused. `holdfast wfs resume {session.name}` continues it.")


@command.command()
@targets.session_argument
@anyway_option
@options.json_option
@options.project_option
def resume(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Continue SESSION, or the only paused one.

    A completed session is opened again.

    \b
    Example:
      holdfast wfs resume user-auth
    """
    project = options.open_project(project_dir)
    wanted = store.get(project, name or _only_paused(project)).name
    _leave(project, [wanted, *turns.active(project, but=wanted)], anyway)
    session = store.resume(project, wanted)
    _own(project, session)
    _tell(project, session, as_json, f"{session.name} is active.")


@command.command()
@targets.session_argument
@click.option(
    "--anyway",
    is_flag=True,
    help="Do it even if tasks are left, which stay as they are, or another live client session works in it.",
)
@options.json_option
@options.project_option
def complete(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Complete the active session, or SESSION.

    From then on, Holdfast writes nothing in it.

    \b
    Example:
      holdfast wfs complete
    """
    project = options.open_project(project_dir)
    before = store.current(project, name)
    _leave(project, [before.name], anyway)
    session = store.complete(project, before.name, anyway=anyway)
    phases.observe(project, views.of_session(project, session))
    said = "was completed before" if before.standing == "completed" else "is completed"
    _tell(project, session, as_json, f"{session.name} {said}.")


@command.command()
@click.argument("command_name", metavar="COMMAND")
@click.argument("description")
@click.option("--unrelated", is_flag=True, help="The output has nothing to do with the active session.")
@options.json_option
@options.project_option
def scratch(command_name: str, description: str, unrelated: bool, as_json: bool, project_dir: str | None) -> None:
    """Print the path for the output of COMMAND.

    It is in the .chat/ of the active session, else in .scratchpad/. Holdfast makes the folder. You write the file. A
    leading verb of DESCRIPTION is left out: "trace auth flow" becomes auth-flow.

    \b
    Example:
      holdfast wfs scratch code-analysis "trace auth flow"
    """
    project = options.open_project(project_dir)
    path = wfs_scratch.route(project, command_name, description, clock.now(), unrelated=unrelated)
    if as_json:
        options.print_json({"path": str(path)})
    else:
        options.say(places.inner(project, path))


def _only_paused(project: Workspace) -> str:
    found = list[str]()
    for folder in store.folders(project):
        try:
            session = store.get(project, folder.name)
        except StateError:
            continue
        if session.standing == "paused":
            found.append(session.name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise HoldfastError("no session is paused; `holdfast wfs list` shows the sessions")
    raise HoldfastError(f"{len(found)} sessions are paused; name one: {', '.join(found)}")


def _leave(project: Workspace, names: Iterable[str], anyway: bool) -> None:
    """Refuse to interrupt other clients' live sessions, unless `anyway`."""
    if not anyway:
        turns.leave(project, names, options.conversation(project), "add --anyway to do it all the same")


def _own(project: Workspace, session: Session) -> None:
    """Make the client's session that runs this command the owner of a session's workflow."""
    if own := options.conversation(project):
        owners.own(project, views.of_session(project, session), own)


def _tell(project: Workspace, session: Session, as_json: bool, *news: str) -> None:
    if as_json:
        options.print_json(pages.session_row(session, index.board(project, session.folder)))
    else:
        options.say("\n".join([*news, *(f"warning: {each}" for each in views.of_session(project, session).warnings)]))
