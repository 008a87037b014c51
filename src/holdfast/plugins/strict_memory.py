"""The memory of strict handlers, by which a guard that can't run still refuses.

The file holds one line for each strict function, with fields separated by tabs: event, matcher (`*` for every value),
project root (`*` for a user's own handler), handler file, function. `%` and control characters are written as `%XX`.
`refuse.sh` reads the same lines if Holdfast itself can't run, so the format never changes.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.errors import HoldfastError
from holdfast.files import atomic, document, lock, trust
from holdfast.files.file_memo import Kept
from holdfast.plugins import kinds
from holdfast.plugins.scan import Route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.plugins.hooks import Hooks

LOCK_TIMEOUT_S = 0.5
"""How long an event waits for another process that is writing the memory."""

_HEADER = "# The strict handlers that Holdfast knows: event, matcher, project, file, function. Written by Holdfast.\n"
_EVERY = "*"
_ESCAPES = {code: f"%{code:02X}" for code in (*range(32), ord("%"), 127)}

Memory = dict[str, tuple[Route, ...]]


def remembered_routes() -> Mapping[str, tuple[Route, ...]]:
    """Return the remembered strict routes by handler file; cached until the memory changes."""
    return _memory.get(memory_file())


def recall(path: Path) -> tuple[Route, ...]:
    """Return the strict routes that a handler file had, until you switched it off or trusted it again; empty if none.

    Only a route's event, function and matcher are remembered.
    """
    return remembered_routes().get(str(path), ())


def remember(path: Path, routes: Iterable[Route]) -> None:
    """Replace what is remembered of a handler file with its present strict routes; write only if they differ.

    If the memory can't be written, that is logged. The guard still works, but would be forgotten if its file broke.
    """
    strict = tuple(Route(each.event, each.function, each.match, strict=True) for each in routes if each.strict)
    if recall(path) == strict:
        return
    try:
        with lock.locked(paths.ensure_private(paths.state_dir()), timeout=LOCK_TIMEOUT_S):
            entries = _for_change()
            entries.pop(str(path), None)
            if strict:
                entries[str(path)] = strict
            atomic.write(memory_file(), _text(entries), mode=0o600)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the strict handlers of {path} couldn't be recorded: {error}")


def trust_files(hooks: Hooks, root: Path, files: Mapping[Path, bytes]) -> list[str]:
    """Trust files of a project with exactly these contents, instead of what is remembered of them.

    What a file guarded that has a fault stays refused until it is corrected.

    Args:
        hooks: the client's hooks.
        root: the project's root.
        files: path → content.

    Returns:
        The files' paths inside the project.

    Raises:
        StateError: the trust file can't be read or written.
    """
    entries = {trust.relative_name(root, path): trust.digest(content) for path, content in files.items()}
    trust.grant(root, entries, files.values())
    for path, content in files.items():
        handler = path.parent.name == "handlers" and kinds.is_handler(path)
        if handler and not kinds.declares(path.name, content, hooks).faults:
            remember(path, ())
    return list(entries)


def guarding(hooks: Hooks, event: str, value: str | None, root: str) -> list[str]:
    """Return the strict handlers known for an event, to refuse it if they couldn't be called.

    Args:
        hooks: the client's hooks.
        event: the event's name.
        value: the value of the event's matcher field; None if it isn't known, and then every matcher selects it.
        root: the project's root, as the client names it.

    Returns:
        The handlers' labels: `user/guard.py: on_pre_tool_use`. If the memory can't be read, one unnamed handler, since
        it may hold a guard.
    """
    if event not in hooks.STRICT_EVENTS:
        return []
    real = paths.real_root(root)
    try:
        entries = _read(memory_file())
    except (OSError, ValueError) as error:
        log.write("error", f"{memory_file()}: can't be read ({error}), so any handler may be strict")
        return ["a handler"]
    return [
        f"{'user' if everywhere(path) else 'project'}/{path.rpartition('/')[2]}: {route.function}"
        for path, routes in entries.items()
        for route in routes
        if _root(path) in (_EVERY, real) and selects(hooks, route, event, value)
    ]


def is_readable() -> bool:
    """Return whether the memory can be read; otherwise nobody knows which handlers are strict."""
    try:
        _read(memory_file())
    except (OSError, ValueError):
        return False
    return True


def everywhere(path: str) -> bool:
    """Return whether a handler file is a user's own, in any folder, and so guards every project."""
    return _root(path) == _EVERY


def memory_file() -> Path:
    """Return the memory's path; the file may not exist."""
    return paths.state_dir() / "strict"


def selects(hooks: Hooks, route: Route, event: str, value: str | None) -> bool:
    """Return whether a route is for an event; a strict one with an invalid matcher is for every value."""
    if route.event != event:
        return False
    if hooks.matches(route.match, value, event):
        return True
    return route.strict and not hooks.valid(route.match, event)


def _root(path: str) -> str:
    """Return the root of the project that a handler file belongs to, or `*` for a user's own."""
    folder = os.path.dirname(path)  # noqa: PTH120 - the key is a text
    own = str(paths.user_handlers())
    if folder == own or not folder.endswith("/.claude/handlers"):
        return _EVERY
    return folder.removesuffix("/.claude/handlers") or "/"


def _text(entries: Memory) -> bytes:
    lines = [
        "\t".join(_escaped(each) for each in (route.event, route.match or _EVERY, _root(path), path, route.function))
        for path, routes in sorted(entries.items())
        for route in routes
    ]
    return (_HEADER + "".join(f"{line}\n" for line in lines)).encode("utf-8", "surrogateescape")


def _for_change() -> Memory:
    """Read the memory to rewrite it; set it aside first if it isn't in Holdfast's format. Raises OSError."""
    try:
        return dict(_read(memory_file()))
    except ValueError:
        document.set_aside(memory_file())
        return {}


def _load(file: Path) -> Memory:
    """Read the memory; if it can't be read, log that and return an empty one."""
    try:
        return _read(file)
    except (OSError, ValueError) as error:
        log.write("error", f"{file}: can't be read ({error}), so strict handlers that no longer load are unknown")
        return {}


def _read(file: Path) -> Memory:
    """Read the memory; empty if it doesn't exist.

    Raises:
        OSError: it exists and can't be read, or it or its folder belongs to another user.
        ValueError: it isn't in Holdfast's format.
    """
    try:
        for each in (file.parent, file):
            paths.check_own(each)
        text = file.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return {}
    entries: Memory = {}
    for line in text.split("\n"):
        fields = [_unescaped(field) for field in line.split("\t")]
        if len(fields) == 5 and not line.startswith("#"):
            event, match, _, path, function = fields
            route = Route(event, function, None if match == _EVERY else match, strict=True)
            entries[path] = (*entries.get(path, ()), route)
    if text.strip() and not entries and not text.startswith("#"):
        raise ValueError("no line of it is a strict handler's")
    return entries


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


def _unescaped(text: str) -> str:
    return re.sub("%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), text) if "%" in text else text


_memory: Kept[Memory] = Kept(_load)
