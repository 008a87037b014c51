"""The `compaction` format: one state file for each workflow under `untracked/workflow-state/` (document 001)."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import MissingError, StateError, TransitionError
from holdfast.files.lock import locked
from holdfast.formats.compaction import candidates as compaction_near
from holdfast.formats.compaction import file as files
from holdfast.formats.compaction.completion import complete
from holdfast.formats.compaction.file import parsed, restore
from holdfast.formats.compaction.save import Saved, intend, may_save, save
from holdfast.formats.compaction.spot import WORDS, Spot, changed_phase, spot
from holdfast.workflow import names, statefile, values, views
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Changes, Foreign, Found, Phase, Problem, Start, Workflow
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.model import Status
    from holdfast.workflow.records import Records

__all__ = [
    "CLEARS_FINISHED",
    "NAME",
    "Saved",
    "candidates",
    "change",
    "find",
    "foreign",
    "intend",
    "may_save",
    "noted",
    "parsed",
    "restore",
    "save",
    "start",
    "with_keys",
    "written",
]

NAME = files.NAME
CLEARS_FINISHED = True


def find(project: Records) -> Found:
    """Return the workflows, of which there may be several (R001-04), the last changed first.

    Each is read from its newest readable file. For older files of the same name it gets a warning (I001-7).
    """
    return _found(*files.scan(project))


def candidates(project: Records, keys: Collection[str]) -> Found:
    """Return, as `find` does, the workflows whose files changed last, and those with these keys."""
    paths, left = compaction_near.places(files.folder(project), _places(project, keys))
    return replace(_found(*files.scan(project, paths)), left=left)


def with_keys(project: Records, keys: Collection[str]) -> Found:
    """Return the workflows with these keys, and no others."""
    return _found(*files.scan(project, _places(project, keys)))


def _places(project: Records, keys: Collection[str]) -> list[Path]:
    """Return the paths of the state files with some keys, those included that are gone."""
    places = [key.removeprefix(f"{NAME}:").rpartition("#")[0] for key in keys if key.startswith(f"{NAME}:")]
    return [project.root / place for place in places if place.startswith(f"{files.FOLDER}/")]


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the JSON files beside the state files that are not named like one."""
    for path in sorted(files.folder(project).glob("*/*.json")):
        if not path.match("state-*.json") or names.is_copy(path.name):
            yield Foreign(path, "isn't named state-NAME.json, without spaces, so it isn't read as a workflow's state")


def _found(entries: list[files.Entry], problems: list[Problem]) -> Found:
    found: dict[str, Workflow] = {}
    for entry in entries:
        workflow = entry.workflow
        newer = found.setdefault(names.key(workflow.title), workflow)
        if newer is not workflow:
            warning = f"{workflow.place} is an older file of the same workflow"
            found[names.key(workflow.title)] = replace(newer, warnings=(*newer.warnings, warning))
    return Found(tuple(found.values()), tuple(problems))


def start(project: Records, start: Start) -> Workflow:
    """Create the state file of a workflow at its first phase (R001-11).

    With `replace`, unfinished workflows of the same name are archived and their files removed. Raises TransitionError
    if a workflow of this name is unfinished.
    """
    start = replace(start, kind=next((each for each in files.TYPES if each == start.kind.casefold()), start.kind))
    statefile.guard(project.root, files.folder(project))
    with locked(files.folder(project)):
        same = [each for each in find(project).workflows if names.key(each.title) == names.key(start.title)]
        before = [each for each in same if not each.finished]
        if before and not start.replace:
            raise TransitionError(
                f"{quoted(before[0].title)} is in the way: it is at phase {before[0].position} in {before[0].place}; "
                f"{views.ways(project, before[0])}"
            )
        created = statefile.insist(lambda: _created(project, start))
        for workflow in before:  # only now, so that the old file stays if the new one can't be written
            project.shelve(workflow)
            statefile.discard(project, workflow.path, why="replaced")
        if start.kind and created.kind != start.kind:
            told = (
                f"{quoted(start.kind)} is stored as custom; the {NAME} format knows the types {', '.join(files.TYPES)}"
            )
            created = replace(created, warnings=(*created.warnings, told))
        return created


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[Draft], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> Workflow:
    """Run `edit` on the workflow's draft and write its file; `created_at` and everything that isn't named stay.

    A workflow that is over leaves a tombstone, and its files are removed (their content stays as generations), with the
    folder if it is empty (I001-3, R001-19, R001-20). `repair` writes a broken file again from its last generation, even
    if nothing changes. Raises TransitionError, MissingError if the file is gone, StateError.
    """
    made: list[_Draft] = []

    def apply(data: dict[str, Any], now: Workflow) -> dict[str, Any]:
        made[:] = [_Draft(data, now.place)]
        edit(made[0])
        return made[0].data

    with _held(project, workflow):
        entry = files.rewrite(project, workflow.path, apply, why=why, error=error, repair=repair)
        if made[0].cancelled:
            gone = entry.workflow.cancelled()
            project.shelve(gone)
            return complete(project, replace(entry, workflow=gone))
        return complete(project, entry) if made[0].ended else entry.workflow


def noted(workflow: Workflow, changes: Changes, note: str) -> Changes:
    """Return changes with a note added to what the current phase leaves for the next."""
    current = changes.current or workflow.current
    before = next((each.handover for each in workflow.phases if each.number == current), "")
    return replace(changes, handover="\n".join(filter(None, (before, changes.handover, note))))


@contextmanager
def _held(project: Records, workflow: Workflow) -> Iterator[None]:
    """Hold the lock on a workflow's file. Raises MissingError if the file is gone, StateError if it is unusable."""
    statefile.guard(project.root, workflow.path)
    if not workflow.path.exists():
        raise MissingError(workflow.path, "the state file is gone; `holdfast status` shows the workflows that are left")
    with locked(files.folder(project)):
        yield


def _created(project: Records, start: Start) -> Workflow:
    path = files.new_path(project, start.title)
    try:
        return files.write(project, path, _fresh(start), None, why="start").workflow
    except StateError:
        with suppress(OSError):
            path.parent.rmdir()  # the folder was made for the file, unless other files are in it
        raise


class _Draft(Draft):
    """The content of one state file during one change."""

    def __init__(self, data: dict[str, Any], place: str) -> None:
        self.data, self.place = data, place
        self.sure = spot(data, []).sure  # a move writes what was missing
        self.ended = self.cancelled = False

    def units(self) -> Sequence[Phase]:
        return files.read_phases(self.data)

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        if status not in WORDS:
            self.refuse(f"a phase can't be {status} in the {NAME} format; it can be {', '.join(WORDS)}")
        number = int(id.rpartition("_")[2])
        self._touch()
        self._note(number, note)
        self._place(current=number, status=WORDS[status])

    def end(self, *, early: bool) -> None:
        if not self.sure and not early:
            self.refuse(
                f"{self.place} doesn't say whether this is the last phase; `holdfast update --total N` says how many "
                "there are, `holdfast done --all` ends the workflow"
            )
        if not (self.sure and self.all_completed()):
            self._context({files.ENDED_EARLY: True})
        self.ended = True

    def cancel(self, reason: str) -> None:
        self.cancelled = True

    def resize(self, total: int) -> None:
        if total < spot(self.data, []).current:
            self.refuse(f"the workflow is at phase {spot(self.data, []).current}; go back first with --phase")
        self._touch()
        self._place(total=total)
        self.sure = True

    def numbered(self, number: int) -> Phase:
        where = spot(self.data, [])
        if where.counted or number <= where.total:
            return super().numbered(number)
        return Phase(f"phase_{number}", number, f"Phase {number}", "pending")

    def rename(self, id: str, title: str) -> None:
        number = int(id.rpartition("_")[2])
        self._touch()
        if number == spot(self.data, []).current:
            self._place(name=title)
        else:
            self.data = files.titled(self.data, number, title)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        if deliverables:
            self.refuse(f"the {NAME} format stores no deliverables; use --note or --set")
        self._touch()
        self._note(int(id.rpartition("_")[2]), text or "")

    def add(self, changes: Changes) -> None:
        self._touch()
        for key, new in (
            ("required_reading", tuple(map(values.at, changes.reading))),
            ("key_reminders", changes.reminders),
        ):
            if new:
                self.data[key] = values.added(self.data.get(key), new)
        self._context(changes.context)

    def _place(
        self,
        *,
        current: int | None = None,
        total: int | None = None,
        name: str | None = None,
        status: str | None = None,
    ) -> None:
        """Change the phase. If the workflow moves, the title of the phase that it leaves is kept in a list."""
        where = spot(self.data, [])
        if current is not None and current != where.current:
            titles = {each.number: each.title for each in self.units()}
            self.data = files.titled(self.data, where.current, where.name)
            name = name or titles.get(current, f"Phase {current}")
        changes = {"current": current, "total": total, "name": name, "status": status}
        self.data["phase"] = changed_phase(self.data.get("phase"), where, **changes)

    def _touch(self) -> None:
        """Make the state an agent's own: a plan's workflow that somebody changes is no longer derived (I001-9).

        One that was ended early, and put back since, goes on.
        """
        context = values.mapping(self.data.get("context"), "context", [])
        gone = {files.DERIVED, files.ENDED_EARLY} & set(context)
        if gone:
            self.data["context"] = {key: value for key, value in context.items() if key not in gone}

    def _note(self, number: int, note: str) -> None:
        """Keep what a phase hands over in the free context (R001-05)."""
        if note.strip():
            context = values.mapping(self.data.get("context"), "context", [])
            kept = values.mapping(context.get(files.NOTES), files.NOTES, [])
            self._context({files.NOTES: {**kept, str(number): note.strip()}})

    def _context(self, new: Mapping[str, Any]) -> None:
        if new:
            self.data["context"] = {**values.mapping(self.data.get("context"), "context", []), **new}


def _fresh(start: Start) -> dict[str, Any]:
    total = max(start.total or 0, len(start.phases), 1)
    first = start.phases[0][0] if start.phases else "Phase 1"
    listed = [{"title": title, "agent": agent} if agent else title for title, agent in start.phases]
    context = {**start.context, **({files.PHASES: listed} if listed else {})}
    content = {"reading": start.reading, "reminders": start.reminders, "context": context}
    return files.fresh(start.title, start.kind, Spot(1, total, first, "in_progress"), content)


def written(project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
    """Return a workflow if the written file is its state file, else None; nothing else needs to follow the write."""
    return workflow if path == workflow.path else None
