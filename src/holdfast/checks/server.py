"""Check that the warm server answers, or can run at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.checks import notice, ok, problem
from holdfast.server import control, protocol
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace | None = None) -> Iterator[Finding]:
    """Ask every server of this user for its status; if none runs, say whether one can."""
    off, found = control.off(), control.running_servers()
    for each in found:
        if each.answers:
            yield ok(f"the server of {each.entry} (process {each.pid}) has answered {count(each.answered, 'event')}")
            continue
        text = f"the server at {each.address} (process {each.pid}) doesn't answer, which costs each event a second"
        yield problem(text, "holdfast server --stop", _stopping(each.address))
    if off:
        yield ok(f"the server is off ({off}), so every event starts cold")
    elif not protocol.address(str(paths.entrypoint()), dict(os.environb)):
        text = f"{control.folder()} is too long a path for a socket, so every event starts cold"
        yield notice(text, "set XDG_STATE_HOME to a shorter folder")
    elif not found:
        yield ok("no server runs; the next event starts one")


def _stopping(address: Path) -> Callable[[], str]:
    def fix() -> str:
        return f"the server at {address} was stopped" if control.stop(address) else f"{address} couldn't be stopped"

    return fix
