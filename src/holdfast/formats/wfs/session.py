"""The state file of a session in the `wfs` format: `workflow-session.json` (R002-08)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast.errors import MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.formats.wfs import markers, places
from holdfast.workflow import statefile, values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

Standing = Literal["active", "paused", "completed"]
PHASES = ("PLAN", "IMPLEMENT", "REVIEW")
"""The phases a session goes through, in their order (R002-46)."""

_TELLING = ("session_id", "current_phase", "progress")  # a session's file has at least one of these keys
_OVER = frozenset(("completed", "complete", "done", "finished", "archived"))


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
        if self.raw_status.casefold() in _OVER:
            return "completed"
        return "active" if self.marked else "paused"

    @property
    def drift(self) -> str:
        """How marker and status differ, in a sentence; empty if they don't."""
        if self.standing == "completed":
            return f"its status is {self.raw_status}, but it is marked as active" if self.marked else ""
        if self.marked and self.raw_status != "active":
            return f"it is marked as active, but its status is {self.raw_status or 'missing'}; the marker counts"
        if not self.marked and self.raw_status != "paused":
            return f"its status is {self.raw_status or 'missing'}, but no marker names it, so it is paused"
        return ""

    def must_be_open(self, remedy: str) -> None:
        """Raise TransitionError with a remedy if the session is completed."""
        if self.standing == "completed":
            raise TransitionError(f"{self.name} is completed; {remedy}")


def fresh(name: str, topic: str, kind: str) -> dict[str, Any]:
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
        "current_phase": PHASES[0],
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
        MissingError: it has no state file, and no generation of it is known if it is marked.
        SchemaMismatch: the file belongs to another tool.
        StateError: it is broken, and no generation of it is known.
    """
    path = places.state(folder)
    try:
        file = statefile.read(project, path)
    except MissingError as error:
        if not marked:
            raise
        file = statefile.recovered(project, path, error)
    return view(file, folder, marked=marked)


def active(project: Records) -> list[str]:
    """Return the names that are marked as active, in alphabetical order, including those without a folder.

    A completed session is never active, even if a marker names it.
    """
    top = places.top(project)
    return [
        each for each in markers.active(project) if not (places.has(project, each) and is_over(project, top / each))
    ]


def is_over(project: Records, folder: Path) -> bool:
    """Return whether the session in a folder is completed; False if it can't be read."""
    try:
        return load(project, folder, marked=False).standing == "completed"
    except StateError:
        return False


def view(file: StateFile, folder: Path, *, marked: bool) -> Session:
    """Return the session in a state file. Raises SchemaMismatch."""
    data = file.data
    if not is_session(data):
        raise SchemaMismatch(file.path, f"has none of {', '.join(_TELLING)}, so it isn't a session of a workflow")
    name = folder.name
    return Session(
        name=name,
        folder=folder,
        file=file,
        topic=_topic(data) or name,
        kind=values.text(data.get("type")).strip(),
        phase=values.text(data.get("current_phase")).strip(),
        raw_status=values.text(data.get("status")).strip(),
        marked=marked,
    )


def is_session(data: Mapping[str, Any]) -> bool:
    """Return whether a JSON object can be a session's state."""
    return any(name in data for name in _TELLING)


def completed_phases(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the phases that a session has completed."""
    progress = data.get("progress")
    return values.texts(progress.get("completed_phases") if isinstance(progress, dict) else None, "", [])


def _topic(data: Mapping[str, Any]) -> str:
    """Return a session's topic, which real sessions may have under other keys."""
    named = (values.text(data.get(name)) for name in ("project", "topic", "title", "description"))
    return next((text for text in named if text.strip()), "")
