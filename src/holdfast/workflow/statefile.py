"""State files: read with the last kept version as a fallback, written atomically, with every content kept."""

from __future__ import annotations

import codecs
import os
import stat
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast import log
from holdfast.errors import BrokenError, ChangedError, LargeError, LedgerError, MissingError, SchemaMismatch, StateError
from holdfast.files import atomic, document
from holdfast.workflow import places
from holdfast.workflow.model import Problem
from holdfast.workflow.search import LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.files.document import Document
    from holdfast.workflow.records import Records

T = TypeVar("T")

TOO_LARGE = (
    f"is larger than {LIMIT_BYTES // 1024**2} MB, so it is neither read nor changed; "
    "take out what is not needed any more, or move it away"
)
TRIES = 20  # attempts to change a file that somebody else keeps saving
_IGNORE_ALL = b"*\n"
_PAUSE_S = 0.01  # seconds between two looks at a file
_RECENT_S = 2.0  # seconds after its last change in which a broken file may still be in the middle of being saved
_STILL_S = 0.3  # seconds without a change after which it isn't
_WATCH_LIMIT_S = 1.0  # seconds for which such a file is watched if it keeps changing


@dataclass(frozen=True, slots=True)
class StateFile:
    """The content of a state file or, if it is broken, of its last version.

    `broken` says what is wrong with the file; empty if nothing is. `present` holds the file's own bytes, broken or not;
    None if they could not be read.
    """

    document: Document
    broken: str = ""
    present: bytes | None = None

    @property
    def path(self) -> Path:
        """The file's path."""
        return self.document.path

    @property
    def repairable(self) -> bool:
        """Whether the file was read whole and is broken, so that its last version may replace it."""
        return bool(self.broken) and self.present is not None

    @property
    def problem(self) -> Problem:
        """What is wrong with a file that is broken."""
        remedy = "`holdfast doctor --fix` puts it back" if self.repairable else ""
        return Problem(self.path, self.broken, "the last content Holdfast kept is used", remedy)

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object. Don't change it in place."""
        return self.document.data


def guard(root: Path, path: Path) -> None:
    """Refuse a path outside the root, or one that leads through a link or a file below it. Raises StateError."""
    place, top = os.fspath(path), os.fspath(root).rstrip("/")
    if place != top and not place.startswith(f"{top}/"):
        raise StateError(path, f"lies outside the project {root}")
    while len(place) > len(top):  # as text, because an event looks at a dozen paths
        mode = _mode(place)
        if stat.S_ISLNK(mode):
            through = "is a symbolic link" if place == os.fspath(path) else f"leads through the symbolic link {place}"
            raise StateError(path, f"{through}, which is not followed; put the file or folder itself there")
        if stat.S_ISREG(mode) and place != os.fspath(path):
            raise StateError(Path(place), "is a file and no folder; move it away")
        place = place.rpartition("/")[0]


def _mode(place: str) -> int:
    try:
        return os.lstat(place).st_mode
    except OSError:
        return 0


def read(project: Records, path: Path) -> StateFile:
    """Return a state file, or its last version if it can't be read. Reading never writes.

    Raises MissingError if there is no file (a removed file stays removed), and StateError if it is broken and has no
    version; SchemaMismatch if it is JSON of another kind. One behind a link counts as broken.
    """
    raw: bytes | None = None
    try:
        guard(project.root, path)
        raw, mtime = document.read(path, LIMIT_BYTES)
        return StateFile(document.parse(path, raw, mtime), present=raw)
    except MissingError:
        raise
    except LargeError:
        return recovered(project, path, LargeError(path, TOO_LARGE), None)
    except StateError as error:
        if not os.path.lexists(path):
            raise
        return recovered(project, path, error, raw)


def rewrite(
    project: Records,
    path: Path,
    edit: Callable[[StateFile], dict[str, Any]],
    *,
    why: str,
    repair: bool = False,
) -> tuple[StateFile, bool]:
    """Change a state file; return it as it is now and whether it was written. Hold the folder's lock.

    `edit` gets the file as it is and returns its new content; its exceptions pass through. People and the model's Edit
    tool take no lock. If one of them saves the file between this function's reading and writing, nothing is overwritten
    and `edit` is called again with what they saved, up to TRIES times (`atomic.replace` says which gaps remain). An
    unchanged file isn't written, but with `repair` a broken one is, from its last version.

    Raises MissingError, SchemaMismatch if it is JSON of another kind by now, StateError if it is broken and has no
    version, ChangedError if somebody keeps saving it.
    """

    def attempt() -> tuple[StateFile, bool]:
        before = _readable(project, path)
        data = edit(before)
        if document.same(data, before.data) and not (repair and before.broken):
            return before, False
        return write(project, path, data, before, why=why), True

    return insist(attempt)


def insist(attempt: Callable[[], T]) -> T:
    """Return the result of `attempt`, which is retried while it raises ChangedError, up to TRIES times in all."""
    for number in range(1, TRIES):
        try:
            return attempt()
        except ChangedError as error:
            log.write("info", f"{error.path}: was saved by another program during an update (try {number})")
            time.sleep(_PAUSE_S)
    return attempt()


def write(project: Records, path: Path, data: dict[str, Any], before: StateFile | None, *, why: str) -> StateFile:
    """Write `data` to a state file, unless it is unchanged, and return the file as it is now.

    `before` is the result of `read`, None for a new file. The contents before and after are kept as versions. The
    content of a broken file is copied aside, once it is certain that nobody is in the middle of saving it. Hold the
    folder's lock. Raises ChangedError if the file is not as it was read (`insist` and `rewrite` retry), StateError.
    """
    guard(project.root, path)
    if before is None:
        with _out_of_git(project.root, path):
            written = document.replace(path, data, None, limit=LIMIT_BYTES)
    elif before.broken:
        written, _ = _write_over_broken(
            project,
            path,
            before,
            lambda now: document.replace(path, data, now, like=before.document, limit=LIMIT_BYTES),
        )
    else:
        project.keep(path, before.document.raw, why=f"before {why}")
        written = document.replace(path, data, before.present, like=before.document, limit=LIMIT_BYTES)
    project.keep(path, written.raw, why=why)
    return StateFile(written, present=written.raw)


def put(project: Records, path: Path, raw: bytes, before: bytes | None, *, why: str) -> float:
    """Write a state file that is no JSON over one that holds `before` (None: no file); return its `st_mtime`.

    As with `write`, the content before and after is kept as a version, a content that is there already is not
    written again, and the first file of a folder keeps that out of git, unless the format's record says that a team
    shares it. Hold the folder's lock. Raises ChangedError when the file is not as it was read (`insist` tries again),
    LargeError when it would be larger than one that is read, StateError.
    """
    guard(project.root, path)
    if len(raw) > LIMIT_BYTES:
        raise LargeError(path, f"would be larger than {LIMIT_BYTES} bytes, so it stays as it was")
    if before is None:
        with _out_of_git(project.root, path):
            mtime = atomic.replace(path, raw, None)
    else:
        project.keep(path, before, why=f"before {why}")
        mtime = atomic.replace(path, raw, before) if raw != before else _mtime(path)
    project.keep(path, raw, why=why)
    return mtime


def present(project: Records, path: Path) -> StateFile | None:
    """Return a state file as `read` does, None if there is none. A broken one is watched for a moment first.

    Raises SchemaMismatch and StateError as `read` does.
    """
    guard(project.root, path)
    try:
        return _readable(project, path)
    except MissingError:
        return None


def restore(project: Records, path: Path, raw: bytes, before: StateFile | None, *, why: str) -> Path | None:
    """Restore an earlier content of a state file byte for byte. Hold the folder's lock.

    The present content is kept as a version first. If it is broken, or the ledger stores nothing, it is copied
    aside, and the copy's path is returned. `before` is the result of `present`. Raises ChangedError if the file is not
    as it was read (`insist` retries), SchemaMismatch over JSON of another kind, StateError.
    """
    guard(project.root, path)
    if before is not None and before.broken:
        _, broken = _write_over_broken(
            project, path, before, lambda now: document.parse(path, raw, atomic.replace(path, raw, now))
        )
        project.keep(path, raw, why=why)
        return broken
    aside: Path | None = None
    if before is not None:
        project.keep(path, before.document.raw, why=f"before {why}")
        aside = keep_aside(project, path, before.document.raw)
    put(project, path, raw, before.present if before else None, why=why)
    return aside


def discard(project: Records, path: Path, *, why: str) -> Path | None:
    """Remove a state file and keep its last content as a version; a broken one is set aside.

    JSON of another kind belongs to another tool and stays. If the ledger stores nothing, a copy stays, whose path is
    returned (`keep_aside`). Raises StateError, also if the file may not be read: then it stays.
    """
    guard(project.root, path)
    try:
        found = document.load(path, LIMIT_BYTES)
    except (MissingError, SchemaMismatch):
        return None
    except BrokenError:
        return document.set_aside(path)
    project.keep(path, found.raw, why=why)
    aside = keep_aside(project, path, found.raw)
    last = atomic.take(path)
    if last == found.raw:
        return aside
    try:  # somebody saved it at this very moment
        document.parse(path, last, found.mtime)
        project.keep(path, last, why=why)
        return keep_aside(project, path, last)
    except StateError:
        return document.copy_aside(path, last)


def keep_aside(project: Records, path: Path, raw: bytes) -> Path | None:
    """Copy the content of a state file that is about to go to `<name>.kept-<time>`, unless the ledger has it.

    Returns the copy's path, None if the ledger has the content. Raises StateError.
    """
    if project.holds(path, raw):
        return None
    aside = document.copy_aside(path, raw, "kept")
    problem = project.problem or "the ledger refused it"
    log.write("warning", f"{path}: its content was kept as {aside.name}, because {problem}")
    return aside


def set_aside(project: Records, path: Path, *, ours: bool = False) -> Path:
    """Rename a file that was read whole and is broken, and return its new path. Hold the folder's lock.

    Another program may use a file of that name, unless it is `ours` alone.

    Raises ChangedError if it is valid after all, because somebody was in the middle of saving it, SchemaMismatch if it
    is JSON of another kind or doesn't begin like JSON, and StateError if it may not be read (outside the project,
    behind a link, a folder, too large, no permission); such a file is left alone.
    """
    guard(project.root, path)
    with suppress(BrokenError):
        _watched(project, path)
    try:
        document.load(path)
    except BrokenError:
        begins = document.read(path)[0].removeprefix(codecs.BOM_UTF8).lstrip()[:1]
        if not ours and begins not in (b"", b"{"):
            raise SchemaMismatch(path, "is not JSON, so Holdfast did not write it; move it away first") from None
        return document.set_aside(path)
    raise ChangedError(path, "was saved by somebody else meanwhile; try again")


@contextmanager
def _out_of_git(root: Path, path: Path) -> Iterator[None]:
    """Keep a folder of private state out of git if the block writes its first file."""
    folder = places.private(root, path)
    first = folder is not None and not (folder.is_dir() and any(folder.iterdir()))
    yield
    if folder is not None and first:
        with suppress(StateError, OSError):  # the state is written, which is what matters
            atomic.write(folder / ".gitignore", _IGNORE_ALL)


def end_out_of_git(folder: Path) -> None:
    """Remove the `.gitignore` of a folder of private state that holds no other file."""
    ignore = folder / ".gitignore"
    if [each for each in folder.rglob("*") if not each.is_dir()] == [ignore] and ignore.read_bytes() == _IGNORE_ALL:
        ignore.unlink()


def _readable(project: Records, path: Path) -> StateFile:
    """Return a state file. One that can't be read and has no version is watched for a moment first."""
    try:
        return read(project, path)
    except (MissingError, SchemaMismatch, LargeError):
        raise
    except StateError:
        return _watched(project, path)


def _watched(project: Records, path: Path) -> StateFile:
    """Return a file once it is valid, or broken and no longer changing: an editor may be in the middle of saving it.

    An editor that empties a file before filling it can be caught in between. Raises as `read` does, and StateError if
    somebody keeps saving a broken file.
    """
    ends = time.monotonic() + _WATCH_LIMIT_S
    while time.monotonic() < ends:
        seen, still = _look(path), time.monotonic() + _STILL_S
        try:
            found = read(project, path)
        except (MissingError, SchemaMismatch):
            raise
        except StateError:
            found = None
        if found is not None and not found.broken:
            return found
        while seen == _look(path):
            if time.time() - _mtime(path) >= _RECENT_S or time.monotonic() >= still:
                return found or read(project, path)
            time.sleep(_PAUSE_S)
    raise StateError(path, "is broken, and somebody is saving it over and over; try again when they have finished")


def _look(path: Path) -> tuple[int, int, int] | None:
    """Return a file's stamp, which every save changes: inode, size, mtime in nanoseconds; None without a file."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _write_over_broken(
    project: Records, path: Path, before: StateFile, put: Callable[[bytes], Document]
) -> tuple[Document, Path]:
    """Copy a broken file's content aside and write over the file; return the new document and the copy's path.

    `put` does the writing. It gets the bytes that must still be in the file.
    """
    now = _watched(project, path)
    if now.present != before.present:
        raise ChangedError(path, "was saved by somebody else meanwhile; try again")
    if now.present is None or _is_json(path, now.present):
        raise SchemaMismatch(path, f"{now.broken}, so it is not overwritten; move it away first")
    aside = document.copy_aside(path, now.present)
    try:
        written = put(now.present)
    except StateError:
        atomic.remove(aside)
        raise
    log.write("warning", f"{path}: {before.broken}; its content was set aside as {aside.name}")
    return written, aside


def _is_json(path: Path, raw: bytes) -> bool:
    """Return whether a file that is no state is valid JSON: then it is another tool's, and not broken."""
    try:
        document.parse(path, raw, 0.0)
    except SchemaMismatch:
        return True
    except StateError:
        return False
    return True


def recovered(project: Records, path: Path, error: StateError, present: bytes | None = None) -> StateFile:
    """Return the last version of a state file that can't be read. Raises the error if there is none."""
    try:
        raw = project.latest(path, LIMIT_BYTES)
        kept = document.parse(path, raw, _mtime(path)) if raw else None
    except (LedgerError, StateError):
        raise error from None
    if kept is None:
        raise error
    return StateFile(kept, error.reason, present)


def _mtime(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
