"""The store: find, change, create, restore and replace workflows that are one JSON file each, for all formats."""

from __future__ import annotations

import copy
import os
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast import clock
from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError, because
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats import RECORDS
from holdfast.workflow import assignments, extras, places, search, statefile, views
from holdfast.workflow.draft import Draft
from holdfast.workflow.findings import ELSEWHERE, aside, notice
from holdfast.workflow.format import Format
from holdfast.workflow.model import Foreign, Found, Judged, Problem, Restored, Workflow, place_of
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from holdfast.workflow.findings import Finding
    from holdfast.workflow.model import Changes, Start, Status
    from holdfast.workflow.records import Records

NEWEST = 16
"""Last changed workflows of a format that an event reads, besides those that it asks for."""
LIMIT = 2_000
"""State files of a format that an event looks at; what is beyond is read by commands only."""


class FileDraft(Draft):
    """The JSON of one state file during one change.

    Attributes:
        data: a copy of the file's content, which the change edits.
        extra: reading, reminders and context to keep next to the state (`workflow.extras`); None for none.
        notes: what to remember of the workflow there besides; None to leave it.
        keeps_notes: whether a unit has a place for what it hands over.
        failure: the status of a unit whose agent failed.
        messages: what to tell whoever made the change.
    """

    keeps_notes = True
    failure: Status = "failed"
    messages: Sequence[str] = ()

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extra: Changes | None = None
        self.notes: dict[str, Any] | None = None

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context to the file next to the state."""
        self.extra = changes

    def content(self) -> dict[str, Any]:
        """Return the content to write, with the consequences of the edits."""
        return self.data

    def judge(self, id: str, status: Status, words: str) -> None:
        """Move a unit because of its agent. A move that hooks may not make is ignored: it undoes no completion.

        What a completed unit hands over is read from the agent's words, unless it says so already.
        """
        unit = self.unit(id)
        if unit.status == "completed" or (status == "completed" and unit.status == "blocked"):
            return
        if unit.status == "failed" and status == "completed":
            self.move(id, "active")
        if status == "failed":
            self.move(id, self.failure, reason=words)
            return
        handover = assignments.extract_result(words)[1] if status == "completed" and not unit.handover else ""
        self.move(id, status, note=handover if self.keeps_notes else "")
        if status == "completed":
            self.begin_following(id)


class FileFormat(Format):
    """A format whose workflow is one JSON file. Its declarations come first; what follows from them is written here.

    Attributes:
        schema: what a file of the format looks like, for the message about one that doesn't.
        has_extras: whether reading, reminders and context have a file next to the state file (`workflow.extras`).
        missing: what to tell somebody whose workflow's file is gone.
    """

    has_extras: ClassVar[bool] = False
    missing: ClassVar[str] = "the state file is gone; `holdfast status` shows the workflows that are left"

    # Declarations.

    def files(self, project: Records) -> Iterable[Path]:
        """Return the files that may hold a workflow. They need not exist."""
        raise NotImplementedError

    def is_place(self, project: Records, path: Path) -> bool:
        """Return whether a path is valid for a state file of this format."""
        return path in self.files(project)

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't of this format."""
        raise NotImplementedError

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file of this format, without its extras."""
        raise NotImplementedError

    def draft(self, data: dict[str, Any]) -> FileDraft:
        """Return a draft of a file's content."""
        raise NotImplementedError

    def draft_of(self, project: Records, file: StateFile) -> FileDraft:
        """Return a draft of a state file; by default, one that needs nothing but its content."""
        return self.draft(copy.deepcopy(file.data))

    def location(self, project: Records, start: Start) -> Path:
        """Return the file that a new workflow gets. What is there now gives way if `displace` lets it."""
        return next(iter(self.files(project)))

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file, with another id than the workflow that it replaces has."""
        raise NotImplementedError

    def new_id(self, prefix: str, last: Workflow | None) -> str:
        """Return an id of the present second in UTC, but never that of the workflow that gives way (I000-17)."""
        moment = clock.now()
        ids = [f"{prefix}{clock.file_stamp(moment + timedelta(seconds=number))}" for number in range(60)]
        before = "" if last is None else last.id
        # An id slightly in the future was counted up within this second. One far in the future is a wrong clock's.
        return ids[ids.index(before) + 1] if before in ids[:-1] else ids[0]

    def beside(self, start: Start) -> Start:
        """Return the values of a new workflow that are kept next to its state file, if the format has extras."""
        return start

    def identity(self, data: dict[str, Any], path: Path) -> str:
        """Return the id of the workflow in a content that was just made."""
        return path.stem

    def is_same(self, one: Workflow, other: Workflow) -> bool:
        """Return whether two contents of a file are of one workflow."""
        return one.id == other.id

    def after_write(self, project: Records, file: StateFile) -> list[str]:
        """Write what is generated from a state file; return what to tell about it. Called under the lock."""
        return []

    def close(self, project: Records, draft: Any, workflow: Workflow) -> Workflow:
        """Finish a change after its file was written, still under the lock: move a finished workflow away, …"""
        return workflow

    # Find and read.

    def load(self, project: Records, path: Path) -> StateFile:
        """Return a state file, whatever is in it. Raises MissingError, StateError."""
        return statefile.read(project, path)

    def view(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file, with its extras. Raises SchemaMismatch if the file isn't of this format."""
        return self._view(project, file)[0]

    def _view(self, project: Records, file: StateFile) -> tuple[Workflow, tuple[Problem, ...]]:
        self.check(file)
        found = self.workflow(project, file)
        return extras.merged(project, found) if self.has_extras else (found, ())

    def find(self, project: Records) -> Found:
        """Return the project's workflows of this format."""
        found = self.read_all(project, self.files(project))
        return replace(found, problems=(*self._closed(project), *found.problems))

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows with these keys, then the last changed, as far as an event may read."""
        wanted = self.named(project, keys)
        chosen, left = self.newest(project, wanted)
        found = self.read_all(project, chosen, len(wanted))
        return replace(found, problems=(*self._closed(project), *found.problems), left=found.left + left)

    def _closed(self, project: Records) -> list[Problem]:
        """Return why the folder of several files can't be listed; else the workflows would be gone without a word."""
        folder = self.folder(project)
        try:
            if RECORDS[self.name].SEVERAL:
                statefile.guard(project.root, folder)
                os.scandir(folder).close()
        except FileNotFoundError:
            pass
        except StateError as error:
            return [Problem(error.path, error.reason)]
        except OSError as error:
            return [Problem(folder, f"cannot be listed: {because(error)}")]
        return []

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows with these keys, and no others."""
        return self.read_all(project, self.named(project, keys))

    def named(self, project: Records, keys: Collection[str]) -> list[Path]:
        """Return the state files that some keys name, whether they are there or not."""
        places = [place_of(each) for each in keys if each.startswith(f"{self.name}:")]
        paths = [project.root / each for each in dict.fromkeys(places)]
        return [each for each in paths if self.is_place(project, each)]

    def newest(self, project: Records, wanted: Iterable[Path]) -> tuple[list[Path], int]:
        """Return wanted state files, then the last changed ones, and how many others there are."""
        there = {path: _changed(path) for path, _ in zip(self.files(project), range(LIMIT), strict=False)}
        last = sorted(there, key=there.__getitem__, reverse=True)[:NEWEST]
        chosen = list(dict.fromkeys([*wanted, *last]))
        return chosen, len(there.keys() - set(chosen))

    def read_all(self, project: Records, paths: Iterable[Path], wanted: int = 0) -> Found:
        """Return the workflows in some files: in the first `wanted`, and in the others as far as there is time."""
        workflows, problems, left = list[Workflow](), list[Problem](), 0
        for number, path in enumerate(paths):
            if number >= wanted and search.out_of_time():
                left += 1
                continue
            try:
                file = self.load(project, path)
                found, more = self._view(project, file)
            except StateError as error:
                problems += self.unread(error)
                continue
            workflows.append(found)
            problems += [*([file.problem] if file.broken else ()), *more]
        return Found(tuple(workflows), tuple(problems), left)

    def unread(self, error: StateError) -> list[Problem]:
        """Return the problem that a file is which can't be read; none for a missing one."""
        if isinstance(error, MissingError):
            return []
        return [Problem(error.path, error.reason, foreign=isinstance(error, SchemaMismatch))]

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the workflow in a content of a state file."""
        if not self.is_place(project, path):
            raise SchemaMismatch(path, f"is no place for a file of {self.name}")
        return self.view(project, StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw))

    def wrong_field(self, data: dict[str, Any]) -> str:
        """Return the field to correct in a content that would be of this format but for that; empty otherwise."""
        return ""

    def blocking(self, project: Records) -> Iterator[Foreign]:
        """Yield other programs' files in the place of the state file, for a format that has only one."""
        for path in self.files(project):
            try:
                self.check(self.load(project, path))
            except SchemaMismatch as error:
                where = f"so no workflow of the {self.name} format can be kept here while it is there"
                field = ""
                with suppress(StateError):
                    field = self.wrong_field(self.load(project, path).data)
                yield Foreign(error.path, f"{error.reason}, {where}", in_the_way=True, field=field)
            except StateError:
                pass  # missing or broken, but not another program's

    def stray_extras(self, project: Records, path: Path) -> Iterator[Finding]:
        """Yield a file of extras that belongs to another workflow than its state file's, for `findings`."""
        beside, holder = places.extras(project.root, path), ""
        with suppress(StateError):  # missing, broken or another program's: reported elsewhere
            holder = self.view(project, self.load(project, path)).id
        named = extras.owner(project, path)
        if named not in ("", holder):
            present = f"{path.name} holds {holder}" if holder else f"{path.name} holds none"
            text = f"{beside} belongs to the workflow {quoted(named)}, and {present}, so nothing reads it"
            yield notice(text, aside(beside), path=beside, code="extras")

    # Change.

    def change(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Any], object],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> Workflow:
        """Run `edit` on a draft of the workflow and write its file. Unknown keys and the layout stay.

        Raises:
            MissingError: the file is gone.
            TransitionError: another workflow is in the file by now, or `edit` refuses.
            SchemaMismatch: the file is another program's by now.
            StateError: it can't be read or written.
        """
        return self.edit(project, workflow, edit, why=why, error=error, repair=repair)[0]

    def edit(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Any], object],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> tuple[Workflow, bool, Any]:
        """Do as `change` does, and return whether the file was written, and the draft, too."""
        path = workflow.path
        statefile.guard(project.root, path)
        if not self.is_place(project, path):
            raise StateError(path, f"is no place for a file of {self.name}")
        if not path.exists():
            raise MissingError(path, self.missing)
        draft = FileDraft({})

        def apply(file: StateFile) -> dict[str, Any]:
            nonlocal draft
            before = self.view(project, file)
            if before.id != workflow.id:
                raise TransitionError(f"{workflow.place} holds {before.id} by now, not {workflow.id}")
            draft = self.draft_of(project, file)
            edit(draft)
            project.observe(before)  # what was moved by hand before keeps its own time
            if draft.notes:  # before the state: one that is killed in between must not leave a state without its reason
                extras.write_notes(project, path, workflow.id, draft.notes)
            return draft.content()

        with locked(self.folder(project)):
            after, changed = statefile.rewrite(project, path, apply, why=why, repair=repair)
            notes = self.after_write(project, after)  # even if unchanged: a killed writer may have left it outdated
            if draft.extra is not None:
                extras.add(project, path, workflow.id, draft.extra)
            if draft.notes == {}:
                extras.write_notes(project, path, workflow.id, {})
            now = self.view(project, after)
            project.observe(now, error=error, at=clock.stamp() if changed else None)
            return self.close(project, draft, now).with_warnings(*notes), changed, draft

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Move a unit because of its agent (`FileDraft.judge`)."""

        def edit(draft: FileDraft) -> None:
            draft.judge(phase_id, status, words)

        error = words if status == "failed" else ""
        try:
            now, changed, draft = self.edit(project, workflow, edit, why=f"{phase_id} {status}", error=error)
        except TransitionError as refused:
            return Judged(workflow, changed=False, remark=str(refused))
        return Judged(now, changed, notes=tuple(draft.messages))

    # Create and replace.

    def start(self, project: Records, start: Start) -> Workflow:
        """Write the file of a new workflow.

        A finished workflow in its place goes to the archive, an unfinished one only if `start` says so.

        Raises:
            TransitionError: an unfinished workflow is in its place, or the format can't keep a value.
            SchemaMismatch: another program's file is in its place.
            StateError: the place can't be used.
        """
        statefile.guard(project.root, self.folder(project))
        with locked(self.folder(project)):
            return statefile.insist(lambda: self._start(project, start))

    def _start(self, project: Records, start: Start) -> Workflow:
        path = self.location(project, start)
        statefile.guard(project.root, path)
        before, last, aside = self._displaced(project, path, start)
        data = self.fresh(project, path, start, last)
        beside: AbstractContextManager[None] = nullcontext()
        if self.has_extras:
            beside = extras.begun(project, path, self.identity(data, path), self.beside(start))
        if last is not None:  # first: what is killed from here on must not lose it
            project.shelve(last)
        with beside:
            file = statefile.write(project, path, data, before, why="start")
        notes = self.after_write(project, file)
        workflow = self.view(project, file)
        project.observe(workflow, at=clock.stamp())
        if aside is not None:
            notes = [*notes, self.displaced(workflow, aside)]
        return workflow.with_warnings(*notes)

    def _displaced(
        self, project: Records, path: Path, start: Start
    ) -> tuple[StateFile | None, Workflow | None, Path | None]:
        """Make room for a new workflow.

        Returns:
            The file that it overwrites, if any; the workflow that this held; where a content went that the ledger
            doesn't have.
        """
        try:
            before = statefile.present(project, path)
            if before is None:
                return None, None, None
            there = self.view(project, before)
        except SchemaMismatch as error:
            raise SchemaMismatch(path, f"{error.reason}; {ELSEWHERE}") from error
        except StateError:
            return None, None, statefile.set_aside(project, path)
        if not there.finished and not start.replace:
            raise TransitionError(views.occupied(project, there))
        project.observe(there)  # store its end now: it may have been completed by hand
        project.keep(path, before.document.raw, why="before start")
        return self.displace(project, before, there)

    def displace(
        self, project: Records, file: StateFile, workflow: Workflow
    ) -> tuple[StateFile | None, Workflow | None, Path | None]:
        """Let a workflow give way to a new one at its path; return what `_displaced` does. Here, it is overwritten."""
        return file, workflow, statefile.keep_aside(project, file.path, file.document.raw)

    def displaced(self, workflow: Workflow, aside: Path) -> str:
        """Say where the content that a new workflow displaced is, if the ledger doesn't have it."""
        return f"what {workflow.place} held before is kept as {aside.name} next to it"

    # Restore.

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Make a state file hold an earlier content again, and update what is generated from it.

        Another workflow in the file goes to the archive: always if it is finished, else only with `replace`.
        """
        wanted = self.parsed(project, path, raw)
        statefile.guard(project.root, path)

        def attempt() -> Restored:
            before = statefile.present(project, path)
            if before is not None:
                now = self.view(project, before)
                if before.present == raw:
                    self.after_write(project, before)  # a killed writer may have left that outdated
                    return Restored(now, changed=False)
                if not self.is_same(now, wanted):
                    if not now.finished and not replace:
                        raise TransitionError(views.occupied(project, now))
                    project.shelve(now)
                project.observe(now)  # what was moved by hand before keeps its own time
            aside = statefile.restore(project, path, raw, before, why=why)
            if self.has_extras:
                extras.bring_back(project, path, wanted.id)
            after = statefile.read(project, path)
            self.after_write(project, after)
            workflow = self.view(project, after)
            project.observe(workflow, at=clock.stamp())
            return Restored(workflow, changed=True, aside=aside)

        with locked(self.folder(project)):
            return statefile.insist(attempt)


def _changed(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_mtime_ns
    return 0
