"""The save of PreCompact: merge what memory files and plans newly say into the state file (I001-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast import log
from holdfast.errors import LedgerError
from holdfast.files.lock import locked
from holdfast.formats.compaction import candidates as compaction_near
from holdfast.formats.compaction import file as files
from holdfast.formats.compaction import source
from holdfast.formats.compaction.spot import Spot, changed_phase, spot
from holdfast.workflow import names, statefile, values
from holdfast.workflow.model import UNKNOWN
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.formats.compaction.file import Entry
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_HELD = "held"  # key beside an extract's values in the ledger: the state file's phase when it was last seen
_PHASE = ("current", "total", "phase", "status")

Action = Literal["created", "updated", "unchanged", "buried", "none"]


@dataclass(frozen=True, slots=True)
class Saved:
    """What a save did: the workflow as it is now, and its state file; None for none.

    If the action is `buried`, `path` is the state file that was removed without completing the workflow; None if it was
    completed.
    """

    workflow: Workflow | None
    action: Action
    path: Path | None


@dataclass(frozen=True, slots=True)
class Intent:
    """What a save would do: write `data` to `path`, over `entry` if the file exists.

    If the action is `buried`, `path` is the state file that was removed without completing the workflow; None if it was
    completed.
    """

    action: Action
    path: Path | None = None
    entry: Entry | None = None
    data: Mapping[str, Any] | None = None


def save(project: Records, extract: Extract | None) -> Saved:
    """Merge an extract into its workflow's state file, or create one.

    A value is taken over only if it differs from the extract last seen for that file or, without one, if the memory
    file is newer than the state file. So an old memory file never sets a phase back. A workflow that was completed, or
    whose file was removed while the extract stayed the same, isn't created again, unless the extract is `new`. Without
    anything new, nothing is written. Raises StateError.
    """
    first = intend(project, extract)
    if extract is None or first.action in ("buried", "none"):
        return Saved(None, first.action, first.path)
    with locked(files.folder(project)):
        return statefile.insist(lambda: _carry_out(project, extract, intend(project, extract)))


def may_save(project: Records, session: str, extract: Extract, *, written: bool) -> bool:
    """Return whether a session may write an extract into its workflow's state file, which nobody else owns then.

    Its own always. If no other session is live, or the session has just `written` the file that says so, also another
    one; but not one that is too old, unless the memory file names it, which every session is told.
    """
    entry = existing(project, extract)
    if entry is None or (owner := project.owner(entry.workflow)) == session:
        return True
    others = project.live_others(session)
    if written:
        return owner not in others
    return not others and (extract.origin != "plan" or project.fresh(entry.workflow))


def intend(project: Records, extract: Extract | None) -> Intent:
    """Return what `save` would do now, without writing any file. Raises StateError if nothing can be saved."""
    if extract is None:
        return Intent("none")
    statefile.guard(project.root, files.folder(project) / "any")
    entry = existing(project, extract)
    if entry is None:
        return _intend_new(project, extract)
    taken = _taken(extract, _last(project, entry.workflow.path), entry)
    data = _merged(entry, taken)
    action: Action = "unchanged" if data == entry.file.data else "updated"
    return Intent(action, entry.workflow.path, entry, data)


def existing(project: Records, extract: Extract) -> Entry | None:
    """Return the newest readable state file of the extract's workflow (I001-4, I001-7).

    It is found by its `workflow` field, else by its folder's name, else by the ledger. Of very many files, those that
    changed last are searched.
    """
    key, short = names.key(extract.name), names.slug(extract.name)
    place = _saved_to(project, extract)
    top, wanted = files.folder(project), [place] if place else []
    near, left = compaction_near.places(top, wanted, short)
    found = _among(files.scan(project, near)[0], extract, key, short, place)
    if not left or (found is not None and names.key(found.workflow.title) == key):
        return found
    wider, left = compaction_near.places(top, wanted, short, most=compaction_near.SEARCHED)
    if left:
        log.write("info", f"{left} older state files weren't searched for {quoted(extract.name)}")
    return _among(files.scan(project, wider)[0], extract, key, short, place)


def _among(entries: list[Entry], extract: Extract, key: str, short: str, place: Path | None) -> Entry | None:
    named = [entry for entry in entries if names.key(entry.workflow.title) == key]
    if not named and names.faithful(extract.name):
        named = _of_folder([entry for entry in entries if entry.workflow.path.parent.name == short], key)
    if not named:
        named = [entry for entry in entries if entry.workflow.path == place]
    return named[0] if named else None


def _of_folder(entries: list[Entry], key: str) -> list[Entry]:
    """Return the files in a folder that may be a workflow's: all if they are one workflow's, else those named alike."""
    keys = [names.key(entry.workflow.title) for entry in entries]
    if len(set(keys)) < 2:
        return entries
    return [entry for entry, each in zip(entries, keys, strict=True) if each.startswith(key) or key.startswith(each)]


def remember(project: Records, workflow: Workflow, extract: Extract, *, derived: bool) -> None:
    """Store the extract as the last one seen for a state file, with the file's current phase.

    A ledger error is only logged.

    Args:
        project: the project.
        workflow: the workflow as it is saved.
        extract: the extract.
        derived: whether only saves have written the file (`source`).
    """
    path = workflow.path
    last = (_last(project, path) or {}).get("content", {})
    made = last.get(source.PLACE, ""), last.get(source.DIGEST, "")
    if derived:
        made = extract.source.relative_to(project.root).as_posix(), source.digest(workflow.raw)
    content = {**extract.content, _HELD: workflow.current, source.PLACE: made[0], source.DIGEST: made[1]}
    if last == content:
        return
    try:
        project.remember(path, names.key(extract.name), extract.digest, content)
    except LedgerError as error:
        log.write("warning", f"what other files say about {path} wasn't remembered: {error}")


def _intend_new(project: Records, extract: Extract) -> Intent:
    over = extract.status == "completed" and (extract.current or 1) >= (extract.total or 1)
    if over:
        return Intent("none")
    if not extract.new and _is_buried(project, extract):
        return Intent("buried")
    if not extract.new and (gone := _saved_to(project, extract)):
        return Intent("buried", gone)
    current = max(extract.current or 1, 1)
    total = max(extract.total or current, 1)
    name = extract.phase or (UNKNOWN if extract.current is None else f"Phase {current}")
    where = Spot(min(current, total), total, name, extract.status or "in_progress")
    data = files.fresh(extract.name, extract.kind or "custom", where, extract.content)
    if extract.origin == "plan":
        data["context"][files.DERIVED] = extract.source.relative_to(project.root).as_posix()
    return Intent("created", files.new_path(project, extract.name), None, data)


def _carry_out(project: Records, extract: Extract, intent: Intent) -> Saved:
    if intent.path is None or intent.data is None:
        return Saved(None, intent.action, None)
    workflow = intent.entry.workflow if intent.entry else None
    derived = intent.entry is None or source.of(project, intent.entry.file).derived
    if intent.action != "unchanged":
        before = intent.entry.file if intent.entry else None
        workflow = files.write(project, intent.path, dict(intent.data), before, why="save").workflow
    if workflow is not None:
        remember(project, workflow, extract, derived=derived)
    return Saved(workflow, intent.action, intent.path)


def _taken(extract: Extract, last: Mapping[str, Any] | None, entry: Entry) -> dict[str, Any]:
    """Return the values of an extract to take over; an empty mapping for none."""
    content = extract.content
    if last is None:
        newer = extract.mtime > entry.file.document.mtime and not entry.workflow.finished
        return content if newer else {}
    seen = last["content"]
    taken = {field: value for field, value in content.items() if value != seen.get(field)}
    if _moved_since(entry, seen, extract.mtime):
        taken = {field: value for field, value in taken.items() if field not in _PHASE}
    for field in ("reading", "reminders"):
        before = set(seen.get(field, ()))
        taken[field] = [item for item in content[field] if item not in before]
    known = seen.get("context", {})
    taken["context"] = {key: value for key, value in content["context"].items() if known.get(key) != value}
    return taken


def _moved_since(entry: Entry, seen: Mapping[str, Any], mtime: float) -> bool:
    """Return whether the state's own phase moved after the memory file was last written, so that it wins."""
    return _HELD in seen and seen[_HELD] != entry.workflow.current and entry.file.document.mtime >= mtime


def _merged(entry: Entry, taken: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state file's content with the taken values; lists only grow, and nothing is cleared (R001-15)."""
    data = dict(entry.file.data)
    if any(taken.get(field) is not None for field in _PHASE):
        data["phase"] = _moved(entry, taken)
    if taken.get("kind"):
        data["workflow_type"] = taken["kind"] if taken["kind"] in files.TYPES else data.get("workflow_type", "custom")
    for field, key in (("reading", "required_reading"), ("reminders", "key_reminders")):
        if taken.get(field):
            data[key] = values.added(data.get(key), tuple(taken[field]))
    if taken.get("context"):
        data["context"] = {**values.mapping(data.get("context"), "context", []), **taken["context"]}
    return data


def _moved(entry: Entry, taken: Mapping[str, Any]) -> dict[str, Any]:
    """Return the phase object with the taken values. If no total was found, a higher number raises it (I001-17)."""
    now = spot(entry.file.data, [])
    total: int | None = taken.get("total")
    current: int | None = taken.get("current")
    if current is not None:
        current = max(current, 1)
    if total is not None:
        current = min(now.current if current is None else current, total)
    elif current is not None and now.counted and current > now.total:
        total = current
    moves = current is not None and current != now.current
    name = taken.get("phase") or (files.title_of(entry.workflow, current) if moves and current else None)
    status = taken.get("status") or ("in_progress" if moves else None)
    return changed_phase(entry.file.data.get("phase"), now, current=current, total=total, name=name, status=status)


def _last(project: Records, path: Path) -> dict[str, Any] | None:
    try:
        return project.remembered(path)
    except LedgerError as error:
        log.write("warning", f"what other files last said about {path} is unknown: {error}")
        return None


def _saved_to(project: Records, extract: Extract) -> Path | None:
    try:
        return project.saved_to(names.key(extract.name), extract.digest)
    except LedgerError:
        return None


def _is_buried(project: Records, extract: Extract) -> bool:
    """Return whether the workflow was completed, so that there is a tombstone."""
    try:
        return project.is_buried(names.key(extract.name), extract.digest)
    except LedgerError as error:
        log.write("warning", f"can't tell whether {quoted(extract.name)} is completed: {error}")
        return False
