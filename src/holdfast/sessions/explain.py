"""Why is a workflow detected, saved and restored here, or not? (R001-27)"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import StateError
from holdfast.files.document import Document
from holdfast.formats.compaction import adapter as compaction
from holdfast.formats.compaction import file
from holdfast.formats.compaction.detection import memory, plans, planstatus
from holdfast.formats.compaction.detection.detect import detect
from holdfast.sessions.history import removed_state
from holdfast.sessions.ownership import preview
from holdfast.workflow import guidance, registry
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import clean, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.formats.compaction.detection.extract import Candidate, Extract
    from holdfast.formats.compaction.save import Intent
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_MANY = 50  # plans the text names one by one
_NEWEST = 3  # plans it names whatever they say, when there are more
_ALIKE = 10  # of them, for each kind of reason
_FAR = (planstatus.COMPLETED, planstatus.DROPPED, planstatus.SILENT)
_CONTENT = {"reading": "to read", "reminders": "to remember", "context": "as context"}
_MEANINGS = {
    "created": "the next PreCompact would create",
    "updated": "the next PreCompact would update",
    "unchanged": "nothing new to save; it is kept as it is in",
    "buried": "not saved: this workflow was completed, and what names it has not changed since",
    "gone": "not saved: the state file was removed, and what names the workflow has not changed since;",
    "none": "nothing to save",
}


def explain(project: Workspace, session: str | None = None) -> dict[str, Any]:
    """Return everything that decides about saving and restoring in a project; nothing is written.

    Keys: root; candidates (files looked at, with reasons and warnings; `notable` where one may be surprised that it
    does not count; `kind` is what those refused for much the same reason share); detected (the extract or None);
    state_files (every one, with created, updated, phase and status); problems; left_alone (files of other programs, and
    whether they are in the way); accumulating (older files of a workflow, finished ones); would_save (action, path);
    prospects (what each unfinished workflow gets at the next compaction, of `session` if it is known, and why);
    would_restore (the refs of those the model gets to see then, that in full first).
    """
    detection, found = detect(project, everything=True), registry.all_found(project)
    every = _every(project, found.workflows)
    intent = _intent(project, detection.extract)
    saved = None if isinstance(intent, str) else _saved(project, intent)
    prospects = preview.foresee(project, found.workflows, session, saved)
    return {
        "root": str(project.root),
        "candidates": [_candidate(candidate) for candidate in detection.candidates],
        "detected": _extract(detection.extract),
        "state_files": [_state_file(workflow) for workflow in every],
        "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in found.problems],
        "left_alone": [
            {"path": str(path), "why": why, "in_the_way": in_the_way}
            for path, why, in_the_way in registry.foreign(project)
        ],
        "accumulating": _accumulating(every, found.workflows),
        "would_save": _would_save(project, intent),
        "prospects": [{"ref": each.ref, "how": each.how, "why": each.why} for each in prospects],
        "would_restore": [each.ref for each in prospects if each.how != "no"],
    }


def text(explanation: Mapping[str, Any], *, everything: bool = False) -> str:
    """Return an explanation as plain text for people, paths as seen from the project's root.

    Up to fifty candidates have a line each; of more, with `everything` too, and else those that matter, with the others
    counted by reason.
    """
    root = f"{explanation['root']}/"
    save = explanation["would_save"]
    alone = {each["path"] for each in explanation["left_alone"]}
    sections = {
        "Looked at": _looked_at(explanation["candidates"], root, everything=everything),
        "Detected": _detected(explanation["detected"], root),
        "Would be saved": [_saying(save)],
        "State files": [
            f"{each['line']}, {_created(each['created_at'])}changed {each['updated_at']}, "
            f"{each['path']}" + "".join(f"\n    warning: {warning}" for warning in each["warnings"])
            for each in explanation["state_files"]
        ],
        "Problems": [
            f"warning: {each['path'].removeprefix(root)}: {each['reason']}"
            for each in explanation["problems"]
            if each["path"] not in alone
        ],
        "Left alone": [
            f"{'warning: ' if each['in_the_way'] else ''}{each['path'].removeprefix(root)}: {each['why']}"
            for each in explanation["left_alone"]
        ],
        "Piling up": [f"{each['path']}: {each['why']}" for each in explanation["accumulating"]],
        "Would be restored": [f"{each['ref']}: {each['why']}" for each in explanation["prospects"]],
    }
    lines = [explanation["root"]]
    for heading, entries in sections.items():
        lines += ["", heading, *(f"  {entry}" for entry in entries or ["nothing"])]
    return "\n".join(lines)


def _saying(save: Mapping[str, Any]) -> str:
    """Return what the next PreCompact would do, in words."""
    meaning = _MEANINGS.get(save["action"], save["action"])
    if save["action"] == "buried" and save["path"]:
        return f"{_MEANINGS['gone']} to bring it back: {save['way'] or 'change it there'}"
    return " ".join(filter(None, (meaning, save["path"])))


def _created(at: str) -> str:
    """Return when a state file says it was made, nothing where it does not say it."""
    return f"created {at}, " if at else ""


def _looked_at(candidates: list[dict[str, Any]], root: str, *, everything: bool) -> list[str]:
    """Return a line for each candidate; of very many for those that matter, and one for each reason of the others."""
    planned = [each for each in candidates if each["method"] != memory.FILE]
    told = candidates if everything or len(planned) <= _MANY else _chosen(candidates, planned)
    lines = []
    for each in told:
        lines.append(
            f"{'✓' if each['accepted'] else '✗'} {each['path'].removeprefix(root)}: {'; '.join(each['reasons'])}"
        )
        lines += [f"    warning: {warning}" for warning in each["warnings"]]
    if not planned:
        lines.append(f"✗ {plans.FOLDER}/*/{plans.FILE}: there is no plan at such a place")
    if len(told) < len(candidates):
        named = {each["path"] for each in told}
        lines += _grouped([each for each in candidates if each["path"] not in named], root)
    return lines


def _chosen(candidates: list[dict[str, Any]], planned: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the candidates to be named: what counts, the newest, and as many as there is room for that come near."""
    first = [each for each in candidates if each["accepted"] or each["method"] == memory.FILE] + planned[:_NEWEST]
    kinds = {each["kind"]: None for each in sorted(planned, key=lambda each: not each["notable"])}
    near = [[each for each in planned if each["kind"] == kind][:_ALIKE] for kind in kinds if kind not in _FAR]
    named = set(list(dict.fromkeys(each["path"] for each in [*first, *chain(*near)]))[:_MANY])
    return [each for each in candidates if each["path"] in named]


def _grouped(candidates: list[dict[str, Any]], root: str) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for each in candidates:
        kinds.setdefault(each["kind"], []).append(each["path"].removeprefix(root))
    lines = [
        f"✗ {len(paths):,} more: {kind}, such as {paths[0]}"
        for kind, paths in sorted(kinds.items(), key=lambda group: -len(group[1]))
    ]
    return [*lines, "`holdfast explain --all` gives the reason of each"]


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


def _every(project: Workspace, workflows: Iterable[Workflow]) -> list[Workflow]:
    """Return the workflow in every state file, older files of the same workflow too."""
    listed = {workflow.path: workflow for workflow in workflows}
    entries, _ = file.scan(project)
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
        "kind": candidate.kind,
        "warnings": [clean(warning) for warning in candidate.warnings],
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


def _intent(project: Workspace, extract: Extract | None) -> Intent | str:
    """Return what the next PreCompact would do, or why it could do nothing."""
    try:
        return compaction.intend(project, extract)
    except StateError as error:
        return str(error)


def _would_save(project: Workspace, intent: Intent | str) -> dict[str, Any]:
    if isinstance(intent, str):
        return {"action": f"warning: impossible: {intent}", "path": None}
    path = intent.path.relative_to(project.root).as_posix() if intent.path else None
    if intent.action == "buried" and intent.path is not None:
        return {"action": intent.action, "path": path, "way": removed_state.way(project, intent.path)}
    return {"action": intent.action, "path": path}


def _saved(project: Workspace, intent: Intent) -> Workflow | None:
    """Return the workflow that PreCompact would write, as it is then; None where it writes none."""
    if intent.action not in ("created", "updated") or intent.path is None or intent.data is None:
        return None
    written = Document(intent.path, dict(intent.data), b"", clock.now().timestamp())
    return file.view(project, StateFile(written))
