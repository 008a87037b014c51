"""Say in one line whether a compaction can lose work here, and what to do if it can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import checks
from holdfast.clock import ago
from holdfast.install import inspection
from holdfast.sessions import compactions, explain, offers, rewind
from holdfast.workflow.wording import count, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.sessions.overview import Overview
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.findings import Finding

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


_NAMED = 3  # workflows that the sentence names


def judge(
    project: Workspace, seen: Overview | None, explanation: Mapping[str, Any], now: datetime, *, named: bool = False
) -> Safety:
    """Return whether a workflow would survive a compaction now.

    Args:
        project: the project.
        seen: the workflow; None if there is none, or several.
        explanation: what decides about restoring (`sessions.explain`).
        now: the present time.
        named: whether the command names this workflow; else an unfinished one counts more than a finished one.
    """
    unfinished = {each["ref"]: each for each in explanation["prospects"]}
    if seen and named and not seen.workflow.finished and seen.archived:
        return Safety(
            None, f"Nothing to save: {explain.named(seen.workflow)} is in the archive, and in no file any more."
        )
    if not unfinished:
        last = f"; {explain.named(seen.workflow)} is {seen.workflow.word}" if seen else ""
        gone = rewind.gone(project)
        rest = f" {gone}." if gone else f" {offers.enclosing(project) or '`holdfast start TITLE` starts one.'}"
        return Safety(None, f"Nothing to save here: no workflow is in progress{last}.{rest}")
    if seen and named and seen.workflow.finished:
        return Safety(None, f"Nothing to save: {explain.named(seen.workflow)} is {seen.workflow.word}.")
    if wrong := _obstacle(project):
        return Safety(False, f"Not safe: {wrong}")
    if seen is None or seen.workflow.finished:
        restored = [unfinished[ref]["name"] for ref in explanation["would_restore"]]
        if not restored:
            return Safety(False, "Not safe: a compaction restores no workflow here. Why: holdfast status --why")
        names = ", ".join(restored[:_NAMED]) + (", …" if len(restored) > _NAMED else "")
        share = f"{len(restored)} of {count(len(unfinished), 'unfinished workflow')}"
        return Safety(True, f"Safe: a compaction restores {share}: {names}.")
    return _of(project, seen, unfinished.get(seen.workflow.ref), now)


def _of(project: Workspace, seen: Overview, prospect: Mapping[str, str] | None, now: datetime) -> Safety:
    """Return whether an unfinished workflow is safe, if nothing is wrong with the project."""
    name = explain.named(seen.workflow)
    if prospect is None or prospect["restored"] == "no":
        why = one_line(prospect["reason"], 300) if prospect else "no file says so"
        return Safety(False, f"Not safe: {name}: {why}. To see more: holdfast status --why")
    last = next(iter(compactions.naming(project, seen.workflow.key)), None)
    if last and last.ending == "lost":
        why = f" ({last.not_restored})" if last.not_restored else ""
        text = f"Not safe: {name} didn't reach Claude after the last compaction{why}"
        return Safety(False, f"{text}. To test the hooks: holdfast doctor --fire")
    saved = f"saved {ago(seen.last_save.at, now)}" if seen.last_save else "saved at the next compaction"
    ending = _ENDINGS[last.ending] if last else "no compaction yet"
    extent = "" if prospect["restored"] == "full" else f", restored {one_line(prospect['reason'], 300)}"
    return Safety(True, f"Safe: {name}, {saved}, {ending}{extent}.")


def _obstacle(project: Workspace) -> str:
    """Return why Holdfast can't save anything here, and what to do; empty if it can."""
    if project.ledger.problem:
        wrong = _problem(project, "ledger")
        return f"{wrong.text}. To repair it: {wrong.remedy}" if wrong else f"{project.ledger.problem}."
    if not inspection.registered_events(project):
        return "Holdfast isn't registered here. To register it: holdfast install"
    wrong = _problem(project, "switches")
    return f"{wrong.text}. To change that: {wrong.remedy}" if wrong else ""


def _problem(project: Workspace, check: str) -> Finding | None:
    return next((each for each in checks.run(project, (check,)) if each.level == "problem"), None)
