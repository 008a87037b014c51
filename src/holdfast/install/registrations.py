"""What is registered now: the commands in settings files and in the hooks of plugin copies that run Holdfast."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude import scopes
from holdfast.clients.claude.events import EVENTS
from holdfast.clients.claude.scopes import SCOPES
from holdfast.dispatch import background
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.install import installs, launcher, plugin, register, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.clients.claude.scopes import Target
    from holdfast.install.plugin import Copy
    from holdfast.project import Project

PLAIN = frozenset({"type", "command", "timeout", "statusMessage"})
"""The keys of a command that the client always runs, and whose answer it waits for."""

_PROGRAM = re.compile(r"""(?:\$HOME|\$\{HOME\}|~|/[^\s"';]*?)/\.local/share/holdfast/run""")
_ALIKE = re.compile(r"\bholdfast\b.*\b(?:dispatch|run)\b|\bdispatch\.py\b.*\bholdfast\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered command that runs Holdfast.

    Attributes:
        source: whose `settings` it is in, and which `redo` registers it again: a settings file, or a plugin copy.
        event: the event it is registered for.
        matcher: its matcher; None for every value.
        hook: the command's JSON object.
        ours: whether Holdfast wrote it, in this or an earlier form; otherwise it was written by hand.
    """

    source: Target | Copy
    event: str
    matcher: str | None
    hook: Mapping[str, Any]
    ours: bool = True

    @property
    def command(self) -> str:
        """The shell command."""
        return str(self.hook["command"])

    @property
    def name(self) -> str:
        """The event or, if the command runs handlers in the background, their name for it (`register.Wish`)."""
        return background.name(self.event, self.command)

    @property
    def limit_s(self) -> float:
        """How long the client waits for it."""
        limit = self.hook.get("timeout")
        default = EVENTS[self.event].timeout_s if self.event in EVENTS else 0.0
        return float(limit) if isinstance(limit, int | float) and limit > 0 else default

    @property
    def odd(self) -> list[str]:
        """The keys that were added to it, which may keep the client from running it or from waiting for its answer.

        `async` belongs to an entry that runs handlers in the background.
        """
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


def readable(project: Project, *, everywhere: bool = False) -> list[tuple[Target, dict[str, Any]]]:
    """Return those of the `targets` that can be read, with their content. The doctor reports the others."""
    found = []
    for target in targets(project, everywhere=everywhere):
        with suppress(StateError):
            found.append((target, read(target.settings)))
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
    return _entries(target, read(target.settings))


def of_settings(project: Project, *, everywhere: bool = False) -> list[Entry]:
    """Return the commands that run Holdfast in the `readable` settings."""
    return [
        entry for target, content in readable(project, everywhere=everywhere) for entry in _entries(target, content)
    ]


def of_plugin(copy: Copy) -> list[Entry]:
    """Return the commands that a plugin copy registers."""
    return [Entry(copy, event, matcher, hook) for event, matcher, hook in copy.commands()]


def registered(project: Project) -> list[Entry]:
    """Return every command that runs Holdfast in a session of the project, in settings and in plugin copies."""
    copies = plugin.copies(project.root)
    return [*of_settings(project), *(entry for copy in copies for entry in of_plugin(copy))]


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
                ours = [entry for entry in entries(target) if entry.ours and not entry.odd]
                found += [entry.matcher for entry in ours if entry.name == event]
    return found


def usual(root: Path) -> list[Target]:
    """Return the settings files that a session in a project reads by default."""
    return [scopes.target(scope, root) for scope in SCOPES]


def _entries(target: Target, content: Mapping[str, Any]) -> list[Entry]:
    return [
        Entry(target, event, matcher, hook, register.ours(hook["command"]))
        for event, matcher, hook in scopes.hooks_in(content)
        if register.ours(hook["command"]) or _ALIKE.search(hook["command"])
    ]
