"""Explain why a workflow is detected, saved and restored here, or why not (R001-27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import command_line
from holdfast.sessions import arbitration, conversations, messages, owners
from holdfast.workflow import guidance, registry
from holdfast.workflow.model import DetectionReport
from holdfast.workflow.wording import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence
    from pathlib import Path

    from holdfast.sessions.arbitration import Verdict
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow

_CONTENT = {"reading": "to read", "reminders": "to remember", "context": "as context"}
_SINCE = "what the file says of it hasn't changed since. If Claude writes it there again, a new run begins"
_MEANINGS = {
    "created": "PreCompact creates",
    "updated": "PreCompact updates",
    "unchanged": "nothing new; what the files say is already in",
    "buried": f"nothing: this workflow is completed, and {_SINCE}; so does `holdfast start`",
    "gone": f"nothing: the state file was removed, and {_SINCE}. To bring the old one back:",
}


class Prospect(NamedTuple):
    """What an unfinished workflow gets after a compaction.

    Attributes:
        ref: the workflow's ref.
        how: `full`, `line`, or `no`.
        why: the same in words, with the reason.
    """

    ref: str
    how: str
    why: str


def explain(project: Workspace, session: str | None = None) -> dict[str, Any]:
    """Return everything that decides about saving and restoring in a project; nothing is written.

    Keys: root; candidates (files looked at, with reasons and warnings); detected (the extract or None); state_files
    (all of them, with created, updated, phase and status); problems; left_alone (files of other programs, and whether
    they take the place of one); accumulating (older files of a workflow, and finished ones); would_save (action, path);
    prospects (what each unfinished workflow gets at the next compaction, of `session` if given, and why); would_restore
    (the refs of those that go on then, the one in full first; of a paused one the model only sees that it is there).
    """
    live = conversations.live_others(project, "")
    if session is None and len(live) < 2:
        session = next(iter(live), "")
    seen, found = list(registry.detected(lambda each: each.report(project, session or ""))), registry.all_found(project)
    piling = {workflow.path: workflow for each in seen for workflow in each.files}
    every = {workflow.path: workflow for workflow in found.workflows}
    every |= {path: workflow for path, workflow in piling.items() if path not in every}
    chosen = next((each for each in seen if each.detected), next(iter(seen), DetectionReport()))
    detected = [chosen.path] if chosen.path else []
    prospects = foresee(project, found.workflows, session, chosen.saved, detected)
    saved = [chosen.saved] if chosen.saved else []
    workflows = {each.ref: each for each in (*found.workflows, *saved)}
    paused = {ref for ref, each in workflows.items() if each.paused}
    return {
        "root": str(project.root),
        "candidates": [candidate for each in seen for candidate in each.candidates],
        "detected": chosen.detected,
        "state_files": [_state_file(workflow) for workflow in every.values()],
        "problems": [{"path": str(problem.path), "reason": problem.reason} for problem in found.problems],
        "left_alone": [
            {"path": str(each.path), "reason": each.meaning, "in_the_way": each.in_the_way}
            for each in registry.foreign(project)
        ],
        "accumulating": _accumulating(every.values(), found.workflows, piling),
        "would_save": _would_save(project, chosen),
        "prospects": [
            {"ref": each.ref, "name": named(workflows[each.ref]), "restored": each.how, "reason": each.why}
            for each in prospects
        ],
        "would_restore": [each.ref for each in prospects if each.how != "no" and each.ref not in paused],
    }


def foresee(
    project: Workspace,
    workflows: Sequence[Workflow],
    session: str | None,
    saved: Workflow | None,
    detected: Collection[Path] = (),
) -> list[Prospect]:
    """Return what each unfinished workflow would get if a conversation were compacted now; nothing is written.

    None means any of those that are live. `saved` is the workflow that PreCompact would write first, which replaces the
    one of the same path. `detected` are the state files that have what the session's own files say. The workflow that
    is restored in full comes first, then the others, the newest first.
    """
    live = conversations.live_others(project, "")
    if saved is not None:
        workflows = [saved, *(each for each in workflows if each.path != saved.path)]
    unfinished = [each for each in owners.by_rank(workflows) if not each.finished]
    affected = [session] if session is not None else sorted(live)
    verdicts = {each: arbitration.foresee(project, each, workflows, detected) for each in affected}
    others = conversations.live_others(project, session) if session is not None else live
    if others:
        everyone = {*others, *affected}
        holders = owners.holders(project, unfinished)
        names = conversations.session_ids(project, everyone)
        found = [_shared(each, holders[each.key], verdicts, names) for each in unfinished]
    else:
        found = [_alone(project, each, verdicts[affected[0]], coming=each is saved) for each in unfinished]
    return sorted(found, key=lambda each: each.how != "full")


def text(explanation: Mapping[str, Any]) -> str:
    """Return an explanation as plain text for people, with paths relative to the project's root."""
    root = f"{explanation['root']}/"
    alone = {each["path"] for each in explanation["left_alone"]}
    sections = {
        "Workflows": [f"{_title(explanation, each['ref'])}: {each['reason']}" for each in explanation["prospects"]],
        "Saved first": _saying(explanation["would_save"], explanation["detected"], root),
        "State files": [
            f"{each['line']}\n    {each['path']}, "
            + (f"created {clock.minute(each['created_at'])}, " if each["created_at"] else "")
            + f"changed {clock.minute(each['updated_at'])}"
            + "".join(f"\n    warning: {warning}" for warning in each["warnings"])
            for each in explanation["state_files"]
        ],
        "Found in other files": _detected(explanation["detected"], root),
        "Files that can describe a workflow": _looked_at(explanation["candidates"], root),
        "Problems": [
            f"warning: {each['path'].removeprefix(root)}: {each['reason']}"
            for each in explanation["problems"]
            if each["path"] not in alone
        ],
        "Left alone": [
            f"{'warning: ' if each['in_the_way'] else ''}{each['path'].removeprefix(root)}: {each['reason']}"
            for each in explanation["left_alone"]
        ],
        "Piling up": [f"{each['path']}: {each['reason']}" for each in explanation["accumulating"]],
    }
    shown = ("\n  ".join([heading, *entries]) for heading, entries in sections.items() if entries)
    return "\n\n".join(shown)


def named(workflow: Workflow) -> str:
    """Return a workflow's title, position and current phase on one line."""
    phase = f" {one_line(workflow.current_name)}" if workflow.phase and not workflow.finished else ""
    return f"{one_line(workflow.title)} {workflow.position}{phase}"


def _looked_at(candidates: Sequence[Mapping[str, Any]], root: str) -> list[str]:
    """Return a line for each file that can describe a workflow."""
    lines = []
    for each in candidates:
        mark = "✓" if each["accepted"] else "-"
        lines.append(f"{mark} {each['path'].removeprefix(root)}: {'; '.join(each['reasons'])}")
        lines += [f"    warning: {warning}" for warning in each["warnings"]]
    return lines


def _title(explanation: Mapping[str, Any], ref: str) -> str:
    """Return the name of the workflow with this ref; that of one not saved yet is in the file that describes it."""
    for each in explanation["state_files"]:
        if ref == f"{each['format']}:{each['path']}":
            return quoted(each["title"])
    return quoted(explanation["detected"]["name"]) if explanation["detected"] else ref


def _saying(save: Mapping[str, Any], detected: Mapping[str, Any] | None, root: str) -> list[str]:
    """Say what the next PreCompact would do; nothing if it has nothing to do."""
    if save["action"] == "none":
        return [f"nothing: {detected['source'].removeprefix(root)} says that it is completed"] if detected else []
    meaning = _MEANINGS.get(save["action"], save["action"])
    if save["action"] == "buried" and save["path"]:
        return [f"{_MEANINGS['gone']} {save['remedy'] or 'change it there'}"]
    return [" ".join(filter(None, (meaning, save["path"])))]


def _detected(extract: Mapping[str, Any] | None, root: str) -> list[str]:
    """Describe the detected workflow as far as the files tell; no lines without one."""
    if extract is None:
        return []
    number = f" {extract['current']}" if extract["current"] else ""
    total = f" of {extract['total']}" if number and extract["total"] else ""
    title = f" {quoted(extract['phase'])}" if extract["phase"] else ""
    place = f", phase{number}{total}{title}" if number or title else ""
    more = [f"{len(extract[key])} {words}" for key, words in _CONTENT.items() if extract[key]]
    contents = f" with {', '.join(more)}" if more else ""
    return [f"{quoted(extract['name'])}{place}, from {extract['source'].removeprefix(root)}{contents}"]


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
        "warnings": [*workflow.warnings, *workflow.remarks],
    }


def _accumulating(
    every: Iterable[Workflow], newest: Iterable[Workflow], piling: Container[Path]
) -> list[dict[str, str]]:
    current = {workflow.path for workflow in newest}
    reasons = [
        (workflow, "an older file of a workflow with a newer one")
        if workflow.path not in current
        else (workflow, f"finished; `{command_line('done', '--all', workflow.id)}` puts its file into the archive")
        for workflow in every
        if workflow.path not in current or (workflow.finished and workflow.path in piling)
    ]
    return [{"path": workflow.place, "reason": why} for workflow, why in reasons]


def _would_save(project: Workspace, seen: DetectionReport) -> dict[str, Any]:
    path = seen.path.relative_to(project.root).as_posix() if seen.path else None
    if seen.action == "buried" and seen.path is not None:
        return {"action": seen.action, "path": path, "remedy": messages.way_back(project, seen.path)}
    return {"action": seen.action, "path": path}


def _alone(project: Workspace, each: Workflow, verdict: Verdict, *, coming: bool) -> Prospect:
    """Return a workflow's prospect if no other session is live."""
    full = verdict.full
    if each.paused:
        return Prospect(each.ref, "line" if full else "no", f"paused; `{command_line('claim', each.id)}` resumes it")
    if each is full:
        return Prospect(each.ref, "full", "in full, as PreCompact saves it first" if coming else "in full")
    changed = owners.changed_at(project, each)
    days = f"{project.config.freshness_days:g}"
    age = f"too old: it last changed at {clock.minute(changed)}, more than {days} days ago (`freshness_days`)"
    if full is None:
        return Prospect(each.ref, "no", f"not restored, {age}")
    fresh = owners.fresh(project, each)
    return Prospect(each.ref, "line", f"in one line, below {quoted(full.title)}" if fresh else f"in one line; {age}")


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
