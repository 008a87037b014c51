"""The commands in a project's settings files that run Holdfast."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.clients.claude.scopes import SCOPES
from holdfast.dispatch import background
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.install import installs, launcher, register, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.clients.claude.scopes import Target
    from holdfast.project import Project

PLAIN = frozenset({"type", "command", "timeout", "statusMessage"})
"""The keys of a command that the client always runs, and whose answer it waits for."""

_PROGRAM = re.compile(r"""(?:\$HOME|\$\{HOME\}|~|/[^\s"';]*?)/\.local/share/holdfast/run""")
_ENTRYPOINT = "dispatch.py"
_FILE_LIMIT_BYTES = 1024 * 1024  # of a file that may be Holdfast's entrypoint
_ALIKE = re.compile(r"\bholdfast\b.*\b(?:dispatch|run)\b|\bdispatch\.py\b.*\bholdfast\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered command that runs Holdfast.

    Attributes:
        target: the settings file it is in.
        event: the event it is registered for.
        matcher: its matcher; None for every value.
        hook: the command's JSON object.
        ours: whether an install wrote it, in this or an earlier form; otherwise it was written by hand.
    """

    target: Target
    event: str
    matcher: str | None
    hook: Mapping[str, Any]
    ours: bool

    @property
    def command(self) -> str:
        """The shell command."""
        return str(self.hook["command"])

    @property
    def name(self) -> str:
        """The event or, if the command runs handlers in the background, their name for it (`register.Wish`)."""
        return background.name(self.event, self.command)

    @property
    def seconds(self) -> float | None:
        """The command's timeout in seconds, if it has one."""
        limit = self.hook.get("timeout")
        return float(limit) if isinstance(limit, (int, float)) and limit > 0 else None

    @property
    def plain(self) -> bool:
        """Whether nothing was added to it that keeps the client from running it, or from waiting for its answer."""
        return not self.odd

    @property
    def odd(self) -> list[str]:
        """The keys that were added to it; `async` belongs to an entry that runs handlers in the background."""
        return sorted(self.hook.keys() - PLAIN - ({"async"} if background.is_entry(self.name) else set()))

    @property
    def program(self) -> Path | None:
        """The launcher that the command names, or None if it names none."""
        found = _PROGRAM.search(self.command)
        return Path(re.sub(r"^(?:\$HOME|\$\{HOME\}|~)", lambda _: str(Path.home()), found[0])) if found else None


def targets(project: Project, *, everywhere: bool = False) -> list[Target]:
    """Return the settings files that a session in a project reads (user, project, local), each file once.

    Files of other names that somebody installed into for this project are included; with `everywhere`, all files with
    a recorded install, of any project.
    """
    others = [
        scopes.Target(each.scope, each.settings, each.root)
        for each in installs.load().values()
        if everywhere or each.root == project.root
    ]
    found: dict[Path, Target] = {}
    for each in (*usual(project.root), *others):
        found.setdefault(each.real, each)
    return list(found.values())


def readable(project: Project, *, everywhere: bool = False) -> list[tuple[Target, dict[str, Any], list[Entry]]]:
    """Return those of the `targets` that can be read, each with its content and its entries that run Holdfast.

    The doctor's registration check reports the others.
    """
    found = []
    for target in targets(project, everywhere=everywhere):
        with suppress(StateError):
            content = read(target.settings)
            found.append((target, content, list(_entries(target, content.get("hooks")))))
    return found


def read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a settings file; empty if the file is missing or blank.

    Raises StateError for a file that can't be read or isn't a JSON object.
    """
    file = settings.read(Path(os.path.realpath(path)))
    if not (file.raw and file.text and file.text.strip(settings.BLANK)):
        return {}
    return document.parse(path, file.raw, 0.0).data


def entries(target: Target) -> list[Entry]:
    """Return the commands of a settings file that run Holdfast, in their order. Raises StateError."""
    return list(_entries(target, read(target.settings).get("hooks")))


def installed_matchers(event: str, root: Path, process: str | None = None) -> list[str | None]:
    """Return the matchers with which installations register an event for a session in a project.

    The record of the installs names the settings files, and each counts as far as it registers the event now. A team's
    settings without a launcher that works here start nothing, and neither does an entry that somebody took out.

    Args:
        event: the event's name.
        root: the project's folder.
        process: the id of the client's process, which says what settings it reads; None if it is unknown.
    """
    known = installs.load() if launcher.starts() and scopes.runs_own_hooks() else {}
    read, found = scopes.read_by(process), list[str | None]()
    for target in usual(root):
        with suppress(StateError):
            if target.scope in read and str(target.real) in known:
                ours = [entry for entry in entries(target) if entry.ours and entry.plain]
                found += [entry.matcher for entry in ours if entry.name == event]
    return found


def usual(root: Path) -> list[Target]:
    """Return the settings files that a session in a project reads, unless it is told otherwise."""
    return [scopes.target(scope, root) for scope in SCOPES]


def _entries(target: Target, hooks: Any) -> Iterator[Entry]:
    """Yield the entries under "hooks"; anything that doesn't have the client's shape registers nothing."""
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            listed = group.get("hooks") if isinstance(group, dict) else None
            matcher = group.get("matcher") if isinstance(group, dict) else None
            for hook in listed if isinstance(listed, list) else ():
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and _runs_holdfast(command, target.root):
                    chosen = matcher if isinstance(matcher, str) else None
                    yield Entry(target, event, chosen, hook, register.ours(command))


def _runs_holdfast(command: str, root: Path) -> bool:
    """Return whether a command runs Holdfast: by its text, or by the file that it runs, wherever that is."""
    if register.ours(command) or _ALIKE.search(command):
        return True
    if _ENTRYPOINT not in command:
        return False
    try:
        words = list(_words(command))
    except ValueError:  # an unclosed quote: no shell runs it
        return False
    return any(_is_entrypoint(word, root) for word in words if word.endswith(_ENTRYPOINT))


def _words(command: str) -> shlex.shlex:
    """Split a command as a shell does: unquoted `;`, `|`, `&` and brackets end a word too."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    return words


def _is_entrypoint(word: str, root: Path) -> bool:
    """Return whether a word of a command is the path of Holdfast's entrypoint or of a copy of it."""
    homes = {"HOME": str(Path.home()), "CLAUDE_PROJECT_DIR": str(root)}
    named = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: homes.get(found[1] or found[2], found[0]), word)
    path = root / (str(Path.home()) + named[1:] if named.startswith("~/") else named)
    try:
        text = document.read(path, _FILE_LIMIT_BYTES)[0]
    except StateError:
        return False
    return b"holdfast" in text
