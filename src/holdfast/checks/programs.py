"""Check that the programs that registered commands run exist, start and answer."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.checks import Finding, fire, notice, ok, problem
from holdfast.errors import MissingError, StateError
from holdfast.files import access, document
from holdfast.install import launcher, native, registrations
from holdfast.process.run_program import run_program
from holdfast.testkit import place
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.install.launcher import Started
    from holdfast.install.registrations import Entry
    from holdfast.sessions.workspace import Workspace

TIMEOUT_S = 20.0  # the client waits ten minutes, but a person doesn't


def findings(project: Workspace) -> Iterator[Finding]:
    """Start the launchers that settings name and the model's command, and look at the fallback."""
    usual, command, fallback = launcher.programs()
    named: dict[Path, list[Entry]] = {}
    for entry in registrations.of_settings(project, everywhere=True):
        if entry.ours and entry.program:
            named.setdefault(entry.program, []).append(entry)
    if not named and not usual.exists():
        yield ok("no settings file registers Holdfast")
        return
    found = list[Finding]()
    for program, entries in named.items():
        where = f"{entries[0].source.settings} registers it for {entries[0].event}"
        found += _program(program, where, entries[0].source.redo, entries)
    if usual in named:
        remedy = named[usual][0].source.redo
        found += [*relay(remedy), *_program(command, "Claude's Bash tool runs it", remedy)]
        if not fallback.is_file() and not access.closed(fallback):
            text = f"{fallback} is missing; without it, a failing launcher bypasses every strict handler"
            found.append(problem(text, remedy, _write))
        if not any(each.level == "problem" for each in found):
            found += _written(remedy)
    yield from found


def relay(remedy: str) -> Iterator[Finding]:
    """Say which relay the launcher is, and why."""
    kind, why = native.running()
    if kind == "native" and why != native.CURRENT:
        yield problem(f"the relay is native, {why}", remedy, _write)
    elif kind == "native":
        yield ok(f"the relay is native, {why}")
    elif kind:
        yield ok(f"no relay is installed, so each event starts cold: {why}")


def _written(remedy: str) -> Iterator[Finding]:
    """Compare the files of an install with what an install of this Python and package writes."""
    started = launcher.installed()
    if started is None or not _is_mine(started):
        return  # the launcher's own finding names the other one
    texts = launcher.texts(started.interpreter)
    if not native.is_native(paths.launcher()):
        texts[paths.launcher()] = texts[paths.entrypoint()]
    for path, text in texts.items():
        if path.is_file() and path.read_bytes() != text.encode():
            yield problem(f"{path} was written by another version of Holdfast, or by hand", remedy, _write)


def _program(program: Path, where: str, remedy: str, entries: Sequence[Entry] = ()) -> Iterator[Finding]:
    """Start a program and yield what is wrong with it; one in another home can't be repaired from here."""
    fix = _write if program in launcher.programs() else None
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
    answer = fire.canary(entries)
    fault = (answer.text if answer.level == "problem" else "") if answer else _called(program)
    if fault:
        yield problem(f"{program} doesn't answer: {fault}", remedy, fix)
    elif not _is_mine(started):
        yield notice(
            f"{program} starts {started.interpreter} with Holdfast in {started.root}, but this command runs "
            f"{sys.executable} with Holdfast in {paths.package_root()}",
            f"{remedy}, with the Holdfast you want",
        )
    else:
        yield ok(f"{program} starts {started.interpreter} and answers")


def _is_mine(started: Started) -> bool:
    """Return whether a program starts the same Python and package as this process."""
    same = os.path.realpath(started.root) == os.path.realpath(paths.package_root())
    folders = [os.path.realpath(Path(each).parent) for each in (started.interpreter, sys.executable)]
    return same and folders[0] == folders[1]


def _write() -> str:
    return "".join(f"wrote {' and '.join(map(str, written))}" for written in [launcher.write()] if written)


def _called(program: Path) -> str:
    """Call the model's command with --version and return what went wrong, or an empty string."""
    with place.opened() as made:
        ended = run_program([str(program), "--version"], b"", Client(made, made.root).environ, made.root, TIMEOUT_S)
    if ended.exit_code or not ended.stdout:
        lines = ended.stderr.strip().splitlines()
        return f"{shlex.join([program.name, '--version'])} ends with {ended.exit_code}: {lines[-1] if lines else ''}"
    return ""
