"""Reads and writes the `checkbox` format: `checklists/*.md`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import BrokenError, MissingError, SchemaMismatch, StateError, TransitionError
from holdfast.files import document
from holdfast.files.lock import locked
from holdfast.workflow import search, statefile
from holdfast.workflow.draft import Draft
from holdfast.workflow.format import Format
from holdfast.workflow.model import Found, Phase, Problem, Restored, Workflow
from holdfast_checkbox import markdown, record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from holdfast.workflow.model import Changes, Start, Status
    from holdfast.workflow.records import Records

NAME = record.NAME
MOST = 16
"""Checklists that an event reads: those that are asked for, and the last changed."""
_BOXES: dict[Status, str] = {"completed": "x", "failed": "!", "active": " "}


class CheckboxFormat(Format):
    """Checklists in Markdown, one workflow each."""

    name = record.NAME

    def find(self, project: Records) -> Found:
        """Return the project's checklists."""
        return _found(project, sorted((project.root / record.TOP).glob("*.md")))

    def candidates(self, project: Records, keys: Collection[str]) -> Found:
        """Return the checklists with these keys, and those that were changed last."""
        wanted = [
            project.root / key.removeprefix(f"{NAME}:").rpartition("#")[0] for key in keys if key.startswith(NAME)
        ]
        paths = sorted((project.root / record.TOP).glob("*.md"))
        newest = sorted(paths, key=_changed, reverse=True)
        chosen = list(dict.fromkeys([*(path for path in wanted if path in paths), *newest]))[:MOST]
        return replace(_found(project, chosen), left=len(paths) - len(chosen))

    def start(self, project: Records, start: Start) -> Workflow:
        """Write a new checklist. An unfinished one of the same title gives way with `replace`; a finished one stays."""
        if not start.title.strip() or not start.phases:
            raise TransitionError("a checklist needs a title and an item; name one with --phase")
        if any(agent for _, agent in start.phases):
            raise TransitionError("checkbox keeps no agents")
        text = markdown.fresh(start.title, [title for title, _ in start.phases])
        text = _with(text, start.reading, start.reminders, start.context.items())
        statefile.guard(project.root, project.root / record.TOP)
        with locked(project.root / record.TOP):
            path, before = _place(project, start)
            return _write(project, path, text.encode(), before, why="start")

    def change(
        self,
        project: Records,
        workflow: Workflow,
        edit: Callable[[Draft], None],
        *,
        why: str,
        error: str = "",
        repair: bool = False,
    ) -> Workflow:
        """Run `edit` on a draft of the checklist and write its text."""

        def apply(text: str) -> str:
            draft = _Draft(text)
            edit(draft)
            return draft.text

        return _rewrite(project, workflow, apply, why=why, error=error)

    def parsed(self, project: Records, path: Path, raw: bytes) -> Workflow:
        """Return what a content of a file says. Raises SchemaMismatch for a text that is no checklist."""
        return _workflow(project, path, raw, clock.stamp())

    def restore(self, project: Records, path: Path, raw: bytes, *, why: str, replace: bool) -> Restored:
        """Make a file hold an earlier content again."""
        self.parsed(project, path, raw)
        statefile.guard(project.root, path)
        with locked(path.parent):
            try:
                before: bytes | None = document.read(path, search.LIMIT_BYTES)[0]
            except MissingError:
                before = None
            aside = None
            if before is not None and before != raw:
                project.keep(path, before, why=f"before {why}")
                aside = statefile.keep_aside(project, path, before)
            return Restored(_write(project, path, raw, before, why=why), before != raw, aside)


class _Draft(Draft):
    """The text of a checklist during one change."""

    unit_word = "item"

    def __init__(self, text: str) -> None:
        self.text = text

    def units(self) -> tuple[Phase, ...]:
        """Return the items."""
        return _phases(markdown.parse(self.text))

    def move(self, id: str, status: Status, *, note: str = "", reason: str = "") -> None:
        """Tick an item, or let it fail, or open a failed one again: each where the one before it is done."""
        item = self.unit(id)
        if status in ("pending", "blocked") or (item.status == "pending" and status != "completed"):
            self.refuse("items follow one another, and each is open, failed or done; use an editor")
        if status != item.status:
            self.text = markdown.ticked(self.text, item.number, note, box=_BOXES[status])

    def add(self, changes: Changes) -> None:
        """Add reading, reminders and context to their sections."""
        self.text = _with(self.text, changes.reading, changes.reminders, changes.context.items())


def _place(project: Records, start: Start) -> tuple[Path, bytes | None]:
    """Return where a new checklist goes and what is there: the file is its id, so a finished one keeps its own."""
    number = 0
    while True:
        number += 1
        path = project.root / record.TOP / markdown.file_name(start.title, number)
        statefile.guard(project.root, path)
        try:
            before, _ = document.read(path, search.LIMIT_BYTES)
        except MissingError:
            return path, None
        now = _workflow(project, path, before, clock.stamp())
        if not now.finished and not start.replace:
            raise TransitionError(f"{now.place} is unfinished; complete it first, or give --replace")
        if not now.finished:
            project.shelve(now)
            return path, before


def _found(project: Records, paths: Iterable[Path]) -> Found:
    workflows, problems = list[Workflow](), list[Problem]()
    for path in paths:
        try:
            statefile.guard(project.root, path)
            raw, mtime = document.read(path, search.LIMIT_BYTES)
            workflows.append(_workflow(project, path, raw, _stamp(mtime)))
        except (MissingError, SchemaMismatch):
            continue  # another Markdown file, which is nobody's business
        except StateError as error:
            problems.append(Problem(error.path, error.reason))
    return Found(tuple(sorted(workflows, key=lambda each: each.updated_at, reverse=True)), tuple(problems))


def _workflow(project: Records, path: Path, raw: bytes, changed: str) -> Workflow:
    try:
        found = markdown.parse(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BrokenError(path, "is not UTF-8") from None
    if not found.title or not found.items:
        raise SchemaMismatch(path, "is no checklist: it needs a title and an item")
    phases = _phases(found)
    current = next((each.number for each in phases if each.status != "completed"), None)
    status = phases[current - 1].status if current else "completed"
    return Workflow(
        format=NAME,
        id=path.stem,
        title=found.title,
        kind="",
        status=status,
        phases=phases,
        current=current,
        total=len(phases),
        phase=phases[current - 1].title if current else "",
        phase_status=status if current else "",
        reading=tuple(each if each.startswith("@") else f"@{each}" for each in found.sections["Reading"]),
        reminders=tuple(found.sections["Reminders"]),
        context=dict(markdown.pair(each) for each in found.sections["Context"]),
        created_at="",
        updated_at=changed,
        path=path,
        raw=raw,
        root=project.root,
    )


def _phases(found: markdown.Checklist) -> tuple[Phase, ...]:
    """Return the items; the first that isn't done is active, unless it failed."""
    current = next((number for number, item in enumerate(found.items, 1) if not item.done), None)
    return tuple(
        Phase(
            f"item_{number}",
            number,
            item.title,
            "completed" if item.done else "failed" if item.failed else "active" if number == current else "pending",
            handover=item.note,
        )
        for number, item in enumerate(found.items, 1)
    )


def _rewrite(
    project: Records, workflow: Workflow, edit: Callable[[str], str], *, why: str, error: str = ""
) -> Workflow:
    """Change a file in one step; nobody else's change is lost. A content that stays is not written."""
    statefile.guard(project.root, workflow.path)

    def attempt() -> Workflow:
        before, mtime = document.read(workflow.path, search.LIMIT_BYTES)
        now = _workflow(project, workflow.path, before, _stamp(mtime))
        text = edit(before.decode("utf-8-sig"))
        if text.encode() == before:
            return now
        return _write(project, workflow.path, text.encode(), before, why=why, error=error)

    with locked(workflow.path.parent):
        return statefile.insist(attempt)


def _write(project: Records, path: Path, raw: bytes, before: bytes | None, *, why: str, error: str = "") -> Workflow:
    mtime = statefile.put(project, path, raw, before, why=why)
    now = _workflow(project, path, raw, _stamp(mtime))
    project.observe(now, error=error)
    return now


def _with(text: str, reading: Iterable[str], reminders: Iterable[str], context: Iterable[tuple[str, object]]) -> str:
    text = markdown.added(text, "Reading", [each if each.startswith("@") else f"@{each}" for each in reading])
    text = markdown.added(text, "Reminders", list(reminders))
    return markdown.added(text, "Context", [markdown.entry(key, value) for key, value in context])


def _stamp(mtime: float) -> str:
    return clock.stamp(clock.from_mtime(mtime))


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


FORMAT = CheckboxFormat()
