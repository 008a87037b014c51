"""What the values of shared options mean, the project that a command is about, and how a command prints."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import click
from click.shell_completion import CompletionItem

from holdfast import clock, paths
from holdfast.clients.claude import claude, scopes
from holdfast.errors import HoldfastError
from holdfast.files import atomic, trust
from holdfast.formats import RECORDS
from holdfast.memory.patience import COMMAND_WAIT_S, Patience
from holdfast.project import Project, nearest
from holdfast.sessions import archive, conversations, status_line
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import facts, names, outside_reading, registry, values, wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope, Target
    from holdfast.project import OpenProject

_AGO = re.compile(r"(\d{1,6})\s*(s|min|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def workflow_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of workflows that complete a text, each with its title; none if workflows can't be read.

    Archived ones are among them if the command can be about these.
    """
    everything = context.info_name in ("status", "log", "restore", "forget")
    try:
        project = open_project(context.params.get("project_dir"), tell=False)
        known = [each for each in registry.all_found(project).workflows if everything or not each.finished]
        if everything:
            here = {each.key for each in known}
            known += [each.workflow for each in archive.entries(project) if each.workflow.key not in here]
    except (HoldfastError, OSError):
        return []
    named = [(names.short(each, known), each) for each in known]
    return [
        CompletionItem(name, help=wording.one_line(each.title))
        for name, each in named
        if name.casefold().startswith(incomplete.casefold())
    ]


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """A moment: an ISO 8601 time, UTC where it names no zone, or how long ago, as in 2h or 3d."""

    name = "moment"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment a text names."""
        if ago := _AGO.fullmatch(value.strip()):
            try:
                return clock.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            except OverflowError:
                self.fail(f"{value!r} is before the year 1. Write a later time, such as 30d or 2026-03-01.", param, ctx)
        moment = clock.parse(value)
        if moment is None:
            self.fail(f"{value!r} is not a time. Write 2026-03-01T12:00, or how long ago: 30m, 2h or 3d.", param, ctx)
        return moment


def open_project(project_dir: str | None, *, tell: bool = True) -> Workspace:
    """Open the project that `find_project` finds until the command is over."""
    return _until_the_end(find_project(project_dir, tell=tell))


def find_project(project_dir: str | None, *, tell: bool = True) -> Workspace:
    """Return the project that a command is about: the one `paths.find_root` finds, or a nearer folder with a ledger.

    A session's project is the folder the client was started in, even inside a larger repository (client fact:
    `CLAUDE_PROJECT_DIR`). If you type a command in such a folder, you mean that session's project.

    Args:
        project_dir: the value of `--project`, if any.
        tell: wait for a locked ledger, and say on stderr if it can't be used.

    Raises:
        HoldfastError: the named folder doesn't exist, or a session names a project other than its own.
    """
    here = paths.working_folder()
    root = paths.find_root(project_dir, os.environ, here)
    if not names_project(project_dir):
        root = nearest(here.resolve(), root)
    patience = Patience(COMMAND_WAIT_S, note) if tell else Patience(say=lambda text: None)
    project = _open(root, patience)
    if tell and status_line.wanted():
        _keep_status_line(project)
    if project_dir and session():
        _must_be_own(project, paths.find_root(None, os.environ, here))
    return project


def reopen(project: Workspace) -> Workspace:
    """Open a project again after its configuration, or the trust in it, has changed."""
    return _until_the_end(_open(project.root, Patience(COMMAND_WAIT_S, note)))


def _until_the_end(project: Workspace) -> Workspace:
    if context := click.get_current_context(silent=True):
        context.call_on_close(project.close)
    return project


def _open(root: Path, patience: Patience) -> Workspace:
    return Workspace.open(root, trusted=trust.config_trusted(root), patience=patience, client=claude)


def _keep_status_line(project: Workspace) -> None:
    """When the command is over, have the status lines of the project's sessions show what it changed."""
    own = session()
    shown = status_line.sessions_shown(project) | ({own} if own else set())

    def update() -> None:
        trusted, patience = trust.config_trusted(project.root), Patience(say=lambda text: None)
        again = Workspace.open(project.root, trusted=trusted, tell=False, client=claude, patience=patience)
        for each in shown:
            status_line.update(again, each)
        again.close()

    if context := click.get_current_context(silent=True):
        context.call_on_close(update)


def _must_be_own(project: Project, own: Path) -> None:
    """Raise HoldfastError if a session names a foreign project: its permission rules don't look at `--project`."""
    if not Project.open(own, trusted=trust.config_trusted(own)).contains(project.root):
        raise HoldfastError(
            f"--project names {project.root}, but this session's project is {own}; run this in a terminal of your own"
        )


def insist_on_ledger(project: Workspace) -> None:
    """End the command with exit code 1 if the ledger, which holds its answer, can't be read; a warning has said why."""
    if project.ledger_file.exists() and not project.ledger.whole:
        raise click.exceptions.Exit(1)


def note(text: str) -> None:
    """Print a note for people on stderr, so that stdout holds only the answer."""
    click.echo(f"holdfast: {wording.clean(text)}", err=True)


def target(scope: str, settings: Path | None, project_dir: str | None) -> Target:
    """Return the settings file that `--scope`, `--settings` and `--project` name.

    Raises HoldfastError if the project's folder doesn't exist.
    """
    root = paths.find_root(project_dir, os.environ, paths.working_folder())
    return scopes.target(cast("Scope", scope), root, settings)


def names_project(project_dir: str | None) -> bool:
    """Return whether an option or the environment names the project, so that it isn't searched from here upward."""
    return bool(project_dir or os.environ.get("HOLDFAST_PROJECT_DIR") or os.environ.get("CLAUDE_PROJECT_DIR"))


def inside(project: Workspace, project_dir: str | None) -> Path | None:
    """Return the current folder if it lies below the project's root and no project was named, else None.

    A session started there has that folder as its project (client fact: `CLAUDE_PROJECT_DIR`), and doesn't read the
    root's `.claude/settings.json`.
    """
    here = paths.working_folder().resolve()
    return here if not names_project(project_dir) and here != project.root else None


def note_enclosing(project: Workspace, project_dir: str | None) -> None:
    """Say on stderr which project a command is about, if you are in a folder that is a session's own project."""
    if here := inside(project, project_dir):
        text = (
            f"Note: this is about the project {project.root}. A session that you start in {here} is a project of its "
            "own: it reads neither the workflows nor the .claude/settings.json of this one. For that, add --project ."
        )
        say_short(text, err=True)


def session() -> str | None:
    """Return the id of the session whose Bash tool runs the command, if any (client fact: `CLAUDE_CODE_SESSION_ID`)."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID") or None


def conversation(project: OpenProject) -> str | None:
    """Return the conversation whose Bash tool runs the command, if any. Raises LedgerError."""
    own = session()
    return conversations.of(project, own) if own else None


def as_reading(entries: Iterable[str]) -> tuple[str, ...]:
    """Return required readings with the `@` that R001-08 asks for."""
    return tuple(entry if entry.startswith("@") else f"@{entry}" for entry in entries)


def tell_reading(project: Workspace, reading: Iterable[str]) -> None:
    """Tell the user which required readings are missing, or outside the project: no session is asked to read those."""
    state = facts.presence(project.root)
    for entry in reading:
        name = wording.quoted(entry.removeprefix("@"))
        if (found := state(entry)) == outside_reading.OUTSIDE:
            click.echo(f"warning: {name} is outside the project, so no session is asked to read it", err=True)
        elif found:
            warning = f"warning: {name} doesn't exist; create it, or Claude is told that it is missing"
            click.echo(warning, err=True)


def seen_by_git(project: Workspace, format_name: str) -> str:
    """Return a note that git will see the format's shared files; empty if they exist already, or outside git."""
    shared = RECORDS[format_name].SHARED
    if not shared or not project.in_git or (project.root / shared).exists():
        return ""
    return f"Git sees {shared}: commit it to share it, or add it to .gitignore."


def as_context(assignments: Iterable[str]) -> dict[str, Any]:
    """Return `K=V` pairs as a dictionary; a value that is JSON is parsed, any other is text.

    Raises:
        click.BadParameter: a pair without `=` or without a name.
    """
    try:
        return values.assigned(assignments)
    except HoldfastError as error:
        raise click.BadParameter(str(error), param_hint="--set") from error


def at_most_one(chosen: Mapping[str, bool]) -> None:
    """Raise UsageError if more than one of these options was chosen."""
    if len(names := [name for name, is_chosen in chosen.items() if is_chosen]) > 1:
        raise click.UsageError(f"{' and '.join(names)} can't be used together; choose one")


def confirm(question: str, *, yes: bool, on_stderr: bool = False) -> None:
    """Ask whether to trust what was shown, unless `yes` says so. Raises HoldfastError if nobody agrees."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise HoldfastError("there is no terminal to ask on; read what you would trust, then add --yes")
    if not click.confirm(question, err=on_stderr):
        raise HoldfastError("nothing was trusted")


def say(text: str) -> None:
    """Print text for people, without control characters and the client's tags."""
    click.echo(wording.clean(text))


def say_short(text: str, *, err: bool = False) -> None:
    """Print text for people as `say` does, with short paths."""
    click.echo(paths.shown(wording.clean(text)), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON for programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only you can read, as a command's output. Raises StateError, OSError if it can't be written."""
    atomic.write(path, data, mode=0o600)
    path.chmod(0o600)  # an existing file would keep its mode
