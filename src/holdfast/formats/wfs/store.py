"""Sessions of the `wfs` format on disk: find, create, activate, pause, resume and complete them."""

from __future__ import annotations

import copy
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, StateError, TransitionError
from holdfast.files import atomic
from holdfast.files.lock import locked
from holdfast.formats.wfs import choice, index, markers, names, places
from holdfast.formats.wfs import session as sessions
from holdfast.workflow import statefile
from holdfast.workflow.wording import count, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.formats.wfs.session import Session
    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile


def folders(project: Records) -> list[Path]:
    """Return the folders of all sessions, by name."""
    return [each for each in places.inside(places.top(project)) if places.is_name(each.name)]


def get(project: Records, name: str) -> Session:
    """Return the session with a name, in any case; the prefix `WFS-` may be left out.

    Raises:
        HoldfastError: there is no session of this name.
        StateError: its state file can't be read.
    """
    wanted = name if name.upper().startswith(names.PREFIX) else f"{names.PREFIX}{name}"
    if not places.has(project, wanted):
        alike = [each.name for each in folders(project) if each.name.casefold() == wanted.casefold()]
        wanted = alike[0] if len(alike) == 1 else wanted
    folder = places.top(project) / wanted
    if not places.has(project, wanted):
        if there := [each for each in places.elsewhere(project) if each.name == wanted]:
            raise HoldfastError(
                f"{places.inner(project, there[0])} isn't read, because Holdfast works on sessions directly in "
                f"{places.TOP}/ only; to work on it, run `{places.moving(there[0])}`"
            )
        known = [each.name for each in folders(project)]
        raise HoldfastError(missing(f"session {name!r} in {places.TOP}/", known))
    return sessions.load(project, folder, marked=wanted in markers.active(project))


def current(project: Records, name: str | None = None) -> Session:
    """Return the named session, else the one that is marked as active.

    Raises:
        HoldfastError: none is marked, or several are (R002-05).
        StateError: its state file can't be read.
    """
    if name:
        return get(project, name)
    marked = sessions.active(project)
    if len(marked) == 1:
        return get(project, marked[0])
    how = (
        "`holdfast wfs start TOPIC` starts one, `holdfast wfs switch NAME` makes one active"
        if not marked
        else "add --session NAME, or make one active with `holdfast wfs switch NAME`"
    )
    raise HoldfastError(f"{markers.detected(marked)}; {how}")


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
        HoldfastError: the topic is blank.
        StateError: it can't be written.
    """
    if not topic.strip():
        raise HoldfastError("a session needs a topic")
    top = places.top(project)
    statefile.guard(project.root, top / "x")
    if os.path.lexists(top) and not top.is_dir():
        raise StateError(top, "isn't a folder, so no session can be kept in it; move it away")
    with locked(top):
        there = {each.name.casefold() for each in (*top.iterdir(), *places.elsewhere(project))}
        name = names.session(topic, lambda each: each.casefold() in there)
        folder = top / name
        with _whole(project, folder):
            (folder / places.TASKS).mkdir(parents=True)
            atomic.write(folder / places.PLAN, places.PLAN_TEXT.encode())
            atomic.write(folder / places.LIST, places.LIST_TEXT.encode())
            data = sessions.fresh(name, topic, kind or choice.COMPLEXITIES[0])
            file = statefile.write(project, places.state(folder), data, None, why="wfs start")
            fill(sessions.view(file, folder, marked=False))
            return _activate(project, sessions.load(project, folder, marked=False), "")


@contextmanager
def _whole(project: Records, folder: Path) -> Iterator[None]:
    """Remove a new session's folder and marker if the block fails. Raises StateError for an OSError."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(StateError):
            markers.take(project, folder.name)
        if isinstance(error, OSError):
            raise StateError(folder, f"cannot be made: {error.strerror or error}") from error
        raise


def switch(project: Records, name: str) -> Session:
    """Make a session active, in its marker and its state (R002-07, I002-14). Raises HoldfastError, StateError."""
    with _standing(project, name) as session:
        session.must_be_open("holdfast wfs resume opens it again")
        return _activate(project, session, "resumed_at" if session.raw_status == "paused" else "")


def pause(project: Records, name: str, *, why: str = "wfs paused") -> Session:
    """Remove a session's marker and set its status to paused (I002-13).

    `why` is what the generation is called. Raises HoldfastError, StateError.
    """
    with _standing(project, name) as session:
        session.must_be_open("there is nothing to pause")
        changed = _say(project, session, "paused", "paused_at", why=why)
        markers.take(project, session.name)
        return sessions.view(changed, session.folder, marked=False)


def resume(project: Records, name: str) -> Session:
    """Go on with a paused or completed session; another marked one is paused (I002-13).

    Raises HoldfastError, StateError.
    """
    with _standing(project, name) as session:
        return _activate(project, session, "resumed_at")


def complete(project: Records, name: str, *, anyway: bool = False) -> Session:
    """End a session: its marker is removed, its status is completed, and nothing in it is written any more (I002-13).

    Raises:
        TransitionError: tasks are left, and `anyway` is not set.
        StateError: it can't be written.
    """
    with _standing(project, name) as session:
        if session.standing == "completed" and not session.marked:
            return session
        board = index.board(project, session.folder)
        left = [each.id for each in board.leaves if each.status != "completed"]
        left += [f"{problem.path.name}, which cannot be read" for problem in board.problems]
        if left and not anyway:
            named = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")
            raise TransitionError(
                f"{count(len(left), 'task')} of {session.name} {'is' if len(left) == 1 else 'are'} not completed "
                f"({named}); add --anyway to complete the session as it is"
            )
        phases = sessions.PHASES if board.finished else None
        changed = _say(project, session, "completed", "completed_at", phases=phases)
        markers.take(project, session.name)
        return sessions.view(changed, session.folder, marked=False)


def say_standing(project: Records, name: str) -> None:
    """Set the status in a session's file by its marker (I002-14). Raises StateError."""
    with _standing(project, name) as session:
        _say(project, session, session.standing)


@contextmanager
def _standing(project: Records, name: str) -> Iterator[Session]:
    """Yield a session while the locks keep others from changing its tasks or the markers."""
    folder = get(project, name).folder
    with locked(places.top(project)), locked(folder):
        yield get(project, folder.name)


def _activate(project: Records, session: Session, moment: str) -> Session:
    changed = _say(project, session, "active", moment)
    markers.mark(project, session.name)  # first what can fail on a full disk, then pause the others
    for name in markers.active(project):
        if name != session.name:
            _pause(project, name)
    markers.put(project, session.name)
    return sessions.view(changed, session.folder, marked=True)


def _pause(project: Records, name: str) -> None:
    """Set the status of a session that loses its marker to paused, if it can be read."""
    with suppress(HoldfastError), _standing(project, name) as session:
        if session.standing == "active":
            _say(project, session, "paused", "paused_at")


def _say(
    project: Records,
    session: Session,
    status: str,
    moment: str = "",
    phases: tuple[str, ...] | None = None,
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
            done = sessions.completed_phases(data)
            data["progress"]["completed_phases"] = [*done, *(each for each in phases if each not in done)]
            data["progress"]["current_tasks"] = []
        return data

    return statefile.rewrite(project, places.state(session.folder), apply, why=why or f"wfs {status}")[0]
