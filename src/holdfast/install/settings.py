"""Read, edit and write a settings.json; every byte that isn't Holdfast's stays as it is."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.clients.claude.matchers import NO_MATCHER, selects_all
from holdfast.dispatch import background
from holdfast.errors import HoldfastError, MissingError, StateError
from holdfast.files import atomic, document
from holdfast.files.jsonedit import Editor
from holdfast.install.register import STATUS_LINE, STATUS_REFRESH_S, command, group, least_timeout_s, ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from holdfast.files.jsonedit import Kind, Steps
    from holdfast.install.register import Entry

BLANK = "\ufeff \t\r\n"
"""The characters of a settings file that holds nothing."""

_PROTECTED = "is write-protected; make it writable (chmod u+w), then run again"
_GENERATED = (
    "is read-only and not yours to change, as in a Nix store; change it where it is generated (`holdfast install "
    "--print` prints Holdfast's entries), or use the plugin, or in a project `holdfast install --scope local`"
)
_HOOKS = ("hooks",)
_STATUS_LINE = ("statusLine",)
_PERMISSIONS = ("permissions",)
_ALLOW = ("permissions", "allow")
_A: dict[Kind, str] = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "literal": "true, false or null",
}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file's content; both are None if there is no file."""

    path: Path
    raw: bytes | None
    text: str | None


def read(path: Path) -> SettingsFile:
    """Read a settings file by its real path; a missing file is no error.

    Raises StateError if it is no regular file, not readable or not UTF-8.
    """
    try:
        raw, _ = document.read(path)
    except MissingError:
        return SettingsFile(path, None, None)
    try:
        return SettingsFile(path, raw, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 at byte {error.start}; save it as UTF-8, then run again"
        raise StateError(path, reason) from error


def write(file: SettingsFile, text: str | None) -> None:
    """Replace a settings file's content with `text`, or remove the file if that is None.

    Raises StateError, and writes nothing, if it can't be written or was changed since it was read.
    """
    check_writable(file)
    if read(file.path).raw != file.raw:
        raise StateError(file.path, "was changed by somebody else just now; run again")
    if text is None:
        atomic.remove(file.path)
    else:
        atomic.write(file.path, text.encode("utf-8"))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error about a settings text into one that names the file `path`."""
    try:
        yield
    except HoldfastError as error:
        raise StateError(path, f"{error}; nothing was written, correct it and run again") from error


def check_writable(file: SettingsFile) -> None:
    """Raise StateError if the file can't be changed, or if somebody write-protected it."""
    if file.raw is not None and not file.path.stat().st_mode & 0o222:
        owned = file.path.stat().st_uid == os.geteuid() and file.path.parent.stat().st_mode & 0o222
        raise StateError(file.path, _PROTECTED if owned else _GENERATED)
    folder = next(place for place in (file.path.parent, *file.path.parents) if place.exists())
    if not os.access(folder, os.W_OK | os.X_OK) or (file.raw is not None and not os.access(file.path, os.W_OK)):
        raise StateError(file.path, f"is not writable for you; check the permissions of it and of {folder}")


def difference(name: str, before: str | None, after: str | None) -> str:
    """Return a unified diff of a file's text; empty if nothing changes. A text of None means that there is no file."""
    old, new = ("/dev/null" if text is None else name for text in (before, after))
    return document.difference(before or "", after or "", old, new)


class _Spot(NamedTuple):
    """The position of one of Holdfast's entries in an event's array: indexes of group and hook."""

    group: int
    hook: int


class Settings:
    """The content of a settings file that is being edited.

    Attributes:
        changes: what was done, one sentence each.
        containers: JSON path -> what stood there before Holdfast put the first entry into an object or array: its text,
            or None if there was none. The path of the whole file is empty. Once Holdfast's entries leave one of them
            empty, that text is put back.
    """

    def __init__(self, text: str | None) -> None:
        """Begin with a file's text; None if there is no file.

        Raises HoldfastError if it isn't strict JSON, or if a part to edit has the wrong shape.
        """
        self.containers: dict[str, str | None] = {}
        self.changes: list[str] = []
        if text is None or not text.strip(BLANK):
            self.containers[""] = None if text is None else ""
            mark = "\ufeff" if text and text.startswith("\ufeff") else ""
            text = "{}\n" if text is None else f"{mark}{{}}{text.removeprefix(mark)}"
        self._editor = Editor(text)
        self._check((), "object")
        self._check(_HOOKS, "object")
        for event in self._editor.keys(_HOOKS):
            self._check((*_HOOKS, event), "array")
        self._check(_PERMISSIONS, "object")
        self._check(_ALLOW, "array")

    @property
    def text(self) -> str | None:
        """The text as edited so far; None if there should be no file."""
        text, root = self._editor.text, self._editor.root
        if root.entries or "" not in self.containers:
            return text
        before = self.containers[""]
        return None if before is None else text[: root.start] + before + text[root.end :]

    @property
    def registered(self) -> list[str]:
        """The events that have an entry of Holdfast's, under the names of `register.Wish`."""
        events = self._editor.keys(_HOOKS)
        return [name for event in events for name in (event, background.entry(event)) if self._spots(name)]

    @property
    def matchers(self) -> dict[str, str | None]:
        """The events that have an entry of Holdfast's, with the matcher of the first one; None for every value."""
        found = {event: self._matcher(event, self._spots(event)[0]) for event in self.registered}
        return {event: matcher if isinstance(matcher, str) else None for event, matcher in found.items()}

    @property
    def silenced(self) -> bool:
        """Whether a setting keeps the client from running any hook (client fact §4.3)."""
        return self._editor.value(("disableAllHooks",)) is True

    @property
    def status_line(self) -> Literal["ours", "other", ""]:
        """Whose the client's status line is; empty if there is none."""
        if self._editor.node(_STATUS_LINE) is None:
            return ""
        return "ours" if self._editor.value((*_STATUS_LINE, "command")) == STATUS_LINE else "other"

    def show_status_line(self) -> None:
        """Make the client's status line Holdfast's, if there is none."""
        if not self.status_line:
            line = {"type": "command", "command": STATUS_LINE, "refreshInterval": STATUS_REFRESH_S}
            self._append((), line, *_STATUS_LINE)
            self.changes.append("statusLine: added")

    def hide_status_line(self) -> None:
        """Remove the client's status line if it is Holdfast's."""
        if self.status_line == "ours":
            self._editor.remove(_STATUS_LINE)
            self.changes.append("statusLine: removed")

    def restore_later(self, containers: Mapping[str, str | None] | None, rules: Iterable[str]) -> None:
        """Put back what an earlier install recorded in `containers`, once Holdfast's entries are gone.

        If nobody recorded that (None), the objects and arrays around its entries and `rules` count as added by it. If
        there is nothing of Holdfast's, nothing is put back.
        """
        allowed = any(map(self.allows, rules))
        if not (self.registered or allowed or self.status_line == "ours"):
            return
        if containers is None:
            containers = {"hooks": None, **{f"hooks.{background.event(event)}": None for event in self.registered}}
            containers |= {"permissions": None, "permissions.allow": None} if allowed else {}
        self.containers |= containers

    def allows(self, rule: str) -> bool:
        """Return whether `rule` is among the allowed permission rules."""
        return rule in self._allowed()

    def register(self, wanted: Mapping[str, Entry]) -> None:
        """Register exactly the `wanted` events, once each; other hooks stay as they are (R000-29).

        A longer timeout that is registered stays, because somebody set it by hand.
        """
        for event in self.registered:
            if event not in wanted:
                self._clear(event)
        for event, entry in wanted.items():
            self._place(event, entry)
        self._restore(_HOOKS)

    def allow(self, rule: str) -> bool:
        """Add `rule` to the allowed permission rules. Return whether it was missing."""
        if self.allows(rule):
            return False
        self._ensure(_PERMISSIONS, {})
        self._ensure(_ALLOW, [])
        self._append(_ALLOW, rule)
        self.changes.append(f"permissions: {rule} allowed")
        return True

    def disallow(self, rule: str) -> None:
        """Remove `rule` from the allowed permission rules, if it is there."""
        if not self.allows(rule):
            return
        self._editor.remove((*_ALLOW, self._allowed().index(rule)))
        self.changes.append(f"permissions: {rule} no longer allowed")
        self._restore(_ALLOW)
        self._restore(_PERMISSIONS)

    def _check(self, steps: tuple[str, ...], kind: Kind) -> None:
        node = self._editor.node(steps)
        if node is not None and node.kind != kind:
            name = f'"{".".join(steps)}"' if steps else "the whole file"
            raise HoldfastError(f"{name} must be {_A[kind]} but is {_A[node.kind]}")

    def _ensure(self, steps: tuple[str, ...], empty: object) -> None:
        if self._editor.node(steps) is None:
            self._append(steps[:-1], empty, steps[-1])
            self.containers[".".join(steps)] = None

    def _append(self, steps: tuple[str, ...], value: object, key: str | None = None) -> None:
        """Append to an object or array, and note its text if this is the first entry."""
        node = self._editor.node(steps)
        if node is not None and not node.entries:
            self.containers.setdefault(".".join(steps), self._editor.text[node.start : node.end])
        self._editor.append(steps, value, key)

    def _allowed(self) -> list[object]:
        rules = self._editor.value(_ALLOW)
        return rules if isinstance(rules, list) else []

    def _place(self, event: str, wanted: Entry) -> None:
        matcher = wanted.matcher
        spots = self._spots(event)
        fitting = [spot for spot in spots if _same(event, self._matcher(event, spot), matcher)]
        movable = [spot for spot in spots if self._alone(event, spot)]
        chosen = next(iter(fitting + movable), None)
        for spot in reversed(spots):
            if spot != chosen:
                self._take_out(event, spot)
        if chosen is not None:
            if len(spots) > 1:
                self.changes.append(f"{event}: registered once instead of {len(spots)} times")
            self._update(event, self._spots(event)[0], wanted)
            return
        self._ensure(_HOOKS, {})
        self._ensure(_path(event), [])
        self._append(_path(event), group(event, wanted))
        self.changes.append(f"{event}: registered{_words(event, matcher)}")

    def _update(self, event: str, spot: _Spot, wanted: Entry) -> None:
        """Bring an event's only entry up to date; a matcher that selects as much stays, and a long enough timeout."""
        outer = (*_path(event), spot.group)
        hook = (*outer, "hooks", spot.hook)
        if not _same(event, self._matcher(event, spot), wanted.matcher):
            self._set(outer, "matcher", wanted.matcher)
            self.changes.append(f"{event}: matcher changed{_words(event, wanted.matcher, 'to')}")
        limit = self._editor.value((*hook, "timeout"))
        enough = isinstance(limit, int | float) and limit >= (wanted.timeout_s or least_timeout_s(event))
        values = {"command": command(event), "timeout": limit if enough else wanted.timeout_s}
        values |= {"async": True} if background.is_entry(event) else {}
        if changed := [key for key, value in values.items() if self._set(hook, key, value)]:
            self.changes.append(f"{event}: {' and '.join(changed)} brought up to date")

    def _set(self, steps: Steps, key: str, value: object) -> bool:
        """Set a member of an object, or remove it if `value` is None. Return whether that changed anything."""
        member = (*steps, key)
        present = self._editor.node(member)
        if value is None and present is not None:
            self._editor.remove(member)
        elif value is not None and present is None:
            self._editor.append(steps, value, key)
        elif value is not None and self._editor.value(member) != value:
            self._editor.replace(member, json.dumps(value))
        else:
            return False
        return True

    def _clear(self, event: str) -> None:
        for spot in reversed(self._spots(event)):
            self._take_out(event, spot)
        self._restore(_path(event))
        self.changes.append(f"{event}: no longer registered")

    def _take_out(self, event: str, spot: _Spot) -> None:
        """Remove one entry, with its group if that holds nothing else."""
        steps = (*_path(event), spot.group)
        self._editor.remove(steps if self._alone(event, spot) else (*steps, "hooks", spot.hook))

    def _alone(self, event: str, spot: _Spot) -> bool:
        """Return whether an entry's group holds only that entry and a matcher."""
        steps = (*_path(event), spot.group)
        hooks = self._editor.node((*steps, "hooks"))
        return hooks is not None and len(hooks.entries) == 1 and {*self._editor.keys(steps)} <= {"matcher", "hooks"}

    def _matcher(self, event: str, spot: _Spot) -> object:
        return self._editor.value((*_path(event), spot.group, "matcher"))

    def _spots(self, event: str) -> list[_Spot]:
        """Return the positions of an event's entries of Holdfast's."""
        groups = self._editor.node(_path(event))
        return [
            _Spot(outer, inner)
            for outer in range(len(groups.entries) if groups else 0)
            for inner in self._ours_in(event, (*_path(event), outer, "hooks"))
        ]

    def _ours_in(self, event: str, steps: tuple[str | int, ...]) -> list[int]:
        hooks = self._editor.node(steps)
        count = len(hooks.entries) if hooks is not None and hooks.kind == "array" else 0
        commands = [self._editor.value((*steps, index, "command")) for index in range(count)]
        plain = background.event(event)
        return [
            index
            for index, text in enumerate(commands)
            if isinstance(text, str) and ours(text) and background.name(plain, text) == event
        ]

    def _restore(self, steps: Steps) -> None:
        """Put back what an object or array was before Holdfast's first entry, if it is empty again."""
        node, name = self._editor.node(steps), ".".join(map(str, steps))
        if node is None or node.entries or name not in self.containers:
            return
        before = self.containers.pop(name)
        if before is None:
            self._editor.remove(steps)
        else:
            self._editor.replace(steps, before)


def _path(event: str) -> tuple[str, str]:
    return (*_HOOKS, background.event(event))


def _same(event: str, present: object, wanted: str | None) -> bool:
    if background.event(event) in NO_MATCHER or present == wanted:
        return True
    return wanted is None and isinstance(present, str) and selects_all(present)


def _words(event: str, matcher: str | None, joint: str = "for") -> str:
    return "" if background.event(event) in NO_MATCHER or matcher is None else f" {joint} {matcher}"
