"""What a call returned is kept of its run, under a name of ours where the client gives none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude.events.agents import AgentResult
from holdfast.project import Project
from holdfast.sessions.agents import results, runs
from tests.agentry import CALL, RUN, begin
from tests.handmade import ME

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.events.agents import AgentStatus


def test_a_run_without_an_id_is_called_after_its_call() -> None:
    """A failed launch does not say which agent it was."""
    assert runs.run_id(RUN, CALL) == RUN
    assert runs.run_id("", CALL) not in ("", CALL)


@pytest.mark.parametrize(
    ("status", "failed", "state"),
    [
        ("completed", False, "completed"),
        ("completed", True, "failed"),
        ("other", True, "failed"),
        ("async_launched", False, None),
        ("remote_launched", False, None),
    ],
)
def test_any_sign_of_a_failure_beats_what_a_call_says_of_its_status(
    tmp_path: Path, status: AgentStatus, failed: bool, state: str | None
) -> None:
    """I000-14; a launch into the background is no result at all."""
    project = Project.open(tmp_path)
    begin(project)
    runs.returned(project, ME, CALL, AgentResult(status, RUN, "builder", "Words.", failed=failed))

    assert [(each.state, each.words) for each in results.due(project, ME)] == ([(state, "Words.")] if state else [])
