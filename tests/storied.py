"""Hand-made stories of one day in one project, to test how a report shows rare things."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import tostring

from holdfast.memory.rows import Compaction, Delivery
from holdfast.report.story import Run, Session, Story, WorkflowEntry
from holdfast.sessions.compactions import Report, SavedWorkflow
from holdfast.sessions.history.timeline_event import TimelineEvent
from holdfast.workflow.model import Phase
from tests.agentry import agent
from tests.handmade import ME, workflow

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

ROOT = Path("/project")
NOW = "2026-03-01T09:20:00.000000Z"


def at(time: str) -> str:
    """Return a time of the day as a stamp."""
    return f"2026-03-01T{time}:00.000000Z"


def story(**changes: Any) -> Story:
    """Return a story in which nothing happened, but for what is given; it is twenty past nine."""
    nothing: dict[str, Any] = dict.fromkeys(("sessions", "compactions", "workflows"), ())
    nothing |= {"costs": (), "happened": (), "root": ROOT, "made_at": NOW, "since": "", "session": "", "unseen": 0}
    return Story(**nothing | {"more": False, "phases": {}} | changes)


def session(**changes: Any) -> Session:
    """Return a session that began at nine and had its last event at ten past nine."""
    return replace(Session(ME, str(ROOT), at("09:00"), at("09:10"), "ended", ()), **changes)


def run(began: str = "09:00", ended: str = "09:10", **changes: Any) -> Run:
    """Return the run of an agent that completed; what is given is its own or its agent's."""
    made = agent(
        at(began),
        agent_id="a1",
        description="Build it",
        words="Done.",
        fate="consumed",
        state="completed",
        changed_at=at(ended),
    )
    own = {name: value for name, value in changes.items() if name in {each.name for each in fields(Run)}}
    of_agent = {name: value for name, value in changes.items() if name not in own}
    return replace(Run(made._replace(**of_agent), at(began), at(ended), "completed", True), **own)


def told(**changes: Any) -> WorkflowEntry:
    """Return a workflow of one phase, kept in the project."""
    phases = (Phase("one", 1, "Build", "active"),)
    return replace(WorkflowEntry(workflow(ROOT, "Calculator", phases=phases), str(ROOT), ME, archived=False), **changes)


def compaction(**changes: Any) -> Report:
    """Return a compaction of a session that had a workflow, after which nothing was given."""
    had = (SavedWorkflow("key", "Calculator", "1/1 Build", ""),)
    row = Compaction("id", str(ROOT), ME, "auto", "", at("09:09"), restored_in=ME, restored_at=at("09:10"))
    plain = Report(row, had, deliveries=(), missed=False, not_restored="")
    of_row = {name: value for name, value in changes.items() if hasattr(row, name) and name != "workflows"}
    own = {name: value for name, value in changes.items() if name not in of_row}
    return replace(plain, row=replace(row, **of_row), **own)


def delivery(**changes: Any) -> Delivery:
    """Return guidance that was confirmed."""
    given = Delivery(
        *("id", str(ROOT), ME, "id", "SessionStart", "key", "Calculator", "mark", 1_234, 0, 1, "", 0, "confirmed"),
        *(at("09:10"), at("09:11")),
    )
    return replace(given, **changes)


def happening(**changes: Any) -> TimelineEvent:
    """Return that a session began."""
    return replace(TimelineEvent(at("09:00"), "session", "session began", ME, worktree=str(ROOT)), **changes)


def markup(element: Element) -> str:
    """Return an element as it stands in a page."""
    return tostring(element, encoding="unicode", method="html")


def words(element: Element) -> str:
    """Return what an element says, every part apart from the next."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup(element))).split())
