"""What is wrong with the files of this format, and mending what follows from other files (R004-42)."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.errors import BrokenError, SchemaMismatch, StateError
from holdfast.files import atomic
from holdfast.files.lock import locked
from holdfast.formats.skills import featurefile, folder, index, lookup, places, store, view
from holdfast.formats.skills import file as files
from holdfast.workflow import statefile, values
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.formats.skills.index import Entry
    from holdfast.formats.skills.view import Seen
    from holdfast.workflow.records import Records

REPAIR = "holdfast skills repair"
TEMPORARY = timedelta(hours=1)
"""The age from which another program's temporary file counts as left behind."""
_NAMED = 10  # other workflows of the same key that a finding names


class Finding(NamedTuple):
    """Something that is wrong.

    Attributes:
        text: what it is.
        remedy: what to do about it.
        serious: whether a workflow can't be read because of it.
    """

    text: str
    remedy: str
    serious: bool = False


def findings(project: Records, *, ours: bool = True) -> list[Finding]:
    """Return what is wrong with the state files and the index; nothing is written.

    Args:
        project: the project.
        ours: whether Holdfast's own temporary files are named too; `doctor` names those of all formats.
    """
    try:
        names, left = folder.readable(project)
    except StateError as error:
        return [Finding(str(error), "correct its permissions, or move it away", serious=True)]
    listed: list[index.Listed] = []
    found = [each for name in names for each in _of(project, places.active(project) / f"{name}.json", listed)]
    found += _misnamed(project, [each.entry for each in listed])
    found += [Finding(said, REPAIR) for said in index.differences(project, listed, whole=not left)]
    if why := index.unreadable(project):
        found.append(Finding(why, f"move {places.index(project)} away, then run `{REPAIR}`"))
    if left:
        found.append(Finding(folder.left_out(len(names) + left, left), folder.CLEANUP))
    abandoned = [*(_ours(project) if ours else ()), *_theirs(project)]
    return found + [Finding(f"{path.name} was left by a process that was killed", REPAIR) for path in abandoned]


def repair(project: Records) -> list[str]:
    """Mend what follows from other files, and return what was done, a line each.

    A broken state file gets its last good content back, and what was broken stays beside it. Finished workflows are
    moved away, the index is made to agree with the files, and temporary files are removed. What a whole state file
    should say, only a person knows: it is left as it is. Of very many files the last changed ones are looked at; a file
    that wasn't keeps its place in the index.
    """
    done, listed = list[str](), list[index.Listed]()
    with locked(places.top(project)):
        names, left = folder.readable(project)
        for name in names:
            path = places.active(project) / f"{name}.json"
            try:
                seen = view.read(project, path)
                if seen.file.repairable:
                    kept = statefile.rewrite(project, path, lambda file: dict(file.data), why="repair", repair=True)[0]
                    seen = view.seen(project, kept)
                    done.append(f"{name} has its last good content again; what was broken is kept beside it")
            except StateError:
                continue
            if files.status(seen.data) in files.FINAL and not seen.file.broken:
                outdated = files.outdated(seen.file)
                store.move_away(project, view.merged(project, seen)[0])
                done.append(f"active/{name}.json is removed" if outdated else f"{name} is moved to completed/")
            else:
                listed += index.listed(project, path, seen.data)
        done += index.rebuild(project, listed, whole=not left)
        for path in (*_ours(project), *_theirs(project)):
            atomic.remove(path)
            done.append(f"{path.name} is removed")
    return done


def _of(project: Records, path: Path, listed: list[index.Listed]) -> Iterator[Finding]:
    """Yield what is wrong with a state file, and append what the index should say of it: each file is read once."""
    try:
        seen = view.read(project, path)
    except SchemaMismatch:
        return
    except BrokenError as error:
        yield Finding(str(error), f"correct {path}; `holdfast skills start` sets it aside", serious=True)
        return
    except StateError as error:
        yield Finding(str(error), f"correct {path}, or move it away", serious=True)
        return
    listed += index.listed(project, path, seen.data)
    if seen.file.broken:
        said = f"{path}: {seen.file.broken}; its last good content is used"
        remedy = REPAIR if seen.file.repairable else f"correct {path}, or move it away"
        yield Finding(said, remedy, serious=True)
        return
    for warning in view.workflow(project, seen).warnings:
        yield Finding(f"{path.stem}: {warning}", f"look at {path}")
    yield from _consistent(project, seen)


def _consistent(project: Records, seen: Seen) -> Iterator[Finding]:
    data, name = seen.data, seen.file.path.stem
    named = values.text(values.members(data.get("workflow")).get("id"))
    if files.outdated(seen.file):
        yield Finding(f"active/{name}.json is outdated: completed/ has the later copy. It can be removed", REPAIR)
    elif files.status(data) in files.FINAL:
        yield Finding(f"{name} is {files.status(data)}, but lies in active/", REPAIR)
    if named and named != name:
        yield Finding(
            f"{name} has the id {named}, which differs from its file's name", "nothing to do; Holdfast finds it by both"
        )
    feature = featurefile.read(project.root, values.text(values.members(data.get("context")).get(files.FEATURE)))
    tasks = files.tasks(data)
    if feature and (said := featurefile.difference(feature, view.completed_tasks(data), len(tasks))):
        yield Finding(f"{name}: {said}", "correct the one that is wrong")


def _misnamed(project: Records, entries: list[Entry]) -> Iterator[Finding]:
    """Yield the workflows whose file is not named after their key, with others of the same skill and key."""
    same = defaultdict[tuple[str, str], list[str]](list)
    for each in entries:
        same[_about(project, each)].append(each.id)
    for each in entries:
        if each.feature and not each.id.endswith(f"-{places.hashed(each.feature)}"):
            others = [id_ for id_ in same[_about(project, each)] if id_ != each.id]
            more = f"; {', '.join(others[:_NAMED])} {'has' if len(others) == 1 else 'have'} it too" if others else ""
            said = f"{each.id} is not named after its key {quoted(each.feature)}{more}"
            yield Finding(said, "nothing to do; Holdfast finds it by its key")


def _about(project: Records, entry: Entry) -> tuple[str, str]:
    return entry.skill, lookup.one_spelling(project, entry.feature) or entry.feature


def _ours(project: Records) -> list[Path]:
    folders = (places.top(project), places.active(project), places.completed(project))
    return [path for folder in folders for path in atomic.abandoned(folder)]


def _theirs(project: Records) -> list[Path]:
    return [path for path in places.active(project).glob("*.json.tmp*") if _is_old(path)]


def _is_old(path: Path) -> bool:
    """Return whether another program's temporary file is so old that nobody is writing it any more (I004-15)."""
    try:
        changed = clock.from_mtime(path.lstat().st_mtime)
    except OSError:
        return False
    return clock.now() - changed > TEMPORARY and path.is_file() and not path.is_symlink()
