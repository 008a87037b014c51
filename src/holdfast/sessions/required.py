"""Required reading: what a session has really read of it, and whether the model still has it in its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.sessions import owners, reads
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.memory.rows import Read
    from holdfast.sessions.hook import Context, Event
    from holdfast.sessions.reads import Look
    from holdfast.workflow.model import Workflow

Change = Literal["unchanged", "changed", "missing", "never read", "not checked", "outside the project"]


class RequiredFile(NamedTuple):
    """What is known of one required file.

    Attributes:
        entry: the workflow's entry, with its `@`.
        path: its path, links resolved: relative to the root, or absolute if it is outside.
        change: how it differs from what this session last read whole. `not checked` is a folder, a pattern, or a file
            that is too large or can't be read.
        in_context: whether it was read, or attached again by the client, since the last compaction.
        refused: whether a Read of it has failed since the last compaction.
    """

    entry: str
    path: str
    change: Change
    in_context: bool = False
    refused: bool = False

    @property
    def inside(self) -> bool:
        """Whether it is inside the project, links resolved."""
        return not self.path.startswith("/")

    @property
    def due(self) -> bool:
        """Whether it can be read and the model has not done so since the last compaction.

        A file that changed after it was read counts as read: the client itself tells the model about the change.
        """
        return self.change in ("unchanged", "changed", "never read") and not self.in_context

    @property
    def holds(self) -> bool:
        """Whether edits wait for it: it is due, not refused, and in the project (else a Read may not be permitted)."""
        return self.due and not self.refused and self.inside


def own_workflow(project: Workspace, conversation: str) -> Workflow | None:
    """Return the unfinished workflow that a conversation owns, of several the newest; its reading concerns it.

    It owns what it started or wrote, and what was restored into it. Another one's workflow asks nothing of it.
    """
    found = registry.owned(project, conversation)
    resumable = [each for each in found if each.resumable]
    holders = owners.holders(project, resumable)
    return next(iter(owners.by_rank(each for each in resumable if holders[each.key] == conversation)), None)


def states(project: Workspace, conversation: str, workflow: Workflow) -> dict[str, RequiredFile]:
    """Return, for each entry of a workflow's required reading, what a session has read of it.

    The session's transcript is searched too. With `reading = "off"`, every file that exists counts as never read.
    Raises LedgerError.
    """
    looks = dict(reads.looks(project, workflow.reading))
    rows: Mapping[str, Read] = {}
    if project.config.reading != "off" and looks:
        reads.settle(project, conversation, looks.values())
        rows = reads.rows(project, conversation)
    return {entry: _state(entry, look, rows.get(look.path)) for entry, look in looks.items()}


def files(known: Mapping[str, RequiredFile]) -> Callable[[str], str | None]:
    """Return a function that gives an entry's `change`, or None if the file was never read."""

    def word(entry: str) -> str | None:
        state = known.get(entry)
        return state.change if state and state.change != "never read" else None

    return word


def unread(event: Event, context: Context, workflow: Workflow) -> list[RequiredFile] | None:
    """Return the required reading of a workflow that the model has not read since the last compaction, in its order.

    None while that is unknown, because the transcript doesn't show yet what the client attached again. `event` is any
    event of the main conversation.
    """
    project, conversation = Workspace.at(event, context)
    if not reads.settle(project, conversation, ()):
        return None
    return [each for each in states(project, conversation, workflow).values() if each.due]


def reading_that_holds(event: Event, context: Context, workflow: Workflow, place: str = "") -> list[RequiredFile]:
    """Return the required reading that an edit of the file at `place` must wait for, empty if that is unknown.

    Edits don't wait for a file that is missing, outside the project, or whose Read failed. Edits of the required files
    themselves never wait. `event` is any event of the main conversation, `workflow` the one whose reading it is.
    """
    project, conversation = Workspace.at(event, context)
    required = states(project, conversation, workflow).values()
    edited = reads.name(project, place) if place else None
    return [] if edited in {each.path for each in required} else [each for each in required if each.holds]


def _state(entry: str, look: Look, row: Read | None) -> RequiredFile:
    if look.data is None:
        return RequiredFile(entry, look.path, look.absence)
    if row is None or not row.content:
        return RequiredFile(entry, look.path, "never read", refused=row is not None and row.refused)
    change: Change = "unchanged" if row.content == look.digest else "changed"
    return RequiredFile(entry, look.path, change, row.in_context, row.refused)
