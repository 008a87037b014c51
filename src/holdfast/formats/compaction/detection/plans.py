"""Detection method 2: the most recently changed plan of a project that is in progress (R001-22, I001-13)."""

from __future__ import annotations

import hashlib
import marshal
import os
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.files import cache
from holdfast.files.file_memo import Stamp, settled, stamp
from holdfast.formats.compaction.detection import memoryphases, planstatus, plantext
from holdfast.formats.compaction.detection.extract import Candidate, Extract
from holdfast.workflow import manyfiles, markdown, prose, scanner, statuses
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

FOLDER = "CLAUDE/Plan"
FILE = "PLAN.md"
FEW = 32  # up to so many plans, each event reads them again and nothing is cached
KEPT = 20_000  # plans in the cache at most, those that were seen last
_IDLE_FORMAT = 1
READ_BYTES = 16 * 1024 * 1024  # bytes of plans that one event reads


def active(root: Path, written: Path | None = None) -> Extract | None:
    """Return the extract of the most recently changed plan in progress, or None (I001-13).

    Plans that changed before it aren't read. Of the others, up to 256 KB each are read, except those that were not in
    progress and did not change since (`_keep`). Of very many plans, some are looked at (`manyfiles.newest`) and some of
    those read, the last changed first; `manyfiles.omitted_count` then has the number of the rest.

    Args:
        root: the project's root.
        written: a plan that somebody has just written, which is always looked at.
    """
    now = time.time_ns()
    wanted = [written.parent.name] if written is not None and written.parent.parent == root / FOLDER else []
    try:
        listed, left = _listed(root, wanted)
    except OSError:
        return None
    known = _known(root / FOLDER) if len(listed) > FEW else {}
    found = {}
    maybe = [each for each in listed if not (each[1] and known.get(each[0]) == stamp(each[1]))] if known else listed
    extract, room = None, READ_BYTES
    for number, (path, info) in enumerate(_ordered(root, maybe)):
        if room <= 0:
            left += len(maybe) - number
            break
        room -= min(info.st_size if info else 0, prose.LIMIT_BYTES)
        try:
            extract = _in_progress(path, root, info)
        except OSError:
            continue
        if extract:
            break
        if info and settled(stamp(info), now):
            found[path.parent.name] = stamp(info)
    if len(found) > FEW:
        gone = {name for name, _ in maybe}
        _keep(root / FOLDER, {name: seen for name, seen in known.items() if name not in gone}, found)
    manyfiles.note_omitted(root / FOLDER, left)
    return extract


def aged(plan: Extract) -> str:
    """Say that a plan is in progress, and when it was last changed."""
    return f"is in progress ({quoted(plan.name)}), but last changed on {clock.stamp(clock.from_mtime(plan.mtime))[:10]}"


def way(plan: Extract) -> str:
    """Say which command makes a plan a session's workflow, however old the plan is."""
    command = shlex.join(["holdfast", "start", one_line(plan.name), "--read", one_line(plan.reading[0][1:])])
    return f"To take it up: `{command}`"


def hint(root: Path, place: str) -> str:
    """Return what to tell a session without a workflow about an old plan; empty if it is no longer in progress."""
    path = root / place
    try:
        plan = _in_progress(path, root, path.stat())
    except OSError:
        return ""
    return f"{place} {aged(plan)}, so it is left alone. {way(plan)}." if plan else ""


def look(root: Path) -> list[tuple[Candidate, Extract | None]]:
    """Return every plan `CLAUDE/Plan/*/PLAN.md` with its extract, the most recently changed first.

    Only the first in progress is accepted, but the others in progress have their extracts too.
    """
    looked: list[tuple[Candidate, Extract | None]] = []
    chosen = ""
    try:
        files = _ordered(root, _listed(root, None)[0])
    except OSError as error:
        return [(_unreadable(root / FOLDER, error, 0.0), None)]
    for path, info in files:
        candidate, extract = _examine(root, path, _changed(info))
        if extract and chosen:
            reason = f"is in progress too ({quoted(extract.name)}), but {chosen} changed later; the last changed counts"
            kind = "in progress too, but changed earlier"
            candidate = replace(candidate, accepted=False, reasons=(reason,), notable=True, kind=kind)
        elif extract:
            chosen = path.relative_to(root).as_posix()
        looked.append((candidate, extract))
    return looked


def _listed(root: Path, wanted: Collection[str] | None) -> tuple[list[tuple[str, os.stat_result | None]], int]:
    """Return (folder name, plan's stat or None if refused) of each folder with a plan, and how many were left out.

    Of very many folders not all are looked at, but always those `wanted`. With `wanted` None, all are. Raises OSError.
    """
    found: dict[str, os.stat_result | None] = {}
    try:
        top = os.open(root / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return [], 0

    def changed(name: str) -> int:
        try:
            found[name] = info = os.stat(f"{name}/{FILE}", dir_fd=top)
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError:
            found[name] = None
            return 0
        return info.st_mtime_ns

    left = 0
    try:
        names = os.listdir(top)  # noqa: PTH208 - of a descriptor: no path is followed for each of ten thousand plans
        if wanted is None or len(names) <= manyfiles.MOST:
            for name in names:
                changed(name)
        else:
            with os.scandir(top) as folders:
                entries = {folder.name: folder.inode() for folder in folders}
            _, left = manyfiles.newest(root / FOLDER, entries, changed, wanted)
    finally:
        os.close(top)
    return list(found.items()), left


def _ordered(
    root: Path, listed: Iterable[tuple[str, os.stat_result | None]]
) -> list[tuple[Path, os.stat_result | None]]:
    """Return the paths of plans with their stat results, the last changed first, then by path."""
    top = root / FOLDER
    found = [(top / name / FILE, info) for name, info in listed]
    return sorted(found, key=lambda plan: (-_changed(plan[1]), str(plan[0])))


def _changed(info: os.stat_result | None) -> float:
    return info.st_mtime if info else 0.0


def _in_progress(path: Path, root: Path, info: os.stat_result | None) -> Extract | None:
    """Return a plan's extract if it is in progress, else None. Raises OSError."""
    found = prose.read(path, root)
    if found is None or not plantext.may_be_active(found.text):
        return None
    return plantext.parse(found.text, path, root, _changed(info)).extract


def _examine(root: Path, path: Path, mtime: float) -> tuple[Candidate, Extract | None]:
    try:
        found = prose.read(path, root)
    except OSError as error:
        return _unreadable(path, error, mtime), None
    if found is None:
        return Candidate(path, "plan", False, ("does not exist",), mtime), None
    reading = plantext.parse(found.text, path, root, mtime)
    cut = "" if found.whole or reading.extract else f" (its first {prose.LIMIT_BYTES // 1024} KB were read)"
    accepted = reading.extract is not None
    return Candidate(
        path, "plan", accepted, (f"{reading.reason}{cut}",), mtime, reading.notable, reading.kind
    ), reading.extract


def _unreadable(path: Path, error: OSError, mtime: float) -> Candidate:
    return Candidate(
        path, "plan", False, (f"cannot be read: {error.strerror or error}",), mtime, True, "cannot be read"
    )


def _known(top: Path) -> dict[str, Stamp]:
    """Return the cached plans that were not in progress: the stamp of each file by folder name.

    Empty if nothing is cached, or if the cache is broken, of another folder, or made by other rules.
    """
    body = cache.read(_idle_file(top))
    if body is None:
        return {}
    try:
        place, rules, stamps = marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return {}
    return stamps if (place, rules) == (os.fsencode(top), _rules()) else {}


def _keep(top: Path, before: Mapping[str, Stamp], found: Mapping[str, Stamp]) -> None:
    """Cache that these plans are not in progress.

    Args:
        top: the folder of all plans.
        before: plans in the cache that did not change since, or were not looked at.
        found: plans that were read just now and are old enough for their stamps to be trusted.
    """
    kept = dict([*before.items(), *found.items()][-KEPT:])
    cache.write(_idle_file(top), marshal.dumps((os.fsencode(top), _rules(), kept)))


def _rules() -> tuple[int | Stamp, ...]:
    """Return what identifies the rules for plans in progress: the cache's version, and the stamps of the code."""
    modules = (plantext, planstatus, memoryphases, markdown, scanner, prose, statuses)
    return (_IDLE_FORMAT, *(stamp(Path(str(each.__file__)).stat()) for each in modules))


def _idle_file(top: Path) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.idle"
