"""A corpus of agent launches: each moves one phase or task, or none, by the evidence it gives (I000-15).

The launches are written by the rule alone, in several languages, without a look at the code that matches them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from holdfast.workflow import registry
from holdfast.workflow.model import Phase, Status, Workflow
from tests.tables import each_row

_DATA = Path(__file__).parent / "data" / "launches.json"
_PLACES = {"hybrid": ".claude/state/workflow.json", "wfs": ".workflow/WFS-corpus/workflow-session.json"}


@dataclass(frozen=True)
class Launch:
    """One agent launch.

    Attributes:
        workflow: the workflow that is unfinished when the agent is launched.
        text: the call's description, and its prompt from the second line on.
        kind: the kind of agent, empty if the call names none.
        unit: the id of the phase or task the launch is for, or None.
        why: what the launch shows.
    """

    workflow: Workflow
    text: str
    kind: str
    unit: str | None
    why: str


def _workflow(data: dict[str, Any]) -> Workflow:
    """Build the neutral model; a unit that is `ready` is pending and waits for nothing."""
    units = data["units"]
    phases = tuple(
        Phase(
            id=unit["id"],
            number=number,
            title=unit["title"],
            status=cast("Status", "pending" if unit["status"] == "ready" else unit["status"]),
            agent=unit["agent"],
        )
        for number, unit in enumerate(units, 1)
    )
    tasks = data["format"] == "wfs"
    current = next((phase for phase in phases if phase.status in ("active", "failed")), None)
    ready = [unit["id"] for unit in units if unit["status"] == "ready"]
    return Workflow(
        format=data["format"],
        id="WFS-corpus" if tasks else "wf_corpus",
        title="Corpus",
        kind="",
        status=current.status if current else "pending",
        phases=phases,
        current=current.number if current else None,
        total=len(phases),
        phase=current.title if current else "",
        phase_status=current.status if current else "",
        reading=(),
        reminders=(),
        context={},
        created_at="",
        updated_at="",
        path=Path(_PLACES[data["format"]]),
        raw=b"",
        due=(*(phase.id for phase in phases if phase.status == "active"), *ready) if tasks else (),
    )


def _launches() -> list[Launch]:
    corpus = json.loads(_DATA.read_text(encoding="utf-8"))
    return [
        Launch(workflow, f"{each['description']}\n{each['prompt']}", each["kind"], each["unit"], each["why"])
        for data in corpus
        for workflow in [_workflow(data)]
        for each in data["launches"]
    ]


LAUNCHES = _launches()


def _moved(launch: Launch) -> str | None:
    """Return the id of the unit that the launch moves; a completed unit doesn't move."""
    workflow = launch.workflow
    phase = registry.get(workflow.format).match_phase(workflow, launch.text, launch.kind)
    return None if phase is None or phase.status == "completed" else phase.id


@each_row("launch", LAUNCHES)
def test_a_launch_moves_the_unit_it_is_for_or_none(launch: Launch) -> None:
    """An id or exact title, or the specific agent of the due unit, is evidence; a mention isn't (I000-15)."""
    assert _moved(launch) == launch.unit, launch.why


def test_half_of_the_launches_are_for_a_unit() -> None:
    """A matcher that moves everything, or nothing, fails half of the corpus (I000-15)."""
    units = [launch.unit for launch in LAUNCHES]
    assert (len(units) - units.count(None), units.count(None)) == (50, 50)
    for launch in LAUNCHES:
        phases = {phase.id: phase.status for phase in launch.workflow.phases}
        assert launch.unit is None or phases.get(launch.unit, "completed") != "completed", launch.why
