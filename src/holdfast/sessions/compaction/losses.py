"""Loss reports: how much of a workflow a compaction's own summary kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.files.redact import MASK, redact
from holdfast.memory.store import new_id
from holdfast.sessions.history import timeline_event
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow import facts
from holdfast.workflow.facts import Fact
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.project import OpenProject
    from holdfast.sessions.history.timeline_event import Asked
    from holdfast.workflow.model import Workflow

SHORTEST_CHARS = 4  # shorter values are in a text by chance
KEPT = 500  # reports per project; the oldest go


@dataclass(frozen=True, slots=True)
class Loss:
    """What the summary of one compaction kept of a workflow.

    Attributes:
        session: the session that was compacted.
        workflow: the workflow's key.
        title: its title.
        counts: by kind (`workflow`, `phases`, `reading`, `reminders`, `context`): how many facts the summary has word
            for word, and how many there are. Values of fewer than `SHORTEST_CHARS` characters aren't counted.
        noted_at: UTC stamp.
    """

    session: str
    workflow: str
    title: str
    counts: Mapping[str, tuple[int, int]]
    noted_at: str

    @property
    def kept(self) -> int:
        """How many facts the summary has."""
        return sum(kept for kept, _ in self.counts.values())

    @property
    def total(self) -> int:
        """How many facts there are."""
        return sum(total for _, total in self.counts.values())


def compare(workflow: Workflow, summary: str) -> dict[str, tuple[int, int]]:
    """Return, by kind, how many of a workflow's facts a summary has word for word, and their total (`Loss.counts`)."""
    return {kind: (sum(has for _, has in found), len(found)) for kind, found in _compared(workflow, summary)}


def _compared(workflow: Workflow, summary: str) -> Iterator[tuple[str, list[tuple[Fact, bool]]]]:
    """Yield each kind that has facts, with pairs of a fact and whether the summary has it."""
    said = " ".join(summary.split())
    masked = MASK in said  # secrets are masked in a summary that was stored in the ledger
    found = {
        "workflow": [Fact(workflow.title), Fact(workflow.phase)],
        "phases": [Fact(each.title) for each in workflow.phases if each.title != workflow.phase],
        "reading": [Fact(entry.removeprefix("@")) for entry in workflow.reading],
        "reminders": [Fact(text) for text in workflow.reminders],
        "context": facts.context(workflow).facts,
    }
    for kind, all_of in found.items():
        told = [(fact, " ".join((redact(fact.value) if masked else fact.value).split())) for fact in all_of]
        told = [(fact, value) for fact, value in told if len(value) >= SHORTEST_CHARS]
        if told:
            yield kind, [(fact, value in said) for fact, value in told]


def note(project: OpenProject, session: str, workflow: Workflow, summary: str) -> None:
    """Store the loss report of a compaction, given its summary."""
    with project.ledger.transaction():
        project.ledger.run(
            "INSERT INTO losses (id, project, worktree, host, client, session, workflow, title, counts, noted_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(new_id(), project.key, project.worktree, project.host, project.client.NAME, session),
            *(workflow.key, redact(clean(workflow.title)), json.dumps(compare(workflow, summary)), clock.stamp()),
        )
        project.ledger.prune(project.key, "losses", "noted_at", KEPT)


def recent(project: OpenProject, count: int, session: str | None = None) -> list[Loss]:
    """Return up to `count` reports, of one session or of all, newest first."""
    of, asked = ("", ()) if session is None else (" AND session = ?", (session,))
    rows = project.ledger.rows(
        f"SELECT session, workflow, title, counts, noted_at FROM losses WHERE project = ?{of}"
        " ORDER BY noted_at DESC, id LIMIT ?",
        *(project.key, *asked, count),
    )
    return [_read(row) for row in rows]


def happened(project: OpenProject, asked: Asked) -> list[TimelineEvent]:
    """Return the loss reports that are asked for."""
    found = []
    for row in timeline_event.newest(project, asked, table="losses", at="noted_at"):
        loss = _read(row)
        found.append(
            TimelineEvent(
                *(loss.noted_at, "loss", "summary compared", loss.session, loss.workflow, loss.title),
                detail=f"the client's summary had {loss.kept} of {loss.total} facts word for word",
                worktree=row["worktree"],
                data={"kept": loss.kept, "total": loss.total, "counts": loss.counts},
            )
        )
    return found


def _read(row: Mapping[str, Any]) -> Loss:
    counts = {kind: tuple(pair) for kind, pair in json.loads(row["counts"]).items()}
    return Loss(row["session"], row["workflow"], row["title"], counts, row["noted_at"])
