"""Deliveries: each piece of guidance on its way to the model, and whether it has arrived."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.store import new_id
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow.wording import clean, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from holdfast.clients.client import Reached
    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.workflow.model import Workflow

    class Announced(Protocol):
        """The part of a compaction's snapshot that this module needs."""

        @property
        def transcript(self) -> str:
            """The path of the session's transcript."""

        @property
        def size(self) -> int:
            """The transcript's size at that moment, in bytes."""


State = Literal["pending", "delivered", "confirmed", "absent", "unconfirmed", "refused"]
KEPT = 500  # deliveries per project; the oldest go
NAMED = 20  # workflows of one refusal that are stored
ABANDONED = timedelta(minutes=1)  # after this, another process may take over a delivery that was proven absent
PATIENCE = timedelta(days=1)  # after this, nobody looks for a confirmation any more


@dataclass(frozen=True, slots=True)
class Delivery:
    """One piece of guidance.

    Attributes:
        id: unique across machines.
        session: the session that gets it.
        event: the event whose reply carries it.
        workflow: the key of the workflow it restores; empty for a trail.
        title: the workflow's title.
        mark: the guidance's digest, which is part of its text.
        units: its length in UTF-16 units.
        omitted: how many lines are only in the sidecar.
        step: the step of the order that decided (`arbitration.Verdict`).
        state: `pending` until the reply is written, then `delivered`; `confirmed` once the transcript holds it as
            context, `absent` once the transcript proves that it doesn't, `unconfirmed` if the transcript never showed
            either; `refused` if nothing was given, because another live session could own the workflow.
        made_at: UTC stamp.
        changed_at: when its state last changed, UTC stamp.
    """

    id: str
    session: str
    event: str
    workflow: str
    title: str
    mark: str
    units: int
    omitted: int
    step: int
    state: State
    made_at: str
    changed_at: str

    def repeats(self, prompt: str) -> bool:
        """Return whether it makes up for a lost one: it came with a prompt, not because a slash command asked for it.

        Args:
            prompt: the client's event of a prompt.
        """
        return self.event == prompt and bool(self.step or not self.workflow)


def begin(
    project: OpenProject,
    session: str,
    *,
    event: str,
    workflow: str,
    title: str,
    mark: str,
    units: int,
    omitted: int = 0,
    step: int = 0,
    transcript: str,
    snapshot: Announced | None = None,
) -> str:
    """Note that guidance is on its way, before the reply that holds it is written.

    An earlier delivery of this session that is still open is looked for one last time: from now on the transcript could
    hold the new one's words in place of its own. If the transcript shows nothing, it becomes `unconfirmed`.

    Args:
        project: the project.
        session: the session that gets it.
        event: the event whose reply carries it.
        workflow: the key of the workflow; empty for a trail.
        title: the workflow's title.
        mark: the guidance's digest.
        units: its length in UTF-16 units.
        omitted: how many lines are only in the sidecar.
        step: the step of the order that decided.
        transcript: the path of the session's transcript. The guidance is looked for from its present size on, or from
            the size in `snapshot` if possible: the client may end this process and write on before this call.
        snapshot: the snapshot of the compaction that this answers, if any.

    Returns:
        The delivery's id.
    """
    delivery, now = new_id(), clock.stamp()
    _look_again(project, session)
    with project.ledger.transaction():
        project.ledger.run(
            "UPDATE deliveries SET state = 'unconfirmed', changed_at = ?"
            " WHERE project = ? AND session = ? AND state IN ('pending', 'delivered')",
            *(now, project.key, session),
        )
        project.ledger.run(
            "INSERT INTO deliveries (id, project, worktree, host, client, session, event, workflow, title, mark, units,"
            " omitted, step, transcript, size, state, made_at, changed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
            *(delivery, project.key, project.worktree, project.host, project.client.NAME, session, event, workflow),
            *(
                redact(clean(title)),
                mark,
                units,
                omitted,
                step,
                transcript,
                _begins(project, transcript, snapshot),
                now,
                now,
            ),
        )
        project.ledger.prune(project.key, "deliveries", "made_at", KEPT)
    return delivery


def _look_again(project: OpenProject, session: str) -> None:
    """Note for a session's open deliveries what the transcript shows by now.

    Only prompts ask for it otherwise. The client may write after the last of them, and one turn may be compacted twice.
    """
    for row in project.ledger.rows(
        "SELECT * FROM deliveries WHERE project = ? AND session = ? AND state IN ('pending', 'delivered')",
        *(project.key, session),
    ):
        found = _reached(project, row)
        if found != "unknown":
            _move(project, row["id"], found, row["state"])


def _reached(project: OpenProject, row: dict[str, Any]) -> Reached:
    """Return what the transcript shows of a delivery, by entries since PreCompact announced its compaction."""
    announced = project.ledger.one(
        "SELECT MAX(sealed_at) AS at FROM seals WHERE project = ? AND claimed_by = ? AND claimed_at <= ?",
        *(project.key, row["session"], row["made_at"]),
    )
    after = (announced and announced["at"]) or ""
    return project.transcripts.reached(row["transcript"], row["mark"], row["size"], after)


def _begins(project: OpenProject, transcript: str, snapshot: Announced | None) -> int:
    """Return the byte of a transcript from which guidance that is on its way now is looked for."""
    size = project.transcripts.size(transcript)
    near = (
        snapshot is not None
        and snapshot.transcript == transcript
        and 0 <= size - snapshot.size <= project.transcripts.TAIL_BYTES // 2
    )
    return snapshot.size if snapshot and near else size


def refuse(project: OpenProject, session: str, *, event: str, workflows: Sequence[Workflow]) -> None:
    """Note that nothing was given because another live session could own the workflows; one row for each workflow.

    Args:
        project: the project.
        session: the session that got nothing.
        event: the event.
        workflows: the workflows that were refused.
    """
    now = clock.stamp()
    with project.ledger.transaction():
        for workflow in workflows[:NAMED]:
            project.ledger.run(
                "INSERT INTO deliveries (id, project, worktree, host, client, session, event, workflow, title, mark,"
                " units, transcript, size, state, made_at, changed_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, '', 0, 'refused', ?, ?)",
                *(new_id(), project.key, project.worktree, project.host, project.client.NAME, session, event),
                *(workflow.key, redact(clean(workflow.title)), now, now),
            )
        project.ledger.prune(project.key, "deliveries", "made_at", KEPT)


def written(project: OpenProject, delivery: str) -> None:
    """Note that the reply with a delivery was written."""
    _move(project, delivery, "delivered", "pending")


def settle(project: OpenProject, session: str) -> Delivery | None:
    """Check whether this session's last guidance has arrived.

    Returns:
        The delivery if the transcript proves its absence, else None. If several processes ask, one gets it. If that
        process is killed before it begins another delivery, the next one to ask after `ABANDONED` gets it.
    """
    row = next(iter(_newest(project, 1, session)), None)
    if row is None or row["state"] not in ("pending", "delivered", "absent"):
        return None
    if row["state"] == "absent":
        told_at = clock.parse(row["changed_at"])
        return _delivery(row) if told_at is None or clock.now() - told_at > ABANDONED else None
    found = _reached(project, row)
    if found == "unknown":
        made = clock.parse(row["made_at"])
        if made is not None and clock.now() - made > PATIENCE:
            _move(project, row["id"], "unconfirmed", row["state"])
        return None
    moved = _move(project, row["id"], found, row["state"])
    return _delivery(row | {"state": found}) if moved and found == "absent" else None


def let_go(project: OpenProject, delivery: str) -> None:
    """Note that an absent delivery is not given again: its workflow is finished by now, or another session's."""
    _move(project, delivery, "unconfirmed", "absent")


def answered(project: OpenProject, session: str, since: str) -> bool:
    """Return whether a session was given or refused anything since a moment (UTC stamp)."""
    row = project.ledger.one(
        "SELECT id FROM deliveries WHERE project = ? AND session = ? AND made_at >= ?", project.key, session, since
    )
    return row is not None


def recent(project: OpenProject, count: int, session: str | None = None) -> list[Delivery]:
    """Return up to `count` deliveries, of one session or of all, newest first."""
    return [_delivery(row) for row in _newest(project, count, session)]


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the events that are asked for: guidance given, given again or refused, and whether it arrived."""
    given = timeline_event.newest(project, asked, table="deliveries", at="made_at")
    ended = timeline_event.newest(
        *(project, asked),
        table="deliveries",
        at="changed_at",
        where="state IN ('confirmed', 'absent', 'unconfirmed')",
    )
    prompt = project.client.PROMPT_EVENT
    return [
        *(_happening(row, row["changed_at"], f"guidance {_ENDS[row['state']]}") for row in ended),
        *(_happening(row, row["made_at"], _what(row, prompt), _how(row)) for row in given),  # giving again comes last
    ]


_ENDS = {"confirmed": "confirmed", "absent": "never arrived", "unconfirmed": "was never confirmed"}


def _what(row: dict[str, Any], prompt: str) -> str:
    if row["state"] == "refused":
        return "restore refused"
    return "guidance given again" if _delivery(row).repeats(prompt) else "guidance given"


def _how(row: dict[str, Any]) -> str:
    if row["state"] == "refused":
        return "it could belong to another live session"
    lost = "; the reply was never written" if row["state"] == "pending" else ""
    rest = f", {count(row['omitted'], 'more line')} in the full version" if row["omitted"] else ""
    return f"{row['units']} characters with {row['event']}{rest}{lost}"


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a delivery's values with the keys that they have in `--json`."""
    names = {"units": "characters", "mark": "digest", "step": "decided_by"}
    return {names.get(name, name): value for name, value in values.items()}


def _happening(row: dict[str, Any], at: str, what: str, detail: str = "") -> TimelineEvent:
    return TimelineEvent(
        *(at, "delivery", what, row["session"], row["workflow"], row["title"]),
        detail=detail,
        worktree=row["worktree"],
        data=as_json({name: row[name] for name in ("state", "event", "units", "omitted", "step", "mark")}),
    )


def _newest(project: OpenProject, count: int, session: str | None) -> list[dict[str, Any]]:
    of, asked = ("", ()) if session is None else (" AND session = ?", (session,))
    return project.ledger.rows(
        f"SELECT * FROM deliveries WHERE project = ?{of} ORDER BY made_at DESC, id LIMIT ?",
        *(project.key, *asked, count),
    )


def _move(project: OpenProject, delivery: str, state: State, before: str) -> bool:
    changed = project.ledger.run(
        "UPDATE deliveries SET state = ?, changed_at = ? WHERE id = ? AND state = ?",
        *(state, clock.stamp(), delivery, before),
    )
    return changed == 1


def _delivery(row: dict[str, Any]) -> Delivery:
    return Delivery(**{each.name: row[each.name] for each in fields(Delivery)})
