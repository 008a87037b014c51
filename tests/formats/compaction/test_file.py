"""The compaction state file as people and models write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.files.document import Document
from holdfast.formats.compaction import schema
from holdfast.formats.compaction.format import FORMAT
from holdfast.workflow.statefile import StateFile

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

PLACE = "untracked/workflow-state/x/state-x-20251209_143052.json"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("workflow_type", "phase", "required_reading", "context", "key_reminders", "created_at"), anything
        ),
    )
)
def test_no_content_of_known_keys_ever_crashes_the_view(data: dict[str, Any]) -> None:
    """Whatever is kept under our keys, the view is well formed."""
    from pathlib import Path

    from holdfast.clients.client import Client
    from holdfast.config import Config
    from holdfast.sessions.workspace import Workspace

    project = Workspace(Path("/p"), Config(), client=Client())
    file = StateFile(Document(Path("/p/state-x.json"), {"workflow": "X", **data}, b"{}", 1.0))
    workflow = schema.view(project, file)
    assert workflow.current is not None
    assert 1 <= workflow.current <= workflow.total
    assert all(entry.startswith("@") for entry in workflow.reading)
    assert workflow.phases


@pytest.mark.parametrize("phase", [{"current": 3}, {"current": 7, "total": 5}])
def test_a_phase_that_may_not_be_the_last_completes_no_workflow(
    project: Workspace, put: Put, phase: dict[str, int]
) -> None:
    """Where the file says no total, or is beyond it: a workflow that counts as finished is not restored."""
    path = put(PLACE, {"workflow": "X", "phase": phase | {"name": "N", "status": "completed"}})
    workflow = FORMAT.view(project, FORMAT.load(project, path))
    assert (workflow.status, workflow.finished) == ("active", False)
