"""Check that the programs that registered commands run exist, start and answer."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.checks import notice, ok, problem
from holdfast.errors import MissingError, StateError
from holdfast.files import access, document
from holdfast.install import launcher, native, registrations
from holdfast.process.run_program import CompletedProgram, run_program
from holdfast.testkit import place
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.checks import Finding
    from holdfast.install.launcher import Started
    from holdfast.sessions.workspace import Workspace

TIMEOUT_S = 20.0  # the client waits ten minutes, but a person doesn't
_ANSWERED = "stdin is empty"  # what the engine logs when it is started without input


def findings(project: Workspace) -> Iterator[Finding]:
    """Start the launchers that settings name and the model's command, and look at the fallback."""
    listed = [each for *_, entries in registrations.readable(project, everywhere=True) for each in entries]
    usual, command, fallback = launcher.programs()
    named = {entry.program: entry for entry in reversed(listed) if entry.ours and entry.program}
    if not named and not usual.exists():
        yield ok("no settings file registers Holdfast")
        return
    for program, entry in named.items():
        where = f"{entry.target.settings} registers it for {entry.event}"
        yield from _program(program, where, entry.target.redo, mendable=program == usual)
    if usual in named:
        remedy = named[usual].target.redo
        yield from _relay(remedy)
        yield from _program(command, "Claude's Bash tool runs it", remedy, mendable=True)
        yield from _fallback(fallback, remedy)


def _relay(remedy: str) -> Iterator[Finding]:
    """Say which relay the launcher is, and why."""
    kind, why = native.running()
    if kind == "native" and why != native.CURRENT:
        yield problem(f"the relay is native, {why}", remedy, _write)
    elif kind == "native":
        yield ok(f"the relay is native, {why}")
    elif kind:
        yield ok(f"no relay is installed, so each event starts cold: {why}")


def _fallback(script: Path, remedy: str) -> Iterator[Finding]:
    """Compare the launcher's fallback `refuse.sh` with what an install writes."""
    try:
        text = document.read(script)[0].decode("utf-8", "replace")
    except StateError as error:
        if access.closed(script.parent):
            return  # reported for the launcher, which is in the same folder
        yield problem(f"{error}; without it, a failing launcher bypasses every strict handler", remedy, _write)
        return
    if re.sub("^set --.*$", "", text, flags=re.MULTILINE) != launcher.fallback():
        yield problem(f"{script} was written by another version of Holdfast, or by hand", remedy, _write)
    else:
        yield ok(f"{script} refuses for strict handlers if the launcher fails")


def _program(program: Path, where: str, remedy: str, *, mendable: bool) -> Iterator[Finding]:
    """Start a program and yield what is wrong with it; one in another home can't be repaired from here."""
    fix = _write if mendable else None
    source = paths.entrypoint() if program == paths.launcher() else program
    script = source if native.is_native(program) else program  # what the relay starts
    try:
        text = document.read(script)[0].decode("utf-8", "replace")
    except MissingError:
        yield problem(f"{script} is missing, but {where}", remedy, fix)
        return
    except StateError as error:
        above = access.closed(program.parent)  # an install couldn't write it either
        yield problem(f"{error}, and {where}", access.opening(above) if above else remedy, None if above else fix)
        return
    if not os.access(program, os.X_OK):
        if program.stat().st_mode & 0o111 == 0o111:  # everybody may run it, so its file system forbids that
            mount = next(folder for folder in program.resolve().parents if folder.is_mount())
            text = f"{program} can't run, because {mount} is mounted with the option noexec; {where}"
            yield problem(text, f"sudo mount -o remount,exec {shlex.quote(str(mount))}")
            return
        yield problem(f"{program} isn't executable, but {where}", remedy, fix)
        return
    started = launcher.started(text)
    if started is None:
        yield problem(f"{program} wasn't written by `holdfast install`, but {where}", remedy)
        return
    if not os.access(started.interpreter, os.X_OK):
        yield problem(f"{program} starts {started.interpreter}, which is missing, but {where}", remedy, fix)
        return
    fault = unreached([str(program)], {}) if program.name == "run" else _called(program)
    if fault:
        yield problem(f"{program} doesn't answer: {fault}", remedy, fix)
    elif not _is_mine(started):
        yield notice(
            f"{program} starts {started.interpreter} with Holdfast in {started.root}, but this command runs "
            f"{sys.executable} with Holdfast in {paths.package_root()}",
            f"{remedy}, with the Holdfast you want",
        )
    elif launcher.texts(started.interpreter).get(source, text) != text:
        yield problem(f"{script} was written by another version of Holdfast, or by hand", remedy, fix)
    else:
        yield ok(f"{program} starts {started.interpreter} and answers")


def _is_mine(started: Started) -> bool:
    """Return whether a program starts the same Python and package as this process."""
    same = os.path.realpath(started.root) == os.path.realpath(paths.package_root())
    folders = [os.path.realpath(Path(each).parent) for each in (started.interpreter, sys.executable)]
    return same and folders[0] == folders[1]


def _write() -> str:
    return "".join(f"wrote {' and '.join(map(str, written))}" for written in [launcher.write()] if written)


def unreached(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Run a hook's command for Stop with empty stdin, in a temporary home. Return why Holdfast wasn't reached, or "".

    Args:
        command: the command and its arguments, without the event.
        environ: variables to add to the environment.
    """
    with place.opened() as made:
        given = {**Client(made, made.root).environ, **environ}
        try:
            ended = run_program([*command, "Stop"], b"", given, made.root, TIMEOUT_S)
        except OSError as error:
            return f"it can't be started ({error.strerror or error})"
        log = made.log()
    return _unclean(ended) or ("" if _ANSWERED in "".join(log) else _reason(log))


def _called(program: Path) -> str:
    """Call the model's command with --version and return what went wrong, or an empty string."""
    with place.opened() as made:
        try:
            ended = run_program([str(program), "--version"], b"", Client(made, made.root).environ, made.root, TIMEOUT_S)
        except OSError as error:
            return f"it can't be started ({error.strerror or error})"
    if ended.exit_code or not ended.stdout:
        said = ended.stderr.strip().splitlines()
        return f"{shlex.join([program.name, '--version'])} ends with {ended.exit_code}: {said[-1] if said else ''}"
    return ""


def _unclean(ended: CompletedProgram) -> str:
    if ended.exit_code is None:
        return f"it didn't end within {TIMEOUT_S:g} seconds"
    if ended.exit_code or ended.stdout or ended.stderr:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        return f"with nothing on stdin it ends with {ended.exit_code}" + (f" and says {said[-1]}" if said else "")
    return ""


def _reason(log: list[str]) -> str:
    """Return why Holdfast wasn't loaded, from the entrypoint's line in the log."""
    return log[-1].partition(" error ")[2] if log else "it starts, but doesn't reach Holdfast"
