"""Check that the Python environment of each plugin copy is built and its hooks answer."""

from __future__ import annotations

import fcntl
import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.checks import fire, notice, ok, problem
from holdfast.errors import StateError
from holdfast.files import access, document
from holdfast.install import plugin, registrations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.install.plugin import Copy
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at the data folder of each copy that a session in the project runs."""
    copies = plugin.copies(project.root)
    yield from map(_copy, copies)
    if not copies:
        yield ok("the Holdfast plugin isn't enabled here")


def _copy(copy: Copy) -> Finding:
    if not (copy.root / "plugin" / "run.sh").is_file():
        return problem(f"{copy} is enabled, but isn't in {copy.root}", copy.redo)
    environment = copy.environment
    if copy.ready:
        answer = fire.canary(registrations.of_plugin(copy), copy.environ)
        if answer is None or answer.level == "ok":
            cold = "each event cold: a session's start puts a relay in place if the plugin brings one that runs"
            relay = "through the native relay" if plugin.has_relay(copy) else cold
            return ok(f"{copy} answers from its environment {environment}, {relay}")
        text = f"{copy} has its environment {environment}, but doesn't answer: {answer.text}"
        return problem(text, f"rm -r {shlex.quote(str(environment))} && {copy.build}")
    place = next(each for each in (copy.data, *copy.data.parents) if os.path.lexists(each))
    if shut := access.closed(place, write=True):
        text = f"{copy} does nothing, because its environment can't be built: {shut} can't be written"
        return problem(text, f"{access.opening(shut)} && {copy.build}")
    if _building(copy.data):
        text = f"the environment of {copy} is being built in {copy.data}; the plugin does nothing until it is ready"
        return notice(text, "holdfast doctor, in a minute")
    if reason := _failed(copy.data, environment.name.removeprefix("env-")):
        return problem(f"{copy.data}: {reason}", copy.build)
    text = f"the environment of {copy} isn't built; the next session of Claude Code builds it"
    return notice(text, copy.build)


def _building(data: Path) -> bool:
    """Return whether `plugin/build.py` is running, which holds a lock."""
    try:
        descriptor = os.open(data / "lock", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # released at once, since builders need it
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _failed(data: Path, digest: str) -> str:
    """Return why the last build of an environment failed, or that there is no Python; else nothing."""
    with suppress(StateError):
        failed: dict[str, Any] = document.load(data / "failed").data
        if failed.get("digest") == digest:
            return str(failed.get("text"))
    with suppress(StateError):
        text = document.read(data / "no-python")[0].decode("utf-8", "replace").strip()
        return text or "the plugin found no Python 3.11 or newer on PATH"
    return ""
