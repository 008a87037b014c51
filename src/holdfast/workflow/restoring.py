"""What the next compaction of a project would restore, told before it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.survival import generations, owners, sessions
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.project import Project
    from holdfast.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Prospect:
    """What an unfinished workflow gets after a compaction.

    Attributes:
        ref: which workflow.
        how: `full`, `line`, or `no`.
        why: the same for people, with the reason.
    """

    ref: str
    how: str
    why: str


def foresee(
    project: Project, workflows: Sequence[Workflow], session: str | None, saved: Workflow | None
) -> list[Prospect]:
    """Return what each unfinished workflow gets when a session is compacted; nothing is written.

    This follows what `owners.judge` decides after a PreCompact, which gives the session the fresh ones of nobody.

    Args:
        project: where.
        workflows: all that could be read, of all formats.
        session: the session that is compacted; None is the only live one, or one that is not known yet.
        saved: what PreCompact writes before it, as it is then; it replaces the one of the same path.

    Returns:
        What is restored in full first, then the others, the newest first.
    """
    live = sessions.live_others(project, "")
    if session is None and len(live) == 1:
        session = next(iter(live))
    others = live - {session}
    if saved is not None:
        workflows = [saved, *(each for each in workflows if each.path != saved.path)]
    unfinished = [each for each in owners.ranked(workflows) if not each.finished]
    found = _shared(project, unfinished, session, others) if others else _alone(project, unfinished, session, saved)
    return sorted(found, key=lambda each: each.how != "full")


def _alone(
    project: Project, unfinished: Sequence[Workflow], session: str | None, saved: Workflow | None
) -> list[Prospect]:
    """With no other live session: what the session owns or nobody does, else what a session that is over left."""
    holder = {each.key: owners.owner(project, each) for each in unfinished}
    fresh = {each.key for each in unfinished if owners.fresh(project, each)}
    mine = [each for each in unfinished if holder[each.key] == session and session is not None]
    free = [each for each in unfinished if each.key in fresh and holder[each.key] is None]
    ours = {each.key for each in mine + free}
    left = [each for each in unfinished if each.key in (ours or fresh)]
    full = next(iter(left if ours else owners.of_branch(project, left)), None)
    return [_told(project, each, full, old=each.key not in fresh, coming=each is saved) for each in unfinished]


def _told(project: Project, each: Workflow, full: Workflow | None, *, old: bool, coming: bool) -> Prospect:
    if each is full:
        return Prospect(each.ref, "full", "in full, as PreCompact saves it before" if coming else "in full")
    changed = generations.changed_at(project, each.path, each.raw) or each.updated_at
    days = f"{project.config.freshness_days:g}"
    age = f"too old: it last changed at {changed}, more than {days} days ago (`freshness_days`)"
    if full is None:
        return Prospect(each.ref, "no", f"not restored, {age}")
    return Prospect(each.ref, "line", f"in a line; {age}" if old else f"in a line, beside {quoted(full.title)}")


def _shared(project: Project, unfinished: Sequence[Workflow], session: str | None, others: set[str]) -> list[Prospect]:
    """With other live sessions: each gets what it owns, and what no live one owns is restored in none."""
    found: list[Prospect] = []
    served: set[str] = set()
    everyone = {*others, *([session] if session else [])}
    for each in unfinished:
        holder = owners.owner(project, each)
        if holder is None or holder not in everyone:
            why = f"not restored: it could belong to each of {len(everyone)} live sessions. `holdfast list` shows it"
            found.append(Prospect(each.ref, "no", why))
            continue
        if session is not None and holder != session:
            found.append(Prospect(each.ref, "no", f"not restored: it belongs to session {holder[:8]}, which is live"))
            continue
        how = "line" if holder in served else "full"
        where = "" if holder == session else f" in session {holder[:8]}, which owns it"
        found.append(Prospect(each.ref, how, f"in {'a line' if how == 'line' else 'full'}{where}"))
        served.add(holder)
    return found
