"""Sessions of the `wfs` format on disk: their state files, and the markers that make one of them active."""

from __future__ import annotations

import copy
import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError, TransitionError, command_line
from holdfast.files import atomic
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, paths, schema, tree
from holdfast.workflow import statefile, statuses
from holdfast.workflow.wording import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

Standing = Literal["active", "paused", "completed"]
_TELLING = ("session_id", "current_phase", "progress")  # a session's file has at least one of these keys
_TOPICS = ("project", "topic", "title", "description")  # where real sessions say what they are about


@dataclass(frozen=True, slots=True)
class Session:
    """A session as in its state file.

    Attributes:
        name: its folder's name.
        folder: its folder.
        file: its state file.
        topic: what it is about.
        kind: its type: simple, medium, complex, or what somebody wrote.
        phase: PLAN, IMPLEMENT or REVIEW, or what somebody wrote.
        raw_status: its status as written.
        marked: whether a marker names it as active.
    """

    name: str
    folder: Path
    file: StateFile
    topic: str
    kind: str
    phase: str
    raw_status: str
    marked: bool

    @property
    def standing(self) -> Standing:
        """Its status: `completed` if its file says so, else the marker decides (R002-04, I002-14)."""
        if self.raw_status.casefold() == "archived" or statuses.pure(self.raw_status) == "completed":
            return "completed"
        return "active" if self.marked else "paused"

    @property
    def marker_mismatch(self) -> str:
        """How marker and status differ, in a sentence; empty if they don't."""
        if self.standing == "completed":
            return f"its status is {self.raw_status}, but it is marked as active" if self.marked else ""
        if self.marked and self.raw_status != "active":
            return f"it is marked as active, but its status is {self.raw_status or 'missing'}; the marker counts"
        if not self.marked and self.raw_status != "paused":
            return f"its status is {self.raw_status or 'missing'}, but no marker names it, so it is paused"
        return ""

    def ensure_open(self) -> None:
        """Raise TransitionError if the session is completed, so that a late change doesn't revive it."""
        if self.standing == "completed":
            reopen = command_line("reopen", "--workflow", self.name)
            raise TransitionError(f"{self.name} is completed; `{reopen}` opens it again with its last task")


def new_state(name: str, topic: str, kind: str) -> dict[str, Any]:
    """Return the state of a new session, with exactly the schema's keys (R002-08, R002-09).

    Args:
        name: the session's name.
        topic: what it is about, verbatim.
        kind: simple, medium or complex.
    """
    return {
        "session_id": name,
        "project": topic,
        "type": kind,
        "current_phase": schema.PHASES[0],
        "status": "active",
        "progress": {"completed_phases": [], "current_tasks": []},
    }


def load(project: Records, folder: Path, *, marked: bool) -> Session:
    """Read the session in a folder. If it is marked and its state file is gone, that counts as broken.

    Args:
        project: the project.
        folder: the session's folder.
        marked: whether a marker names it as active.

    Raises:
        MissingError: it has no state file, and no version of it is known if it is marked.
        SchemaMismatch: the file belongs to another tool.
        StateError: it is broken, and no version of it is known.
    """
    path = paths.state(folder)
    try:
        file = statefile.read(project, path)
    except MissingError as error:
        if not marked:
            raise
        file = statefile.recovered(project, path, error)
    return view(file, folder, marked=marked)


def view(file: StateFile, folder: Path, *, marked: bool) -> Session:
    """Return the session in a state file. Raises SchemaMismatch."""
    if not is_session(file.data):
        raise SchemaMismatch(file.path, f"has none of {', '.join(_TELLING)}, so it isn't a session of a workflow")
    content = schema.read(schema.SessionFile, file.data)
    topics = (text for name in _TOPICS if isinstance(text := file.data.get(name), str) and text.strip())
    return Session(
        name=folder.name,
        folder=folder,
        file=file,
        topic=next(topics, folder.name),
        kind=content.type.strip(),
        phase=content.current_phase.strip(),
        raw_status=content.status.strip(),
        marked=marked,
    )


def is_session(data: Mapping[str, Any]) -> bool:
    """Return whether a JSON object can be a session's state."""
    return any(name in data for name in _TELLING)


def is_completed(project: Records, folder: Path) -> bool:
    """Return whether the session in a folder is completed; False if it can't be read."""
    try:
        return load(project, folder, marked=False).standing == "completed"
    except StateError:
        return False


def get(project: Records, name: str) -> Session:
    """Return the session with a name, in any case; the prefix `WFS-` may be left out.

    Raises:
        HoldfastError: there is no session of this name.
        StateError: its state file can't be read.
    """
    wanted = name if name.upper().startswith(paths.PREFIX) else f"{paths.PREFIX}{name}"
    if not paths.exists(project, wanted):
        alike = [each.name for each in paths.folders(project) if each.name.casefold() == wanted.casefold()]
        wanted = alike[0] if len(alike) == 1 else wanted
    if not paths.exists(project, wanted):
        known = [each.name for each in paths.folders(project)]
        raise HoldfastError(missing(f"session {name!r} in {paths.TOP}/", known))
    return load(project, paths.top(project) / wanted, marked=wanted in marked(project))


def current(project: Records, name: str = "") -> Session:
    """Return the named session, else the one that is marked as active.

    Raises:
        HoldfastError: none is marked, or several are (R002-05).
        StateError: its state file can't be read.
    """
    if name:
        return get(project, name)
    names = active(project)
    if len(names) == 1:
        return get(project, names[0])
    how = "add --session NAME, or make one active with `holdfast claim NAME`"
    if not names:
        how = '`holdfast start "TOPIC" --format wfs` starts one, `holdfast claim NAME` makes one active'
    raise HoldfastError(f"{detected(names)}; {how}")


def marked(project: Records) -> list[str]:
    """Return the marked names in alphabetical order, including those without a folder.

    A name is the marker's file name without `.active-` (R002-06). Only direct children of `.workflow/` count (I002-12),
    and what a marker holds says nothing (R002-04).
    """
    with suppress(OSError), os.scandir(paths.top(project)) as entries:
        markers = (entry.name for entry in entries if entry.name.startswith(paths.MARKER))
        return sorted(name.removeprefix(paths.MARKER) for name in markers if name != paths.MARKER)
    return []


def active(project: Records) -> list[str]:
    """Return the marked names whose sessions aren't completed, including those without a folder."""
    top = paths.top(project)
    return [each for each in marked(project) if not (paths.exists(project, each) and is_completed(project, top / each))]


def newest_first(project: Records, names: Sequence[str]) -> list[str]:
    """Return marked names, the last marked first; of the same moment, the last in the alphabet first (I002-11)."""

    def moment(name: str) -> int:
        try:
            return paths.marker(project, name).lstat().st_mtime_ns
        except OSError:
            return 0

    return sorted(names, key=lambda name: (moment(name), name), reverse=True)


def detected(names: Sequence[str]) -> str:
    """Describe the active sessions in the document's own words (R002-05)."""
    if not names:
        return "No active session"
    if len(names) == 1:
        return f"Active session: {names[0]}"
    lines = "\n".join(f"  - {name}" for name in names)
    return f"Multiple active sessions found:\n{lines}\nPlease specify which session to work with"


def create(
    project: Records, topic: str, kind: str = "", *, fill: Callable[[Session], object] = lambda session: None
) -> Session:
    """Create a session with the minimum it needs (R002-02, R002-09) and mark it as the active one (R002-07).

    Its list is written from the start (I002-3). A name is taken if a session in `active/` or `archives/` has it
    (R002-12). If anything fails, nothing of it stays, and the active session stays active.

    Args:
        project: the project.
        topic: what it is about.
        kind: simple, medium or complex; simple by default, since it has no tasks yet.
        fill: adds its first content, before it is marked.

    Raises:
        StateError: it can't be written.
    """
    top = paths.top(project)
    statefile.guard(project.root, top / "x")
    with locked(top):
        there = {each.name.casefold() for each in (*top.iterdir(), *paths.elsewhere(project))}
        name = paths.new_name(topic, there)
        folder = top / name
        with _removed_on_failure(project, folder):
            (folder / paths.TASKS).mkdir(parents=True)
            atomic.write(folder / paths.PLAN, paths.PLAN_TEXT.encode())
            atomic.write(folder / paths.LIST, paths.LIST_TEXT.encode())
            data = new_state(name, topic, kind or choice.COMPLEXITIES[0])
            file = statefile.write(project, paths.state(folder), data, None, why="wfs start")
            fill(view(file, folder, marked=False))
            return _activate(project, load(project, folder, marked=False), "")


def activate(project: Records, name: str) -> Session:
    """Make a session active, in its marker and its state, and pause the one that was (R002-07, I002-13, I002-14).

    A completed session is opened again. Raises HoldfastError, StateError.
    """
    with _unchanged(project, name) as session:
        if session.standing == "active" and session.raw_status == "active" and marked(project) == [session.name]:
            return session
        return _activate(project, session, "resumed_at")


def pause(project: Records, name: str) -> Session:
    """Remove a session's marker and set its status to paused (I002-13). Raises HoldfastError, StateError."""
    with _unchanged(project, name) as session:
        session.ensure_open()
        file = _write_status(project, session, "paused", "paused_at", why="cancel")
        unmark(project, session.name)
        return view(file, session.folder, marked=False)


def complete(project: Records, name: str) -> Session:
    """End a session: its marker is removed, its status is completed, and nothing in it is written any more (I002-13).

    Tasks that are left stay as they are. Raises HoldfastError, StateError.
    """
    with _unchanged(project, name) as session:
        if session.standing == "completed" and not session.marked:
            return session
        tasks = tree.read(project, session.folder)
        phases = schema.PHASES if tasks.finished else None
        file = _write_status(project, session, "completed", "completed_at", phases=phases)
        unmark(project, session.name)
        return view(file, session.folder, marked=False)


def unmark(project: Records, name: str) -> None:
    """Remove a session's marker. Raises StateError."""
    path = paths.marker(project, name)
    statefile.guard(project.root, path.parent)
    atomic.remove(path)


@contextmanager
def _removed_on_failure(project: Records, folder: Path) -> Iterator[None]:
    """Remove a new session's folder and marker if the block fails. Raises StateError for an OSError."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(StateError):
            unmark(project, folder.name)
        if isinstance(error, OSError):
            raise StateError(folder, f"cannot be made: {error.strerror or error}") from error
        raise


@contextmanager
def _unchanged(project: Records, name: str) -> Iterator[Session]:
    """Yield a session while the locks keep others from changing its tasks or the markers."""
    folder = get(project, name).folder
    with locked(paths.top(project)), locked(folder):
        yield get(project, folder.name)


def _activate(project: Records, session: Session, moment: str) -> Session:
    """Mark one session and no other (R002-07).

    The new marker is made before the others are removed. If this process is killed in between, the newest counts.
    """
    file, path = _write_status(project, session, "active", moment), paths.marker(project, session.name)
    statefile.guard(project.root, path)
    atomic.write(path, b"")  # first what can fail on a full disk, then pause the others
    others = [name for name in marked(project) if name != session.name]
    for name in others:
        with suppress(HoldfastError), _unchanged(project, name) as other:
            if other.standing == "active":
                _write_status(project, other, "paused", "paused_at")
    for name in others:
        unmark(project, name)
    return view(file, session.folder, marked=True)


def _write_status(
    project: Records,
    session: Session,
    status: str,
    moment: str = "",
    *,
    phases: Sequence[str] | None = None,
    why: str = "",
) -> StateFile:
    """Write a session's status and when it changed, under its lock. Raises StateError."""

    def apply(file: StateFile) -> dict[str, Any]:
        data = copy.deepcopy(file.data)
        if data.get("status") == status and phases is None:
            return data
        data["status"] = status
        if status != "completed":
            data.pop("completed_at", None)
        if moment:
            data[moment] = clock.stamp()
        if phases is not None and isinstance(data.get("progress"), dict):
            passed = schema.read(schema.SessionFile, data).progress.completed_phases
            data["progress"]["completed_phases"] = [*passed, *(each for each in phases if each not in passed)]
            data["progress"]["current_tasks"] = []
        return data

    return statefile.rewrite(project, paths.state(session.folder), apply, why=why or f"wfs {status}")[0]
