"""Why is a workflow detected, saved and restored here, or not? (R001-27)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import StateError
from holdfast.survival import owners
from holdfast.workflow import foreign, formats, guidance, memory, plans
from holdfast.workflow.detect import detect
from holdfast.workflow.formats import compaction, compaction_file
from holdfast.workflow.wording import clean, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.project import Project
    from holdfast.workflow.extract import Candidate, Extract
    from holdfast.workflow.model import Workflow

_MANY = 20  # candidates the text names one by one
_CONTENT = {"reading": "to read", "reminders": "to remember", "context": "as context"}
_MEANINGS = {
    "created": "the next PreCompact would create",
    "updated": "the next PreCompact would update",
    "unchanged": "nothing new to save; it is kept as it is in",
    "buried": "not saved: this workflow was completed, and what names it has not changed since",
    "none": "nothing to save",
}


def explain(project: Project) -> dict[str, Any]:
    """Return everything that decides about saving and restoring in a project; nothing is written.

    Keys: root; candidates (files looked at, with reasons; `notable` where one may be surprised that it does not count);
    detected (the extract or None); state_files (every one, with created, updated, phase and status); problems;
    left_alone (files of other programs); accumulating (older files of a workflow, finished ones); would_save (action,
    path); would_restore (refs, the newest first).
    """
    detection, found = detect(project, everything=True), formats.all_found(project)
    every = _every(project, found.workflows)
    return {
        "root": str(project.root),
        "candidates": [_candidate(candidate) for candidate in detection.candidates],
        "detected": _extract(detection.extract),
        "state_files": [_state_file(workflow) for workflow in every],
        "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in found.problems],
        "left_alone": [{"path": str(path), "why": why} for path, why in foreign.files(project)],
        "accumulating": _accumulating(every, found.workflows),
        "would_save": _would_save(project, detection.extract),
        "would_restore": [workflow.ref for workflow in owners.ranked(found.workflows) if not workflow.finished],
    }


def text(explanation: Mapping[str, Any]) -> str:
    """Return an explanation as plain text for people, paths as seen from the project's root."""
    root = f"{explanation['root']}/"
    save = explanation["would_save"]
    restored = explanation["would_restore"]
    alone = {each["path"] for each in explanation["left_alone"]}
    sections = {
        "Looked at": _looked_at(explanation["candidates"], root),
        "Detected": _detected(explanation["detected"], root),
        "Would be saved": [" ".join(filter(None, (_MEANINGS.get(save["action"], save["action"]), save["path"])))],
        "State files": [
            f"{each['line']}, created {each['created_at'] or 'at an unknown time'}, changed {each['updated_at']}, "
            f"{each['path']}" + "".join(f"\n    warning: {warning}" for warning in each["warnings"])
            for each in explanation["state_files"]
        ],
        "Problems": [
            f"{each['path'].removeprefix(root)}: {each['reason']}"
            for each in explanation["problems"]
            if each["path"] not in alone
        ],
        "Left alone": [f"{each['path'].removeprefix(root)}: {each['why']}" for each in explanation["left_alone"]],
        "Piling up": [f"{each['path']}: {each['why']}" for each in explanation["accumulating"]],
        "Would be restored": [
            f"{ref}: {'in full, if it belongs to the session' if not number else 'in a line'}"
            for number, ref in enumerate(restored)
        ],
    }
    lines = [explanation["root"]]
    for heading, entries in sections.items():
        lines += ["", heading, *(f"  {entry}" for entry in entries or ["nothing"])]
    return "\n".join(lines)


def _looked_at(candidates: list[dict[str, Any]], root: str) -> list[str]:
    """Return a line for each candidate, of very many for those that count or may be expected to."""
    told = candidates
    if len(candidates) > _MANY:
        chosen = [each for each in candidates if each["accepted"] or each["method"] == memory.FILE]
        notable = [each for each in candidates if each["notable"] and each not in chosen]
        told = [*chosen, *notable[: _MANY - len(chosen)]]
    lines = [
        f"{'✓' if each['accepted'] else '✗'} {each['path'].removeprefix(root)}: {'; '.join(each['reasons'])}"
        for each in told
    ]
    if all(each["method"] != "plan" for each in candidates):
        lines.append(f"✗ {plans.FOLDER}/*/{plans.FILE}: there is no plan at such a place")
    if rest := len(candidates) - len(told):
        lines.append(f"✗ {rest:,} more plans do not count; `holdfast explain --json` gives the reason of each")
    return lines


def _detected(extract: Mapping[str, Any] | None, root: str) -> list[str]:
    """Return the workflow that was found, as far as the files tell."""
    if extract is None:
        return []
    number = f" {extract['current']}" if extract["current"] else ""
    total = f" of {extract['total']}" if number and extract["total"] else ""
    title = f" {quoted(extract['phase'])}" if extract["phase"] else ""
    place = f", phase{number}{total}{title}" if number or title else ""
    more = [f"{len(extract[key])} {words}" for key, words in _CONTENT.items() if extract[key]]
    beside = f" with {', '.join(more)}" if more else ""
    return [f"{quoted(extract['name'])}{place}, from {extract['source'].removeprefix(root)}{beside}"]


def _every(project: Project, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflow in every state file, older files of the same workflow too."""
    listed = {workflow.path: workflow for workflow in workflows}
    entries, _ = compaction_file.scan(project)
    for entry in entries:
        listed.setdefault(entry.workflow.path, entry.workflow)
    return list(listed.values())


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "path": clean(str(candidate.path)),
        "method": candidate.method,
        "accepted": candidate.accepted,
        "reasons": [clean(reason) for reason in candidate.reasons],
        "notable": candidate.notable,
    }


def _extract(extract: Extract | None) -> dict[str, Any] | None:
    return {**extract.content, "origin": extract.origin, "source": clean(str(extract.source))} if extract else None


def _state_file(workflow: Workflow) -> dict[str, Any]:
    return {
        "path": workflow.place,
        "format": workflow.format,
        "title": workflow.title,
        "line": guidance.line(workflow),
        "current": workflow.current,
        "total": workflow.total,
        "phase": workflow.phase,
        "status": workflow.status,
        "created_at": workflow.created_at,
        "updated_at": workflow.updated_at,
        "recovered": workflow.recovered,
        "warnings": list(workflow.warnings),
    }


def _accumulating(every: Iterable[Workflow], newest: Iterable[Workflow]) -> list[dict[str, str]]:
    kept = {workflow.path for workflow in newest}
    reasons = [
        (workflow, "an older file of a workflow that has a newer one")
        if workflow.path not in kept
        else (workflow, f"finished; `holdfast done --all {workflow.id}` removes it")
        for workflow in every
        if workflow.path not in kept or (workflow.finished and workflow.format == compaction.NAME)
    ]
    return [{"path": workflow.place, "why": why} for workflow, why in reasons]


def _would_save(project: Project, extract: Extract | None) -> dict[str, Any]:
    try:
        intent = compaction.intend(project, extract)
    except StateError as error:
        return {"action": f"impossible: {error}", "path": None}
    path = intent.path.relative_to(project.root).as_posix() if intent.path else None
    return {"action": intent.action, "path": path}
