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
from holdfast.workflow.model import Changes, Foreign, Found, Problem, Start, Step, Workflow
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from holdfast.workflow.records import Records

__all__ = [
    "NAME",
    "Saved",
    "begin",
    "candidates",
    "done",
    "find",
    "foreign",
    "intend",
    "may_save",
    "noted",
    "parsed",
    "restore",
    "save",
    "start",
    "step",
    "update",
    "with_keys",
    "written",
]

NAME = files.NAME


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
        if not path.match("state-*.json"):
            yield Foreign(path, "is not named state-*.json, so it is not read as a workflow's state")


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
    if a workflow of this name is unfinished, or without a name.
    """
    if not start.title.strip():
        raise TransitionError('a workflow needs a title: `holdfast start "What you work on"`')
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


def begin(project: Records, workflow: Workflow) -> Workflow:
    """Set the current phase to in progress if it is not started; change nothing else."""

    def edit(data: dict[str, Any], now: Workflow) -> dict[str, Any]:
        return _at(data, now, status="in_progress") if now.phase_status == "pending" else data

    with _held(project, workflow):
        return files.rewrite(project, workflow.path, edit, why="begin").workflow


def done(project: Records, workflow: Workflow, *, note: str = "", everything: bool = False) -> Workflow:
    """Complete the current phase and start the next one in the same file (R001-12).

    After the last phase, or with `everything`, the workflow is complete: a tombstone is left, and its state files are
    removed (their content stays as generations), with the folder if it is empty (I001-3, R001-19, R001-20). If phases
    are left then, the content says that it was ended early (`file.ENDED_EARLY`). Nothing happens if somebody else
    completed the phase meanwhile. `note` is stored as the phase's hand-over to the next.

    Raises TransitionError if the workflow was completed already, by hand (then only `everything` removes its files), or
    if the file doesn't tell whether this is the last phase.
    """
    if workflow.finished and not everything:
        raise TransitionError(
            f"{quoted(workflow.title)} is completed; `{views.ending(project, workflow)}` removes its state file"
        )
    finished = False

    def edit(data: dict[str, Any], now: Workflow) -> dict[str, Any]:
        nonlocal finished
        finished = False
        if now.current != workflow.current and not everything:
            return data
        data, current = _noted(data, now, note), now.current or 1
        finished = everything or current >= now.total
        if finished and not everything and not spot(data, []).sure:
            raise TransitionError(_unsure(now))
        if finished:
            return _ended(data, now, worked_on=bool(note.strip()))
        return _at(data, now, current=current + 1, status="in_progress")

    with _held(project, workflow):
        entry = files.rewrite(project, workflow.path, edit, why=f"done {workflow.current or 1}")
        return complete(project, entry) if finished else entry.workflow


def update(project: Records, workflow: Workflow, changes: Changes) -> Workflow:
    """Apply changes in the same file. `created_at` and everything that isn't named stay (R001-12).

    A broken file is replaced by its last generation with the changes applied, even if they change nothing. Raises
    TransitionError for a phase out of bounds, a status the format doesn't know, an error without a blocked phase, or
    deliverables.
    """

    def edit(data: dict[str, Any], now: Workflow) -> dict[str, Any]:
        return _updated(data, now, changes)

    with _held(project, workflow):
        return files.rewrite(project, workflow.path, edit, why="update", error=changes.error, repair=True).workflow


def step(workflow: Workflow) -> Step | None:
    """Return the current phase as the next step, None if the workflow is finished."""
    if workflow.finished or workflow.current is None:
        return None
    number = workflow.current
    if workflow.phase_status == "completed" and number < workflow.total:
        number += 1
    title = files.title_of(workflow, number)
    agent = next((phase.agent for phase in workflow.phases if phase.number == number), "")
    handover = next((phase.handover for phase in workflow.phases if phase.number == number - 1), "")
    verb = {"blocked": "clear what blocks", "pending": "start"}.get(workflow.phase_status, "go on with")
    text = f'{verb if number == workflow.current else "start"} phase {number}/{workflow.total} "{title}"'
    text += f" (agent {agent})" if agent else ""
    return Step(number, workflow.total, title, agent, f"{title}\n\nContext: {handover}" if handover else title, text)


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
        raise MissingError(workflow.path, "the state file is gone; `holdfast list` shows the workflows that are left")
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


def _unsure(now: Workflow) -> str:
    """Say why a phase can't be taken for the last one."""
    return (
        f"{now.place} doesn't say whether this is the last phase of {quoted(now.title)}; `holdfast update --total N` "
        "says how many there are, `holdfast done --all` ends the workflow"
    )


def _updated(data: dict[str, Any], now: Workflow, changes: Changes) -> dict[str, Any]:
    _check(now, changes, counted=spot(data, []).counted)
    word = WORDS[changes.status] if changes.status else None
    if any(value is not None for value in (changes.current, changes.total, changes.phase, word)):
        data = _at(data, now, current=changes.current, total=changes.total, name=changes.phase, status=word)
    data = _noted(_touched(data), now, changes.handover or "")
    for key, new in (
        ("required_reading", tuple(map(values.at, changes.reading))),
        ("key_reminders", changes.reminders),
    ):
        if new:
            data[key] = values.added(data.get(key), new)
    if changes.context:
        data["context"] = {**values.mapping(data.get("context"), "context", []), **changes.context}
    return data


def _check(now: Workflow, changes: Changes, *, counted: bool) -> None:
    current = changes.current if changes.current is not None else now.current or 1
    total = changes.total or (now.total if counted else max(now.total, current))
    if not 1 <= current <= total:
        raise TransitionError(
            f"there is no phase {current}; {quoted(now.title)} has {count(total, 'phase')}, and --total changes that"
        )
    if changes.status and changes.status not in WORDS:
        raise TransitionError(f"a phase can't be {changes.status} in the {NAME} format; it can be {', '.join(WORDS)}")
    if changes.error and (changes.status or now.phase_status) != "blocked":
        raise TransitionError("only a blocked phase has an error; add --status blocked")
    if changes.deliverables:
        raise TransitionError(f"the {NAME} format stores no deliverables; use --note or --set")


def _at(
    data: dict[str, Any],
    now: Workflow,
    *,
    current: int | None = None,
    total: int | None = None,
    name: str | None = None,
    status: str | None = None,
) -> dict[str, Any]:
    """Return the state with its phase changed. If the workflow moves, the title of the old phase is kept in a list."""
    where = spot(data, [])
    moves = current is not None and current != where.current
    data, phase = _touched(data), data.get("phase")
    if moves:
        data = files.titled(data, where.current, where.name)
    name = name or (files.title_of(now, current) if moves and current else None)
    status = status or ("in_progress" if moves else None)
    data["phase"] = changed_phase(phase, where, current=current, total=total, name=name, status=status)
    return data


def _ended(data: dict[str, Any], now: Workflow, *, worked_on: bool) -> dict[str, Any]:
    """Return the state of a workflow that is over; phases that nobody worked on don't become completed."""
    current, known = now.current or 1, spot(data, []).sure
    if not known or current == now.total:
        return _at(data, now, current=now.total, status="completed")
    data = _at(data, now, status="completed" if worked_on or now.phase_status != "pending" else None)
    return {**data, "context": {**values.mapping(data.get("context"), "context", []), files.ENDED_EARLY: True}}


def _touched(data: dict[str, Any]) -> dict[str, Any]:
    """Return the state as an agent's own: a plan's workflow that somebody changes is no longer derived (I001-9).

    One that was ended early, and put back since, goes on.
    """
    context = values.mapping(data.get("context"), "context", [])
    if not {files.DERIVED, files.ENDED_EARLY} & set(context):
        return data
    gone = (files.DERIVED, files.ENDED_EARLY)
    return {**data, "context": {key: value for key, value in context.items() if key not in gone}}


def _noted(data: dict[str, Any], now: Workflow, note: str) -> dict[str, Any]:
    """Return the state with the current phase's hand-over `note` in the free context (R001-05)."""
    if note.strip():
        context = dict(values.mapping(data.get("context"), "context", []))
        kept = values.mapping(context.get(files.NOTES), files.NOTES, [])
        context[files.NOTES] = {**kept, str(now.current or 1): note.strip()}
        data["context"] = context
    return data


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
