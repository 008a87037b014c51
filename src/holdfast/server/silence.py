"""Remember which events no handler matches, so that the server's loop answers the next such event without a fork.

A worker that answered such an event says what that depended on (`Silence`): the status of every file that decides which
handlers run, and the matchers that would have selected one. While all of that is as it was, the same answer holds. The
server reads none of these files itself. Whatever is not as plain as that goes to a worker.
"""

from __future__ import annotations

import json
import os
import string
import time
from typing import TYPE_CHECKING, NamedTuple

from holdfast import config, engine, paths
from holdfast.dispatch import duplicates, trace
from holdfast.files import trust
from holdfast.files.file_memo import settled, stamp
from holdfast.plugins import loader, strictness

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.project import OpenProject

FILES = 100
"""How many files an answer may depend on; the loop looks at all of them, a microsecond or two each."""
MESSAGE_LIMIT_BYTES = 32_768
"""Size of what a worker may say to the server at once."""
_PLAIN = frozenset(string.ascii_letters + string.digits + "_-|, ")  # a matcher of these takes no time to compare


class Silence(NamedTuple):
    """What it depends on that no handler answers an event of one kind in one project.

    Attributes:
        root: the project's root, as the client names it.
        event: the event's name.
        identity: device and inode of the root.
        seen: path → its stamp, without following a link at its end; None if nothing is there.
        matchers: the matchers of handlers that run on this event.
    """

    root: str
    event: str
    identity: tuple[int, int]
    seen: dict[str, tuple[int, ...] | None]
    matchers: tuple[str, ...]

    def holds(self) -> bool:
        """Return whether all files are as they were."""
        return _identity(self.root) == self.identity and all(_look(each) == was for each, was in self.seen.items())

    def covers(self, payload: object, environ: Mapping[str, str]) -> bool:
        """Return whether no handler wants a payload; False also if that isn't plain.

        Args:
            payload: what came on stdin.
            environ: the hook's environment.
        """
        client = engine.CLIENT
        if not isinstance(payload, dict) or payload.get(client.EVENT_KEY) != self.event:
            return False
        if client.foreign(payload, environ):
            return False  # a worker logs that
        value = client.matched(self.event, payload)
        if value is None:
            return not self.matchers
        return not any(client.matches(each, value, self.event) for each in self.matchers)

    def message(self) -> bytes:
        """Return this as one line for the server, without its newline."""
        return json.dumps(self).encode("utf-8", "surrogateescape")


def parsed(message: bytes) -> Silence | None:
    """Return what a worker has said (`Silence.message`), None if it isn't that."""
    try:
        root, event, identity, seen, matchers = json.loads(message.decode("utf-8", "surrogateescape"))
        known = {path: was if was is None else tuple(was) for path, was in seen.items()}
        return Silence(root, event, tuple(identity), known, tuple(matchers))
    except (ValueError, TypeError, AttributeError):
        return None


def root_variable() -> str:
    """Return the environment variable that names the project's root."""
    return engine.CLIENT.ROOT_VARIABLE


def plain(environ: Mapping[str, str]) -> bool:
    """Return whether an event with this environment needs nothing that only a worker does: no copy, no trace."""
    return engine.CLIENT.PLUGIN_VARIABLE not in environ and trace.VARIABLE not in environ


def observed(event: str | None) -> Silence | None:
    """Find out, in the worker that has just answered an event, what its silence depended on; None if that isn't plain.

    Args:
        event: the event's name on the command line.
    """
    root = os.environ.get(engine.CLIENT.ROOT_VARIABLE, "")
    if event is None or event not in engine.CLIENT.EVENTS or not root or not plain(os.environ):
        return None
    now = time.time_ns()
    project = engine.open_project(os.environ, tell=False)
    before = _seen(root, project)
    if before is None or not all(was is None or settled((0, 0, 0, was[-1]), now) for was in before.values()):
        return None
    if before[str(duplicates.folder())] is not None or not _configured(project):
        return None
    matchers = _matchers(event, project)
    if matchers is None or before != _seen(root, project):
        return None
    return Silence(root, event, _identity(root) or (0, 0), before, matchers)


def _matchers(event: str, project: OpenProject) -> tuple[str, ...] | None:
    """Return the matchers of the handlers that run on an event; None if a worker must see each such event."""
    found = loader.find(engine.CLIENT, project, event)
    if any(file.faults or file.strict or file.changed or file.notice for file in found):
        return None
    matchers = {route.match for file in found if file.active for route in file.routes if route.event == event}
    if any(each is None or not each or not _PLAIN.issuperset(each) for each in matchers):
        return None
    return tuple(sorted(each for each in matchers if each))


def _configured(project: OpenProject) -> bool:
    """Return whether nothing is wrong with the configuration; otherwise each event logs that."""
    loaded = config.load(project.root, trusted=trust.config_trusted(project.root))
    return not (loaded.problems or loaded.ignored)


def _seen(root: str, project: OpenProject) -> dict[str, tuple[int, ...] | None] | None:
    """Return the stamps of all files that decide which handlers run; None for too many."""
    ours = f"{root}/.claude"
    files = [
        *(str(each) for each in (paths.user_config(), trust.file(), duplicates.folder(), strictness.memory_file())),
        *(ours, f"{ours}/{paths.project_config(project.root).name}"),
    ]
    for folder in (paths.shipped("handlers"), paths.user_handlers(), f"{ours}/handlers"):
        files += [str(folder), *_handlers(folder)]
    return {each: _look(each) for each in files} if len(files) <= FILES else None


def _handlers(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [each.path for each in entries if each.name.endswith(".py")]
    except OSError:
        return []


def _look(path: str) -> tuple[int, ...] | None:
    """Return the stamps of a path and of what it leads to; None if nothing is there."""
    try:
        own = os.lstat(path)
        return (*stamp(os.stat(path)), *stamp(own)) if own.st_mode & 0o170000 == 0o120000 else stamp(own)  # noqa: PTH116
    except OSError:
        return None


def _identity(root: str) -> tuple[int, int] | None:
    """Return which folder a root is. Its time doesn't count: it changes with every file that a session makes there."""
    try:
        info = os.stat(root)  # noqa: PTH116 - for each event
    except OSError:
        return None
    return info.st_dev, info.st_ino
