"""What a task file of the `wfs` format says in short: all that other tasks, lists and sessions need of it."""

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
    "dropped": "blocked",  # it is not done, and nobody goes on with it by himself
}


class Brief(NamedTuple):
    """A task in short.

    Attributes:
        name: the name of its file without `.json`.
        id: what the file says its id is; the file's name where it says none.
        title: its title.
        status: what its status means; a container's own, which says nothing, is pending.
        said: its status as it is written.
        kind: `meta.type`.
        agent: `meta.agent`.
        parent: `context.parent`, or what its id says where the file says none.
        depends_on: the ids it depends on.
    """

    name: str
    id: str
    title: str
    status: Status
    said: str
    kind: str
    agent: str
    parent: str
    depends_on: tuple[str, ...]

    @property
    def key(self) -> Key | None:
        """What its id means; None where it is none."""
        return ids.key(self.id)

    @property
    def is_container(self) -> bool:
        """Whether it is written down as one; a task with subtasks is one anyhow."""
        return self.said == "container"


def of(name: str, data: Mapping[str, Any]) -> Brief:
    """Return what a task file says in short, whatever stands in it.

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
        title=" ".join(values.text(data.get("title")).split()) or id_,
        status=meaning(said),
        said=said,
        kind=values.text(meta.get("type")).strip(),
        agent=values.text(meta.get("agent")).strip(),
        parent=values.text(context.get("parent")).strip() or ids.parent(id_),
        depends_on=values.texts(context.get("depends_on"), "context.depends_on", []),
    )


def meaning(said: str) -> Status:
    """Return what a task's status means; of one that nobody knows nothing is done (R002-16)."""
    word = said.casefold()
    return _KNOWN.get(word) or _MEANT.get(statuses.pure(said) or "", "pending")
