"""What memory files and plans say, and what the next save would do, for `explain` and `forget` (R001-27)."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from holdfast import clock
from holdfast.errors import HoldfastError, command_line
from holdfast.files.document import Document
from holdfast.formats.compaction import adapter, file
from holdfast.formats.compaction.detection import memory, plans, planstatus
from holdfast.formats.compaction.detection.detect import detect
from holdfast.workflow import markdown, prose, scanner, statuses
from holdfast.workflow.outlook import Outlook
from holdfast.workflow.statefile import StateFile
from holdfast.workflow.wording import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.formats.compaction.detection.extract import Candidate, Extract
    from holdfast.formats.compaction.save import Intent
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records

_MANY = 50  # plans that the text lists one by one
_NEWEST = 3  # newest plans that it lists in any case if there are more
_ALIKE = 10  # plans that it lists for each kind of reason then
_NEAR_MISSES = (  # plans of other tools and places; the same file may match twice
    *("[Pp][Ll][Aa][Nn].md", "*_[Pp][Ll][Aa][Nn].md", "docs/[Pp][Ll][Aa][Nn].md", "CLAUDE/PLAN.md", "CLAUDE/Plan/*.md"),
    *(".planning/STATE.md", ".claude/PLAN.md", "plans/*.md", "docs/plans/*.md", "specs/*/plan.md"),
)
_FAR = (planstatus.COMPLETED, planstatus.DROPPED, planstatus.SILENT)


def outlook(project: Records, session: str) -> Outlook:
    """Look at the memory file, every plan and every state file; nothing is written."""
    detection = detect(project, session, everything=True)
    extract = detection.extract
    intent = _intent(project, extract, session)
    entries, _ = file.scan(project)
    found = Outlook(
        candidates=tuple(_candidate(candidate) for candidate in detection.candidates),
        detected=_extract(extract) if extract else None,
        files=tuple(entry.workflow for entry in entries),
        near_misses=tuple(_near_misses(project, [entry.workflow for entry in entries])),
        action=f"PreCompact can't save what the files say: {intent}" if isinstance(intent, str) else intent.action,
    )
    if isinstance(intent, str):
        return found
    return found._replace(path=intent.path, saved=_saved(project, intent))


def looked_at(candidates: Sequence[Mapping[str, Any]], root: str, *, everything: bool) -> list[str]:
    """Return a line for each candidate; of very many, one for each that matters and for each reason of the others."""
    planned = [each for each in candidates if each["method"] != memory.FILE]
    told = candidates if everything or len(planned) <= _MANY else _chosen(candidates, planned)
    lines = []
    for each in told:
        lines.append(
            f"{'✓' if each['accepted'] else '-'} {each['path'].removeprefix(root)}: {'; '.join(each['reasons'])}"
        )
        lines += [f"    warning: {warning}" for warning in each["warnings"]]
    if not planned:
        lines.append(f"- {plans.FOLDER}/*/{plans.FILE}: no plan here")
    if len(told) < len(candidates):
        named = {each["path"] for each in told}
        lines += _grouped([each for each in candidates if each["path"] not in named], root)
    return lines


def _chosen(candidates: Sequence[Mapping[str, Any]], planned: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the candidates to list: those that count, the newest, and as many near misses as there is room for."""
    first = [each for each in candidates if each["accepted"] or each["method"] == memory.FILE] + planned[:_NEWEST]
    kinds = {each["kind"]: None for each in sorted(planned, key=lambda each: not each["notable"])}
    near = [[each for each in planned if each["kind"] == kind][:_ALIKE] for kind in kinds if kind not in _FAR]
    named = set(list(dict.fromkeys(each["path"] for each in [*first, *chain(*near)]))[:_MANY])
    return [each for each in candidates if each["path"] in named]


def _grouped(candidates: list[Mapping[str, Any]], root: str) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for each in candidates:
        kinds.setdefault(each["kind"], []).append(each["path"].removeprefix(root))
    lines = [
        f"- {len(paths):,} more: {kind}, such as {paths[0]}"
        for kind, paths in sorted(kinds.items(), key=lambda group: -len(group[1]))
    ]
    return [*lines, "`holdfast status --why --all` gives each reason"]


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


def _extract(extract: Extract) -> dict[str, Any]:
    return {**extract.content, "origin": extract.origin, "source": clean(str(extract.source))}


def _near_misses(project: Records, workflows: Sequence[Workflow]) -> Iterator[dict[str, str]]:
    """Yield the files that look like a plan at a place that isn't read, unless a workflow requires reading them."""
    known = {entry for each in workflows for entry in each.reading}
    found = {path for pattern in _NEAR_MISSES for path in project.root.glob(pattern) if path.is_file()}
    places = (path.relative_to(project.root).as_posix() for path in sorted(found))
    for place in [each for each in places if f"@{each}" not in known][:_ALIKE]:
        path = project.root / place
        with suppress(OSError):  # as for a link out of the project
            text = prose.read(path, project.root)
            headings = (line.text for line in scanner.lines(text.text if text else "") if line.kind == "heading")
            title = one_line(statuses.split_mark(markdown.plain(next(headings, "").replace("`", "")))[0]) or path.stem
            command = command_line("start", title, "--read", place)
            why = (
                f"Holdfast reads plans only in {plans.FOLDER}/NAME/{plans.FILE}. To take it up where it is: `{command}`"
            )
            yield {"path": clean(str(path)), "reason": f"{why}, with --phase for each phase"}


def _intent(project: Records, extract: Extract | None, session: str) -> Intent | str:
    """Return what the next PreCompact would do, or why it can't do anything."""
    try:
        intent = adapter.intend(project, extract)
        owner = session or (project.owner(intent.entry.workflow) if intent.entry else None) or ""
        if extract is None or adapter.may_save(project, owner, extract, written=False):
            return intent
    except HoldfastError as error:
        return str(error)
    others = project.live_others(owner)
    return "another live session could own the workflow" if others else "it is too old (`freshness_days`)"


def _saved(project: Records, intent: Intent) -> Workflow | None:
    """Return the workflow that PreCompact would write; None if it writes none."""
    if intent.action not in ("created", "updated") or intent.path is None or intent.data is None:
        return None
    written = Document(intent.path, dict(intent.data), b"", clock.now().timestamp())
    return file.view(project, StateFile(written))
