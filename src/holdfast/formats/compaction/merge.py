"""The save of PreCompact: merge what memory files and plans newly say into the state file (I001-6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from holdfast import clock, log
from holdfast.errors import LedgerError
from holdfast.files.lock import locked
from holdfast.formats.compaction import schema
from holdfast.formats.compaction.format import FORMAT
from holdfast.formats.compaction.schema import Position, read_position
from holdfast.workflow import names, statefile, values
from holdfast.workflow.model import UNKNOWN, Start
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

_PHASE_BEFORE = "held"  # key in the ledger, next to an extract's values: the state's phase when it was last seen
_PHASE = ("current", "total", "phase", "status")

_Value = TypeVar("_Value")

Action = Literal["created", "updated", "unchanged", "buried", "none"]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a save would do, or did.

    Attributes:
        path: the state file. If the action is `buried`, the one that was removed without completing the workflow; None
            if it was completed.
        before: the workflow as it is in that file; None if the file is a new one.
        data: what to write.
        saved: the workflow after a save; None if nothing was saved.
    """

    action: Action
    path: Path | None = None
    before: Workflow | None = None
    data: Mapping[str, Any] | None = None
    saved: Workflow | None = None


def save(project: Records, extract: Extract | None) -> Intent:
    """Merge an extract into its workflow's state file, or create one.

    A value is taken over only if it differs from the extract last seen for that file or, without one, if the memory
    file is newer than the state file. So an old memory file never sets a phase back. A workflow that was completed, or
    whose file was removed while the extract stayed the same, isn't created again, unless the extract is `new`. Without
    anything new, nothing is written. Raises StateError.
    """
    first = intend(project, extract)
    if extract is None or first.action in ("buried", "none"):
        return first
    with locked(FORMAT.folder(project)):
        return statefile.insist(lambda: _carry_out(project, extract))


def may_save(project: Records, session: str, extract: Extract, *, written: bool) -> bool:
    """Return whether a session may write an extract into its workflow's state file, which nobody else owns then.

    Its own always. If no other session is live, or the session has just `written` the file that says so, also another
    one; but not one that is too old, unless the memory file names it, which every session is told.
    """
    workflow = existing(project, extract)
    if workflow is None or (owner := project.owner(workflow)) == session:
        return True
    others = project.live_others(session)
    if written:
        return owner not in others
    return not others and (extract.origin != "plan" or project.fresh(workflow))


def intend(project: Records, extract: Extract | None) -> Intent:
    """Return the changes that `save` would make now, without writing. Raises StateError if nothing can be saved."""
    return _intended(project, extract)[0]


def _intended(project: Records, extract: Extract | None) -> tuple[Intent, StateFile | None]:
    """Return the changes that `save` would make, and the state file as it is now."""
    if extract is None:
        return Intent("none"), None
    statefile.guard(project.root, FORMAT.folder(project) / "any")
    workflow = existing(project, extract)
    if workflow is None:
        return _intend_new(project, extract), None
    file = FORMAT.load(project, workflow.path)
    data = _merged(file, workflow, _news(extract, _last_seen(project, workflow.path), file, workflow))
    return Intent("unchanged" if data == file.data else "updated", workflow.path, workflow, data), file


def existing(project: Records, extract: Extract) -> Workflow | None:
    """Return the workflow of an extract from its newest readable state file (I001-4, I001-7).

    It is found by its `workflow` field, else by its folder's name, else by the ledger. All files are read only if it is
    neither in its own folder nor among the last changed.
    """
    key, slug = names.key(extract.name), names.slug(extract.name)
    near, left = FORMAT.newest(project, (FORMAT.folder(project) / slug).glob("state-*.json"))
    workflows = FORMAT.each_file(project, near)
    named = [each for each in workflows if names.key(each.title) == key]
    if not named and left:
        workflows = FORMAT.each_file(project)
        named = [each for each in workflows if names.key(each.title) == key]
    if not named and names.faithful(extract.name):
        named = _of_folder([each for each in workflows if each.path.parent.name == slug], key)
    if not named:
        saved_to = _saved_to(project, extract)
        named = [each for each in workflows if each.path == saved_to]
    return next(iter(named), None)


def _of_folder(workflows: list[Workflow], key: str) -> list[Workflow]:
    """Return those in a folder that may be a workflow: all if they are one workflow, else those named alike."""
    keys = [names.key(each.title) for each in workflows]
    if len(set(keys)) < 2:
        return workflows
    return [each for each, own in zip(workflows, keys, strict=True) if own.startswith(key) or key.startswith(own)]


def _intend_new(project: Records, extract: Extract) -> Intent:
    if extract.status == "completed" and (extract.current or 1) >= (extract.total or 1):
        return Intent("none")
    if not extract.new and _is_buried(project, extract):
        return Intent("buried")
    if not extract.new and (removed := _saved_to(project, extract)):
        return Intent("buried", removed)
    current = max(extract.current or 1, 1)
    total = max(extract.total or current, 1)
    name = extract.phase or (UNKNOWN if extract.current is None else f"Phase {current}")
    where = Position(min(current, total), total, name, extract.status or "in_progress")
    data = schema.fresh(extract.name, extract.kind or "custom", where, extract.content)
    if extract.origin == "plan":
        data["context"][schema.DERIVED] = extract.source.relative_to(project.root).as_posix()
    return Intent("created", FORMAT.location(project, Start(extract.name)), None, data)


def _carry_out(project: Records, extract: Extract) -> Intent:
    intent, before = _intended(project, extract)
    if intent.path is None or intent.data is None:
        return intent
    derived = before is None or schema.source_of(project, before).derived
    workflow = intent.before
    if workflow is None or intent.action != "unchanged":
        if intent.before is not None:
            project.observe(intent.before)  # what was moved by hand before keeps its own time
        file = statefile.write(project, intent.path, dict(intent.data), before, why="save")
        workflow = FORMAT.view(project, file)
        project.observe(workflow, at=clock.stamp())
    _remember(project, workflow, extract, derived=derived)
    return replace(intent, saved=workflow)


def _remember(project: Records, workflow: Workflow, extract: Extract, *, derived: bool) -> None:
    """Store the extract as the last one seen for a state file. A ledger error is only logged.

    Args:
        project: the project.
        workflow: the workflow as it is saved.
        extract: the extract.
        derived: whether only saves have written the file (`schema.Source`).
    """
    last = _last_seen(project, workflow.path) or {}
    made_from = {key: last.get(key, "") for key in (schema.PLACE, schema.DIGEST)}
    if derived:
        place = extract.source.relative_to(project.root).as_posix()
        made_from = {schema.PLACE: place, schema.DIGEST: schema.digest(workflow.raw)}
    content = {**extract.content, **made_from, _PHASE_BEFORE: workflow.current}
    if last == content:
        return
    _from_ledger(
        lambda: project.remember(workflow.path, names.key(extract.name), extract.digest, content),
        None,
        f"what other files say about {workflow.path} wasn't remembered",
    )


def _news(extract: Extract, last: Mapping[str, Any] | None, file: StateFile, workflow: Workflow) -> dict[str, Any]:
    """Return the values of an extract to take over; an empty mapping for none.

    `last` is the extract last seen. If the state's own phase moved after the memory file was written, it wins.
    """
    content = extract.content
    is_newer = extract.mtime > file.document.mtime
    if last is None:
        return content if is_newer and not workflow.finished else {}
    moved_on = not is_newer and last.get(_PHASE_BEFORE) not in (None, workflow.current)
    news = {
        field: value
        for field, value in content.items()
        if value != last.get(field) and not (moved_on and field in _PHASE)
    }
    for field in ("reading", "reminders"):
        news[field] = [item for item in content[field] if item not in last.get(field, ())]
    known = last.get("context", {})
    news["context"] = {key: value for key, value in content["context"].items() if known.get(key) != value}
    return news


def _merged(file: StateFile, workflow: Workflow, news: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state file's content with new values; lists only grow, and nothing is cleared (R001-15)."""
    data = dict(file.data)
    if any(news.get(field) is not None for field in _PHASE):
        data["phase"] = _moved(data, workflow, news)
    if news.get("kind"):
        data["workflow_type"] = news["kind"] if news["kind"] in schema.TYPES else data.get("workflow_type", "custom")
    for field, key in (("reading", "required_reading"), ("reminders", "key_reminders")):
        if news.get(field):
            data[key] = values.added(data.get(key), tuple(news[field]))
    if news.get("context"):
        data["context"] = {**schema.read_context(data), **news["context"]}
    return data


def _moved(data: Mapping[str, Any], workflow: Workflow, news: Mapping[str, Any]) -> dict[str, Any]:
    """Return the phase object with new values. If no total was found, a higher number raises it (I001-17)."""
    now = read_position(data, [])
    total: int | None = news.get("total")
    current: int | None = news.get("current")
    if current is not None:
        current = max(current, 1)
    if total is not None:
        current = min(now.current if current is None else current, total)
    elif current is not None and now.counted and current > now.total:
        total = current
    moves = current is not None and current != now.current
    titles = {phase.number: phase.title for phase in workflow.phases}
    name = news.get("phase") or (titles.get(current or 0) or f"Phase {current}" if moves else None)
    status = news.get("status") or ("in_progress" if moves else None)
    return schema.with_phase(data, now, current=current, total=total, name=name, status=status)


def _last_seen(project: Records, path: Path) -> dict[str, Any] | None:
    last = _from_ledger(
        lambda: project.remembered(path), None, f"the last content of other files about {path} is unknown"
    )
    return dict(last["content"]) if last else None


def _saved_to(project: Records, extract: Extract) -> Path | None:
    unknown = f"where {quoted(extract.name)} was saved is unknown"
    return _from_ledger(lambda: project.saved_to(names.key(extract.name), extract.digest), None, unknown)


def _is_buried(project: Records, extract: Extract) -> bool:
    """Return whether the workflow was completed, so that there is a tombstone."""
    unknown = f"can't tell whether {quoted(extract.name)} is completed"
    return _from_ledger(lambda: project.is_buried(names.key(extract.name), extract.digest), False, unknown)


def _from_ledger(ask: Callable[[], _Value], otherwise: _Value, unknown: str) -> _Value:
    """Return the ledger's answer or, if it can't be read or written, the default and log that."""
    try:
        return ask()
    except LedgerError as error:
        log.write("warning", f"{unknown}: {error}")
        return otherwise
