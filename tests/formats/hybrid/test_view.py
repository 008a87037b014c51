"""The Markdown view as a pure function."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.hybrid.adapter import generate_markdown
from tests.tables import each_row


def view(phase: dict[str, Any], **changes: Any) -> str:
    return generate_markdown({"task": "T", "status": "active", "current_phase": None, "phases": [phase]} | changes)


@each_row(
    "phase, line",
    [
        ({"id": "phase_0", "title": "A", "status": "pending"}, "- [ ] Phase 0: A"),
        ({"id": "phase_0", "title": "A", "status": "active", "deliverables": ["x"]}, "- [ ] Phase 0: A"),
        (
            {"id": "phase_3", "title": "A", "status": "completed", "deliverables": ["x", "y z"]},
            "- [x] Phase 3: A → x, y z",
        ),
        ({"id": "phase_0", "title": "A", "status": "completed", "deliverables": []}, "- [x] Phase 0: A"),
        ({"id": "phase_0", "title": "A", "status": "failed"}, "- [ ] Phase 0: A ✗ failed"),
        ({"id": "setup", "title": "A\n# B", "status": "pending"}, "- [ ] Phase 0: A # B"),
    ],
)
def test_each_status_has_its_line(phase: dict[str, Any], line: str) -> None:
    """R000-23, I000-13: N is the id's, no arrow without deliverables, failed is said, line breaks are spaces."""
    assert view(phase).splitlines()[-1] == line


def test_no_current_phase_is_called_none() -> None:
    """I000-13."""
    assert "Status: active | Current Phase: none" in view({"id": "phase_0", "title": "A"})
    assert "Current Phase: A" in view({"id": "phase_0", "title": "A"}, current_phase="phase_0")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
phases = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "title", "status", "agent", "deliverables"), anything))
    | anything,
    max_size=6,
)


@given(anything, anything, anything, phases)
def test_every_state_gives_a_view_of_the_same_shape(task: Any, status: Any, current: Any, listed: list[Any]) -> None:
    """R000-20, R000-23: heading, status line, one line a phase; the same state gives the same text."""
    state = {"task": task, "status": status, "current_phase": current, "phases": listed}
    text = generate_markdown(state)
    lines = text.split("\n")
    assert text == generate_markdown(state)
    assert lines[0].startswith("# Workflow Status: ")
    assert lines[2].startswith("Status: ")
    assert lines[1:6:2] == ["", "", ""]
    assert lines[4] == "## Phases"
    assert len(lines) == 6 + len(listed) + 1
    assert all(line.startswith(("- [ ] Phase ", "- [x] Phase ")) for line in lines[6:-1])
