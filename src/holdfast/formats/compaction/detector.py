"""Save what a memory file or a plan says about a workflow (R001-13, I001-6)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock, paths
from holdfast.errors import HoldfastError
from holdfast.formats.compaction import adapter, record
from holdfast.formats.compaction.detection import detect, plans, plantext
from holdfast.workflow import manyfiles
from holdfast.workflow.model import Detected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.workflow.records import Records


def save(
    project: Records, session: str, *, written: Path | None = None, text: str = "", starting: bool = False
) -> Detected:
    """Merge what CLAUDE.local.md or an active plan says into the state file; see `workflow.format.Detector`.

    When a session starts, nothing shows yet that it works on a plan, so a plan without a state file only waits.
    """
    if starting and not any(
        each.exists() for each in (project.root / record.SOURCES[0], paths.plans_dir(project.root))
    ):
        return Detected()  # as nearly everywhere
    found = detect.detect(project, session, written=written)
    idle: Iterable[Extract] = () if written else found.waiting
    if starting:
        since = clock.now().timestamp() - project.config.freshness_days * 24 * 3600
        idle = (each for each in found.extracts if each.origin == "plan" and each.mtime >= since)
    waiting = tuple(filter(None, (_left_alone(project, plan) for plan in idle)))
    extract = found.extract
    if extract is None or (starting and extract.origin == "plan" and _left_alone(project, extract)):
        return Detected(waiting=waiting)
    new = written == extract.source and (not text or extract.name in text or plantext.may_be_active(text))
    return _saved(project, session, replace(extract, new=new), written)._replace(waiting=waiting)


def skipped(project: Records) -> list[str]:
    """Say how many plans were not looked at; see `workflow.format.Detector`."""
    left = manyfiles.omitted_count(paths.plans_dir(project.root))
    if not left:
        return []
    return [
        f"{left} older plans in CLAUDE/Plan were not looked at: move those that are finished into a folder of it,"
        " or edit the one that is worked on."
    ]


def waiting(project: Records, places: Sequence[str]) -> list[str]:
    """Name the plans that aren't loaded; see `workflow.format.Detector`."""
    return [line for place in places if (line := plans.hint(project.root, place))]


def _saved(project: Records, session: str, extract: Extract, written: Path | None) -> Detected:
    if not adapter.may_save(project, session, extract, written=written is not None):
        return Detected(
            report=f"{extract.name!r} from {extract.source} was not saved: its workflow isn't this session's"
        )
    try:
        saved = adapter.save(project, extract)
    except HoldfastError as error:
        return Detected(report=f"{extract.name!r} from {extract.source} was not saved: {error}", failed=True)
    report = f"saved {extract.name!r} from {extract.source}: {saved.action}"
    unread = saved.workflow.key if saved.workflow is not None and extract.unread else ""
    removed = ""
    if saved.action == "buried" and saved.path is not None:
        place = saved.path.relative_to(project.root).as_posix()
        removed = f"{adapter.NAME}:{place}#{saved.path.stem}"
    return Detected(saved.path, report, unread=unread, removed=removed)


def _left_alone(project: Records, plan: Extract) -> str:
    """Return the path of a plan that would create a state file and waits until somebody takes it up; or empty."""
    with suppress(HoldfastError):
        if adapter.intend(project, plan).action == "created":
            return plan.source.relative_to(project.root).as_posix()
    return ""
