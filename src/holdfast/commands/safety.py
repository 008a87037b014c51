"""Say in one line whether a compaction can lose work here, and what to do if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast import checks
from holdfast.commands.timefmt import ago
from holdfast.install import inspection
from holdfast.sessions import compactions
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from holdfast.sessions.overview import Overview
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_ENDINGS = {
    "confirmed": "last compaction restored and confirmed",
    "given": "last compaction restored, not confirmed yet",
    "open": "a compaction began and hasn't come back yet",
    "nothing": "nothing to restore after the last compaction",
}


class Safety(NamedTuple):
    """Whether work is safe (None: there is none to save), and a sentence that says so."""

    safe: bool | None
    text: str


def judge(project: Workspace, seen: Overview | None, prospects: Iterable[Mapping[str, str]], now: datetime) -> Safety:
    """Return whether a workflow would survive a compaction now.

    Args:
        project: the project.
        seen: the workflow; None if there is none, or several.
        prospects: what each unfinished workflow gets after a compaction (`sessions.explain`).
        now: the present time.
    """
    unfinished = {each["ref"]: each for each in prospects}
    if not unfinished:
        last = f"; {_named(seen.workflow)} is {seen.workflow.word}" if seen else ""
        return Safety(
            None, f"Nothing to save here: no workflow is in progress{last}. `holdfast start TITLE` starts one."
        )
    if obstacle := _obstacle(project):
        return Safety(False, f"Not safe: {obstacle}")
    if seen is None:
        lost = [each for each in unfinished.values() if each["restored"] == "no"]
        if len(lost) == len(unfinished):
            return Safety(
                False, "Not safe: a compaction restores no workflow here. The reasons: holdfast status --why."
            )
        restored = len(unfinished) - len(lost)
        return Safety(True, f"Safe: a compaction restores {restored} of {len(unfinished)} unfinished workflows.")
    if seen.workflow.finished:
        return Safety(None, f"Nothing to save: {_named(seen.workflow)} is {seen.workflow.word}.")
    return _of(project, seen, unfinished.get(seen.workflow.ref), now)


def _of(project: Workspace, seen: Overview, prospect: Mapping[str, str] | None, now: datetime) -> Safety:
    """Return whether an unfinished workflow is safe, if nothing is wrong with the project."""
    name = _named(seen.workflow)
    if prospect is None or prospect["restored"] == "no":
        why = one_line(prospect["reason"], 300) if prospect else "no file says so"
        return Safety(False, f"Not safe: {name}: {why}. To see more: holdfast status --why")
    last = next(iter(compactions.naming(project, seen.workflow.key)), None)
    if last and last.ending == "lost":
        why = f" ({last.not_restored})" if last.not_restored else ""
        text = f"Not safe: {name} didn't reach the model after the last compaction{why}"
        return Safety(False, f"{text}. To test the hooks: holdfast doctor --fire")
    saved = f"saved {ago(seen.last_save.at, now)}" if seen.last_save else "saved at the next compaction"
    ending = _ENDINGS[last.ending] if last else "no compaction yet"
    beside = "" if prospect["restored"] == "full" else f", restored {one_line(prospect['reason'], 300)}"
    return Safety(True, f"Safe: {name}, {saved}, {ending}{beside}.")


def _obstacle(project: Workspace) -> str:
    """Return what keeps Holdfast from saving anything here, and what to do; empty if nothing does."""
    if project.ledger.problem:
        return f"{project.ledger.problem.rstrip('.')}. To repair it: holdfast doctor"
    if not inspection.registered_events(project):
        return "Holdfast isn't registered here. To register it: holdfast install"
    wrong = next((each for each in checks.run(project, ("switches",)) if each.level == "problem"), None)
    return f"{wrong.text}. To change that: {wrong.remedy}" if wrong else ""


def _named(workflow: Workflow) -> str:
    """Return a workflow's title, position and current phase on one line."""
    phase = f" {one_line(workflow.current_name)}" if workflow.phase and not workflow.finished else ""
    return f"{one_line(workflow.title)} {workflow.position}{phase}"
