"""The overview of one workflow: what its file says, and what the ledger knows about it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files import document
from holdfast.files.redact import redact_value
from holdfast.formats import RECORDS
from holdfast.sessions import compactions, contents, conversations, owners, phases
from holdfast.workflow import facts, places, todos, views
from holdfast.workflow.outside_reading import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from holdfast.project import OpenProject
    from holdfast.sessions.compactions import CompactionReport
    from holdfast.sessions.phases import History
    from holdfast.workflow.model import Found, Problem, Workflow


@dataclass(frozen=True, slots=True)
class Save:
    """The last time that a workflow's content was saved.

    Attributes:
        at: UTC stamp.
        trigger: the trigger of the PreCompact that saved it (`auto`, `manual`); empty if a write did.
        session: the session that was to be compacted; None if a write saved it.
        reason: why a write saved it; empty if a PreCompact did.
        current: whether the saved content is the file's present content.
    """

    at: str
    trigger: str = ""
    session: str | None = None
    reason: str = ""
    current: bool = True


@dataclass(frozen=True, slots=True)
class Restore:
    """When and in which session a workflow was last restored, and when PreCompact fired before (None: it never did)."""

    at: str
    session: str
    saved_at: str | None


@dataclass(frozen=True, slots=True)
class Session:
    """The session that owns a workflow: whether it is live, and its last event (UTC stamp, empty if never seen)."""

    id: str
    live: bool
    last_seen: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything that is known about a workflow.

    Attributes:
        workflow: the workflow as in its file.
        absent: its required readings that don't exist ("missing") or that are outside the project (`OUTSIDE`).
        archived: whether its file is gone, or holds another workflow by now.
        moved: where its file was moved when it ended, None if it wasn't.
        problems: what is wrong with its own files.
        at: when this was gathered; running times count up to then.
        history: when its phases ran.
        last_save: the last time its content was saved, None if never.
        last_restore: the last time it was restored, None if never.
        owner: the session that owns it, None for none.
    """

    workflow: Workflow
    absent: Mapping[str, str]
    archived: bool
    moved: Path | None
    problems: tuple[Problem, ...]
    at: datetime
    history: History
    last_save: Save | None
    last_restore: Restore | None
    owner: Session | None

    @property
    def place(self) -> str:
        """The path of its file now: relative to the root, or absolute if it is outside."""
        return replace(self.workflow, path=self.moved).place if self.moved else self.workflow.place


def gather(project: OpenProject, workflow: Workflow, found: Found) -> Overview:
    """Return the overview of a workflow that was found in the project, or in the archive. Never writes.

    Raises LedgerError.
    """
    presence = facts.presence(project.root)
    own = (workflow.path, places.extras(project.root, workflow.path))
    owner, live = owners.owner(project, workflow), conversations.live_others(project, "")
    listed = conversations.every(project)
    names, last_seen = {row.id: row.session for row in listed}, {row.id: row.last_seen for row in listed}
    reports = compactions.naming(project, workflow.key)
    return Overview(
        workflow=workflow,
        absent={entry: state for entry in workflow.reading if (state := presence(entry))},
        archived=workflow.key not in {each.key for each in found.workflows},
        moved=_moved(project, workflow),
        problems=tuple(each for each in found.problems if each.path in own),
        at=clock.now(),
        history=phases.of(project, workflow),
        last_save=_last_save(project, workflow, reports, names),
        last_restore=_last_restore(reports, names),
        owner=Session(names.get(owner, owner), owner in live, last_seen.get(owner, "")) if owner else None,
    )


def as_json(overview: Overview) -> dict[str, Any]:
    """Return an overview as JSON values, secrets masked: every key of `views.whole`, and what the ledger knows."""
    workflow, seen = overview.workflow, overview.history
    whole = views.whole(workflow)
    known = whole | {
        "path": str(overview.moved or workflow.path),
        "percent": workflow.percent,
        "phases": [phase | {"history": _phase_history(seen, phase["id"])} for phase in whole["phases"]],
        "history": {name: getattr(seen, name) for name in ("started_at", "ended_at", "seconds")},
        "todos": todos.todo_list(workflow),
        "last_save": overview.last_save and asdict(overview.last_save),
        "last_restore": overview.last_restore and asdict(overview.last_restore),
        "owner": overview.owner and overview.owner.id,
        "missing_reading": [entry for entry, state in overview.absent.items() if state != OUTSIDE],
        "outside_reading": [entry for entry, state in overview.absent.items() if state == OUTSIDE],
    }
    return dict(redact_value(known))


def _moved(project: OpenProject, workflow: Workflow) -> Path | None:
    """Return where a finished workflow's file is now, if the format moved it: same name, same content."""
    if not workflow.finished or workflow.path.exists():
        return None
    for pattern in RECORDS[workflow.format].VIEWS:
        path = project.root / pattern.replace("*.json", workflow.path.name)
        with suppress(StateError, OSError):
            if path.name == workflow.path.name and document.read(path, within=project.root)[0] == workflow.raw:
                return path
    return None


def _last_save(
    project: OpenProject, workflow: Workflow, reports: Sequence[CompactionReport], names: Mapping[str, str]
) -> Save | None:
    present = hashlib.sha256(workflow.raw).hexdigest()
    saves = [
        Save(
            each.announced_at,
            each.row.trigger,
            names.get(each.row.conversation, each.row.conversation),
            current=saved.digest == present,
        )
        for each in reports
        for saved in each.workflows
        if each.announced_at and saved.key == workflow.key
    ]
    versions = contents.list_versions(project, workflow.path)
    # The path may be used again by another workflow, so a version with this very content comes first.
    same = next((each for each in versions if each.digest == present), None)
    if last := same or next(iter(versions), None):
        saves.append(Save(last.at, reason=last.why, current=same is not None))
    return max(saves, key=lambda save: save.at, default=None)


def _last_restore(reports: Sequence[CompactionReport], names: Mapping[str, str]) -> Restore | None:
    restores = [
        Restore(each.came_at, names.get(each.row.restored_in, each.row.restored_in), each.announced_at)
        for each in reports
        if each.came_at and not each.not_restored
    ]
    return max(restores, key=lambda restore: restore.at, default=None)


def _phase_history(history: History, phase: str) -> dict[str, Any] | None:
    each = history.phases.get(phase)
    return {name: value for name, value in asdict(each).items() if name != "phase"} if each else None
