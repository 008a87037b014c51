"""The loss report: what a compaction's own summary had kept of a workflow, and what it had lost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.state.ledger import new_id
from holdfast.survival import happenings
from holdfast.survival.happenings import Happening
from holdfast.workflow import facts
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.project import Project
    from holdfast.survival.happenings import Asked
    from holdfast.workflow.model import Workflow

SHORTEST = 4  # characters of a value whose being in a text says anything
KEPT = 500  # reports per project; the oldest go
TABLE = """
CREATE TABLE IF NOT EXISTS losses (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, worktree TEXT NOT NULL, host TEXT NOT NULL, client TEXT NOT NULL,
    session TEXT NOT NULL, workflow TEXT NOT NULL, title TEXT NOT NULL, counts TEXT NOT NULL, noted_at TEXT NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """What the summary of one compaction had of a workflow.

    Attributes:
        session: whose compaction.
        workflow: the workflow's key.
        title: its title.
        counts: by kind (`workflow`, `phases`, `reading`, `reminders`, `context`): how many facts the summary has word
            for word, and how many there are. What is too short to be told from chance is not counted.
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
    """Count, by kind, the facts of a workflow that a summary has word for word, and all of them (`Loss.counts`)."""
    said = " ".join(summary.split())
    values = {
        "workflow": [workflow.title, workflow.phase],
        "phases": [each.title for each in workflow.phases if each.title != workflow.phase],
        "reading": [entry.removeprefix("@") for entry in workflow.reading],
        "reminders": list(workflow.reminders),
        "context": [fact.value for fact in facts.context(workflow).facts],
    }
    counts: dict[str, tuple[int, int]] = {}
    for kind, all_of in values.items():
        told = [" ".join(value.split()) for value in all_of]
        told = [value for value in told if len(value) >= SHORTEST]
        if told:
            counts[kind] = sum(value in said for value in told), len(told)
    return counts


def note(project: Project, session: str, workflow: Workflow, summary: str) -> None:
    """Keep the report of a compaction whose summary is known."""
    project.ledger.ensure(TABLE)
    with project.ledger.transaction():
        project.ledger.run(
            "INSERT INTO losses (id, project, worktree, host, client, session, workflow, title, counts, noted_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(new_id(), project.key, project.worktree, project.host, project.client, session),
            *(workflow.key, clean(workflow.title), json.dumps(compare(workflow, summary)), clock.stamp()),
        )
        project.ledger.run(
            "DELETE FROM losses WHERE project = ? AND id NOT IN"
            " (SELECT id FROM losses WHERE project = ? ORDER BY noted_at DESC, id LIMIT ?)",
            *(project.key, project.key, KEPT),
        )


def recent(project: Project, count: int, session: str | None = None) -> list[Loss]:
    """Return the last reports, of one session or of all, newest first."""
    project.ledger.ensure(TABLE)
    rows = project.ledger.rows(
        "SELECT session, workflow, title, counts, noted_at FROM losses WHERE project = ? AND (session = ? OR ? IS NULL)"
        " ORDER BY noted_at DESC, id LIMIT ?",
        *(project.key, session, session, count),
    )
    return [
        Loss(**{**row, "counts": {kind: tuple(pair) for kind, pair in json.loads(row["counts"]).items()}})
        for row in rows
    ]


def happened(project: Project, asked: Asked) -> list[Happening]:
    """Return the reports that are asked for."""
    found = []
    for row in happenings.newest(project, asked, ddl=TABLE, table="losses", at="noted_at"):
        counts = {kind: tuple(pair) for kind, pair in json.loads(row["counts"]).items()}
        loss = Loss(row["session"], row["workflow"], row["title"], counts, row["noted_at"])
        found.append(
            Happening(
                *(loss.noted_at, "loss", "summary compared", loss.session, loss.workflow, loss.title),
                detail=f"the client's summary had {loss.kept} of {loss.total} facts word for word",
                worktree=row["worktree"],
                data={"kept": loss.kept, "total": loss.total, "counts": counts},
            )
        )
    return found
