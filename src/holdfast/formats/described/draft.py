"""Changes of a file of a described format, on its JSON."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import TransitionError, command_line
from holdfast.formats.described import fields, view
from holdfast.formats.described.description import STATUSES, meaning
from holdfast.workflow import values
from holdfast.workflow.model import Changes
from holdfast.workflow.store import FileDraft
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.formats.described.description import Description
    from holdfast.workflow.model import Phase, Start, Status

_KEPT_BESIDE = {"reading": "required reading", "reminders": "reminders", "context": "context"}


def fresh(rules: Description, start: Start, id_: str) -> dict[str, Any]:
    """Return the content of a new file with an id: what is described and nothing else."""
    entries: list[dict[str, Any]] = []
    for number, (title, agent) in enumerate(start.phases, 1):
        entry: dict[str, Any] = {}
        if field := rules.units.id:
            fields.put(entry, field, f"{rules.units.word.replace(' ', '_')}_{number}")
        fields.put(entry, rules.units.title, title)
        fields.put(entry, rules.units.status, rules.statuses.pending[0])
        if agent:
            fields.put(entry, rules.units.agent, agent)
        entries.append(entry)
    data: dict[str, Any] = {}
    known = {"id": id_, "title": start.title, "created": clock.stamp()}
    for name, value in known.items():
        if field := getattr(rules.workflow, name):
            fields.put(data, field, value)
    group = rules.units.group
    built = fields.build(rules.units.path, entries, titled=(group, start.title) if group else None)
    for key, value in built.items():
        inner = isinstance(data.get(key), dict) and isinstance(value, dict)
        data[key] = {**data[key], **value} if inner else value
    draft = DescribedDraft(rules, data)
    draft.add(Changes(reading=start.reading, reminders=start.reminders, context=start.context))
    draft.settle()
    return data


class DescribedDraft(FileDraft):
    """The JSON of one file during one change."""

    def __init__(self, rules: Description, data: dict[str, Any]) -> None:
        super().__init__(data)
        self.rules = rules
        self.unit_word = rules.units.word
        self.keeps_notes = bool(rules.units.note)
        self.failure = "failed" if rules.statuses.failed else "blocked"
        self._before = copy.deepcopy(data)

    def content(self) -> dict[str, Any]:
        """Return the content to write: the workflow's own status follows from those of its units."""
        if self.data != self._before:
            self.settle()
        return self.data

    def units(self) -> list[Phase]:
        """Return the units."""
        return [each.phase for each in view.units(self.rules, self.data, [])]

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Give a unit a status, because of a person."""
        now = self.unit(id)
        if status == "completed" and now.status in ("failed", "blocked"):
            again = command_line("update", "--phase", str(now.number), "--status", "active")
            self.refuse(f"{now.title} is {now.status}; `{again}` makes it active again")
        self._set_status(id, status)
        self._note(id, note)

    def cancel(self, reason: str) -> None:
        """Write the workflow's own word for being cancelled, if there is one; else nothing changes."""
        if self.rules.statuses.cancelled and self.rules.workflow.status:
            self._put(self.data, self.rules.workflow.status, self.rules.statuses.cancelled[0])

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context to their fields. Refuses what the format has no field for."""
        reading = tuple(map(values.at, changes.reading))
        for name, new in (("reading", reading), ("reminders", tuple(changes.reminders))):
            if new:
                path = self._field(name)
                self._put(self.data, path, values.added(fields.get(self.data, path), new))
        if changes.context:
            path = self._field("context")
            before = fields.get(self.data, path)
            if before is not None and not isinstance(before, dict):
                self.refuse(f"{quoted(path)} in the file isn't an object, so nothing can be added to it")
            self._put(self.data, path, {**(before or {}), **changes.context})

    def rename(self, id: str, title: str) -> None:
        """Give a unit another title."""
        self._put(self._entry(id), self.rules.units.title, title)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a unit hands over into its field for notes."""
        self._note(id, text or "", instead=True)

    def settle(self) -> None:
        """Let the workflow's own status, if the file has one, follow from those of its units."""
        rules, path = self.rules, self.rules.workflow.status
        if not path or view.is_cancelled(rules, self.data):
            return
        phases = self.units()
        wanted: Status = "pending"
        if all(each.status == "completed" for each in phases):
            wanted = "completed"
        elif any(each.status != "pending" for each in phases):
            now = view.current(phases)
            wanted = "active" if now is None or now.status == "pending" else now.status
        words = rules.statuses.of(wanted) or rules.statuses.pending
        before = fields.get(self.data, path)
        if before is None or meaning(rules, before) != meaning(rules, words[0]):
            self._put(self.data, path, words[0])

    def _set_status(self, id: str, status: Status) -> None:
        """Give a unit a status, in the first of its words.

        One that has the status keeps its own word. Where no word says what is active, the unit is only no longer
        stopped.
        """
        rules, phase = self.rules, self.unit(id)
        if phase.status == status:
            return
        words = rules.statuses.of(status)
        if not words and status == "active":
            first = view.current(self.units())
            if phase.status == "pending" and (first is None or first.id != id):
                self.refuse(f"the first {rules.units.word} that is left is the active one; {rules.name} has no word")
            words = rules.statuses.pending
        if not words:
            known = ", ".join(each for each in STATUSES if rules.statuses.of(each))
            self.refuse(f"{rules.name} has no word for {status}; it has words for {known}")
        self._put(self._entry(id), rules.units.status, words[0])

    def _note(self, id: str, text: str, *, instead: bool = False) -> None:
        """Add a note to a unit's field: to a list as a member, to a text as a line."""
        note = text.strip()
        if not note:
            return
        path = self.rules.units.note
        if not path:
            source = self.rules.source
            self.refuse(f"{self.rules.name} keeps no notes; units.note in {source} would name a field for them")
        entry = self._entry(id)
        before = fields.get(entry, path)
        if isinstance(before, list):
            self._put(entry, path, [*before, note] if note not in before else before)
        else:
            had = "" if instead else values.text(before).strip()
            self._put(entry, path, "\n".join(filter(None, (had, note))))

    def _entry(self, id: str) -> dict[str, Any]:
        """Return the object of the unit with this id. Raises TransitionError if there is none by now."""
        self.unit(id)
        return next(each.data for each in view.units(self.rules, self.data, []) if each.phase.id == id)

    def _field(self, name: str) -> str:
        path: str = getattr(self.rules.workflow, name)
        if not path:
            reason = f"{self.rules.name} keeps no {_KEPT_BESIDE[name]}"
            self.refuse(f"{reason}; workflow.{name} in {self.rules.source} would name a field")
        return path

    def _put(self, data: dict[str, Any], path: str, value: Any) -> None:
        try:
            fields.put(data, path, value)
        except ValueError as error:
            raise TransitionError(f"{self.rules.name}: {error}") from error
