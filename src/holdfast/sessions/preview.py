"""Preview: what the next compaction of a project would restore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sessions import arbitration, conversations, owners
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from holdfast.project import OpenProject
    from holdfast.sessions.arbitration import Verdict
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Prospect:
    """What an unfinished workflow gets after a compaction.

    Attributes:
        ref: the workflow's ref.
        how: `full`, `line`, or `no`.
        why: the same in words, with the reason.
    """

    ref: str
    how: str
    why: str


def foresee(
    project: OpenProject,
    workflows: Sequence[Workflow],
    session: str | None,
    saved: Workflow | None,
    detected: Collection[Path] = (),
) -> list[Prospect]:
    """Return what each unfinished workflow would get if a session were compacted now; nothing is written.

    Args:
        project: the project.
        workflows: all that could be read, of all formats.
        session: the conversation that is compacted; None means any of those that are live.
        saved: the workflow that PreCompact would write first, which replaces the one of the same path; None for none.
        detected: the state files that have what the session's own files say.

    Returns:
        The prospects: the workflow restored in full first, then the others, the newest first.
    """
    live = conversations.live_others(project, "")
    if saved is not None:
        workflows = [saved, *(each for each in workflows if each.path != saved.path)]
    unfinished = [each for each in owners.by_rank(workflows) if not each.finished]
    told = [session] if session is not None else sorted(live)
    verdicts = {each: arbitration.foresee(project, each, workflows, detected) for each in told}
    others = conversations.live_others(project, session) if session is not None else live
    if others:
        everyone = {*others, *told}
        holders = owners.holders(project, unfinished)
        names = conversations.session_ids(project, everyone)
        found = [_shared(each, holders[each.key], verdicts, names) for each in unfinished]
    else:
        found = [_alone(project, each, verdicts[told[0]], coming=each is saved) for each in unfinished]
    return sorted(found, key=lambda each: each.how != "full")


def _alone(project: OpenProject, each: Workflow, verdict: Verdict, *, coming: bool) -> Prospect:
    """Return a workflow's prospect if no other session is live."""
    full = verdict.full
    if each.paused:
        return Prospect(each.ref, "line" if full else "no", "paused until you resume it")
    if each is full:
        return Prospect(each.ref, "full", "in full, as PreCompact saves it first" if coming else "in full")
    changed = owners.changed_at(project, each)
    days = f"{project.config.freshness_days:g}"
    age = f"too old: it last changed at {clock.minute(changed)}, more than {days} days ago (`freshness_days`)"
    if full is None:
        return Prospect(each.ref, "no", f"not restored, {age}")
    beside = owners.fresh(project, each)
    return Prospect(each.ref, "line", f"in one line, below {quoted(full.title)}" if beside else f"in one line; {age}")


def _shared(each: Workflow, holder: str | None, verdicts: Mapping[str, Verdict], names: Mapping[str, str]) -> Prospect:
    """Return a workflow's prospect if several sessions are live: each gets its own, as its verdict says."""
    for session, verdict in verdicts.items():
        where = f" in session {names[session][:8]}, which owns it" if len(verdicts) > 1 else ""
        if each is verdict.full:
            return Prospect(each.ref, "full", f"in full{where}")
        if each in verdict.others:
            return Prospect(each.ref, "line", f"in one line{where}")
    if holder in names:
        return Prospect(each.ref, "no", f"not restored: it belongs to session {names[str(holder)][:8]}, which is live")
    why = f"not restored: it could belong to any of {len(names)} live sessions. `holdfast claim` claims it for one"
    return Prospect(each.ref, "no", why)
