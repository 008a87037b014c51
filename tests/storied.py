"""Hand-made reports of one day in one project, to test how a page shows rare things."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.memory.rows import Compaction, Delivery
from holdfast.report.gather import Report, Run, Session, WorkflowEntry
from holdfast.sessions import agents
from holdfast.sessions.compactions import CompactionReport, SavedWorkflow
from holdfast.sessions.timeline import TimelineEvent
from holdfast.workflow.model import Phase
from tests.agentry import agent
from tests.handmade import ME, workflow

ROOT = Path("/project")
NOW = "2026-03-01T09:20:00.000000Z"


def at(time: str) -> str:
    """Return a time of the day as a stamp."""
    return f"2026-03-01T{time}:00.000000Z"


def report(**changes: Any) -> Report:
    """Return a report in which nothing happened except `changes`; it is twenty past nine."""
    nothing: dict[str, Any] = dict.fromkeys(("sessions", "compactions", "workflows", "costs", "events"), ())
    nothing |= {"root": ROOT, "made_at": NOW, "since": "", "session": "", "omitted_sessions": 0, "events_cut": False}
    nothing["names"] = {}
    return Report(**nothing | changes)


def session(**changes: Any) -> Session:
    """Return a session that began at nine and had its last event at ten past nine."""
    return replace(Session(ME, str(ROOT), at("09:00"), at("09:10"), "ended"), **changes)


def run(began: str = "09:00", ended: str = "09:10", **changes: Any) -> Run:
    """Return the run of an agent that completed; what is given is its agent's, or where it stands."""
    made = agent(
        at(began),
        run="a1",
        description="Build it",
        result="Done.",
        state="completed",
        used_at=at(ended),
        changed_at=at(ended),
    )
    status = changes.pop("status", "")
    made = replace(made, **changes)
    return Run(made, at(began), at(ended), status or agents.standing(made))


def entry(**changes: Any) -> WorkflowEntry:
    """Return a workflow of one phase, kept in the project."""
    phases = (Phase("one", 1, "Build", "active"),)
    return replace(WorkflowEntry(workflow(ROOT, "Calculator", phases=phases), str(ROOT), ME, archived=False), **changes)


def compaction(**changes: Any) -> CompactionReport:
    """Return a compaction of a session that had a workflow, after which nothing was given."""
    had = (SavedWorkflow("key", "Calculator", "1/1 Build", ""),)
    row = Compaction("id", str(ROOT), ME, "auto", "", at("09:09"), restored_in=ME, restored_at=at("09:10"))
    plain = CompactionReport(row, had, deliveries=(), missed=False, not_restored="")
    of_row = {name: value for name, value in changes.items() if hasattr(row, name) and name != "workflows"}
    own = {name: value for name, value in changes.items() if name not in of_row}
    return replace(plain, row=replace(row, **of_row), **own)


def delivery(**changes: Any) -> Delivery:
    """Return guidance that was confirmed."""
    given = Delivery(
        *("id", str(ROOT), ME, "id", "SessionStart", "key", "Calculator", "mark", 1_234, 0, "", 0, "confirmed"),
        *(at("09:10"), at("09:11")),
    )
    return replace(given, **changes)


def happening(**changes: Any) -> TimelineEvent:
    """Return that a session began."""
    return replace(TimelineEvent(at("09:00"), "session", "session began", ME, worktree=str(ROOT)), **changes)
