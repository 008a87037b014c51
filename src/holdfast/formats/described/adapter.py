"""The adapter of every format that a TOML file describes (`workflow.adapter.AgentFormat`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import document
from holdfast.formats.described import edits, store, view
from holdfast.workflow import assignments, statefile
from holdfast.workflow.model import Changes, Found, Judged, Problem, Step, Workflow
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
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

    def begin(self, project: Records, workflow: Workflow) -> Workflow:
        """Begin the next unit, unless one is active or stopped."""
        return self._change(project, workflow, lambda data: edits.begin(self.rules, data), why="begin")[0]

    def done(self, project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
        """Complete the current unit and begin the next; with `everything`, complete all of them.

        Nothing happens if somebody else completed it meanwhile. Raises TransitionError if the unit is stopped, or the
        workflow was completed already.
        """
        if workflow.finished:
            raise TransitionError(f"{workflow.place} is completed; change it in an editor to open it again")
        due = self._due(workflow)
        if not everything and due and (refused := edits.refusal(self.rules, due, "completed")):
            raise TransitionError(refused)

        def edit(data: dict[str, Any]) -> None:
            if due and edits.unit(self.rules, data, due.id).phase.status != "completed":
                edits.note(self.rules, data, due.id, note)
                edits.set_status(self.rules, data, due.id, "completed")
                if not everything:
                    edits.begin(self.rules, data)
            for each in workflow.phases if everything else ():
                edits.set_status(self.rules, data, each.id, "completed")

        return self._change(project, workflow, edit, why="done")[0]

    def update(self, project: Records, workflow: Workflow, changes: Changes) -> Workflow:
        """Apply changes to the current unit, or to number `changes.current`, which becomes active without a status.

        A broken file is replaced by its last content with the changes applied, even if they change nothing.
        """
        phase = self._meant(workflow, changes)
        if changes.total not in (None, workflow.total):
            raise TransitionError(f"{self.NAME} has the {self.rules.word}s it lists, {workflow.total}")
        if changes.deliverables:
            raise TransitionError(f"{self.NAME} keeps no deliverables")
        status = changes.status or ("active" if changes.current is not None else None)
        if changes.error and status not in ("failed", "blocked"):
            raise TransitionError(f"an error belongs to a {self.rules.word} that failed; give --status failed with it")
        if phase and status and (refused := edits.refusal(self.rules, phase, status)):
            raise TransitionError(refused)

        def edit(data: dict[str, Any]) -> None:
            if phase and status:
                edits.set_status(self.rules, data, phase.id, status)
            if phase and changes.phase:
                edits.title(self.rules, data, phase.id, changes.phase)
            if phase and changes.handover is not None:
                edits.note(self.rules, data, phase.id, changes.handover, instead=True)
            given = {"reading": changes.reading, "reminders": changes.reminders, "context": changes.context}
            edits.add(self.rules, data, **given)  # type: ignore[arg-type]

        return self._change(project, workflow, edit, why="update", error=changes.error, repair=True)[0]

    def noted(self, workflow: Workflow, changes: Changes, note: str) -> Changes:
        """Return changes with a note on the current unit: in its field for notes, else in the context."""
        if "note" not in self.rules.unit and "context" in self.rules.workflow:
            return changes.with_note(workflow, note)
        number = changes.current or workflow.current
        before = next((each.handover for each in workflow.phases if each.number == number), "")
        return replace(changes, handover="\n".join(filter(None, (before, changes.handover, note))))

    def step(self, workflow: Workflow) -> Step | None:
        """Return the current unit, else the next pending one; None at the end."""
        due = self._due(workflow)
        if due is None or workflow.finished:
            return None
        verbs = {"active": "go on with", "failed": "retry", "blocked": "unblock"}
        agent = f", agent {due.agent}" if due.agent else ""
        text = f'{verbs.get(due.status, "start")} {workflow.named(due)} "{due.title}" ({due.id}{agent})'
        handover = workflow.phases[due.number - 2].handover if due.number > 1 else ""
        prompt = f"{due.title}\n\nContext: {handover}" if handover else due.title
        return Step(due.number, workflow.total, due.title, due.agent, prompt, text)

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the workflow in a content of a file. Raises SchemaMismatch, or BrokenError."""
        file = StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw)
        return view.workflow(project, self.rules, file)

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a file (`workflow.restore`)."""
        from holdfast.workflow import restore as restoring  # here, because no event restores one

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
            now, changed = self._change(project, workflow, edit, why=f"{phase_id} {status}", error=error)
        except TransitionError as refused:
            return Judged(workflow, changed=False, remark=str(refused))
        return Judged(now, changed)

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> None:
        """Return None: the files hold no more about a unit than its agent's prompt."""

    def ready(self, workflow: Workflow) -> tuple[Phase, ...]:
        """Return the unit that is due, if none is active."""
        due = self._due(workflow)
        return () if due is None or any(each.status == "active" for each in workflow.phases) else (due,)

    def undoing(self, phase_id: str) -> str:
        """Return the command with which a person makes a completed unit active again."""
        return edits.again(phase_id)

    def _change(
        self, project: Records, workflow: Workflow, edit: Callable[[dict[str, Any]], None], **more: Any
    ) -> tuple[Workflow, bool]:
        return store.change(project, self.rules, workflow, edit, **more)

    def _due(self, workflow: Workflow) -> Phase | None:
        if workflow.finished:
            return None
        now = view.current(workflow.phases)
        return now or next((each for each in workflow.phases if each.status == "pending"), None)

    def _meant(self, workflow: Workflow, changes: Changes) -> Phase | None:
        """Return the unit that a change is about; None for none. Raises TransitionError if there is no such unit."""
        wanted = changes.phase or changes.status or changes.handover is not None
        if changes.current is not None:
            if not 1 <= changes.current <= workflow.total:
                raise TransitionError(f"there is no {self.rules.word} {changes.current}; there are {workflow.total}")
            return workflow.phases[changes.current - 1]
        due = self._due(workflow) if wanted else None
        if wanted and due is None:
            raise TransitionError(f"{quoted(workflow.title)} has no current {self.rules.word}; name one with --phase N")
        return due

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


def of(rules: Description) -> Adapter:
    """Return the adapter of a description."""
    return Adapter(rules)


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
