"""The `skills` format: state machines of skills in `.claude/workflow-state/` (document 004).

The state files are essential, readable and safe with several sessions (R004-04, I004-16), written by a rename
(R004-32), and git ignores them (I004-22). A corrupted one is set aside with the document's warning (R004-40).
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import SchemaMismatch, StateError
from holdfast.files import access
from holdfast.files.lock import locked
from holdfast.formats.skills import (
    display,
    index,
    machine,
    moves,
    paths,
    plan,
    record,
    results,
    schema,
    upkeep,
    view,
)
from holdfast.formats.skills.schema import State, status_of, task_number
from holdfast.workflow import names, statefile, values
from holdfast.workflow.model import Brief, Changes, Restored, Start, Workflow
from holdfast.workflow.store import FileDraft, FileFormat
from holdfast.workflow.wording import capitalized

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.clients.client import Work
    from holdfast.workflow.findings import Finding
    from holdfast.workflow.model import Phase, Problem, Status, Step
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

CORRUPTED = "⚠️ Corrupted state file detected. Starting fresh."


class SkillsFormat(FileFormat):
    """Workflows of skills such as /dev and /tdd, one file each. Those that are over move to `completed/`."""

    name = record.NAME
    has_extras = True
    clears_finished = True
    takes_evidence = True
    definitions = machine.MACHINES
    missing = "the state file is gone: the workflow is finished, or somebody removed it"

    def files(self, project: Records) -> list[Path]:
        """Return the state files of unfinished workflows."""
        return [each for each in sorted(paths.active(project.root).glob("*.json")) if not names.is_copy(each.name)]

    def is_place(self, project: Records, path: Path) -> bool:
        """Return whether a path is valid for a state file."""
        return path.parent == paths.active(project.root) and path.suffix == ".json" and not names.is_copy(path.name)

    def check(self, file: StateFile) -> None:
        """Raise SchemaMismatch if a file that was read isn't a skill's state."""
        if not paths.is_state(file.data):
            raise SchemaMismatch(
                file.path, 'isn\'t a skill\'s state ("workflow" and "state_machine"); it is left alone'
            )

    def unread(self, error: StateError) -> list[Problem]:
        """Return the problem that a broken file is. Other programs' files are left alone without a word."""
        return [] if isinstance(error, SchemaMismatch) else super().unread(error)

    def workflow(self, project: Records, file: StateFile) -> Workflow:
        """Return the workflow in a state file."""
        return view.workflow(project, file)

    def identity(self, data: dict[str, Any], path: Path) -> str:
        """Return the id of the workflow in a content."""
        return paths.identity(data, path)

    def draft_of(self, project: Records, file: StateFile) -> SkillsDraft:
        """Return a draft of a state file."""
        return SkillsDraft(State.read(project.root, file.path, file.data), file.data)

    def after_write(self, project: Records, file: StateFile) -> list[str]:
        """List an unfinished workflow as its file has it."""
        if status_of(file.data["workflow"]) not in schema.FINAL:
            index.put(project.root, file.path, file.data)
        return []

    def close(self, project: Records, draft: Any, workflow: Workflow) -> Workflow:
        """Move the file of a workflow that is over to `completed/`.

        The status is written before. If this is killed in between, a finished file lies among the active ones, which
        `done` and `doctor` move.
        """
        if workflow.finished:
            upkeep.move_away(project, workflow)
        # What was filled in is in the file now, so nobody else says it.
        return replace(workflow, warnings=tuple(dict.fromkeys((*draft.state.notes, *workflow.warnings))))

    # Create and replace.

    def start(self, project: Records, start: Start) -> Workflow:
        """Start a workflow of the skill that is its type, or of phases of its own; nothing begins yet."""
        workflow = super().start(project, start)
        feature = plan.plan(project.root, start).feature
        if not feature or access.is_there(project.root / feature):
            return workflow
        return workflow.with_warnings(f"there is no {feature} in the project")

    def location(self, project: Records, start: Start) -> Path:
        """Return the file that a new workflow gets: named after its skill and its key."""
        return plan.plan(project.root, start).path(project.root)

    def fresh(self, project: Records, path: Path, start: Start, last: Workflow | None) -> dict[str, Any]:
        """Return the content of a new file: the schema's keys, nothing begun (R004-24)."""
        planned = plan.plan(project.root, start)
        state = schema.fresh(
            planned.rules,
            path,
            plan.moment(path),
            context=planned.context,
            branch=project.branch or "",
            tasks=planned.tasks,
        )
        units = state.tasks if planned.tasks else list(state.phases.values())
        for unit, (_, agent) in zip(units, start.phases, strict=False):
            unit.update({"agent": agent} if agent else {})
        return state.data

    def beside(self, start: Start) -> Start:
        """Return what a new workflow keeps next to the state: type and context are in the state itself."""
        return replace(start, kind="", context={})

    def _displaced(
        self, project: Records, path: Path, start: Start
    ) -> tuple[StateFile | None, Workflow | None, Path | None]:
        """Make room for a new workflow. A corrupted file is set aside, even if its last content is known (I004-5)."""
        with suppress(StateError):
            before = statefile.present(project, path)
            if before is not None and before.repairable:
                project.shelve(self.view(project, before))
                return None, None, statefile.set_aside(project, path)
        return super()._displaced(project, path, start)

    def displaced(self, workflow: Workflow, aside: Path) -> str:
        """Say what became of a corrupted file, as the document does (R004-40)."""
        return f"{CORRUPTED} It is kept as {aside.name}"

    def displace(
        self, project: Records, file: StateFile, workflow: Workflow
    ) -> tuple[StateFile | None, Workflow | None, Path | None]:
        """Move a workflow away that is over; an unfinished one is abandoned before."""
        if not workflow.finished:
            project.shelve(workflow)
            state = State.read(project.root, file.path, file.data)
            moves.abandon(state, "replaced by a new workflow")
            workflow = self.view(project, statefile.write(project, file.path, state.data, file, why="abandon"))
        upkeep.move_away(project, workflow)
        return None, None, None

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a state file. A completed copy goes, as it would say that it is over."""
        with locked(self.folder(project)):
            restored = super().restore(project, path, raw, why=why, replace=replace)
            file = self.load(project, path)
            if not State.read(project.root, path, file.data).is_outdated:
                return restored
            statefile.discard(project, paths.completed_copy(path), why="restored")
            now = self.view(project, file)
            project.observe(now, at=clock.stamp())
            return Restored(now, restored.changed, restored.aside)

    def findings(self, project: Records) -> Iterator[Finding]:
        """Yield the problems of the files."""
        return upkeep.findings(self, project)

    # Words.

    def step(self, workflow: Workflow) -> Step | None:
        """Return the next step, in the document's words."""
        return display.step(workflow)

    def signal(self, workflow: Workflow) -> str:
        """Return the document's line about a completed workflow, with the name of its feature or the task (R004-31).

        Empty for one that was ended before all of it was completed, because programs take the line for a success.
        """
        if workflow.completed < workflow.total:
            return ""
        key = view.state_of(workflow).key
        name = key.rstrip("/").rpartition("/")[2].removesuffix(".md") if key.endswith(".md") else key
        return f"DEV_COMPLETE: {name or workflow.title}"

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return a task as its agent gets it, with the part that is due (red, green, refactor); None for a phase."""
        number = task_number(phase.id)
        if number is None:
            return None
        state = view.state_of(workflow)
        return Brief(display.brief(state, number, state.task(number)), f"holdfast status {workflow.id}")

    # Sessions.

    def asked(self, project: Records, command: str, argument: str) -> list[Workflow]:
        """Return the unfinished workflows of the skill `command`, or of any, that a text means (R004-30, I004-17).

        The literal key counts first, as the file is named after it. Then come an id, another spelling of a feature's
        path, or a folder of features.
        """
        mine = [each for each in self.files(project) if not command or each.stem.rpartition("-")[0] == command]
        if literal := [each for each in mine if each.stem.endswith(f"-{paths.key_hash(argument)}")]:
            return self._unfinished(project, literal)
        every = self._unfinished(project, mine)
        path = paths.in_project(project.root, argument)
        if named := [each for each in every if argument in (each.id, each.id.partition("@")[0], each.path.stem)]:
            return named
        features = {each.key: paths.in_project(project.root, view.state_of(each).key) for each in every if path}
        same = [each for each in every if features.get(each.key) == path != ""]
        return same or [each for each in every if features.get(each.key, "").startswith(f"{path}/")]

    def _unfinished(self, project: Records, files: Iterable[Path]) -> list[Workflow]:
        found = self.read_all(project, files)
        return [each for each in found.workflows if not each.finished]

    def record_evidence(self, project: Records, workflow: Workflow, work: Sequence[Work]) -> list[str]:
        """Record the test runs that a session's transcript shows since the last one that is known.

        They complete nothing. Return what its model should hear: that RED never was red.
        """
        state = view.state_of(workflow)
        known = (workflow.created_at, values.text(state.test_state.get("last_run")))
        since = max((at for at in map(clock.parse, known) if at is not None), default=None)
        runs = [
            (at.replace(microsecond=0), tests)
            for each in work
            if (at := clock.parse(each.at)) is not None
            if (tests := results.tests_of(each, state.rules.tests)) is not None
        ]
        new = [(at, tests) for at, tests in runs if since is None or at > since]

        def edit(draft: SkillsDraft) -> None:
            for at, tests in new:
                draft.state.at = schema.stamp(at)
                results.record_seen(draft.state, tests)

        if new and not workflow.recovered and state.status == "in_progress":
            workflow = self.change(project, workflow, edit, why="evidence")
        is_doubtful = results.is_never_red(view.state_of(workflow))
        return [f"{capitalized(results.NEVER_RED)}."] if is_doubtful else []

    def compacted(self, project: Records, workflow: Workflow) -> Workflow:
        """Note in the history that a session goes on after a compaction (R004-18), unless the workflow is over."""

        def edit(draft: SkillsDraft) -> None:
            if not draft.state.is_over:
                draft.state.note("context_compacted", note="session resumed")

        return self.change(project, workflow, edit, why="compaction")


class SkillsDraft(FileDraft):
    """The JSON of one state file during one change.

    Attributes:
        state: the state, which the change edits.
    """

    unit_word = "step"

    def __init__(self, state: State, written: dict[str, Any]) -> None:
        super().__init__(state.data)
        self.state = state
        self._written, self._before = written, copy.deepcopy(state.data)

    def content(self) -> dict[str, Any]:
        """Return the content to write: the file as it was, if only defaults that were filled in differ."""
        return self._written if self.data == self._before else self.data

    def units(self) -> Sequence[Phase]:
        """Return the phases, with the tasks in place of the phase of tasks."""
        return view.read_units(self.state, [])

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Give a phase or task a status, because of a person."""
        self._note(id, note)
        if status == "pending":
            self.refuse("a step that has begun can't become pending again; block it instead")
        elif status in ("blocked", "failed"):
            moves.block_unit(self.state, id, reason)
        elif status == "active":
            if self.state.status == "blocked" or status_of(self.state.unit(id)) == "blocked":
                moves.unblock(self.state)
            moves.begin_unit(self.state, id)
        else:
            moves.complete_unit(self.state, id)

    def judge(self, id: str, status: Status, words: str) -> None:
        """Move a phase or task because of its agent, unless the workflow is blocked or over.

        A hook never completes the workflow. If all is completed, that is left to whoever works on it.
        """
        if self.state.status == "in_progress":
            super().judge(id, status, words)

    def reopen(self, id: str) -> None:
        """Make a completed phase or task active again."""
        moves.reopen_unit(self.state, id)

    def end(self, *, early: bool) -> None:
        """Complete the workflow."""
        if not self.state.is_over:
            moves.end(self.state, early=early)

    def cancel(self, reason: str) -> None:
        """Give the workflow up for good."""
        moves.abandon(self.state, reason)

    def add(self, changes: Changes) -> None:
        """Add context to the state, and reading and reminders to the file next to it."""
        if changes.context:
            self.data["context"] = {**values.mapping(self.data.get("context"), "context", []), **changes.context}
            self.state.workflow["updated_at"] = self.state.at
        if changes.reading or changes.reminders:
            self.extra = replace(changes, context={})

    def rename(self, id: str, title: str) -> None:
        """Give a task, or a phase that no machine names, another title."""
        moves.rename_unit(self.state, id, title)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write what a phase or task hands over as its note."""
        self._note(id, text or "")

    def following(self, completed: str = "") -> Phase | None:
        """Return the phase or task that is due, if it hasn't begun."""
        unit = moves.due(self.state)
        phase = self.unit(unit) if unit else None
        return phase if phase is not None and phase.status == "pending" else None

    def _note(self, id: str, note: str) -> None:
        if id and note.strip():
            self.state.unit(id)["note"] = note.strip()


FORMAT = SkillsFormat()
