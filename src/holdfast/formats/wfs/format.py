"""The `wfs` format: sessions in `.workflow/` with hierarchical tasks, one JSON file each (document 002)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, SchemaMismatch, StateError, TransitionError, command_line
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.formats.wfs import (
    checks,
    choice,
    context,
    ids,
    moves,
    paths,
    record,
    session,
    todo_list,
    tree,
    view,
)
from holdfast.formats.wfs.moves import NewTask
from holdfast.workflow import extras, search, statefile, store
from holdfast.workflow import views as outlines
from holdfast.workflow.draft import Draft
from holdfast.workflow.model import Brief, Judged, Problem, Restored, Start, Workflow
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.store import FileFormat
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.moves import Change
    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.findings import Finding
    from holdfast.workflow.model import Changes, Foreign, Phase, Status, Step
    from holdfast.workflow.records import Records

SUMMARY_LIMIT_CHARS = 20_000
"""Characters of an agent's last message that become a task's summary."""


class WfsFormat(FileFormat):
    """Sessions are folders, and their leaf tasks are the phases. One session is active at a time; others are paused."""

    name = record.NAME
    reports_all = True

    # Find and read.

    def files(self, project: Records) -> list[Path]:
        """Return the state files of the project's sessions."""
        return [paths.state(each) for each in paths.folders(project)]

    def load(self, project: Records, path: Path) -> StateFile:
        """Return a session's state file; the last content of one that is gone although a marker names the session."""
        return session.load(project, path.parent, marked=path.parent.name in session.marked(project)).file

    def named(self, project: Records, keys: Collection[str]) -> list[Path]:
        """Return the state files of the sessions that some keys name, by any of a session's files."""
        prefix = f"{self.name}:"
        files = [key.removeprefix(prefix).split("/") for key in keys if key.startswith(prefix)]
        names = dict.fromkeys(parts[1] for parts in files if len(parts) > 2)
        return [paths.state(paths.top(project) / each) for each in names if paths.exists(project, each)]

    def newest(self, project: Records, wanted: Iterable[Path]) -> tuple[list[Path], int]:
        """Return wanted state files, then those of the marked sessions and the last changed ones."""
        marked = session.newest_first(project, session.marked(project))[: store.NEWEST]
        there = [paths.state(paths.top(project) / each) for each in marked if paths.exists(project, each)]
        return super().newest(project, [*wanted, *there])

    def unread(self, error: StateError) -> list[Problem]:
        """Return the problem that a session without a state of its own is, too."""
        return [Problem(error.path, error.reason)]

    def _view(self, project: Records, file: StateFile) -> tuple[Workflow, tuple[Problem, ...]]:
        """Return the session in a state file.

        Of several that are marked as active, the one that was marked last counts (I002-11), and the others rest.
        """
        folder, marked = file.path.parent, session.marked(project)
        now, tasks = session.view(file, folder, marked=folder.name in marked), tree.read(project, folder)
        workflow = view.workflow(project, now, tasks)
        if len(marked) > 1 and now.standing == "active":
            active = [each for each in session.active(project) if paths.exists(project, each)]
            first, *others = session.newest_first(project, active)
            if others:
                text = f"several sessions are marked as active, and {first} counts; `holdfast doctor --fix` unmarks the"
                rests = now.name != first
                status: Status = "pending" if rests else workflow.status
                warnings = (f"{text} others", *workflow.warnings)
                workflow = replace(workflow, paused=rests, status=status, warnings=warnings)
        return workflow, tasks.problems

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return the session that a content of its state file, or of one of its task files, belongs to.

        For a task file, the workflow has that path and content.
        """
        file = StateFile(document.parse(path, raw, clock.now().timestamp()), present=raw)
        folder = path.parent.parent if path.parent.name == paths.TASKS else path.parent
        if folder.parent != paths.top(project):
            raise SchemaMismatch(path, f"does not lie in a session's folder in {paths.TOP}/")
        marked = folder.name in session.marked(project)
        if path.name == paths.SESSION:
            return view.workflow(project, session.view(file, folder, marked=marked))
        if ids.key(path.stem) is None or "status" not in file.data:
            raise SchemaMismatch(path, "isn't a task of a session")
        now = view.workflow(project, session.load(project, folder, marked=marked))
        return replace(now, path=path, raw=raw)

    def foreign(self, project: Records) -> Iterator[Foreign]:
        """Yield the folders with sessions that Holdfast doesn't read."""
        return checks.foreign(project)

    def findings(self, project: Records) -> Iterator[Finding]:
        """Yield the problems of markers, states, tasks and lists."""
        return checks.findings(project)

    # Write.

    def start(self, project: Records, start: Start) -> Workflow:
        """Make a session with the phases as tasks, one after the other, and activate it (R002-09).

        Raises:
            TransitionError: the type is unknown, or a session of this title is unfinished (with `replace` it is
                paused), or another client's live session works on the active one.
            StateError: it can't be written.
        """
        if start.kind and start.kind not in choice.COMPLEXITIES:
            known = ", ".join(choice.COMPLEXITIES)
            raise TransitionError(f"the {self.name} format has no type {quoted(start.kind)}; it knows {known}")
        with locked(paths.top(project)):  # else two that start the same session at once both find none
            return self._start(project, start)

    def _start(self, project: Records, start: Start) -> Workflow:
        same = [each for each in self.find(project).workflows if each.title == start.title and not each.finished]
        if same and not start.replace:
            why = f"{quoted(start.title)} ({same[0].id}) already exists and is unfinished"
            ending = outlines.ending(project, same[0])
            raise TransitionError(f"{why}; end it with `{ending}`, or add --replace to pause it and start another")
        if not start.replace:
            _refuse_if_busy(project, start.session, "add --replace to pause it all the same")

        def fill(new: Session) -> None:
            tasks = [NewTask(title, agent=choice.at(agent)) for title, agent in start.phases]
            with extras.begun(project, paths.state(new.folder), new.name, start):
                if tasks:
                    with moves.changing(project, new, why="start") as change:
                        moves.chain(change, tasks)

        new = session.create(project, start.title, start.kind, fill=fill)
        return _observed(project, view.workflow(project, session.get(project, new.name)))

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
        """Run `edit` on a draft of the session. Each move of a task is written at once, state and list at the end."""
        now = session.get(project, workflow.id)
        with locked(paths.top(project)), moves.changing(project, now, why=why) as change:
            draft = WfsDraft(change)
            edit(draft)
        after = view.workflow(project, change.session, change.tree)
        return _observed(project, after.with_warnings(*change.notes), error), change.written, draft

    def resume(self, project: Records, workflow: Workflow, conversation: str | None, *, anyway: bool) -> Workflow:
        """Make a paused session the active one (R002-07). The one that was active is paused.

        Raises TransitionError if another client's live session works on that one, unless `anyway`.
        """
        if not anyway:
            _refuse_if_busy(project, conversation, "add --anyway to pause it all the same", workflow.id)
        return _observed(project, view.workflow(project, session.activate(project, workflow.id)))

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Restore an earlier content of a state or task file, then update state and list.

        It takes no other workflow's place, so `replace` has no effect.
        """
        wanted = self.parsed(project, path, raw)
        folder = paths.top(project) / wanted.id

        def attempt() -> tuple[bool, Path | None]:
            before = statefile.present(project, path)
            if before is not None and before.present == raw:
                return False, None
            return True, statefile.restore(project, path, raw, before, why=why)

        with locked(folder):
            before: bytes | None = None
            with suppress(StateError):  # it may be the state that has to be restored
                before = todo_list.generate(session.load(project, folder, marked=False), tree.read(project, folder))
            changed, aside = statefile.insist(attempt)
            now, tasks = session.get(project, folder.name), tree.read(project, folder)
            if now.standing != "completed":
                now = moves.follow(project, now, tasks, why=why)
                todo_list.write_or_log(project, now, tasks, before)
            return Restored(view.workflow(project, now, tasks), changed, aside)

    def written(self, project: Records, workflow: Workflow, path: Path, *, why: str) -> Workflow | None:
        """Return the session that a written file belongs to, None for none; after a task file, update state and list.

        A task file is saved as a version. Edits of a list, which is never read back, are in the session's warnings.
        Raises TransitionError if the session is completed, StateError if the file or the state is broken.
        """
        folder = workflow.path.parent
        if path == workflow.path:
            return workflow
        if path == folder / paths.LIST:
            message = todo_list.keep_edits(project, session.get(project, workflow.id), tree.read(project, folder))
            return workflow.with_warnings(*([message] if message else []))
        if path.parent != folder / paths.TASKS:
            return None
        raw, _ = document.read(path, search.LIMIT_BYTES, within=project.root)
        document.parse(path, raw, 0.0)
        project.keep(path, raw, why=why)
        with moves.changing(project, session.get(project, workflow.id), why=why) as change:
            change.session.ensure_open()  # state and list follow from the tasks at the end
        return view.workflow(project, change.session, change.tree).with_warnings(*change.notes)

    # Words and agents.

    def step(self, workflow: Workflow) -> Step | None:
        """Return the next step."""
        return view.step(workflow)

    def judge(self, project: Records, workflow: Workflow, phase_id: str, status: Status, words: str) -> Judged:
        """Move a task because of its agent: a completed one gets the agent's words as summary, a failed one is blocked.

        A hook never completes a session. If all tasks are done, that is reported and left to whoever works in it.
        Raises TransitionError if the session is completed, so that the agent's words aren't stored, and StateError if
        task, session or list can't be written; another call writes what is missing.
        """
        now, remark = session.get(project, workflow.id), ""
        with moves.changing(project, now, why=status) as change:
            if status == "active":
                try:
                    remark = moves.begin(change, phase_id, anyway=True)
                except StateError:
                    raise
                except HoldfastError:  # it is completed or gone by now
                    return Judged(workflow, changed=False)
            elif status == "completed":
                moves.complete(change, phase_id, words[:SUMMARY_LIMIT_CHARS])
            else:
                moves.block(change, phase_id)
        after = view.workflow(project, change.session, change.tree)
        observed = _observed(project, after, words if status == "failed" else "")
        if todo_list.differences(change.session, change.tree):  # it couldn't be written, or another agent ended since
            with locked(now.folder):
                todo_list.write(project, change.session, tree.read(project, now.folder))
        return Judged(observed, change.written, remark, tuple(change.notes))

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return a task as its agent gets it, with everything it inherits (R002-44)."""
        now = session.get(project, workflow.id)
        tasks = tree.read(project, now.folder)
        task = tasks.find(phase.id)
        outputs = context.step_outputs(context.step_states(project, view.key(now), task))
        whole = context.for_agent(project, now, tasks, task, outputs)
        return Brief(whole.lines(), view.showing(now.name, task.id))


class WfsDraft(Draft):
    """A session whose tasks are moved. Each move is written at once."""

    unit_word = "task"

    def __init__(self, change: Change) -> None:
        self.change = change

    def workflow(self) -> Workflow:
        """Return the session as it is now."""
        return view.workflow(self.change.project, self.change.session, self.change.tree)

    def units(self) -> Sequence[Phase]:
        """Return the leaf tasks."""
        return self.workflow().phases

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Begin, complete or block a task."""
        self._ensure_active()
        if status == "pending":
            way = "add --status blocked instead"
            if self.unit(id).status == "blocked":
                way = f"{id} is blocked; `{command_line('update', '--phase', id, '--status', 'active')}` continues it"
            self.refuse(f"a task can't become pending again; {way}")
        if status == "completed":
            moves.complete(self.change, id, note)
        elif status == "active":
            moves.begin(self.change, id)
        else:
            moves.block(self.change, id)

    def reopen(self, id: str) -> None:
        """Make a completed or blocked task active again, and its session."""
        if self.change.session.standing != "active":
            self.change.session = session.activate(self.change.project, self.change.session.name)
        moves.begin(self.change, id, anyway=True, reopen=True)

    def end(self, *, early: bool) -> None:
        """Complete the session. Tasks that are left stay as they are."""
        self.change.close()  # what follows from its tasks is written before
        self.change.session = session.complete(self.change.project, self.change.session.name)

    def cancel(self, reason: str) -> None:
        """Pause the session: its folder stays, and `holdfast claim` continues it."""
        self.change.session = session.pause(self.change.project, self.change.session.name)

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context to the file next to the state."""
        now = self.change.session
        now.ensure_open()
        extras.add(self.change.project, now.file.path, now.name, changes)

    def rename(self, id: str, title: str) -> None:
        """Give a task another title."""
        self.change.session.ensure_open()
        self.change.edit(self.change.tree.find(id), lambda data: data.update(title=title))

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write a completed task's summary; the folder of summaries appears with the first completed task (R002-39)."""
        self.change.session.ensure_open()
        task = self.change.tree.find(id)
        if text and text.strip():
            if self.change.tree.status(task) != "completed":
                self.refuse(f"{id} has no summary before it is completed; add --status completed, or use --note")
            self.change.summarize(task, text)

    def resize(self, total: int) -> None:
        """Refuse to change how many tasks there are."""
        if total != len(self.units()):
            self.refuse("a session lists each task; `holdfast wfs task add TITLE` adds one")

    def following(self, completed: str = "") -> Phase | None:
        """Return the task that is due, unless one is active."""
        self._ensure_active()
        now = self.workflow()
        if any(each.status == "active" for each in now.phases):
            return None
        return next((each for each in now.phases if each.id in now.due[:1]), None)

    def all_completed(self) -> bool:
        """Return whether all tasks are completed."""
        return self.change.tree.finished

    def nothing_due(self) -> str:
        """Say why no task can be completed."""
        return view.nothing_due(self.workflow())

    def _ensure_active(self) -> None:
        """Refuse to move a paused session, so that nobody goes on with it by accident."""
        if self.change.session.standing == "paused":
            name = self.change.session.name
            self.refuse(f"{name} is paused; `{command_line('claim', name)}` continues it")


def _refuse_if_busy(project: Records, conversation: str | None, remedy: str, wanted: str = "") -> None:
    """Refuse a change that would pause another client's live session. A person may do it.

    Args:
        project: the project.
        conversation: the client's session that asks; None for a person.
        remedy: how to do it all the same.
        wanted: the session that becomes active.

    Raises:
        TransitionError: the active session belongs to another client's session that is live.
    """
    live = project.live_others(conversation) if conversation else set()
    for name in session.active(project) if live else ():
        with suppress(StateError):
            if name != wanted and paths.exists(project, name):
                owner = project.owner(view.workflow(project, session.get(project, name)))
                if owner in live:
                    raise TransitionError(f"session {owner}, which is live, works on {name}; {remedy}")


def _observed(project: Records, workflow: Workflow, error: str = "") -> Workflow:
    project.observe(workflow, error=error, at=clock.stamp())
    return workflow


FORMAT = WfsFormat()
