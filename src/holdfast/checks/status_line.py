"""Check the client's status line: whose it is, and whether events keep what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checks import notice, ok, problem
from holdfast.files import status_file
from holdfast.install import installs, register, registrations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_STRENGTH = ("user", "project", "local")  # of two scopes' settings, the later counts (client fact §4.3)
_REDO = "holdfast install --statusline"


def findings(project: Workspace) -> Iterator[Finding]:
    """Look for a status line in the settings that a session here reads, and for the folder of what ours shows."""
    lines = [(target, settings.get("statusLine")) for target, settings in registrations.readable(project)]
    found = [(target, line.get("command")) for target, line in lines if isinstance(line, dict)]
    found.sort(key=lambda each: _STRENGTH.index(each[0].scope))
    ours = [target for target, command in found if command == register.STATUS_LINE]
    wanted = bool(ours) or any(each.status_line for each in installs.load().values())
    if not wanted:
        yield ok(f"no settings file has Holdfast's status line; {_REDO} adds it")
        return
    if not status_file.folder().is_dir():
        text = f"{status_file.folder()} is missing, so Claude Code's status line shows nothing of Holdfast"
        yield problem(text, f"{ours[-1].redo} --statusline" if ours else _REDO)
    elif not ours:
        yield ok("the status line is a program of your own; it can show Holdfast's, too")
    elif found[-1][1] != register.STATUS_LINE:
        text = f"{found[-1][0].settings} has another status line, which Claude Code shows instead of Holdfast's"
        yield notice(text, f'remove "statusLine" there, or from {ours[-1].settings}')
    else:
        yield ok(f"{ours[-1].settings} has Holdfast's status line")
