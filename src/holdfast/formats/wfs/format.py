"""The `wfs` format: sessions in `.workflow/` with hierarchical tasks, one JSON file each (document 002)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

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
from holdfast.workflow.format import Format
from holdfast.workflow.model import Brief, Found, Judged, Problem, Restored, Start, Workflow
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.findings import Finding
    from holdfast.workflow.model import Changes, Foreign, Phase, Status, Step
    from holdfast.workflow.records import Records

SUMMARY_LIMIT_CHARS = 20_000
"""Characters of an agent's last message that become a task's summary."""


class WfsFormat(Format):
    """Sessions are folders, and their leaf tasks are the phases. One session is active at a time; others are paused."""

    name = record.NAME
    reports_all = True

    # Find and read.

    def find(self, project: Records) -> Found:
        """Return the project's sessions as workflows."""
        return _read(project, paths.folders(project))

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the sessions that an event can be about: those with these keys, the marked ones, the last changed."""
        folders = {each.name: each for each in paths.folders(project)}
        last = sorted(folders, key=lambda name: _changed(folders[name]), reverse=True)
        marked = session.newest_first(project, session.marked(project))
        wanted = [name for name in _named(keys) if name in folders]
        chosen = dict.fromkeys([*wanted, *marked[: store.NEWEST], *last[: store.NEWEST]])
        found = _read(project, [folders[name] for name in chosen if name in folders], len(wanted))
        return replace(found, left=found.left + len(folders.keys() - chosen.keys()))

    def with_keys(self, project: Records, keys: Collection[str]) -> Found:
        """Return the sessions with these keys, and no others."""
        names = [name for name in _named(keys) if paths.exists(project, name)]
        return _read(project, [paths.top(project) / name for name in names])

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
        """Yield what is wrong with markers, states, tasks and lists."""
        return checks.findings(project)

    # Write.

    def start(self, project: Records, start: Start) -> Workflow:
        """Make a session with the given phases as tasks, one after the other, and activate it (R002-09).

        Raises:
            TransitionError: the type is unknown, or a session of this title is unfinished (with `replace` it is
                paused), or another client's live session works on the active one.
            StateError: it can't be written.
        """
        if start.kind and start.kind not in choice.COMPLEXITIES:
            known = ", ".join(choice.COMPLEXITIES)
            raise TransitionError(f"the {self.name} format has no type {quoted(start.kind)}; it knows {known}")
        if start.total is not None and not start.phases:
            raise TransitionError(f"the {self.name} format has no --total, because it lists each task; use --phase")
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
            with extras.begun(project, paths.state(new.folder), new.name, start):
                if start.phases:
                    moves.chain(project, new, [NewTask(title, agent=choice.at(agent)) for title, agent in start.phases])

        new = session.create(project, start.title, start.kind, fill=fill)
        return _observed(project, view.workflow(project, session.get(project, new.name)))

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
        """Run `edit` on the session's draft under its lock. Each move of a task is written at once.

        The session's state is always written again if it is broken.
        """
        draft = WfsDraft(project, session.get(project, workflow.id))
        with locked(paths.top(project)), locked(draft.session.folder):
            edit(draft)
            if draft.extra is not None or (repair and draft.session.file.broken):
                with moves.changing(project, draft.session, why=why):
                    if draft.extra is not None:
                        extras.add(project, workflow.path, draft.session.name, draft.extra)
            return _with_notes(_observed(project, draft.workflow(), error), draft.notes)

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

        A task file is kept as a generation. Edits of a list, which is never read back, are in the session's warnings.
        Raises TransitionError if the session is completed, StateError if the file or the state is broken.
        """
        folder = workflow.path.parent
        if path == workflow.path:
            return workflow
        if path == folder / paths.LIST:
            message = todo_list.keep_edits(project, session.get(project, workflow.id), tree.read(project, folder))
            return _with_notes(workflow, [message] if message else [])
        if path.parent != folder / paths.TASKS:
            return None
        raw, _ = document.read(path, search.LIMIT_BYTES, within=project.root)
        document.parse(path, raw, 0.0)
        project.keep(path, raw, why=why)
        with moves.changing(project, session.get(project, workflow.id), why=why) as change:
            pass  # state and list follow from the tasks at the end
        return _with_notes(view.workflow(project, change.session, change.tree), change.notes)

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
        now = session.get(project, workflow.id)
        if status == "active":
            try:
                moved = moves.begin(project, now, phase_id, anyway=True)
            except StateError:
                raise
            except HoldfastError:  # it is completed or gone by now
                return Judged(workflow, changed=False)
        elif status == "completed":
            moved = moves.complete(project, now, phase_id, words[:SUMMARY_LIMIT_CHARS])
        else:
            moved = moves.block(project, now, phase_id)
        after = view.workflow(project, moved.session, moved.tree)
        observed = _observed(project, after, words if status == "failed" else "")
        if todo_list.differences(moved.session, moved.tree):  # it couldn't be written, or another agent ended since
            with locked(now.folder):
                todo_list.write(project, moved.session, tree.read(project, now.folder))
        return Judged(observed, moved.changed, moved.remark, moved.notes)

    def brief(self, project: Records, workflow: Workflow, phase: Phase) -> Brief | None:
        """Return a task as its agent gets it, with everything it inherits (R002-44); None if it can't be read."""
        try:
            now = session.get(project, workflow.id)
            tasks = tree.read(project, now.folder)
            task = tasks.find(phase.id)
        except HoldfastError:
            return None
        outputs = context.step_outputs(context.step_states(project, view.key(now), task))
        whole = context.for_agent(project, now, tasks, task, outputs)
        return Brief(whole.lines(), view.showing(now.name, task.id))


class WfsDraft(Draft):
    """A session whose tasks are moved. Each move is written at once.

    Attributes:
        session: the session.
        notes: notes for the user.
        extra: reading, reminders and context to keep beside the state; None for none.
    """

    unit_word = "task"

    def __init__(self, project: Records, wanted: Session) -> None:
        self.project, self.session = project, wanted
        self.notes: list[str] = []
        self.extra: Changes | None = None

    def workflow(self) -> Workflow:
        """Return the session as it is now."""
        return view.workflow(self.project, session.get(self.project, self.session.name))

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
            self.notes += moves.complete(self.project, self.session, id, note).notes
        elif status == "active":
            self.notes += moves.begin(self.project, self.session, id).notes
        else:
            self.notes += moves.block(self.project, self.session, id).notes

    def reopen(self, id: str) -> None:
        """Make a completed or blocked task active again, and its session."""
        if self.session.standing != "active":
            self.session = session.activate(self.project, self.session.name)
        self.notes += moves.begin(self.project, self.session, id, anyway=True, reopen=True).notes

    def end(self, *, early: bool) -> None:
        """Complete the session. Tasks that are left stay as they are."""
        session.complete(self.project, self.session.name)

    def cancel(self, reason: str) -> None:
        """Pause the session: its folder stays, and `holdfast claim` continues it."""
        session.pause(self.project, self.session.name)

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context beside the state."""
        self.extra = changes

    def rename(self, id: str, title: str) -> None:
        """Give a task another title."""
        self.notes += moves.annotate(self.project, self.session, id, title=title).notes

    def hand_over(self, id: str, text: str | None, deliverables: Sequence[str]) -> None:
        """Write a task's summary."""
        if deliverables:
            self.refuse("a task keeps no deliverables; --context writes its summary")
        self.notes += moves.annotate(self.project, self.session, id, summary=text or "").notes

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
        return tree.read(self.project, self.session.folder).finished

    def nothing_due(self) -> str:
        """Say why no task can be completed."""
        return view.nothing_due(self.workflow())

    def _ensure_active(self) -> None:
        """Refuse to move a paused session, so that nobody goes on with it by accident."""
        if self.session.standing == "paused":
            name = self.session.name
            self.refuse(f"{name} is paused; `{command_line('claim', name)}` continues it")


def _read(project: Records, folders: Iterable[Path], wanted: int = 0) -> Found:
    """Return the sessions in some folders: in the first `wanted`, and in the others as far as there is time.

    Of several that are marked as active, the one that was marked last counts (I002-11), and the others rest.
    """
    marked = session.newest_first(project, session.marked(project))
    active = session.newest_first(project, session.active(project)) if len(marked) > 1 else marked
    active = [each for each in active if paths.exists(project, each)]
    workflows, problems, left = list[Workflow](), list[Problem](), 0
    for number, folder in enumerate(folders):
        if number >= wanted and search.out_of_time():
            left += 1
            continue
        try:
            tasks = tree.read(project, folder)
            now = session.load(project, folder, marked=folder.name in marked)
        except StateError as error:
            problems.append(Problem(error.path, error.reason))
            continue
        if now.file.broken:
            problems.append(now.file.problem)
        problems += tasks.problems
        workflow = view.workflow(project, now, tasks)
        if len(active) > 1 and now.standing == "active":
            text = f"several sessions are marked as active, and {active[0]} counts; `holdfast doctor --fix` unmarks the"
            rests = now.name != active[0]
            status: Status = "pending" if rests else workflow.status
            warnings = (f"{text} others", *workflow.warnings)
            workflow = replace(workflow, paused=rests, status=status, warnings=warnings)
        workflows.append(workflow)
    return Found(tuple(workflows), tuple(problems), left)


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


def _named(keys: Collection[str]) -> list[str]:
    """Return the names of the sessions with some keys."""
    prefix = f"{record.NAME}:"
    files = [key.removeprefix(prefix).rpartition("#")[0] for key in keys if key.startswith(prefix)]
    return list(dict.fromkeys(parts[1] for file in files if len(parts := file.split("/")) > 2))


def _changed(folder: Path) -> int:
    """Return when a session's state was last changed (ns since 1970); Holdfast writes it with each of its tasks."""
    with suppress(OSError):
        return os.stat(paths.state(folder)).st_mtime_ns  # noqa: PTH116 - of each of many, for each event
    return 0


def _with_notes(workflow: Workflow, notes: Iterable[str]) -> Workflow:
    return replace(workflow, warnings=(*workflow.warnings, *notes))


def _observed(project: Records, workflow: Workflow, error: str = "") -> Workflow:
    project.observe(workflow, error=error, at=clock.stamp())
    return workflow


FORMAT = WfsFormat()
