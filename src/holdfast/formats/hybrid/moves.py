"""The transitions of the `hybrid` format, on the JSON state itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from holdfast.errors import TransitionError
from holdfast.formats.hybrid import schema
from holdfast.workflow import values
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.workflow.model import Status

Mover = Literal["hook", "person"]

# R000-14; a failed phase can be retried (I000-9), and one whose start was forgotten can end (I000-6).
_EDGES: dict[Status, tuple[Status, ...]] = {
    "pending": ("active", "completed", "failed"),
    "active": ("completed", "failed"),
    "failed": ("active",),
    "completed": (),
}


def move(
    data: dict[str, Any],
    index: int,
    status: Status | None,
    *,
    deliverables: Sequence[str] = (),
    handover: str = "",
    by: Mover = "person",
) -> None:
    """Change a phase of `data` in place (R000-14), and what follows from it.

    Setting the status that a phase has is no move. Then, and always for a hook, only empty fields are filled (I000-8).
    A refused move raises TransitionError for a person and does nothing for a hook. Without `status`, only deliverables
    and hand-over are written.
    """
    phase = opened(data, index)
    old = schema.read_status(phase["status"]) or "pending"
    refusal = _refusal(data, index, old, status) if status not in (None, old) else ""
    if by == "person":
        refusal = refusal or _early(data, index, old, status, deliverables=bool(deliverables), handover=bool(handover))
    if refusal and by == "person":
        raise TransitionError(refusal)
    if refusal:
        return
    _write(phase, deliverables, handover, only_empty=by == "hook" or status == old)
    if status is not None and status != old:
        phase["status"] = status
        _settle(data, index)


def reopen(data: dict[str, Any], index: int) -> None:
    """Make a finished phase active again, for people only (I000-15); the active one becomes pending."""
    phase = opened(data, index)
    over = schema.read_status(data.get("status")) == "completed"  # then a phase that never began can be reopened too
    if not over and schema.read_status(phase["status"]) not in ("completed", "failed"):
        raise TransitionError(f"{_named(data, index)} is {phase['status']}; only a completed or failed phase reopens")
    for other in range(len(data["phases"])):
        if _statuses(data)[other] == "active":
            opened(data, other)["status"] = "pending"
    phase["status"] = "active"
    _settle(data, index)


def finish(data: dict[str, Any]) -> None:
    """End the workflow, for people only, and leave phases that never began as they are.

    Raises TransitionError if a phase failed: only a retry lets it go on, and nothing turns it into a success (R000-14).
    """
    failed = next((number for number, status in enumerate(_statuses(data)) if status == "failed"), None)
    if failed is not None:
        reason = f"{_named(data, failed)} failed, so the workflow can't end as completed; {_retry(failed)}"
        raise TransitionError(f"{reason}, or `holdfast cancel` gives the workflow up")
    data["status"], data["current_phase"] = "completed", None


def cancel(data: dict[str, Any]) -> None:
    """Cancel an unfinished workflow, for people only: it fails, and so does its active phase. Other phases stay."""
    if "active" in _statuses(data):
        opened(data, _statuses(data).index("active"))["status"] = "failed"
    data["status"] = "failed"


def settle(data: dict[str, Any]) -> bool:
    """Complete the workflow if all its phases are completed (R000-06); return whether they are."""
    over = bool(data["phases"]) and all(status == "completed" for status in _statuses(data))
    if over:
        data["status"], data["current_phase"] = "completed", None
    return over


def opened(data: dict[str, Any], index: int) -> dict[str, Any]:
    """Return a phase for changing, after completing it in `data` with all of the schema's keys."""
    phase = schema.complete(data["phases"][index], index)
    data["phases"][index] = phase
    return phase


def _statuses(data: dict[str, Any]) -> list[Status]:
    phases = [schema.complete(phase, number) for number, phase in enumerate(data["phases"])]
    return [schema.read_status(phase["status"]) or "pending" for phase in phases]


def _refusal(data: dict[str, Any], index: int, old: Status, new: Status | None) -> str:
    """Say why a phase can't go from one status to another now; empty if it can."""
    name = _named(data, index)
    if new not in schema.STATUSES:
        return f"a phase can't be {new} in hybrid; it can be {', '.join(schema.STATUSES)}; for a reason, use --note"
    if old == "completed" or schema.read_status(data.get("status")) == "completed":
        return f"{name} or its workflow is completed; `holdfast reopen {index + 1}` makes it active again"
    if old == "failed" and new == "completed":
        return f"{name} failed; {_retry(index)} first"
    if new not in _EDGES[old]:
        return f"{name} can't go from {old} to {new}"
    if new == "active":
        return _obstacle(data, index)
    return ""


def _early(
    data: dict[str, Any], index: int, old: Status, new: Status | None, *, deliverables: bool, handover: bool
) -> str:
    """Say why a person can't say yet how a phase ended or what it delivered; empty if they can.

    A forgotten start is made up for (I000-6), but not past another phase that is active or failed. A hook may do that,
    because the agents of several phases can run side by side, and what they did is done. There is no hand-over before a
    phase is completed (R000-12), and no deliverable before it began (R000-11).
    """
    name, after = _named(data, index), new or old
    if old == "pending" and new in ("completed", "failed") and (obstacle := _obstacle(data, index)):
        return obstacle
    if handover and after != "completed":
        return f"{name} is {after}, and only a completed phase hands something over; add --status completed"
    if deliverables and after == "pending":
        return f"{name} is pending, so it has delivered nothing; begin it with --status active"
    return ""


def _obstacle(data: dict[str, Any], index: int) -> str:
    """Return why a phase can't become active: one at a time (R000-15), none past a failed one (I000-9)."""
    statuses = _statuses(data)
    for other, status in enumerate(statuses):
        name = _named(data, other)
        if other != index and status == "active":
            return f"{name} is active, and only one phase can be; `holdfast done` completes it"
        if other != index and status == "failed" and statuses[index] != "failed":
            return f"{name} failed; {_retry(other)} first"
    return ""


def _named(data: dict[str, Any], index: int) -> str:
    """Return a phase's name in a message: its number, counted from 1 as everywhere people see it, and its title."""
    return f"phase {index + 1} {quoted(values.text(schema.complete(data['phases'][index], index)['title']))}"


def _retry(index: int) -> str:
    return f"retry it with `holdfast update --phase {index + 1} --status active`"


def _write(phase: dict[str, Any], deliverables: Sequence[str], handover: str, *, only_empty: bool) -> None:
    if deliverables and not (only_empty and phase["deliverables"]):
        phase["deliverables"] = values.added(phase["deliverables"], tuple(deliverables))
    if handover and not (only_empty and phase["context_for_next"]):
        phase["context_for_next"] = handover


def _settle(data: dict[str, Any], index: int) -> None:
    """Set the workflow's status (R000-13) and current phase (R000-06) after a phase moved.

    After the last one the workflow is completed. A failed phase fails the workflow at once (I000-9).
    """
    if settle(data):
        return
    statuses = _statuses(data)
    data["status"] = "failed" if "failed" in statuses else "active"
    if statuses[index] != "completed" or data.get("current_phase") is None:
        running = (
            statuses.index("active") if "active" in statuses else index
        )  # it may have failed while another was active
        data["current_phase"] = data["phases"][running]["id"]
