"""The verbs that move a workflow, once for all formats: start, next, done, update, cancel, reopen."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import TransitionError, command_line
from holdfast.files.lock import locked
from holdfast.formats import RECORDS
from holdfast.workflow import names, registry, statefile
from holdfast.workflow.model import Phase, Step
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.workflow.draft import Draft
    from holdfast.workflow.model import Changes, Start, Status, Workflow
    from holdfast.workflow.records import Records

_VERBS: dict[Status, str] = {"active": "go on with", "failed": "retry", "blocked": "unblock"}
_STOPPED = ("failed", "blocked")


def due(workflow: Workflow) -> Phase | None:
    """Return the phase to work on: the active one, else one that failed or is blocked, else the next; None at the end.

    Of tasks that may be done in any order, that is the first that the format says can be worked on.
    """
    if workflow.finished:
        return None
    if not workflow.in_order:
        return next((each for each in workflow.phases if each.id in workflow.due[:1]), None)
    current = None if workflow.current is None else numbered(workflow, workflow.current)
    active = [each for each in workflow.phases if each.status == "active"]
    if active:
        return current if current in active else active[0]
    if current is not None and current.status != "completed":
        return current
    if stopped := next((each for each in workflow.phases if each.status in _STOPPED), None):
        return stopped
    numbers = range(1, workflow.total + 1)
    every = [*range(current.number + 1, workflow.total + 1), *numbers] if current else numbers
    phases = (numbered(workflow, number) for number in every)
    return next((each for each in phases if each is not None and each.status != "completed"), None)


def numbered(workflow: Workflow, number: int) -> Phase | None:
    """Return the phase with a number from 1; one that its format doesn't list is called `Phase N`. None if beyond."""
    found = next((each for each in workflow.phases if each.number == number), None)
    if found is None and len(workflow.phases) < workflow.total and 1 <= number <= workflow.total:
        status: Status = "completed" if number < (workflow.current or 1) else "pending"
        return Phase(f"phase_{number}", number, f"Phase {number}", status)
    return found


def ready(workflow: Workflow) -> tuple[Phase, ...]:
    """Return the phases that can begin now. Only tasks that needn't follow one another can be several."""
    if workflow.finished:
        return ()
    if not workflow.in_order:
        return tuple(each for each in workflow.phases if each.id in workflow.due and each.status == "pending")
    phase = due(workflow)
    if phase is None or workflow.status == "blocked" or any(each.status == "active" for each in workflow.phases):
        return ()
    return (phase,)


def step(workflow: Workflow) -> Step | None:
    """Return the next step with the prompt for its agent (R000-34, R000-35), None at the end."""
    return registry.get(workflow.format).step(workflow) or plain_step(workflow)


def plain_step(workflow: Workflow) -> Step | None:
    """Return the next step for which a format has no words of its own.

    The prompt's context is what the phase before hands over; the first phase has none (I000-4). Of tasks that needn't
    follow one another, it is what the first one hands over that the task needs.
    """
    phase = due(workflow)
    if phase is None:
        return None
    before = numbered(workflow, phase.number - 1)
    if not workflow.in_order:
        before = next((each for each in workflow.phases if each.id in workflow.needs), None)
    agent = f" (agent {phase.agent})" if phase.agent else ""
    text = workflow.next_step if phase.number == workflow.current else ""
    text = text or f'{_VERBS.get(phase.status, "start")} {workflow.named(phase)} "{phase.title}"{agent}'
    prompt = f"{phase.title}\n\nContext: {before.handover}" if before and before.handover else phase.title
    return Step(phase.number, workflow.total, phase.title, phase.agent, prompt, text)


def find_phase(workflow: Workflow, name: str) -> Phase | None:
    """Return the phase with an id, title or number, in any spelling, leading zeros of an id aside; None for none.

    Of several with the same title, the one that is due is meant, else the first that isn't completed.
    """
    wanted, current = names.key(name), due(workflow)
    number = wanted.removeprefix(names.key(workflow.unit))
    found = [each for each in workflow.phases if wanted in map(names.key, (each.title, each.name, each.id))]
    found.sort(key=lambda each: (current is None or each.id != current.id, each.status == "completed", each.number))
    if not found and number.isdecimal() and workflow.in_order:
        return numbered(workflow, int(number))
    found = found or [each for each in workflow.phases if _without_zeros(each.id) == _without_zeros(name)]
    return next(iter(found), None)


def _without_zeros(id_: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", names.key(id_))


def to_complete(workflow: Workflow, phase: Phase | None, *, note: str = "") -> Phase | None:
    """Return the phase that a command names and may complete, so that a repeated command completes nothing twice.

    Args:
        workflow: the workflow.
        phase: the phase that the command names, if it does.
        note: its note. Without a phase, one that has completed a phase already is refused; empty is always accepted.

    Raises:
        TransitionError: the phase isn't the current one, or the note has completed a phase.
    """
    current = due(workflow)
    if phase is None:
        text = note.strip()
        before = next((each for each in workflow.phases if text and _ended_with(each, text)), None)
        if before is None or current is None:
            return None
        raise TransitionError(
            f"{workflow.named(before)} {quoted(before.title)} was completed with this very note; if "
            f"{quoted(current.title)} is done too: `{completing(workflow, current)} --note …`, or add --again"
        )
    if current is not None and (phase.id == current.id or (not workflow.in_order and phase.id in workflow.due)):
        return phase
    why = "is completed already" if phase.status == "completed" else f"is {phase.status}, not current"
    now = f"; current is {quoted(current.title)}: `{completing(workflow, current)}`" if current else ""
    raise TransitionError(f"{workflow.named(phase)} {quoted(phase.title)} {why}{now}")


def completing(workflow: Workflow, phase: Phase) -> str:
    """Return the command that completes a phase by its title, so that no other one is meant.

    A phase whose title isn't the only one of its kind, or looks like an option, is named by its number or id.
    """
    title = one_line(phase.name or phase.title)
    if not _unique(workflow, phase) or title.startswith("-"):
        return command_line("done", str(phase.number) if workflow.in_order else phase.id)
    plain = not set(title) & set('$`"\\!')  # what a shell reads inside double quotes
    return f'holdfast done "{title}"' if plain else command_line("done", title)


def _ended_with(phase: Phase, note: str) -> bool:
    ends = phase.handover.strip(), phase.handover.strip().rpartition("\n\n")[2]  # a summary has a heading above it
    return phase.status == "completed" and note in ends


def start(project: Records, format: str, start: Start) -> Workflow:
    """Start a workflow in a format.

    Raises:
        TransitionError: a title is blank, an unfinished workflow is in its place, or the format can't keep something.
        SchemaMismatch: another program's file is in its place.
        StateError: it can't be written.
    """
    if not start.title.strip() or not all(title.strip() for title, _ in start.phases):
        raise TransitionError('a workflow and each of its phases needs a title: `holdfast start "What you work on"`')
    adapter = registry.get(format)
    if not adapter.takes_total and start.total not in (None, len(start.phases)):
        unit = RECORDS[format].UNIT
        raise TransitionError(f"the format {format} lists each {unit}: name them with --phase, and leave out --total")
    return adapter.start(project, start)


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Begin the phase after the current one, unless one is active, failed or blocked, or all are done.

    Raises as `done` does.
    """
    if workflow.finished:
        return workflow
    current = None if workflow.current is None else numbered(workflow, workflow.current)
    completed = current.id if current and current.status == "completed" else ""
    return registry.get(workflow.format).change(
        project, workflow, lambda draft: draft.begin_following(completed), why="begin"
    )


def done(
    project: Records,
    workflow: Workflow,
    *,
    phase: Phase | None = None,
    note: str = "",
    deliverables: Sequence[str] = (),
    everything: bool = False,
) -> Workflow:
    """Complete a phase and begin the next; the last one completes the workflow (R000-34, R001-12).

    Nothing happens if the phase was completed meanwhile. If somebody completed the current phase by hand, the next one
    begins.

    Args:
        project: the project.
        workflow: the workflow.
        phase: the phase; by default the one that is due.
        note: what it hands over to the next.
        deliverables: what it delivered.
        everything: end the workflow. What is active is completed; what never began stays as it is, so that nothing
            claims to be done that isn't.

    Raises:
        TransitionError: the workflow is over, nothing is due, or the format refuses.
        StateError: the state can't be read or written.
    """
    if workflow.finished and not registry.get(workflow.format).clears_finished:
        how = registry.reopening(workflow)
        raise TransitionError(f"{quoted(workflow.title)} is {workflow.word}. To open it again: {how}")
    if phase is None and workflow.phase_status == "completed" and not (everything or workflow.finished):
        return begin(project, workflow)
    everything, target = everything or workflow.finished, phase or due(workflow)

    def end(draft: Draft) -> None:
        for each in draft.units():
            mine = target is not None and each.id == target.id
            if each.status == "active" or (note and mine):
                with suppress(TransitionError):  # what can't be completed stays as it is
                    draft.move(each.id, "completed", note=note if mine else "")
        draft.end(early=True)

    def edit(draft: Draft) -> None:
        if target is None and draft.units() and draft.all_completed():
            draft.end(early=False)
            return
        if target is None:
            raise TransitionError(draft.nothing_due())
        if draft.unit(target.id).status == "completed":
            return
        draft.ensure_kept(deliverables)
        draft.move(target.id, "completed", note=note)
        if deliverables:
            draft.hand_over(target.id, None, deliverables)
        if draft.all_completed():
            draft.end(early=False)
        else:
            draft.begin_following(target.id)

    if everything:
        return _ended(project, workflow, end, lambda now: replace(now, status="completed"), "done")
    return registry.get(workflow.format).change(project, workflow, edit, why="done")


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Apply changes to the current phase, or to number `changes.current`.

    That one becomes active if there is neither a status nor a new title.

    A broken state file is replaced by its last content with the changes applied, even if they change nothing.

    Raises:
        TransitionError: there is no such phase, or the format refuses.
        StateError: the state can't be read or written.
    """
    goes = changes.current is not None and not changes.phase  # renaming a phase doesn't go to it
    status = changes.status or ("active" if goes else None)
    texts = (changes.phase, changes.deliverables, changes.error)
    moves = status is not None or changes.handover is not None or any(texts)
    target = due(workflow)

    def edit(draft: Draft) -> None:
        if changes.total is not None:
            draft.resize(changes.total)
        phase = draft.numbered(changes.current) if changes.current is not None else target
        if moves and phase is None:
            draft.refuse(f"no {workflow.unit} is current; name one with --phase")
        if moves and phase is not None:
            _update_phase(draft, phase, status, changes)
        if changes.reading or changes.reminders or changes.context:
            draft.add(changes)

    adapter = registry.get(workflow.format)
    return adapter.change(project, workflow, edit, why="update", error=changes.error, repair=True)


def _update_phase(draft: Draft, phase: Phase, status: Status | None, changes: Changes) -> None:
    if changes.error and (status or phase.status) not in _STOPPED:
        draft.refuse(f"only a failed or blocked {draft.unit_word} has an error; add --status blocked or failed")
    draft.ensure_kept(changes.deliverables)  # before the move, which some formats write at once
    note = changes.handover or ""
    if status is not None:
        draft.move(phase.id, status, note=note if status == "completed" else "", reason=changes.error)
        if status == "completed" and draft.advances:
            draft.begin_following(phase.id)
    if changes.phase:
        draft.rename(phase.id, changes.phase)
    handover = None if status == "completed" else changes.handover
    if changes.deliverables or handover is not None:
        draft.hand_over(phase.id, handover, changes.deliverables)


def cancel(project: Records, workflow: Workflow, reason: str = "") -> Workflow:
    """Give a workflow up: nothing is completed, and it isn't restored any more.

    Raises:
        TransitionError: it is over.
        StateError: the state can't be read or written.
    """
    if workflow.finished:
        raise TransitionError(f"{quoted(workflow.title)} is {workflow.word} already")
    return _ended(project, workflow, lambda draft: draft.cancel(reason), lambda now: now.cancelled(), "cancel")


def reopen(project: Records, workflow: Workflow, phase: Phase) -> Workflow:
    """Make a completed or failed phase active again, for people only, never for a hook (I000-15).

    Raises:
        TransitionError: it is neither, or the format refuses.
        StateError: the state can't be read or written.
    """

    def edit(draft: Draft) -> None:
        now = draft.unit(phase.id)
        if now.status == "pending" and not workflow.finished:
            raise TransitionError(f"{workflow.named(now)} hasn't begun; `holdfast next` begins the next one")
        if now.status != "active":
            draft.reopen(phase.id)

    return registry.get(workflow.format).change(project, workflow, edit, why=f"reopen {phase.id}")


def _ended(
    project: Records, workflow: Workflow, end: Callable[[Draft], None], after: Callable[[Workflow], Workflow], why: str
) -> Workflow:
    """End a workflow, and put it into the archive as it is if its format has no word for that end.

    It gets an id of its own there, because the next workflow may have the same path, and thus the same id.

    Args:
        project: the project.
        workflow: the workflow.
        end: ends its draft.
        after: makes of the workflow what the archive has.
        why: what the version is called.
    """
    adapter = registry.get(workflow.format)
    with locked(adapter.folder(project)):
        now = adapter.change(project, workflow, end, why=why)
        if now.finished or now.paused:
            return now
        gone = after(replace(now, id=f"{now.id}-{clock.file_stamp(clock.now())}"))
        project.shelve(gone)
        statefile.discard(project, gone.path, why=gone.word)
        return gone


def undoing(workflow: Workflow, phase: Phase) -> str:
    """Return the command with which a person makes a completed phase active again."""
    return command_line("reopen", phase.title if _unique(workflow, phase) else phase.id)


def _unique(workflow: Workflow, phase: Phase) -> bool:
    return [each.title for each in workflow.phases].count(phase.title) == 1
