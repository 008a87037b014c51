"""Check that the record of installs holds everything that an uninstall needs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from holdfast.checks import folders, ok, problem
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
    if lost := installs.lost():
        closed, name = access.remedy(file), shlex.quote(str(file))
        fix = access.opener(file) if closed else None
        text = f"{lost}, so `holdfast uninstall` can't restore your settings"
        targets = registrations.targets(project)
        named = [each for each in targets if any(entry.ours for entry in registrations.entries(each))]
        again = " && ".join(each.redo for each in named) or f"mv {name} {name}.aside"
        yield problem(text, closed or again, fix)
        return
    number = len(installs.load())
    into = f"{file} records the installs into {count(number, 'settings file')}"
    yield ok(into if number else "`holdfast install` hasn't run yet")
