"""The Markdown view as a pure function."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.hybrid.adapter import generate_markdown


def view(phase: dict[str, Any], **changes: Any) -> str:
    return generate_markdown({"task": "T", "status": "active", "current_phase": None, "phases": [phase]} | changes)


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
