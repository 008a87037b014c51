"""Find out whether somebody is in a formal workflow right now, and what people's own files say about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.formats.compaction.detection import memory_file, plan_file
from holdfast.formats.compaction.detection.extract import Candidate, Detection, Extract
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from holdfast.workflow.records import Records


def detect(
    project: Records,
    session: str = "",
    *,
    everything: bool = False,
    written: Path | None = None,
    owns: Callable[[Extract], bool] = lambda plan: False,
) -> Detection:
    """Return the extract of the project's memory file and the plan that a session works on.

    A workflow of any name and type counts (R001-23). The memory file (R001-21) names workflow and phase. The plan
    (R001-22) adds reading and context (I001-16), or stands alone if the memory file names no workflow.

    A plan that did not change for `freshness_days` doesn't count, whatever it says. Of several in progress, one counts
    only if something shows that the session works on it (I001-13). With `everything`, each file is examined and is
    among the candidates with its reasons, and the extracts are those of all plans in progress.

    Contents of files never raise.

    Args:
        project: the project.
        session: the session.
        everything: examine all files.
        written: a file that the session has just written.
        owns: whether the session owns the state file that a plan was saved to.
    """
    memory = memory_file.look(project.root / memory_file.FILE)
    since = fresh_since(project)
    candidates = plan_file.look(project.root) if everything else []
    plans = (each.extract for each in candidates) if everything else plan_file.active(project.root, since, written)
    planned = [plan for plan in plans if plan]
    fresh = [plan for plan in planned if plan.mtime >= since]
    clear = [plan for plan in fresh if len(fresh) == 1 or plan.source == written]
    chosen = clear[0] if clear else _chosen(project, session, fresh, memory.extract, owns)
    return Detection(
        _combined(memory.extract, chosen),
        (memory, *(_judged(each, chosen, fresh, named=memory.extract is not None) for each in candidates)),
        tuple(extract for extract in (memory.extract, *planned) if extract),
        () if chosen else tuple(fresh or planned[:1]),
    )


def fresh_since(project: Records) -> float:
    """Return the time, in seconds since 1970, from which on a file must have changed to count unasked."""
    return clock.now().timestamp() - project.config.freshness_days * 24 * 3600


def _chosen(
    project: Records,
    session: str,
    fresh: Sequence[Extract],
    remembered: Extract | None,
    owns: Callable[[Extract], bool],
) -> Extract | None:
    """Return which of several plans a session works on; None if nothing shows that.

    That is one whose state the session owns, else the one named in the memory file's reading or, last, by the session's
    work (`Records.mentions`).
    """
    own = [plan for plan in fresh if owns(plan)]
    if len(own) == 1:
        return own[0]
    mentioned = project.mentions(session) if session else ()
    named = (*(remembered.reading if remembered else ()), *mentioned)
    return next((plan for text in named for plan in own or fresh if plan_file.names(text, plan)), None)


def _judged(plan: Candidate, chosen: Extract | None, fresh: Sequence[Extract], *, named: bool) -> Candidate:
    """Return a plan's candidate; one in progress that doesn't count is refused with the reason.

    `named` is whether the memory file names a workflow.
    """
    extract = plan.extract
    if extract is None or (extract == chosen and not named):
        return plan
    if extract == chosen:
        why = (
            f"is in progress ({quoted(extract.name)}); the memory file names the workflow, this adds its reading to it"
        )
        return replace(plan, reason=why)
    why = "too old to count unasked (`freshness_days`)"
    if extract in fresh:
        works = "the session works on another one" if chosen else "nothing shows which one the session works on"
        why = f"but so are others, and {works}"
    return replace(plan, refused=True, reason=f"{plan_file.aged(extract)}, {why}. {plan_file.way(extract)}")


def _combined(remembered: Extract | None, planned: Extract | None) -> Extract | None:
    if remembered is None or planned is None:
        return remembered or planned
    return replace(
        remembered,
        reading=tuple(dict.fromkeys((*remembered.reading, *planned.reading))),
        context={**planned.context, **remembered.context},
        origin="memory+plan",
        basis=remembered,
    )
