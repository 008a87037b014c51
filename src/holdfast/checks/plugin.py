"""Check that the Python environment of each plugin copy is built and its hooks answer."""

from __future__ import annotations

import fcntl
import os
import shlex
from typing import TYPE_CHECKING, Any

from holdfast.checks import notice, ok, problem, programs
from holdfast.errors import StateError
from holdfast.files import access, document
from holdfast.install import plugin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.checks import Finding
    from holdfast.install.plugin import Copy
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace) -> Iterator[Finding]:
    """Look at the data folder of each copy that a session in the project runs, and of copies run with --plugin-dir."""
    copies = plugin.copies(project.root)
    for copy in copies:
        yield _copy(copy)
    known = {copy.data for copy in copies}
    others = [said for folder in plugin.data_folders() if folder not in known for said in _other(folder)]
    yield from others
    if not (copies or others):
        yield ok("the Holdfast plugin isn't enabled here")


def _copy(copy: Copy) -> Finding:
    if not (copy.root / "plugin" / "run.sh").is_file():
        return problem(f"{copy} is enabled, but isn't in {copy.root}", _again(copy))
    environment = copy.environment
    if copy.ready:
        fault = programs.unreached(["/bin/sh", str(copy.root / "plugin" / "run.sh")], copy.environ)
        if not fault:
            cold = "each event cold: a session's start puts a relay in place if the plugin brings one that runs"
            relay = "through the native relay" if plugin.has_relay(copy) else cold
            return ok(f"{copy} answers from its environment {environment}, {relay}")
        text = f"{copy} has its environment {environment}, but doesn't answer: {fault}"
        return problem(text, f"rm -r {shlex.quote(str(environment))} && {copy.build}")
    if closed := _closed(copy.data):
        what, remedy = closed
        return problem(
            f"{copy} does nothing, because its environment can't be built: {what}", f"{remedy} && {copy.build}"
        )
    if _building(copy.data):
        text = f"the environment of {copy} is being built in {copy.data}; the plugin does nothing until it is ready"
        return notice(text, "holdfast doctor, in a minute")
    if said := _failed(copy.data, environment.name.removeprefix("env-")):
        return problem(f"{copy.data}: {said}", copy.build)
    if (environment / "ready").is_file():
        text = f"{copy} does nothing, because the Python of its environment is gone: {environment / 'bin' / 'python'}"
        return problem(f"{text}; the next session builds another", copy.build)
    how = "isn't finished" if environment.is_dir() else "isn't built yet"
    return notice(f"the environment of {copy} {how}; the next session of Claude Code builds it", copy.build)


def _again(copy: Copy) -> str:
    """Return how to get its files again."""
    return f"claude plugin update {shlex.quote(copy.name)}" if copy.name else copy.undo


def _other(data: Path) -> Iterator[Finding]:
    """Yield a finding about Holdfast's files in a data folder that belongs to no enabled copy."""
    ready = sorted(data.glob("env-*/ready"))
    if _building(data):
        yield notice(f"an environment for --plugin-dir is being built in {data}", "holdfast doctor, in a minute")
    elif said := _failed(data):
        yield notice(f"{data}: {said}", f"start Claude Code with --plugin-dir, or rm -r {shlex.quote(str(data))}")
    elif ready:
        yield ok(f"{ready[0].parent} is ready for sessions with --plugin-dir")


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


def _failed(data: Path, digest: str = "") -> str:
    """Return the recorded text of the last failed build, of one environment or of any; empty if there is none."""
    try:
        failed: dict[str, Any] = document.load(data / "failed").data
    except StateError:
        failed = {}
    if (digest and failed.get("digest") != digest) or not isinstance(failed.get("text"), str):
        failed = {}
    try:
        raw, since = document.read(data / "no-python")
    except StateError:
        return str(failed.get("text", ""))
    if failed and (data / "failed").stat().st_mtime > since:  # the build failed later, so a Python was found
        return str(failed["text"])
    return raw.decode("utf-8", "replace").strip() or "the plugin found no Python 3.11 or newer on PATH"


def _closed(data: Path) -> tuple[str, str] | None:
    """Return what prevents a build from writing to the data folder, and the command that repairs it; else None."""
    lock = data / "lock"
    place = next(each for each in (data, *data.parents) if os.path.lexists(each))
    for each, is_right, kind in ((place, place.is_dir(), "folder"), (lock, lock.is_file(), "file")):
        name = shlex.quote(str(each))
        if os.path.lexists(each) and not is_right:
            return f"{each} isn't a {kind}", f"mv {name} {name}.aside"
        if shut := access.closed(each, write=True):
            return f"{shut} can't be written", access.opening(shut)
    return None
