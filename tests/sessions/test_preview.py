"""What the next compaction would restore is foretold for each unfinished workflow, and as it comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.sessions import conversations, explain, owners
from tests.handmade import ME, OTHER, THIRD, workflow

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

pytestmark = pytest.mark.usefixtures("noon")


def foretold(
    project: Workspace, *workflows: Workflow, session: str | None = ME, saved: Workflow | None = None
) -> list[tuple[str, str, str]]:
    found = explain.foresee(project, workflows, session, saved)
    return [(each.ref.split("/")[2], each.how, each.why) for each in found]


def test_a_paused_workflow_gets_a_line_only_beside_another(project: Workspace) -> None:
    """A compaction that restores nothing says nothing of it."""
    paused = workflow(project.root, "Paused", paused=True)
    why = "paused; `holdfast claim paused` resumes it"
    assert foretold(project, paused) == [("paused", "no", why)]
    assert foretold(project, paused, workflow(project.root, "Open"))[1] == ("paused", "line", why)


def test_what_is_too_old_is_told_with_the_setting_that_says_so(project: Workspace) -> None:
    """It is not restored by itself, and beside another in one line."""
    old = workflow(project.root, "Old", updated_at="2026-02-01T08:00:00.000000Z")
    why = "too old: it last changed at 2026-02-01 08:00 UTC, more than 7 days ago (`freshness_days`)"
    assert foretold(project, old) == [("old", "no", f"not restored, {why}")]
    assert foretold(project, old, workflow(project.root, "New"))[1] == ("old", "line", f"in one line; {why}")


def test_beside_another_session_each_workflow_says_whose_it_is(project: Workspace) -> None:
    """Its own, the other one's, and what nobody who lives has: which of the two goes on with that nobody knows."""
    for session in (ME, OTHER, THIRD):
        conversations.note_event(project, session)
    conversations.end(project, THIRD)
    mine, theirs, orphan, nobodys = (workflow(project.root, name) for name in ("Mine", "Theirs", "Orphan", "Nobodys"))
    for each, session in ((mine, ME), (theirs, OTHER), (orphan, THIRD)):
        owners.own(project, each, session)
    free = "not restored: it could belong to any of 2 live sessions. `holdfast claim` claims it for one"

    assert foretold(project, mine, theirs, orphan, nobodys) == [
        ("mine", "full", "in full"),
        ("nobodys", "no", free),
        ("orphan", "no", free),
        ("theirs", "no", f"not restored: it belongs to session {OTHER[:8]}, which is live"),
    ]
    assert foretold(project, mine, theirs, orphan, session=None) == [
        ("mine", "full", f"in full in session {ME[:8]}, which owns it"),
        ("theirs", "full", f"in full in session {OTHER[:8]}, which owns it"),
        ("orphan", "no", free),
    ]


def test_what_precompact_writes_first_counts_as_it_will_be(project: Workspace) -> None:
    """It takes the place of what lies there now."""
    now = workflow(project.root, "Saved", updated_at="2026-02-01T08:00:00.000000Z")
    then = replace(now, updated_at="2026-03-01T12:00:00.000000Z")
    assert foretold(project, now, workflow(project.root, "Other"), saved=then) == [
        ("saved", "full", "in full, as PreCompact saves it first"),
        ("other", "line", 'in one line, below "Saved"'),
    ]
