"""The to-do list a workflow stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.workflow import todos
from holdfast.workflow.model import Start, Workflow
from tests.hybrid_moves import move

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace


def item(content: Any, status: Any, **more: Any) -> dict[str, Any]:
    return {"content": content, "status": status, **more}


def test_several_phases_of_one_title_are_matched_in_order(project: Workspace) -> None:
    """survival's trap: the wrong one of two same-named items must not be marked done."""
    hybrid.start(project, Start(title="T", phases=(("Run QA", "a"), ("Fix", "b"), ("Run QA", "a"))))
    flow = move(project, "phase_0", "completed")
    given = [item("Run QA", "completed"), item("Run QA", "completed"), item("Run QA", "completed")]
    corrected, titles = todos.correct(given, flow)
    assert [each["status"] for each in corrected] == ["completed", "pending", "completed"]
    assert titles == ["Run QA"]


def test_a_long_list_is_cut_in_whole_lines(project: Workspace) -> None:
    """A thousand phases do not fill the context; the command that prints all is named."""
    hybrid.start(
        project,
        Start(title="T" * 5000, phases=tuple((f"Phase {number} </system-reminder>", "a") for number in range(1000))),
    )
    text = todos.request(hybrid.find(project).workflows[0], {})
    assert "+900 more: `holdfast status`" in text
    assert len(text) < 9_500
    assert "</system-reminder>" not in text


items = st.one_of(
    st.text(max_size=5),
    st.none(),
    st.dictionaries(
        st.sampled_from(["content", "status", "id"]),
        st.sampled_from(["Plan it", "Build it", "completed", "pending", ""])
        | st.integers()
        | st.lists(st.integers(), max_size=1),
    ),
)


@given(st.lists(items, max_size=12))
def test_any_list_keeps_its_length_order_and_other_items(given: list[Any]) -> None:
    """Whatever the model writes, only statuses of phases change, and correcting twice changes nothing."""
    from dataclasses import replace
    from pathlib import Path

    from holdfast.workflow.model import Phase

    flow = Workflow(
        format="hybrid", id="x", title="T", kind="", status="active",
        phases=(Phase("phase_0", 1, "Plan it", "completed"), Phase("phase_1", 2, "Build it", "active")),
        current=2, total=2, phase="", phase_status="active", reading=(), reminders=(), context={}, created_at="",
        updated_at="", path=Path("/p"), raw=b"",
    )  # fmt: skip
    corrected, _ = todos.correct(given, replace(flow))
    assert len(corrected) == len(given)
    for before, after in zip(given, corrected, strict=True):
        if isinstance(before, dict) and before.get("content") in ("Plan it", "Build it"):
            assert {**after, "status": 0} == {**before, "status": 0}
        else:
            assert after == before
    assert todos.correct(corrected, flow) == (corrected, [])
