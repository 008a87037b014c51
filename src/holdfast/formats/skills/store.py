"""The state files of the `skills` format: each change is one read and write under the lock, then the index.

They are essential, readable and safe with several sessions (R004-04), written by a rename (R004-32), and git ignores
them (I004-22). A corrupted one is set aside with the document's warning (R004-40).
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import atomic, document
from holdfast.files.lock import locked
from holdfast.formats.skills import candidates, featurefile, index, library, machine, places, transitions, view
from holdfast.formats.skills import file as files
from holdfast.workflow import extras, statefile, values, views
from holdfast.workflow import places as kept_at
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.formats.skills.machine import Machine
    from holdfast.formats.skills.view import Seen
    from holdfast.workflow.model import Start, Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

CORRUPTED = "⚠️ Corrupted state file detected. Starting fresh."


class Plan(NamedTuple):
    """A workflow to start.

    Attributes:
        rules: its machine.
        key: what it is about, the literal text that its file is named after.
        context: what is known of it.
        tasks: descriptions of its tasks, each with whether it is completed.
        agents: the agents of its phases, or of its tasks if it has any; empty texts for none.
        begin: whether its first phase begins at once.
    """

    rules: Machine
    key: str
    context: Mapping[str, Any]
    tasks: tuple[tuple[str, bool], ...] = ()
    agents: tuple[str, ...] = ()
    begin: bool = False


class Made(NamedTuple):
    """A workflow that was started, and where a corrupted file in its place was set aside; None if there was none."""

    workflow: Workflow
    aside: Path | None = None


def create(project: Records, plan: Plan, start: Start) -> Made:
    """Write the state of a new workflow and list it (R004-24).

    A finished workflow in its place is moved away. A corrupted file is set aside (I004-5), and the history says so.

    Raises:
        TransitionError: the key is empty, or an unfinished workflow has it and `start.replace` is false.
        StateError: it can't be written; SchemaMismatch if another program's file is in its place.
    """
    if not plan.key.strip():
        raise TransitionError("a skill's workflow needs a feature or a task")
    path = places.state(project, plan.rules.name, plan.key)
    statefile.guard(project.root, path)
    with locked(places.top(project)):
        return statefile.insist(lambda: _created(project, path, plan, start))


def change(
    project: Records,
    workflow: Workflow,
    edit: Callable[[dict[str, Any], Machine, str], None],
    *,
    why: str,
    error: str = "",
    repair: bool = False,
) -> tuple[Workflow, bool]:
    """Run `edit` on a workflow's state under the lock; return the workflow as it is now and whether it changed.

    `edit` gets the state, its machine and the present time, and may run several times, if somebody else saves meanwhile
    (`statefile.rewrite`, which explains `repair` too). `error` is what blocks the workflow, for the ledger.

    Raises:
        MissingError: the workflow was finished, or its file removed.
        TransitionError: another workflow has its file, or `edit` refuses.
        StateError: it can't be read or written.
    """

    notes: tuple[str, ...] = ()

    def apply(file: StateFile) -> dict[str, Any]:
        nonlocal notes
        files.check(file)
        seen = view.seen(project, file)
        notes = seen.notes
        _expect(seen, workflow)
        data = copy.deepcopy(seen.data)
        edit(data, seen.rules, files.stamp())
        project.observe(view.merged(project, seen)[0])  # what was moved by hand before keeps its own time
        return file.data if data == seen.data else data

    with held(project, workflow):
        with candidates.replacing(project, workflow.path):
            after, changed = statefile.rewrite(project, workflow.path, apply, why=why, repair=repair)
        if changed:
            index.put(project, workflow.path, after.data)
        now = view.merged(project, view.seen(project, after))[0]
        now = replace(now, warnings=tuple(dict.fromkeys((*notes, *now.warnings))))  # what was filled in is written now
        project.observe(now, error=error, **({"at": clock.stamp()} if changed else {}))
        return now, changed


def finish(
    project: Records, workflow: Workflow, edit: Callable[[dict[str, Any], Machine, str], None], *, why: str
) -> Workflow:
    """Run `edit`, which ends a workflow, and move its file to `completed/`; return it as it was at its end.

    The status is written first, then the copy, then the active file is removed and delisted. If this is killed in
    between, a finished file lies among the active ones, and the next command moves it (`tidy`).

    Raises as `change` does.
    """
    with held(project, workflow):
        now, _ = change(project, workflow, edit, why=why)
        return move_away(project, now)


def tidy(project: Records, found: Iterable[Workflow]) -> None:
    """Finish what a killed command left: move the finished of some workflows away, and delist what was moved.

    One whose file is broken stays, because its content is an earlier one. Raises StateError if it can't be written.
    """
    for each in found:
        if not each.finished or each.recovered:
            continue
        with suppress(MissingError), held(project, each):
            if view.read(project, each.path).file.document.raw == each.raw:
                move_away(project, each)
    if index.moved(project):
        with locked(places.top(project)):
            index.delist(project, index.moved(project))


def relist(project: Records, workflow: Workflow) -> None:
    """List a workflow as its file has it: whatever wrote that may have been killed before. Raises as `held` does."""
    with held(project, workflow):
        index.put(project, workflow.path, view.read(project, workflow.path).data)


def move_away(project: Records, workflow: Workflow) -> Workflow:
    """Move the file of a finished workflow to `completed/` and delist it (I004-3). Hold the lock on the top folder.

    An outdated one is removed, as its completed copy is there already.
    """
    path = workflow.path
    target = files.completed_copy(path)
    statefile.guard(project.root, target)
    project.keep(path, workflow.raw, why="moved to completed")
    if files.status(_data(workflow)) in files.FINAL:
        _keep_earlier_run(project, workflow, target)
        atomic.write(target, workflow.raw)
    last = atomic.take(path)
    if last != workflow.raw:  # somebody saved it at this very moment
        document.copy_aside(target, last, "kept")
    with suppress(StateError):
        statefile.discard(project, kept_at.extras(project.root, path), why="moved to completed")
    index.drop(project, path, _data(workflow))
    return workflow


def _keep_earlier_run(project: Records, workflow: Workflow, target: Path) -> None:
    """Copy what `completed/` holds of an earlier run of the same key, unless the ledger has it."""
    try:
        earlier, _ = document.read(target, statefile.LIMIT_BYTES)
    except StateError:
        return
    kept = (project.content(workflow.path, each.number) for each in project.versions(workflow.path))
    if earlier not in (workflow.raw, *kept):
        document.copy_aside(target, earlier, "kept")


def held(project: Records, workflow: Workflow) -> Any:
    """Return the lock on the top folder, to be held while a workflow changes.

    Raises MissingError if its file is gone, StateError if the file is outside the project or behind a link.
    """
    statefile.guard(project.root, workflow.path)
    if not workflow.path.exists():
        raise MissingError(workflow.path, "the state file is gone: the workflow is finished, or somebody removed it")
    return locked(places.top(project))


def planned(project: Records, start: Start) -> Plan:
    """Return what the general `start` asks for (`plan`): its title is a feature file, or a folder of them, or the task.

    For a skill whose machine has tasks, the given phases are its tasks. Raises as `plan` does.
    """
    names = tuple(title for title, _ in start.phases)
    if start.total not in (None, len(names)):
        raise TransitionError("a skill's workflow has the phases it lists; give --phase for each instead of --total")
    if not (start.kind or names):
        raise TransitionError("a skill's workflow needs a type that is a skill, such as dev, or phases of its own")
    skill, title = start.kind or files.OTHER, start.title
    known = library.known(project.root, skill)[0]
    has_tasks = known is not None and known.has_tasks
    is_feature = title.endswith(".md") or bool(featurefile.in_folder(project.root, title))
    made = plan(
        project,
        skill,
        feature=title if is_feature else "",
        task="" if is_feature else title,
        items=names if has_tasks else (),
        phases=() if has_tasks else names,
    )
    return made._replace(agents=tuple(agent for _, agent in start.phases))


def plan(
    project: Records, skill: str, *, feature: str, task: str, items: Sequence[str] = (), phases: Sequence[str] = ()
) -> Plan:
    """Return the workflow of a skill to start.

    Args:
        project: the project.
        skill: the skill.
        feature: the feature file that it is about; a folder stands for its first feature file (I004-17).
        task: the task that it is about. One of both is needed.
        items: its tasks; by default the boxes of the feature file, of which ticked ones are completed.
        phases: its phases, for a skill without a machine.

    Raises:
        TransitionError: the skill has no machine and no phases, or doesn't take these.
        ConfigError: the machine's file describes none.
    """
    places.stem(skill, "")  # refuses what is no name of a skill
    known = library.known(project.root, skill)[0] if phases else library.get(project.root, skill)
    if phases and known is not None:
        raise TransitionError(f"the machine of {skill} has its own phases; start it without --phase")
    if len(set(phases)) < len(phases):
        raise TransitionError("two phases have the same name; give each its own")
    if not all(each.strip() for each in phases):
        raise TransitionError("a phase has no name; give each one")
    rules = known or machine.fitted(None, skill, dict.fromkeys(phases, ()))
    if items and not rules.has_tasks:
        raise TransitionError(f"the machine of {skill} has no phase for tasks; start it without --item")
    own = rules.key not in (files.FEATURE, files.TASK)
    named = ((files.FEATURE, feature), (rules.key, task or feature) if own else (files.TASK, task))
    context: dict[str, Any] = {name: value for name, value in named if value}
    if inside := featurefile.in_folder(project.root, feature):
        context |= {"folder_mode": True, "folder_path": feature, "folder_features": inside}
        feature = context[files.FEATURE] = f"{feature.rstrip('/')}/{inside[0]}"
    elif feature and (project.root / feature).is_dir():
        raise TransitionError(f"{feature} holds no feature file, which ends in .md")
    box = featurefile.read(project.root, feature)
    if box and box.title and rules.title in rules.context:
        context.setdefault(rules.title, box.title)
    tasks = tuple((each, False) for each in items) or (box.boxes if box and rules.has_tasks else ())
    return Plan(rules, feature or task, context, tasks)


def _created(project: Records, path: Path, plan: Plan, start: Start) -> Made:
    before, aside = _replaceable(project, path, replace=start.replace)
    at = files.stamp()
    if before is not None and files.status(before.data) not in files.FINAL:
        seen = view.seen(project, before)
        project.shelve(view.merged(project, seen)[0])
        data = copy.deepcopy(before.data)
        transitions.abandon(data, "replaced by a new workflow", at)
        before = statefile.write(project, path, data, before, why="abandon")
    if before is not None:
        move_away(project, view.merged(project, view.seen(project, before))[0])
    at = _moment(path, at)
    task = plan.key if plan.rules.key == "task_description" and plan.rules.cycle else ""
    data = files.fresh(
        plan.rules,
        path.stem,
        at,
        context={**plan.context, **start.context},
        branch=project.branch or "",
        task=task,
        tasks=plan.tasks,
    )
    units = data["tasks"] if plan.tasks else data["state_machine"]["phases"]
    for unit, agent in zip(units, plan.agents, strict=False):
        unit.update({"agent": agent} if agent else {})
    transitions.settle(data, plan.rules)  # a first phase can have the name of the state before the first phase
    if aside is not None:
        transitions.note(data, at, "corrupted_state", note=f"the corrupted file is kept as {aside.name}")
    if plan.begin:
        transitions.enter(data, plan.rules, plan.rules.stages[0].name, at)
    kept = replace(start, kind="", context={})
    with extras.begun(project, path, files.identity(data, path), kept):
        file = statefile.write(project, path, data, None, why="start")
    index.put(project, path, data)
    workflow = view.merged(project, view.seen(project, file))[0]
    project.observe(workflow, at=clock.stamp())
    return Made(workflow, aside)


def _replaceable(project: Records, path: Path, *, replace: bool) -> tuple[StateFile | None, Path | None]:
    """Return the file in a new workflow's place, if any, or where a corrupted one was set aside.

    An unfinished workflow is replaced only with `replace`.
    """
    try:
        file = files.load(project, path)
    except MissingError:
        return None, None
    except SchemaMismatch:
        raise
    except StateError:
        return None, statefile.set_aside(project, path)
    workflow = view.merged(project, view.seen(project, file))[0]
    if file.repairable:
        project.shelve(workflow)
        return None, statefile.set_aside(project, path)
    if not workflow.finished and not replace:
        raise TransitionError(
            f"{path.stem} {quoted(workflow.title)} is {workflow.status} at {workflow.unit} {workflow.position}; "
            f"{views.ways(project, workflow)}"
        )
    return file, None


def _moment(path: Path, at: str) -> str:
    """Return when a new workflow starts: never the second in which the one before it at this path did."""
    try:
        before = values.members(document.load(files.completed_copy(path)).data.get("workflow"))
    except StateError:
        return at
    moment = clock.parse(values.text(before.get("created_at")))
    return files.stamp(moment + timedelta(seconds=1)) if moment is not None and moment == clock.parse(at) else at


def _expect(seen: Seen, workflow: Workflow) -> None:
    """Raise TransitionError unless a state is that of a workflow."""
    found = files.identity(seen.data, seen.file.path)
    if found != workflow.id:
        raise TransitionError(f"{workflow.place} holds {found} by now, not {workflow.id}")


def _data(workflow: Workflow) -> dict[str, Any]:
    return document.parse(workflow.path, workflow.raw, 0.0).data
