"""Edit the text of a settings.json without touching anything but Holdfast's own entries."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.clients.claude.matchers import selects_all
from holdfast.errors import HoldfastError
from holdfast.files.jsonedit import Editor
from holdfast.install.registration import NO_MATCHER, STATUS_LINE, STATUS_REFRESH_S, command, cuts_off, group, ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.files.jsontext import Kind

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


class _Spot(NamedTuple):
    """The position of one of Holdfast's entries in an event's array: indexes of group and hook."""

    group: int
    hook: int


class SettingsText:
    """A settings.json text that is being edited.

    Attributes:
        changes: what was done, one sentence each.
        added: the objects and arrays that Holdfast added; they are removed when its last entry leaves them empty.
    """

    def __init__(self, text: str, added: Iterable[tuple[str, ...]] = ()) -> None:
        """Begin with a file's text; blank text counts as an empty object.

        Raises JSONTextError if it isn't strict JSON, HoldfastError if a part to edit has the wrong shape.
        """
        self._editor = Editor(text if text.strip("\ufeff \t\r\n") else "{}\n")
        self._known: tuple[str, dict[str, list[_Spot]]] = ("", {})
        self.added = set(added)
        self.changes: list[str] = []
        self._check((), "object")
        self._check(_HOOKS, "object")
        for event in self._editor.keys(_HOOKS):
            self._check((*_HOOKS, event), "array")
        self._check(_PERMISSIONS, "object")
        self._check(_ALLOW, "array")

    @property
    def text(self) -> str:
        """The text as edited so far."""
        return self._editor.text

    @property
    def registered(self) -> list[str]:
        """The events that have an entry of Holdfast's."""
        return [event for event in self._editor.keys(_HOOKS) if self._spots(event)]

    @property
    def matchers(self) -> dict[str, object]:
        """The events that have an entry of Holdfast's, with the matcher of the first one; None for every value."""
        return {event: self._matcher(event, self._spots(event)[0]) for event in self.registered}

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
            self._editor.append((), line, *_STATUS_LINE)
            self.changes.append("statusLine: added")

    def hide_status_line(self) -> None:
        """Remove the client's status line if it is Holdfast's."""
        if self.status_line == "ours":
            self._editor.remove(_STATUS_LINE)
            self.changes.append("statusLine: removed")

    def adopt(self, rules: Iterable[str]) -> None:
        """Without a record, treat the objects and arrays around Holdfast's entries and `rules` as added by Holdfast."""
        if self.registered:
            self.added.update({_HOOKS, *((*_HOOKS, event) for event in self.registered)})
        if any(self.allows(rule) for rule in rules):
            self.added.update({_PERMISSIONS, _ALLOW})

    def allows(self, rule: str) -> bool:
        """Return whether `rule` is among the allowed permission rules."""
        return rule in self._allowed()

    def register(self, wanted: Mapping[str, str | None], timeouts: Mapping[str, int] = MappingProxyType({})) -> None:
        """Register exactly the `wanted` events, once each; other hooks stay as they are (R000-29).

        Args:
            wanted: event -> matcher, None for every value.
            timeouts: event -> the shortest sufficient timeout in seconds, if the client's default is too short. A
                longer one that is registered stays, because another project's handlers may need it.
        """
        for event in self.registered:
            if event not in wanted:
                self._clear(event)
        for event, matcher in wanted.items():
            self._place(event, matcher, timeouts.get(event))

    def unregister(self) -> None:
        """Remove every registration of Holdfast's."""
        for event in self.registered:
            self._clear(event)
        self._remove_if_empty(_HOOKS)

    def allow(self, rule: str) -> bool:
        """Add `rule` to the allowed permission rules. Return whether it was missing."""
        if self.allows(rule):
            return False
        self._ensure(_PERMISSIONS, {})
        self._ensure(_ALLOW, [])
        self._editor.append(_ALLOW, rule)
        self.changes.append(f"permissions: {rule} allowed")
        return True

    def disallow(self, rule: str) -> None:
        """Remove `rule` from the allowed permission rules, if it is there."""
        if not self.allows(rule):
            return
        self._editor.remove((*_ALLOW, self._allowed().index(rule)))
        self.changes.append(f"permissions: {rule} no longer allowed")
        self._remove_if_empty(_ALLOW)
        self._remove_if_empty(_PERMISSIONS)

    def _check(self, steps: tuple[str, ...], kind: Kind) -> None:
        node = self._editor.node(steps)
        if node is not None and node.kind != kind:
            name = f'"{".".join(steps)}"' if steps else "the whole file"
            raise HoldfastError(f"{name} must be {_A[kind]} but is {_A[node.kind]}")

    def _ensure(self, steps: tuple[str, ...], empty: object) -> None:
        if self._editor.node(steps) is None:
            self._editor.append(steps[:-1], empty, steps[-1])
            self.added.add(steps)

    def _allowed(self) -> list[object]:
        rules = self._editor.value(_ALLOW)
        return rules if isinstance(rules, list) else []

    def _place(self, event: str, matcher: str | None, timeout: int | None) -> None:
        spots = self._spots(event)
        fitting = [spot for spot in spots if _same(event, self._matcher(event, spot), matcher)]
        movable = [spot for spot in spots if self._alone(event, spot)]
        kept = next(iter(fitting + movable), None)
        for spot in reversed(spots):
            if spot != kept:
                self._take_out(event, spot)
        if kept is not None:
            if len(spots) > 1:
                self.changes.append(f"{event}: registered once instead of {len(spots)} times")
            self._update(event, self._spots(event)[0], matcher, timeout)
            return
        self._ensure(_HOOKS, {})
        self._ensure((*_HOOKS, event), [])
        self._editor.append((*_HOOKS, event), group(event, matcher, timeout=timeout))
        self.changes.append(f"{event}: registered{_words(event, matcher)}")

    def _update(self, event: str, spot: _Spot, matcher: str | None, timeout: int | None) -> None:
        """Update an event's only entry, each part on its own; a timeout set by hand stays if it is long enough."""
        if not _same(event, self._matcher(event, spot), matcher):
            self._set_matcher((*_HOOKS, event, spot.group), matcher)
            self.changes.append(f"{event}: matcher changed{_words(event, matcher, 'to')}")
        steps = (*_HOOKS, event, spot.group, "hooks", spot.hook, "command")
        if self._editor.value(steps) != command(event):
            self._editor.replace(steps, command(event))
            self.changes.append(f"{event}: command brought up to date")
        limit = (*steps[:-1], "timeout")
        node = self._editor.node(limit)
        if timeout is not None and cuts_off(event, self._editor.value(limit), timeout):
            if node is not None:
                self._editor.remove(limit)
            self._editor.append(steps[:-1], timeout, "timeout")
            self.changes.append(f"{event}: time limit of {timeout} s, a handler needs more than the client's default")
        elif node is not None and cuts_off(event, self._editor.value(limit)):
            said = self.text[node.start : node.end]
            self._editor.remove(limit)
            self.changes.append(f"{event}: time limit of {said} s taken out, it would cut answers off")

    def _set_matcher(self, steps: tuple[str | int, ...], matcher: str | None) -> None:
        present = self._editor.node((*steps, "matcher")) is not None
        if matcher is None:
            self._editor.remove((*steps, "matcher"))
        elif present:
            self._editor.replace((*steps, "matcher"), matcher)
        else:
            self._editor.append(steps, matcher, "matcher")

    def _clear(self, event: str) -> None:
        for spot in reversed(self._spots(event)):
            self._take_out(event, spot)
        self._remove_if_empty((*_HOOKS, event))
        self.changes.append(f"{event}: no longer registered")

    def _take_out(self, event: str, spot: _Spot) -> None:
        """Remove one entry, with its group if that holds nothing else."""
        steps = (*_HOOKS, event, spot.group)
        self._editor.remove(steps if self._alone(event, spot) else (*steps, "hooks", spot.hook))

    def _alone(self, event: str, spot: _Spot) -> bool:
        """Return whether an entry's group holds only that entry and a matcher."""
        steps = (*_HOOKS, event, spot.group)
        hooks = self._editor.node((*steps, "hooks"))
        return hooks is not None and len(hooks.entries) == 1 and {*self._editor.keys(steps)} <= {"matcher", "hooks"}

    def _matcher(self, event: str, spot: _Spot) -> object:
        return self._editor.value((*_HOOKS, event, spot.group, "matcher"))

    def _spots(self, event: str) -> list[_Spot]:
        """Return the positions of an event's entries of Holdfast's, cached until the text changes."""
        if self._known[0] is not self.text:
            self._known = (self.text, {})
        known = self._known[1]
        if event not in known:
            groups = self._editor.node((*_HOOKS, event))
            known[event] = [
                _Spot(outer, inner)
                for outer in range(len(groups.entries) if groups else 0)
                for inner in self._ours_in((*_HOOKS, event, outer, "hooks"))
            ]
        return known[event]

    def _ours_in(self, steps: tuple[str | int, ...]) -> list[int]:
        hooks = self._editor.node(steps)
        count = len(hooks.entries) if hooks is not None and hooks.kind == "array" else 0
        commands = [self._editor.value((*steps, index, "command")) for index in range(count)]
        return [index for index, text in enumerate(commands) if isinstance(text, str) and ours(text)]

    def _remove_if_empty(self, steps: tuple[str, ...]) -> None:
        node = self._editor.node(steps)
        if node is not None and not node.entries and steps in self.added:
            self._editor.remove(steps)
            self.added.discard(steps)


def _same(event: str, present: object, wanted: str | None) -> bool:
    if event in NO_MATCHER or present == wanted:
        return True
    return wanted is None and isinstance(present, str) and selects_all(present)


def _words(event: str, matcher: str | None, joint: str = "for") -> str:
    return "" if event in NO_MATCHER or matcher is None else f" {joint} {matcher}"
