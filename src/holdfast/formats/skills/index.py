"""The list of unfinished workflows: written with each of them (R004-07, R004-08, I004-14), never the only source."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import log
from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.formats.skills import file as files
from holdfast.formats.skills import folder, indextext, library, machine, places
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.files.document import Document
    from holdfast.workflow.records import Records

LIMIT_BYTES = 32 * 1024 * 1024
_LARGE_BYTES = 128 * 1024  # bytes of a list from which a move is written into its text
LISTED = "active_workflows"


class Entry(NamedTuple):
    """A workflow in the list.

    Attributes:
        id: its id, the name of its file.
        skill: its skill.
        feature: what it is about.
        started_at: when it started.
        last_activity: when it last moved.
    """

    id: str
    skill: str
    feature: str
    started_at: str
    last_activity: str


class Listed(NamedTuple):
    """An unfinished workflow as its file has it.

    Attributes:
        entry: what the list should say of it.
        ids: the ids under which it may be listed.
    """

    entry: Entry
    ids: frozenset[str]


def entries(project: Records) -> list[Entry]:
    """Return the list, in its order. Raises MissingError, SchemaMismatch, StateError if it can't be read."""
    return [_entry(each) for each in _rows(_load(project))]


def put(project: Records, path: Path, data: Mapping[str, Any]) -> None:
    """List an unfinished workflow as it is now, once. Hold the lock on the top folder."""
    wanted, own = entry(project, path, data), ids(path, data)
    if _moved_on(project, wanted, own):
        return

    def edit(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        at = next((number for number, each in enumerate(rows) if _is(each, own)), len(rows))
        before = rows[at] if at < len(rows) else {}
        kept = [each for each in rows if not _is(each, own)]
        return [*kept[:at], before | wanted._asdict(), *kept[at:]]

    _change(project, edit)


def drop(project: Records, path: Path, data: Mapping[str, Any]) -> None:
    """Take a workflow off the list. Hold the lock on the top folder."""
    delist(project, ids(path, data))


def moved(project: Records) -> frozenset[str]:
    """Return the ids that are listed although their file lies in `completed/` alone: the command that moved it died."""
    try:
        stale = {each.id for each in entries(project)} - set(folder.names(project))
        return frozenset(each.stem for each in places.completed(project).glob("*.json") if each.stem in stale)
    except StateError:
        return frozenset()


def delist(project: Records, ids: frozenset[str]) -> None:
    """Take the entries with some ids off the list. Hold the lock on the top folder."""
    _change(project, lambda rows: [each for each in rows if not _is(each, ids)])


def rebuild(project: Records, wanted: Sequence[Listed], *, whole: bool = True) -> list[str]:
    """Make the list agree with the files; return what was mended, a line each. Hold the lock on the top folder.

    Args:
        project: the project.
        wanted: what it should list.
        whole: whether that is all, or only what the files that were read say.
    """
    said = differences(project, wanted, whole=whole)
    return said if said and _change(project, lambda rows: _agreeing(rows, wanted, whole=whole), anew=True) else []


def differences(project: Records, wanted: Sequence[Listed], *, whole: bool = True) -> list[str]:
    """Return what the list says wrongly, a line each; nothing of one that is another program's, or `unreadable`.

    Args:
        project: the project.
        wanted: what it should list.
        whole: whether that is all. If not, what is listed besides may be in a file that nobody read.
    """
    try:
        counts = Counter(each.id for each in entries(project))
    except MissingError:
        return ["index.json is missing"] if wanted else []
    except BrokenError as error:
        return [f"index.json {error.reason}"]
    except StateError:
        return []
    known = {id_ for each in wanted for id_ in each.ids}
    said = [f"{id_} is listed, but has no state file" for id_ in counts if whole and id_ not in known]
    for entry, ids in wanted:
        count = sum(counts[id_] for id_ in ids)
        said += [f"{entry.id} is listed {count} times"] if count > 1 else []
        said += [] if count else [f"{entry.id} is not listed"]
    return said


def unreadable(project: Records) -> str:
    """Return why the list can't be read, if neither its content nor its absence is the reason; else empty."""
    try:
        _load(project)
    except (MissingError, BrokenError, SchemaMismatch):
        return ""
    except StateError as error:
        return f"index.json {error.reason}"
    return ""


def listed(project: Records, path: Path, data: Mapping[str, Any]) -> list[Listed]:
    """Return what the list should say of a state file: nothing if its workflow is finished."""
    if files.status(data) in files.FINAL:
        return []
    return [Listed(entry(project, path, data), ids(path, data))]


def from_files(project: Records, names: Iterable[str]) -> list[Listed]:
    """Return what the list should say of files with some names, without those that can't be read."""
    found: list[Listed] = []
    for name in names:
        path = places.active(project) / f"{name}.json"
        with suppress(StateError):
            found += listed(project, path, files.load(project, path).data)
    return found


def entry(project: Records, path: Path, data: Mapping[str, Any]) -> Entry:
    """Return what the list says of a workflow."""
    workflow = values.members(data.get("workflow"))
    name = files.skill(data, path)
    rules = library.known(project.root, name)[0] or machine.Machine(name, ())
    started, moved = (values.text(workflow.get(each)) for each in ("created_at", "updated_at"))
    return Entry(path.stem, name, files.key(data, rules), started, moved or started)


def _agreeing(rows: list[dict[str, Any]], wanted: Sequence[Listed], *, whole: bool) -> list[dict[str, Any]]:
    """Return the rows of workflows that there are, each once, in their order, then new ones for the others.

    If `wanted` isn't the whole list, a row that is not in it stays.
    """
    stems = {each: entry.id for entry, ids in wanted for each in ids}
    kept: dict[str, dict[str, Any]] = {}
    for each in rows:
        id_ = values.text(each.get("id"))
        if stem := stems.get(id_, "" if whole else id_):
            kept.setdefault(stem, each)
    return [*kept.values(), *(entry._asdict() for entry, _ in wanted if entry.id not in kept)]


def _moved_on(project: Records, wanted: Entry, own: frozenset[str]) -> bool:
    """Write a workflow's last activity into a large list that says all else of it; return whether that was possible."""
    path = places.index(project)
    try:
        statefile.guard(project.root, path)
        raw = document.read(path, LIMIT_BYTES)[0]
        if len(raw) <= _LARGE_BYTES:
            return False
        new = indextext.moved_on(raw, LISTED, own, wanted._asdict(), "last_activity", files.stamp())
        if new is not None and new is not raw:
            atomic.replace(path, new, raw, durable=False)
    except StateError:  # whoever changes the list as data says what is wrong
        return False
    return new is not None


def _change(
    project: Records, edit: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], *, anew: bool = False
) -> bool:
    """Change the list, unless it is another program's. A broken one is set aside and written anew from the files.

    It is never the only source, so what makes it unreadable or unwritable stops no workflow: `check` names it. Return
    whether it is up to date now.
    """
    path = places.index(project)

    def attempt() -> None:
        try:
            before: Document | None = _load(project)
        except MissingError:
            before = None
        except BrokenError:
            document.set_aside(path)
            before = None
        rows = _rows(before) if before else []
        if before is None and not anew:
            rows = [each._asdict() for each, _ in from_files(project, folder.readable(project)[0])]
        data = dict(before.data) if before else {"schema_version": files.VERSION, "updated_at": "", LISTED: []}
        changed = edit(rows)
        if before is None or changed != data.get(LISTED):
            data |= {"updated_at": files.stamp(), LISTED: changed}
            document.replace(path, data, before.raw if before else None, like=before, limit=LIMIT_BYTES)

    try:
        statefile.insist(attempt)
    except StateError as error:
        log.write("warning", f"the list of workflows was not brought up to date: {error}")
        return False
    return True


def _load(project: Records) -> Document:
    """Return the list's file. Raises SchemaMismatch if it is another program's."""
    path = places.index(project)
    statefile.guard(project.root, path)
    found = document.load(path, LIMIT_BYTES)
    if not isinstance(found.data.get(LISTED), list):
        raise SchemaMismatch(path, f'has no list "{LISTED}"; it is left alone')
    return found


def _rows(found: Document) -> list[dict[str, Any]]:
    return [each for each in found.data[LISTED] if isinstance(each, dict)]


def ids(path: Path, data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids under which a workflow may be listed: its file's name, and its own id if that differs (I004-1)."""
    return frozenset((path.stem, values.text(values.members(data.get("workflow")).get("id")))) - {""}


def _is(row: Mapping[str, Any], ids: frozenset[str]) -> bool:
    return values.text(row.get("id")) in ids


def _entry(row: Mapping[str, Any]) -> Entry:
    text = {name: values.text(row.get(name)) for name in Entry._fields}
    return Entry(**{**text, "feature": text["feature"] or values.text(row.get("context"))})
