"""The brief of a `wfs` task file: what other tasks, lists and sessions need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.formats.wfs import ids
from holdfast.workflow import statuses, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.formats.wfs.ids import Key
    from holdfast.workflow.model import Status

STATUSES = ("pending", "active", "completed", "blocked", "container")
"""The statuses a task can have (R002-16)."""

_KNOWN: dict[str, Status] = {
    "pending": "pending",
    "active": "active",
    "completed": "completed",
    "blocked": "blocked",
    "container": "pending",
}
_MEANT: dict[str, Status] = {
    "in_progress": "active",
    "active": "active",
    "not_started": "pending",
    "blocked": "blocked",
    "completed": "completed",
    "dropped": "blocked",  # it isn't done, and nobody goes on with it unasked
}


class Brief(NamedTuple):
    """A task in short.

    Attributes:
        name: the name of its file without `.json`.
        id: the id in the file; without one, the file's name.
        title: its title, on one line.
        status: the meaning of its status; `pending` for a container, whose own status says nothing.
        raw_status: its status as written.
        kind: `meta.type`.
        agent: `meta.agent`.
        parent: `context.parent`, empty for none. It is what the file says; `Board.parent_id` decides.
        depends_on: the ids it depends on.
    """

    name: str
    id: str
    title: str
    status: Status
    raw_status: str
    kind: str
    agent: str
    parent: str
    depends_on: tuple[str, ...]

    @property
    def key(self) -> Key | None:
        """The key of its id; None for an invalid id."""
        return ids.key(self.id)

    @property
    def is_container(self) -> bool:
        """Whether its file calls it one; a task with subtasks is one anyway (`Board.is_container`)."""
        return self.raw_status == "container"


def of(name: str, data: Mapping[str, Any]) -> Brief:
    """Return the brief of a task file, whatever the file holds.

    Args:
        name: the file's name without `.json`.
        data: the JSON object in it.
    """
    meta, context = (values.members(data.get(part)) for part in ("meta", "context"))
    said = values.text(data.get("status")).strip()
    id_ = values.text(data.get("id")).strip() or name
    return Brief(
        name=name,
        id=id_,
        title=" ".join((values.text(data.get("title")).strip() or id_).split()),
        status=meaning(said),
        raw_status=said,
        kind=values.text(meta.get("type")).strip(),
        agent=values.text(meta.get("agent")).strip(),
        parent=values.text(context.get("parent")).strip(),
        depends_on=values.texts(context.get("depends_on"), "context.depends_on", []),
    )


def meaning(said: str) -> Status:
    """Return the meaning of a task's status; an unknown one means pending (R002-16)."""
    word = said.casefold()
    return _KNOWN.get(word) or _MEANT.get(statuses.pure(said) or "", "pending")
