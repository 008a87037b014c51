"""Save what a memory file or a plan says about a workflow, and report it (R001-13, R001-27, I001-6)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast import clock, paths
from holdfast.errors import HoldfastError, command_line
from holdfast.files.document import Document
from holdfast.formats.compaction import merge, schema
from holdfast.formats.compaction.detection import memory_file, plan_file
from holdfast.formats.compaction.detection.detect import detect, fresh_since
from holdfast.formats.compaction.detection.extract import Candidate
from holdfast.formats.compaction.format import FORMAT
from holdfast.workflow.model import Detected, DetectionReport
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from holdfast.formats.compaction.detection.extract import Extract
    from holdfast.formats.compaction.merge import Intent
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


_ELSEWHERE = (  # plans of other tools and places; the same file may match twice
    *("[Pp][Ll][Aa][Nn].md", "*_[Pp][Ll][Aa][Nn].md", "docs/[Pp][Ll][Aa][Nn].md", "CLAUDE/PLAN.md", "CLAUDE/Plan/*.md"),
    *(".planning/STATE.md", ".claude/PLAN.md", "plans/*.md", "docs/plans/*.md", "specs/*/plan.md"),
)
_MOST_ELSEWHERE = 10


def save(
    project: Records, session: str, *, written: Path | None = None, text: str = "", starting: bool = False
) -> Detected:
    """Merge what CLAUDE.local.md or an active plan says into the state file; see `workflow.format.Detector`.

    When a session starts, nothing shows yet that it works on a plan, so a plan without a state file only waits.
    """
    if starting and not any(each.exists() for each in (project.root / memory_file.FILE, paths.plans_dir(project.root))):
        return Detected()  # as nearly everywhere
    detection = detect(project, session, written=written, owns=partial(_owns, project, session))
    idle: Iterable[Extract] = () if written else detection.waiting
    if starting:
        since = fresh_since(project)
        idle = (each for each in detection.extracts if each.origin == "plan" and each.mtime >= since)
    waiting = tuple(filter(None, (_left_alone(project, plan) for plan in idle)))
    extract = detection.extract
    if extract is None or (starting and extract.origin == "plan" and _left_alone(project, extract)):
        return Detected(waiting=waiting)
    new = written == extract.source and (not text or extract.name in text or plan_file.may_be_active(text))
    return _saved(project, session, replace(extract, new=new), written)._replace(waiting=waiting)


def waiting(project: Records, places: Sequence[str]) -> list[str]:
    """Name the plans that aren't loaded; see `workflow.format.Detector`."""
    return [line for place in places if (line := plan_file.hint(project.root, place))]


def report(project: Records, session: str) -> DetectionReport:
    """Look at the memory file, every plan and every state file; see `workflow.format.Detector`."""
    detection = detect(project, session, everything=True, owns=partial(_owns, project, session))
    candidates = sorted(detection.candidates[1:], key=lambda each: each.extract is None)  # of many, few are shown
    seen = DetectionReport(
        candidates=tuple(map(_candidate, (detection.candidates[0], *_elsewhere(project), *candidates))),
        detected=_extract(detection.extract) if detection.extract else None,
        files=tuple(FORMAT.each_file(project)),
    )
    intent = _next_save(project, detection.extract, session)
    if isinstance(intent, str):
        return seen._replace(action=f"PreCompact can't save what the files say: {intent}")
    return seen._replace(action=intent.action, path=intent.path, saved=_as_saved(project, intent))


def _saved(project: Records, session: str, extract: Extract, written: Path | None) -> Detected:
    if not merge.may_save(project, session, extract, written=written is not None):
        return Detected(
            report=f"{extract.name!r} from {extract.source} was not saved: its workflow isn't this session's"
        )
    try:
        saved = merge.save(project, extract)
    except HoldfastError as error:
        return Detected(report=f"{extract.name!r} from {extract.source} was not saved: {error}", failed=True)
    report = f"saved {extract.name!r} from {extract.source}: {saved.action}"
    if saved.action == "buried" and saved.path is not None:
        place = saved.path.relative_to(project.root).as_posix()
        return Detected(saved.path, report, removed=f"{schema.NAME}:{place}#{saved.path.stem}")
    return Detected(saved.path, report, unread=saved.saved.key if saved.saved and extract.unread else "")


def _owns(project: Records, session: str, plan: Extract) -> bool:
    workflow = merge.existing(project, plan)
    return workflow is not None and project.owner(workflow) == session


def _left_alone(project: Records, plan: Extract) -> str:
    """Return the path of a plan that would create a state file and waits until somebody takes it up; or empty."""
    with suppress(HoldfastError):
        if merge.intend(project, plan).action == "created":
            return plan.source.relative_to(project.root).as_posix()
    return ""


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "path": clean(str(candidate.path)),
        "method": memory_file.FILE if candidate.path.name == memory_file.FILE else "plan",
        "accepted": candidate.accepted,
        "reasons": [clean(candidate.reason)],
        "warnings": [clean(warning) for warning in candidate.warnings],
    }


def _extract(extract: Extract) -> dict[str, Any]:
    return {**extract.content, "origin": extract.origin, "source": clean(str(extract.source))}


def _elsewhere(project: Records) -> Iterator[Candidate]:
    """Yield the files that look like a plan at a place that isn't read, unless a workflow requires reading them."""
    required = {entry for each in FORMAT.find(project).workflows for entry in each.reading}
    matching = {path for pattern in _ELSEWHERE for path in project.root.glob(pattern) if path.is_file()}
    places = {path.relative_to(project.root).as_posix(): path for path in sorted(matching)}
    for place in [each for each in places if f"@{each}" not in required][:_MOST_ELSEWHERE]:
        with suppress(OSError):  # as for a link out of the project
            command = command_line("start", plan_file.title(places[place], project.root), "--read", place)
            only = f"Holdfast reads plans only in {plan_file.FOLDER}/NAME/{plan_file.FILE}"
            take_up = f"To take it up where it is: `{command}`, with --phase for each phase"
            yield Candidate(places[place], f"{only}. {take_up}")


def _next_save(project: Records, extract: Extract | None, session: str) -> Intent | str:
    """Return the changes of the next PreCompact, or why it makes none."""
    try:
        intent = merge.intend(project, extract)
        owner = session or (project.owner(intent.before) if intent.before else None) or ""
        if extract is None or merge.may_save(project, owner, extract, written=False):
            return intent
    except HoldfastError as error:
        return str(error)
    others = project.live_others(owner)
    return "another live session could own the workflow" if others else "it is too old (`freshness_days`)"


def _as_saved(project: Records, intent: Intent) -> Workflow | None:
    """Return the workflow that PreCompact would write; None if it writes none."""
    if intent.action not in ("created", "updated") or intent.path is None or intent.data is None:
        return None
    written = Document(intent.path, dict(intent.data), b"", clock.now().timestamp())
    return schema.view(project, StateFile(written))
