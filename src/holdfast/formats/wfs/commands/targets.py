"""The session and the task that a command is about, and the text that it is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.files import document
from holdfast.formats.wfs import context as contexts
from holdfast.formats.wfs import index, steps, store
from holdfast.formats.wfs import view as views
from holdfast.formats.wfs.names import PREFIX

if TYPE_CHECKING:
    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.steps import Standing
    from holdfast.sessions.workspace import Workspace


def session_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of sessions that complete a text, with or without `WFS-`."""
    try:
        project = options.open_project(context.params.get("project_dir"), tell=False)
    except HoldfastError:
        return []
    found = [each.name for each in store.folders(project)]
    return [each for each in (*found, *(name.removeprefix(PREFIX) for name in found)) if each.startswith(incomplete)]


session_argument = click.argument("name", metavar="[SESSION]", required=False, shell_complete=session_names)
session_option = click.option(
    "--session", "name", metavar="NAME", shell_complete=session_names, help="The session. Default: the active one."
)
id_argument = click.argument("id_", metavar="ID")


def find_task(project: Workspace, name: str | None, id_: str) -> tuple[Session, Board, Brief, list[Standing]]:
    """Return a session, its tasks, the one with an id, and where the steps of that one stand.

    Raises:
        HoldfastError: there is no such session or task.
    """
    session = store.current(project, name)
    board = index.board(project, session.folder)
    found = board.find(id_)
    runs = steps.runs(project, views.key(session), found.id)
    return session, board, found, steps.standings(contexts.read(project, session, found.name), runs)


def text(project: Workspace, given: str) -> str:
    """Return a given text, or that of stdin for `-` and of a file for `@FILE`.

    A session may name only files of its project, because its permission rules allow this command with any file.
    """
    if given == "-":
        return sys.stdin.read()
    if not given.startswith("@"):
        return given
    path = Path(given[1:])
    if options.conversation(project) and not project.contains(path):
        raise HoldfastError(f"{path} is outside the project; copy it into {project.root}, or pipe its text in with -")
    return document.read(path)[0].decode("utf-8", "replace")
