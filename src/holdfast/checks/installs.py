"""Check that the record of installs holds everything that an uninstall needs."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

from holdfast.checks import folders, notice, ok, problem
from holdfast.errors import StateError
from holdfast.files import access
from holdfast.install import installs, registrations
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace) -> Iterator[Finding]:
    """Read the record without changing it, because only the person who installed knows what was there before."""
    file = installs.file()
    if folders.blocked(file):
        return  # the folders check reports that
    lost = installs.lost()
    if lost:
        closed = access.remedy(file)
        fix = partial(access.open_up, file) if closed and access.can_open(file) else None
        text = f"{lost}, so `holdfast uninstall` can't restore your settings"
        yield problem(text, closed or _anew(project), fix)
    for each in installs.set_aside():
        text = f"{each} is a broken record that was set aside; nothing reads it"
        yield notice(text, f"rm {shlex.quote(str(each))}")
    number = len(installs.load())
    if not lost:
        into = f"{file} records the installs into {count(number, 'settings file')}"
        yield ok(into if number else "`holdfast install` hasn't run yet")


def _anew(project: Workspace) -> str:
    """Return the commands that begin a new record, by installing again into the files with Holdfast's entries."""
    commands = []
    for target in registrations.targets(project):
        try:
            if any(entry.ours for entry in registrations.entries(target)):
                commands.append(target.redo)
        except StateError:
            continue  # the registration check reports that
    name = shlex.quote(str(installs.file()))
    return " && ".join(commands) or f"mv {name} {name}.aside"
