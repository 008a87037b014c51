"""The neutral view and the table of formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import formats
from holdfast.errors import HoldfastError
from holdfast.formats import RECORDS
from holdfast.formats.record import completed
from holdfast.workflow import guidance, registry, verbs
from holdfast.workflow.model import Found, Phase, Start
from tests import handmade
from tests.formats.known import KNOWN

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow
    from tests.conftest import RunPython


@pytest.fixture
def workflow(project: Workspace) -> Workflow:
    """Any workflow."""
    return registry.get("hybrid").start(project, Start(title="T", phases=(("A", "x"), ("B", "y"))))


@pytest.mark.parametrize("name", KNOWN)
def test_every_format_offers_the_whole_protocol(project: Workspace, name: str) -> None:
    """One contract for all formats: start, begin, done and step move any workflow to its end."""
    keeper = registry.get(name)
    assert name == keeper.NAME
    assert keeper.find(project) == Found()
    flow = keeper.start(
        project, Start(title="T", phases=(("A b", "x"), ("C d", "y")), reading=("@a.md",), context={"k": 1})
    )
    assert keeper.find(project).workflows == (flow,)
    assert (flow.format, flow.title, flow.total, flow.reading) == (name, "T", 2, ("@a.md",))
    flow = verbs.begin(project, flow)
    assert (flow.position, flow.progress_text) == (
        ("0/2", "0/2 tasks completed") if name == "wfs" else ("1/2", "phase 1/2")
    )
    assert (flow.phase, flow.phase_status) == ("A b", "active")
    flow = verbs.done(project, flow, note="n")
    step = verbs.step(flow)
    assert step is not None
    assert (step.number, step.total, step.title, step.agent) == (2, 2, "C d", "y")
    assert "C d" in step.prompt
    assert "\n\nContext: n" in step.prompt
    flow = verbs.done(project, flow)
    assert flow.finished
    assert verbs.step(flow) is None


def test_an_unknown_format_is_an_error() -> None:
    """The message says which there are."""
    with pytest.raises(HoldfastError, match=f"the formats are {', '.join(sorted(formats.NAMES))}"):
        registry.get("other")


def test_a_workflow_says_where_it_lies_and_how_far_it_is(workflow: Workflow) -> None:
    """`ref` is stable within a project, `position` counts from 1; an end completes no phase by itself."""
    assert workflow.ref == "hybrid:.claude/state/workflow.json"
    assert (workflow.position, replace(workflow, status="completed").position) == ("0/2", "0/2")
    assert replace(workflow, root=None, path=Path("/x/y.json")).ref == "hybrid:/x/y.json"


def test_phases_before_the_listed_ones_are_completed() -> None:
    """A format that lists only what is left, and one that lists nothing, count them by their number."""
    listed = (Phase("c", 3, "C", "completed"), Phase("d", 4, "D", "active"))
    flow = handmade.workflow(Path("/"), phases=listed, current=4, total=5)
    assert (flow.completed, flow.percent, flow.position) == (3, 60, "4/5")
    assert replace(flow, phases=()).completed == 3
    assert replace(flow, phases=(), current=None).completed == 0


def test_the_model_costs_nothing_heavy(run_python: RunPython) -> None:
    """On the hook path neither json, sqlite3 nor pydantic comes with the model, nor a format nobody asked for."""
    script = (
        "import sys, holdfast.workflow.model, holdfast.formats\n"
        "heavy = {'json', 'sqlite3', 'pydantic', 'click', 'rich', 'holdfast.formats.hybrid.adapter'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert run_python(script).strip() == "[]"


def test_a_format_says_which_statuses_are_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose workflows fail for good: nothing goes on there, and nothing more is done than was."""
    monkeypatch.setitem(RECORDS, "strict", completed({"NAME": "strict", "FINAL": ("completed", "failed")}))
    failed = handmade.workflow(tmp_path, format="strict", status="failed", current=2, total=3)

    assert failed.finished
    assert not failed.resumable
    assert failed.position == "2/3"
    assert failed.percent < 100
    assert guidance.line(failed).endswith(": failed, 2/3 steps")
    one = handmade.workflow(tmp_path, format="strict", status="completed", total=1)
    assert guidance.line(one).endswith(": completed, 1 step")
    assert not replace(failed, format="hybrid").finished
