"""Check that handlers load, are trusted and run without faults."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.checks import notice, ok, problem
from holdfast.clients.claude import claude
from holdfast.errors import command_line
from holdfast.files import access
from holdfast.install import inspection
from holdfast.plugins import activity, discovery, strict_memory
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checks import Finding
    from holdfast.plugins.discovery import HandlerFile
    from holdfast.sessions.workspace import Workspace

_CORRECT = "correct {}, then: holdfast handlers check"
_ASKS_FOR_COMMANDS = re.compile(rb"\.(?:commands|paths)\b|^(?:when|unless)\b.*\b(?:command|path)\s*=", re.MULTILINE)


def findings(project: Workspace) -> Iterator[Finding]:
    """Load every active handler file, and look at the inactive ones."""
    yield from _memory()
    files = discovery.find(claude, project)
    folder = paths.project_handlers(project.root)
    if access.closed(folder) == folder:
        yield problem(f"{folder} can't be read, so none of its handlers run", access.opening(folder))
    closed = [file for file in files if access.closed(file.path)]
    for file in closed:
        yield problem(f"{file.path} can't be read, so it doesn't run", access.remedy(file.path))
    read = [file for file in files if file not in closed]
    complaints = inspection.complaints(project, [file for file in read if not _lost(file)])
    for file, text in complaints:
        yield _complaint(file, text)
    for file in read:
        yield from _inactive(file, project)
    yield from _unused(read, project)
    for file, text, remedy in inspection.unexpected(project, read):
        yield notice(f"{file.path}: {text}", remedy)
    yield from _unknown(project, files)
    yield from _reading_shell(read)
    sound = [file for file in read if file.active and file.path not in {each.path for each, _ in complaints}]
    yield ok(f"{count(len(sound), 'handler')} without faults")


def _reading_shell(files: Sequence[HandlerFile]) -> Iterator[Finding]:
    """Yield a notice for each handler that asks for shell commands, if nothing here can read bash."""
    if not find_spec("tree_sitter_bash"):
        for file in files:
            if file.place != "shipped" and file.active and _ASKS_FOR_COMMANDS.search(file.source):
                text = f"{file.path} reads shell commands; without the extra holdfast[shell], it reads only plain words"
                yield notice(text, f"install tree-sitter and tree-sitter-bash into {sys.prefix}")


def _complaint(file: HandlerFile, text: str) -> Finding:
    if not file.active:
        return notice(f"{file.path}, which doesn't run: {text}", _CORRECT.format(file.path))
    if text != activity.latest_fault(file)[0]:
        return problem(f"{file.path}: {text}", _CORRECT.format(file.path))
    remedy = "holdfast status" if file.place == "shipped" else _CORRECT.format(file.path)
    return problem(f"{file.path} failed when it ran: {text}", remedy)


def _memory() -> Iterator[Finding]:
    """Yield a problem if nobody can tell which handlers were strict; another user's folder is `folders`' to report."""
    file = strict_memory.memory_file()
    if file.parent.is_dir() and not paths.is_foreign(file.parent) and not strict_memory.is_readable():
        text = (
            f"{file} can't be read, so what a lost guard guarded isn't refused. Guards that exist are remembered again"
        )
        yield problem(f"{text} once the file is gone", f"rm -r {shlex.quote(str(file))}")


def _inactive(file: HandlerFile, project: Workspace) -> Iterator[Finding]:
    """Yield the reasons why a file that you may expect to run doesn't run."""
    if _lost(file):
        verb = ["off", file.name] if file.trusted else ["untrust", "--project", str(project.root), file.path.name]
        if file.path.exists():
            verb[0] = "trust"
        text = f"{file.path} is strict and can't run, so what it guards is refused: {file.routes[-1].broken}"
        yield problem(text, command_line("handlers", *verb))
    if file.notice:
        off = command_line("handlers", "off", file.name)
        yield notice(f"{file.path}: {file.notice}", off if file.strict else f"rename {file.path}")
    for text in file.doubts:
        yield notice(f"{file.path}: {text}", _CORRECT.format(file.path))


def _unused(files: Sequence[HandlerFile], project: Workspace) -> Iterator[Finding]:
    """Yield unused files, except helpers and files that were reported already. To be switched off is no fault."""
    known = {file.path: file for file in files}
    for path, why in inspection.unused(project, files):
        file = known.get(path)
        if why == inspection.HELPER or (file and (file.faults or _lost(file))):
            continue
        if file and file.off:
            yield ok(f"{path} is {why}")
        else:
            yield notice(f"{path} isn't used: {why.why}", why.remedy or f"remove or rename {path}")


def _lost(file: HandlerFile) -> bool:
    """Return whether a strict handler refuses events because it is gone, or was changed since it was trusted."""
    return file.active and file.refuses and not (file.trusted and file.path.exists())


def _unknown(project: Workspace, files: Sequence[HandlerFile]) -> Iterator[Finding]:
    """Yield a notice for each name in the configuration that no handler has."""
    names, listed = {file.name for file in files}, project.config.handlers
    places = f"{paths.user_config()} or {paths.project_config(project.root)}"
    for key, used in (("options", project.config.options), ("handlers.off", listed.off), ("handlers.on", listed.on)):
        for name in used:
            if name not in names:
                yield notice(f'"{key}" names {name!r}, but no handler has that name', f"take it out of {places}")
