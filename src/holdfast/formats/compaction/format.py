"""The `compaction` format: one state file for each workflow under `untracked/workflow-state/` (document 001)."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast import clock, log
from holdfast.errors import LedgerError, SchemaMismatch, StateError, TransitionError, command_line
from holdfast.files.lock import locked
from holdfast.formats.compaction import record, schema
from holdfast.formats.compaction.detection.detect import detect
from holdfast.formats.compaction.schema import WORDS, Position, read_position
from holdfast.workflow import names, statefile, values, views
from holdfast.workflow.findings import notice
from holdfast.workflow.model import Changes, Foreign, Found, Phase, Start, Status, Workflow
from holdfast.workflow.store import FileDraft, FileFormat
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.workflow.findings import Finding
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_STAMP = re.compile(r"\d{8}_\d{6}")


class CompactionFormat(FileFormat):
    """Several workflows, each in a state file of its own (R001-04), which goes away when the workflow ends."""

    name = record.NAME
    takes_total = True
    clears_finished = True

    def files(self, project: Records) -> Iterator[Path]:
        """Yield the state files, each in a folder of its workflow."""
        return (path for path in self.folder(project).glob("*/state-*.json") if not names.is_copy(path.name))

    def is_place(self, project: Records, path: Path) -> bool:
        """Return whether a path is valid for a state file."""
        return path.match("*/state-*.json") and path.parent.parent == self.folder(project)

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't of this format."""
        if not schema.is_ours(file.data):
            reason = 'isn\'t a workflow state ("workflow" as text, with "phase"); it is left alone'
            raise SchemaMismatch(file.path, reason)

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a file of this format."""
        return schema.view(project, file)

    def draft(self, data: dict[str, Any]) -> CompactionDraft:
        """Return a draft of a file's content."""
        return CompactionDraft(data)

    def is_same(self, one: Workflow, other: Workflow) -> bool:
        """Return whether two contents of a file are of one workflow: it goes by its name."""
        return names.key(one.title) == names.key(other.title)

    def read_all(self, project: Records, paths: Iterable[Path], wanted: int = 0) -> Found:
        """Return the workflows in some files, the last changed first.

        Each is read from its newest readable file. For older files of the same name it gets a warning (I001-7).
        """
        found = super().read_all(project, paths, wanted)
        newest: dict[str, Workflow] = {}
        for workflow in newest_first(found.workflows):
            newer = newest.setdefault(names.key(workflow.title), workflow)
            if newer is not workflow:
                warning = f"{workflow.place} is an older file of the same workflow"
                newest[names.key(workflow.title)] = replace(newer, warnings=(*newer.warnings, warning))
        return replace(found, workflows=tuple(newest.values()))

    def each_file(self, project: Records, paths: Iterable[Path] | None = None) -> list[Workflow]:
        """Return the workflow in every state file, or in some, the last changed first."""
        found = super().read_all(project, self.files(project) if paths is None else paths)
        return newest_first(found.workflows)

    def foreign(self, project: Records) -> Iterator[Foreign]:
        """Yield the JSON files next to the state files that are not named like one."""
        for path in sorted(self.folder(project).glob("*/*.json")):
            if not path.match("state-*.json") or names.is_copy(path.name):
                why = "isn't named state-NAME.json, without spaces, so it isn't read as a workflow's state"
                yield Foreign(path, why)

    def findings(self, project: Records) -> Iterator[Finding]:
        """Yield older files of a workflow, files of those that are over, and what is odd in memory files and plans."""
        current = {each.path for each in self.find(project).workflows}
        for workflow in self.each_file(project):
            path = workflow.path
            if path not in current:
                text = f"{path} is an older state of {quoted(workflow.title)}, which has a newer file"
                yield notice(text, f"rm {shlex.quote(str(path))}", path=path, code="older")
            elif workflow.finished or workflow.ended:
                over = f"over: {workflow.ended}" if workflow.ended else "finished"
                text = f"{path}: {quoted(workflow.title)} is {over}, but its file is still there"
                if workflow.ended:
                    text += f"; `{command_line('update', workflow.id, '--note', 'TEXT')}` continues it"
                yield notice(text, command_line("done", "--all", workflow.id), path=path, code="over")
        for candidate in detect(project, everything=True).candidates:
            for warning in candidate.warnings:
                yield notice(
                    f"{candidate.path}: {warning}", f"correct {candidate.path}", path=candidate.path, code="source"
                )

    def start(self, project: Records, start: Start) -> Workflow:
        """Create the state file of a workflow at its first phase (R001-11).

        With `replace`, unfinished workflows of the same name are archived and their files removed. Raises
        TransitionError if a workflow of this name is unfinished.
        """
        start = replace(start, kind=next((each for each in schema.TYPES if each == start.kind.casefold()), start.kind))
        statefile.guard(project.root, self.folder(project))
        with locked(self.folder(project)):
            same = [each for each in self.find(project).workflows if names.key(each.title) == names.key(start.title)]
            before = [each for each in same if not each.finished]
            if before and not start.replace:
                raise TransitionError(views.occupied(project, before[0]))
            created = self._created(project, start)
            for workflow in before:  # only now, so that the old file stays if the new one can't be written
                project.shelve(workflow)
                statefile.discard(project, workflow.path, why="replaced")
        if not start.kind or created.kind == start.kind:
            return created
        types = ", ".join(schema.TYPES)
        warning = f"{quoted(start.kind)} is stored as custom; the {self.name} format knows the types {types}"
        return replace(created, warnings=(*created.warnings, warning))

    def _created(self, project: Records, start: Start) -> Workflow:
        try:
            return super().start(project, start)
        except StateError:
            with suppress(OSError):  # the folder was made for the file, unless other files are in it
                (self.folder(project) / names.slug(start.title)).rmdir()
            raise

    def location(self, project: Records, start: Start) -> Path:
        """Return the file that a new workflow gets: R001-01 with the present second, or the next free one.

        It is in a folder of the workflow's own (R001-04), as in the document's examples (R001-26).
        """
        slug, moment = names.slug(start.title), clock.now()
        while _was_used(project, path := self.folder(project) / slug / f"state-{slug}-{clock.file_stamp(moment)}.json"):
            moment += timedelta(seconds=1)
        return path

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file."""
        total = max(start.total or 0, len(start.phases), 1)
        first = start.phases[0][0] if start.phases else "Phase 1"
        listed = [{"title": title, "agent": agent} if agent else title for title, agent in start.phases]
        context = {**start.context, **({schema.PHASES: listed} if listed else {})}
        content = {"reading": start.reading, "reminders": start.reminders, "context": context}
        return schema.fresh(start.title, start.kind, Position(1, total, first, "in_progress"), content)

    def close(self, project: Records, draft: Any, workflow: Workflow) -> Workflow:
        """Leave a tombstone for a workflow that is over, and remove its files (I001-3, R001-19, R001-20).

        Only `state-*.json` files that name it are removed.
        """
        if not (draft.ended or draft.cancelled):
            return workflow
        if draft.cancelled:
            workflow = workflow.cancelled()
            project.shelve(workflow)
        same = [each.path for each in self.each_file(project) if self.is_same(each, workflow)]
        return _complete(project, workflow, same)

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note added to what the current phase leaves for the next."""
        return changes.with_handover(workflow, note)


class CompactionDraft(FileDraft):
    """The content of one state file during one change.

    Attributes:
        ended: whether the workflow is over.
        cancelled: whether it was cancelled.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        self.ended = self.cancelled = False
        self._is_sure = read_position(data, []).sure  # a move writes what was missing

    def units(self) -> Sequence[Phase]:
        """Return the phases, those included of which only the number is known."""
        return schema.read_phases(self.data)

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Go to a phase and give it a status."""
        if status not in WORDS:
            self.refuse(f"a phase can't be {status} in the {record.NAME} format; it can be {', '.join(WORDS)}")
        self._touch()
        self._note(_number(id), note)
        self._place(current=_number(id), status=WORDS[status])

    def end(self, *, early: bool) -> None:
        """Complete the workflow. Unless that is `early`, the file must say which phase is the last."""
        if not self._is_sure and not early:
            self.refuse(
                "the state file doesn't say whether this is the last phase; `holdfast update --total N` says how many "
                "there are, `holdfast done --all` ends the workflow"
            )
        if not (self._is_sure and self.all_completed()):
            self._add_context({schema.ENDED_EARLY: True})
        self.ended = True

    def cancel(self, reason: str) -> None:
        """Give the workflow up."""
        self.cancelled = True

    def resize(self, total: int) -> None:
        """Set how many phases there are."""
        current = read_position(self.data, []).current
        if total < current:
            self.refuse(f"the workflow is at phase {current}; go back first with --phase")
        self._touch()
        self._place(total=total)
        self._is_sure = True

    def numbered(self, number: int) -> Phase:
        """Return the phase with a number, also beyond a total that is only a guess."""
        where = read_position(self.data, [])
        if where.counted or number <= where.total:
            return super().numbered(number)
        return Phase(f"phase_{number}", number, f"Phase {number}", "pending")

    def rename(self, id: str, title: str) -> None:
        """Give a phase another title."""
        self._touch()
        if _number(id) == read_position(self.data, []).current:
            self._place(name=title)
        else:
            self.data = schema.titled(self.data, _number(id), title)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a phase hands over."""
        self._touch()
        self._note(_number(id), text or "")

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context."""
        self._touch()
        reading = tuple(map(values.at, changes.reading))
        for key, new in (("required_reading", reading), ("key_reminders", changes.reminders)):
            if new:
                self.data[key] = values.added(self.data.get(key), new)
        self._add_context(changes.context)

    def _place(self, **changes: Any) -> None:
        """Change the phase. If the workflow moves, the title of the phase that it leaves is added to a list."""
        where = read_position(self.data, [])
        current = changes.get("current", where.current)
        if current != where.current:
            titles = {each.number: each.title for each in self.units()}
            self.data = schema.titled(self.data, where.current, where.name)
            changes["name"] = titles.get(current, f"Phase {current}")
        self.data["phase"] = schema.with_phase(self.data, where, **changes)

    def _touch(self) -> None:
        """Make the state an agent's own: a plan's workflow that somebody changes is no longer derived (I001-9).

        One that was ended early, and put back since, goes on.
        """
        context = schema.read_context(self.data)
        kept = {key: value for key, value in context.items() if key not in (schema.DERIVED, schema.ENDED_EARLY)}
        if kept != context:
            self.data["context"] = kept

    def _note(self, number: int, note: str) -> None:
        """Keep what a phase hands over in the free context (R001-05)."""
        if note.strip():
            notes = values.mapping(schema.read_context(self.data).get(schema.NOTES), schema.NOTES, [])
            self._add_context({schema.NOTES: {**notes, str(number): note.strip()}})

    def _add_context(self, new: Mapping[str, Any]) -> None:
        if new:
            self.data["context"] = {**schema.read_context(self.data), **new}


def _complete(project: Records, workflow: Workflow, files: Iterable[Path]) -> Workflow:
    """Leave a tombstone for a workflow and remove its state files (R001-19), then their folders if these are empty.

    Hold the folder's lock. Returns the completed workflow, whose path no longer exists. Raises StateError.
    """
    # The tombstone comes first: a process killed in between then leaves a finished file, and can't revive the workflow.
    _bury(project, workflow)
    warnings: list[str] = []
    for path in sorted({workflow.path, *files}):
        aside = statefile.discard(project, path, why="complete")
        warnings += [f"{aside.name} stays in {aside.parent}, for the ledger has not kept it"] if aside else []
        for left_over in path.parent.glob(f".{path.name}.*.tmp"):  # a killed writer left it
            left_over.unlink(missing_ok=True)
        if path.parent.parent == project.root / record.TOP:
            with suppress(OSError):  # other files are in it
                path.parent.rmdir()
    return replace(workflow, warnings=(*workflow.warnings, *warnings))


def _bury(project: Records, workflow: Workflow) -> None:
    try:
        for name, digest in _claims(project, workflow):
            project.bury(name, digest)
    except LedgerError as error:
        log.write("warning", f"the completion of {quoted(workflow.title)} wasn't remembered: {error}")


def _claims(project: Records, workflow: Workflow) -> set[tuple[str, str]]:
    """Return (name, digest) of each extract that could create this workflow's file again."""
    detected = detect(project, everything=True).extracts  # plans that aren't the newest, too: they may become it
    claims = {(names.key(each.name), each.digest) for each in detected if _names(each, workflow)}
    last = project.remembered(workflow.path)
    return claims | ({(last["name"], last["digest"])} if last else set())


def _names(extract: Extract, workflow: Workflow) -> bool:
    if names.key(extract.name) == names.key(workflow.title):
        return True
    return names.faithful(extract.name) and names.slug(extract.name) == workflow.path.parent.name


def newest_first(workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return workflows by when their files changed.

    Of files changed at the same moment, as after a checkout, the one with the later time in its name comes first.
    """

    def age(workflow: Workflow) -> tuple[float, str]:
        with suppress(OSError):
            return workflow.path.stat().st_mtime, "".join(_STAMP.findall(workflow.path.name)[-1:])
        return 0.0, ""

    return sorted(sorted(workflows, key=lambda each: each.path), key=age, reverse=True)


def _number(id: str) -> int:
    """Return the number in a phase's id."""
    return int(id.rpartition("_")[2])


def _was_used(project: Records, path: Path) -> bool:
    """Return whether a path has, or had, a state file: the id of a finished workflow is its file's name."""
    with suppress(LedgerError):
        return path.exists() or bool(project.versions(path))
    return False


FORMAT = CompactionFormat()
