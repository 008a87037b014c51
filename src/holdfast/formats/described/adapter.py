"""The adapter of every format that a TOML file describes (`workflow.adapter.AgentFormat`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError, command_line
from holdfast.files import document
from holdfast.formats.described import edits, store, view
from holdfast.workflow import assignments, statefile
from holdfast.workflow import restore as restoring
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Changes, Found, Judged, Problem, Workflow
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from holdfast.formats.described.description import Description
    from holdfast.workflow.model import Phase, Restored, Start, Status
    from holdfast.workflow.records import Records

MOST = 16
"""Workflows that an event reads: those that are asked for, and the last changed."""


class Adapter:
    """Reads and writes the files of one described format."""

    def __init__(self, rules: Description) -> None:
        """Keep the files that `rules` describes."""
        self.NAME = rules.name
        self.rules = rules

    def find(self, project: Records) -> Found:
        """Return the project's workflows of this format."""
        return self._found(project, store.files(project, self.rules))

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows with these keys, and those that were changed last."""
        paths, named = list(store.files(project, self.rules)), self._named(project, keys)
        newest = sorted(paths, key=_changed, reverse=True)
        chosen = [*(path for path in newest if path in named), *(path for path in newest if path not in named)][:MOST]
        found = self._found(project, chosen, statefile.Room())
        return replace(found, left=found.left + len(paths) - len(chosen))

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return the workflows with these keys, and no others."""
        there = sorted(each for each in self._named(project, keys) if store.is_place(project.root, self.rules, each))
        return self._found(project, there, statefile.Room())

    def start(self, project: Records, start: Start) -> Workflow:
        """Start a workflow in a file of its own; nothing begins yet."""
        return store.create(project, self.rules, start)

    def change(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Draft], None],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> Workflow:
        """Run `edit` on the workflow's draft and write its file. Raises TransitionError, StateError.

        `repair` writes a broken file again from its last content, even if nothing changes.
        """

        def apply(data: dict[str, Any]) -> None:
            edit(_Draft(self.rules, data))

        return store.change(project, self.rules, workflow, apply, why=why, error=error, repair=repair)[0]

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note on the current unit: in its field for notes, else in the context."""
        if "note" not in self.rules.unit and "context" in self.rules.workflow:
            return changes.with_note(workflow, note)
        number = changes.current or workflow.current
        before = next((each.handover for each in workflow.phases if each.number == number), "")
        return replace(changes, handover="\n".join(filter(None, (before, changes.handover, note))))

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the workflow in a content of a file. Raises SchemaMismatch, or BrokenError."""
        file = StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw)
        return view.workflow(project, self.rules, file)

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a file (`workflow.restore`)."""
        if not store.is_place(project.root, self.rules, path):
            raise StateError(path, f"is no place for a file of {self.NAME}")
        return restoring.restore(
            project,
            self.parsed(project, path, raw),
            why=why,
            replace=replace,
            read=lambda file: view.workflow(project, self.rules, file),
            folder=store.top(project, self.rules),
        )

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return the workflow if it is what was written; nothing follows from it."""
        return workflow if path == workflow.path else None

    def match_phase(self, workflow: Workflow, text: str, agent: str) -> Phase | None:
        """Return the unit an agent was launched for (`assignments.match_phase`)."""
        return assignments.match_phase(workflow, text, agent)

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Move a unit because of its agent. What a hook may not do does nothing: it undoes no completion.

        What a completed unit hands over is read from the agent's words, if the format has a field for notes.
        """

        def edit(data: dict[str, Any]) -> None:
            phase = edits.unit(self.rules, data, phase_id).phase
            if phase.status == "completed" or (status == "completed" and phase.status == "blocked"):
                return
            wrong: Status = "failed" if self.rules.statuses["failed"] else "blocked"
            edits.set_status(self.rules, data, phase_id, wrong if status == "failed" else status)
            if status == "completed":
                if "note" in self.rules.unit and not phase.handover:
                    edits.note(self.rules, data, phase_id, assignments.extract_result(words)[1])
                edits.begin(self.rules, data)

        error = words if status == "failed" else ""
        try:
            now, changed = store.change(project, self.rules, workflow, edit, why=f"{phase_id} {status}", error=error)
        except TransitionError as refused:
            return Judged(workflow, changed=False, remark=str(refused))
        return Judged(now, changed)

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> None:
        """Return None: the files hold no more about a unit than its agent's prompt."""

    def _named(self, project: Records, keys: Collection[str]) -> set[Path]:
        prefix = f"{self.NAME}:"
        return {project.root / key.removeprefix(prefix).rpartition("#")[0] for key in keys if key.startswith(prefix)}

    def _found(self, project: Records, paths: Iterable[Path], room: statefile.Room | None = None) -> Found:
        workflows, problems, left = list[Workflow](), list[Problem](), 0
        for number, path in enumerate(paths):
            try:
                if room is not None and number and not room.take([path.lstat().st_size]):
                    left += 1
                    continue
                file = store.read(project, self.rules, path)
                workflows.append(view.workflow(project, self.rules, file))
                problems += [Problem(path, file.trouble)] if file.broken else []
            except (MissingError, FileNotFoundError, SchemaMismatch):
                continue  # another program's file, which is nobody's business
            except StateError as error:
                problems.append(Problem(error.path, error.reason))
            except OSError as error:
                problems.append(Problem(path, str(error)))
        return Found(tuple(workflows), tuple(problems), left)


class _Draft(Draft):
    """The JSON of one file during one change."""

    def __init__(self, rules: Description, data: dict[str, Any]) -> None:
        self.rules, self.data = rules, data
        self.unit_word = rules.word

    def units(self) -> list[Phase]:
        return [each.phase for each in view.units(self.rules, self.data, [])]

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        now = self.unit(id)
        if status == "completed" and now.status in ("failed", "blocked"):
            again = command_line("update", "--phase", str(now.number), "--status", "active")
            self.refuse(f"{now.title} is {now.status}; `{again}` makes it active again")
        edits.set_status(self.rules, self.data, id, status)
        edits.note(self.rules, self.data, id, note)

    def cancel(self, reason: str) -> None:
        edits.cancel(self.rules, self.data)

    def add(self, changes: Changes) -> None:
        edits.add(self.rules, self.data, reading=changes.reading, reminders=changes.reminders, context=changes.context)

    def rename(self, id: str, title: str) -> None:
        edits.title(self.rules, self.data, id, title)

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        if deliverables:
            self.refuse(f"{self.rules.name} keeps no deliverables")
        edits.note(self.rules, self.data, id, text or "", instead=True)


def of(rules: Description) -> Adapter:
    """Return the adapter of a description."""
    return Adapter(rules)


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
