"""`holdfast wfs …`: what only the wfs format has: sessions in .workflow/ with markers, checks and repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast import clock
from holdfast.commands import options
from holdfast.errors import HoldfastError, StateError
from holdfast.formats.wfs import check as wfs_check
from holdfast.formats.wfs import choice, index, markers, places, store, turns
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import repair as wfs_repair
from holdfast.formats.wfs import scratch as wfs_scratch
from holdfast.formats.wfs import session as wfs_session
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.commands import pages, tasks
from holdfast.sessions.history import history
from holdfast.sessions.ownership import owners

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.sessions.workspace import Workspace

anyway_option = click.option(
    "--anyway", is_flag=True, help="Also where another client's session, which is live, works in it."
)
name_argument = click.argument("name", metavar="[SESSION]", required=False)


@click.group(name="wfs")
def command() -> None:
    """Sessions with hierarchical tasks (.workflow/WFS-…/.task/IMPL-*.json).

    The JSON files are the only authority; TODO_LIST.md is generated from them
    and never read back. Holdfast plans and records the steps in a task's
    flow_control: it does not run the commands that stand in task files.
    """


command.add_command(tasks.task)


@command.command()
@click.argument("topic")
@click.option(
    "--type",
    "kind",
    type=click.Choice(choice.COMPLEXITIES),
    help="At least so complex; it is upgraded with its tasks.",
)
@anyway_option
@options.json_option
@options.project_option
def start(topic: str, kind: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Start a session about TOPIC and make it the active one; another active one is paused."""
    project = options.open_project(project_dir)
    before = turns.active(project)
    _leave(project, before, anyway)
    seen = options.seen_by_git(project, "wfs")
    session = store.create(project, topic, kind or "")
    _own(project, session)
    news = [f"Started {session.name} in {places.TOP}/{session.name}."]
    news += [f"{name} is paused." for name in before]
    news += [seen] if seen else []
    _tell(project, session, as_json, *news, "Next: holdfast wfs task add TITLE makes its first task.")


@command.command(name="list")
@options.json_option
@options.project_option
def listed(as_json: bool, project_dir: str | None) -> None:
    """List the sessions."""
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
            problems.append(f"problem: {session.file.path}: {session.file.broken}; its last generation is used")
        problems += [f"problem: {problem.path}: {problem.reason}" for problem in board.problems]
    for folder in places.elsewhere(project):
        rows.append(_beside(project, folder))
        if not places.is_archived(folder):
            problems.append(f"problem: {folder}: {store.misplaced(folder)}")
    if as_json:
        options.print_json(rows)
        return
    lines = [
        f"{row['status']:<9} {row['done']:>4}/{row['tasks']:<4} {row['phase']:<9}  {row['session']}  {row['project']}"
        for row in rows
    ]
    none = f"There are no sessions in {places.TOP}/; holdfast wfs start TOPIC begins one."
    options.say("\n".join([*lines, *problems]) or none)


def _beside(project: Workspace, folder: Path) -> dict[str, Any]:
    """Return the row for --json of a session that isn't directly in `.workflow/`."""
    status = "archived" if places.is_archived(folder) else "elsewhere"
    try:
        session = wfs_session.load(project, folder, marked=False)
    except StateError as error:
        return pages.broken_row(folder.name, error.reason) | {"status": status, "path": str(folder)}
    return pages.session_row(session, index.board(project, folder)) | {"status": status}


@command.command()
@options.json_option
@options.project_option
def active(as_json: bool, project_dir: str | None) -> None:
    """Say which session is active."""
    project = options.open_project(project_dir)
    names = wfs_session.active(project)
    if as_json:
        options.print_json({"active": names, "text": markers.detected(names)})
    else:
        options.say(markers.detected(names))


@command.command()
@click.argument("name", metavar="SESSION")
@anyway_option
@options.json_option
@options.project_option
def switch(name: str, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Make SESSION the active one; the one that was is paused."""
    project = options.open_project(project_dir)
    wanted = store.get(project, name).name
    _leave(project, [wanted, *turns.active(project, but=wanted)], anyway)
    session = store.switch(project, name)
    _own(project, session)
    _tell(project, session, as_json, f"{session.name} is active.")


@command.command()
@name_argument
@anyway_option
@options.json_option
@options.project_option
def pause(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Pause the active session, or SESSION."""
    project = options.open_project(project_dir)
    wanted = store.current(project, name).name
    _leave(project, [wanted], anyway)
    session = store.pause(project, wanted)
    _tell(project, session, as_json, f"{session.name} is paused; holdfast wfs resume {session.name} goes on with it.")


@command.command()
@name_argument
@anyway_option
@options.json_option
@options.project_option
def resume(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Go on with SESSION, or the only one that is paused; one that is completed is opened again."""
    project = options.open_project(project_dir)
    wanted = store.get(project, name or _only_paused(project)).name
    _leave(project, [wanted, *turns.active(project, but=wanted)], anyway)
    session = store.resume(project, wanted)
    _own(project, session)
    _tell(project, session, as_json, f"{session.name} is active.")


@command.command()
@name_argument
@click.option(
    "--anyway",
    is_flag=True,
    help="Also with tasks that are not completed, which stay as they are, or where another live session works in it.",
)
@options.json_option
@options.project_option
def complete(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Complete the active session, or SESSION: from then on nothing is written in it."""
    project = options.open_project(project_dir)
    before = store.current(project, name)
    _leave(project, [before.name], anyway)
    session = store.complete(project, before.name, anyway=anyway)
    history.observe(project, views.shown(project, session))
    already = " already" if before.standing == "completed" else ""
    _tell(project, session, as_json, f"{session.name} is completed{already}.")


@command.command()
@name_argument
@options.json_option
@options.project_option
def check(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Check sessions: markers, states, tasks against the nine rules, lists. Exits with 1 on more than a remark."""
    project = options.open_project(project_dir)
    found = list(wfs_check.look(project, [store.get(project, name).folder] if name else store.folders(project)))
    found += () if name else wfs_check.elsewhere(project)
    pages.print_findings(found, "Nothing is wrong.", as_json=as_json)


@command.command()
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@options.json_option
@options.project_option
def repair(dry_run: bool, as_json: bool, project_dir: str | None) -> None:
    """Set right what has come apart; what a file held before is kept, beside it or as a generation."""
    project = options.open_project(project_dir)
    done, failed = list[str](), list[str]()
    for each in wfs_repair.found(project):
        try:
            if not dry_run:
                each.do()
            done.append(each.what)
        except HoldfastError as error:
            failed.append(f"{each.what}: {error}")
    if as_json:
        options.print_json({"dry_run": dry_run, "repairs": done, "failed": failed})
    else:
        head = "would be done: " if dry_run else ""
        options.say(
            "\n".join([*(f"{head}{each}" for each in done), *(f"not done: {each}" for each in failed)])
            or "Nothing is to be set right."
        )
        if dry_run and done:
            click.echo("What follows from these shows when they are done.", err=True)
    if failed:
        raise SystemExit(1)


@command.command()
@name_argument
@click.option("--anyway", is_flag=True, help="Also over a list with lines of somebody's own, which is kept.")
@options.json_option
@options.project_option
def todo(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Generate TODO_LIST.md from the tasks, and print it; what it said otherwise is told, and kept as a generation."""
    project = options.open_project(project_dir)
    session = store.current(project, name)
    board = index.board(project, session.folder)
    drift = lists.drift(session, board)
    refused = lists.renew(project, session, anyway=anyway)
    if refused:
        raise HoldfastError(refused)
    text = lists.content(session, board).decode("utf-8", "replace")
    if as_json:
        options.print_json({"session": session.name, "drift": list(drift), "text": text})
        return
    for line in drift:
        click.echo(f"it was different: {line}", err=True)
    options.say(text.removesuffix("\n"))


@command.command()
@click.argument("command_name", metavar="COMMAND")
@click.argument("description")
@click.option("--unrelated", is_flag=True, help="It has nothing to do with the active session.")
@options.json_option
@options.project_option
def scratch(command_name: str, description: str, unrelated: bool, as_json: bool, project_dir: str | None) -> None:
    """Say where the output of COMMAND belongs: in the active session's .chat/, else in .scratchpad/.

    The folder is made; the file is yours to write. A leading verb of DESCRIPTION
    is left out: "trace auth flow" becomes auth-flow.
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
    raise HoldfastError(
        f"several sessions are paused: {', '.join(found)}; name one" if found else "no session is paused"
    )


def _leave(project: Workspace, names: Iterable[str], anyway: bool) -> None:
    """Refuse to interrupt other clients' live sessions, unless `anyway`."""
    if not anyway:
        turns.leave(project, names, options.session(), "--anyway does it all the same")


def _own(project: Workspace, session: Session) -> None:
    """Make the client's session that runs this command the owner of a session's workflow."""
    if own := options.session():
        owners.own(project, views.shown(project, session), own)


def _tell(project: Workspace, session: Session, as_json: bool, *news: str) -> None:
    if as_json:
        options.print_json(pages.session_row(session, index.board(project, session.folder)))
    else:
        options.say("\n".join([*news, *(f"warning: {each}" for each in views.shown(project, session).warnings)]))
