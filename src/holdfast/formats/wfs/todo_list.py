"""The `TODO_LIST.md` of a `wfs` session: generated from the task files and never read back (R002-01, I002-30)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import MissingError, StateError
from holdfast.files import atomic, document
from holdfast.formats.wfs import paths
from holdfast.formats.wfs import tree as trees
from holdfast.workflow import statefile

if TYPE_CHECKING:
    from holdfast.formats.wfs.session import Session
    from holdfast.formats.wfs.tree import Task, Tree
    from holdfast.workflow.records import Records

STAYS = "it stays as it is; remove it, and `holdfast doctor --fix` writes a new one"
_HEADING = "# Tasks"
_SECTION = "## Task Progress"
_LEGEND = (
    "## Status Legend",
    "- `▸` = Container task (has subtasks)",
    "- `- [ ]` = Pending leaf task",
    "- `- [x]` = Completed leaf task",
    "- Maximum 2 levels: Main tasks and subtasks only",
)
_GENERATED_ROW = re.compile(r"(?:▸|(?:  )?- \[.\]) \*\*[^*]+\*\*: .* → \[📋\]\(\./\S+\)(?: \| \[✅\]\(\./\S+\))?")
_TITLE = re.compile(rf"{_HEADING}(?:: .*)?")
_NAMED = 3  # differences of a list that a message names


def generate(session: Session, tree: Tree) -> bytes:
    """Return the list of a session by the document's template (R002-40)."""
    below: dict[str, list[str]] = {}
    for task in tree.tasks:
        if above := tree.parent(task):
            below.setdefault(above.name, []).append(_leaf(tree, task, "  "))
    lines = [f"{_HEADING}: {' '.join(session.topic.split())}", "", _SECTION]
    grouped = None  # whether the last line belongs to a container's group
    for task in tree.tasks:
        if tree.parent(task):
            continue  # it is listed below its container
        is_group = tree.is_container(task)
        if is_group:
            lines += [""] if grouped is not None else []
            lines.append(f"▸ **{task.id}**: {task.title} → [📋](./{paths.TASKS}/{task.name}.json)")
            lines += below.get(task.name, ())
        else:
            lines += [""] if grouped else []
            lines.append(_leaf(tree, task))
        grouped = is_group
    return "\n".join([*lines, "", *_LEGEND, ""]).encode("utf-8", "replace")


def write(project: Records, session: Session, tree: Tree, before: bytes | None = None) -> str:
    """Write a session's list if it differs; return what to tell about what somebody wrote into it, empty for nothing.

    A list that was edited is saved as a version first, and its differences are reported once for each content. One with
    lines of somebody's own stays, and so does one that ticks an unfinished task: the tick may be all that shows the
    work. Raises StateError.

    Args:
        project: the project.
        session: the session.
        tree: its tasks.
        before: the list as it was generated before the tasks changed; any other content was edited.
    """
    path, wanted = session.folder / paths.LIST, generate(session, tree)
    statefile.guard(project.root, path)
    message = keep_edits(project, session, tree, before)
    present = _read(session)
    if present != wanted and (present == before or not is_left_alone(session, tree)):
        atomic.write(path, wanted, durable=False)
    return message


def keep_edits(project: Records, session: Session, tree: Tree, before: bytes | None = None) -> str:
    """Save a list that somebody edited; return a message about it, or "" if it was reported before.

    Arguments and exceptions are those of `write`.
    """
    path, present = session.folder / paths.LIST, _read(session)
    if present is None or present in (generate(session, tree), before, paths.LIST_TEXT.encode()):
        return ""
    text, messages = _text(present), list[str]()
    if not project.holds(path, present):
        lines = _contradictions(session, tree, text)
        named = "; ".join(lines[:_NAMED]) + (f"; +{len(lines) - _NAMED} more" if len(lines) > _NAMED else "")
        messages += [] if _is_generated(text) else [f"{paths.LIST} has lines of somebody's own, so {STAYS}"]
        messages += [f"{paths.LIST} was edited by hand ({named}); it is never read back"] if named else []
    project.keep(path, present, why="as somebody edited it")
    return "; ".join(messages)


def write_or_log(project: Records, session: Session, tree: Tree, before: bytes | None = None) -> str:
    """Write a session's list as `write` does. A failure is only reported, because the list isn't the state."""
    try:
        return write(project, session, tree, before)
    except StateError as error:
        log.write("warning", f"the list of {session.name} wasn't written: {error}")
        return str(error)


def is_left_alone(session: Session, tree: Tree) -> bool:
    """Return whether a list isn't regenerated unasked: it has lines of somebody's own, or ticks an unfinished task."""
    present = _read(session)
    return present is not None and (tree.ticked_early or not _is_generated(_text(present)))


def differences(session: Session, tree: Tree) -> list[str]:
    """Return how a session's list differs from its tasks, a line each (I002-30); a missing list differs too."""
    try:
        present = _read(session)
    except StateError as error:
        return [error.reason]
    return ["it is missing"] if present is None else _differences(session, tree, present)


def _differences(session: Session, tree: Tree, present: bytes) -> list[str]:
    """Return the differences of a list; the task files decide, never its ticks."""
    text = _text(present)
    if present == generate(session, tree) or (not tree.tasks and text.strip() == _HEADING):
        return []
    listed, lines = trees.ticks(text), _contradictions(session, tree, text)
    unticked = [tree.get(id_) for id_, ticked in listed.values() if ticked is False]
    lines += [
        f"{each.id} is not ticked, and its file says {each.raw_status}"
        for each in unticked
        if each is not None and tree.status(each) == "completed"
    ]
    if not _is_generated(text):
        return lines
    lines += [f"{each.id} is missing from it" for each in tree.tasks if each.key not in listed]
    return lines or ["it doesn't match the tasks"]


def _contradictions(session: Session, tree: Tree, text: str) -> list[str]:
    """Return the differences between a list and the tasks; a list that lags behind is no difference."""
    lines = list[str]()
    for id_, ticked in trees.ticks(text).values():
        task = tree.get(id_)
        if task is None:
            lines.append(f"{id_} is listed, and has no file in {paths.TASKS}/")
        elif ticked and tree.status(task) != "completed":
            option = "" if session.marked else f" --session {session.name}"
            how = "" if tree.is_container(task) else f": `holdfast wfs task complete {task.id}{option}` completes it"
            lines.append(f"{task.id} is ticked, and its file says {task.raw_status or 'nothing'}{how}")
    return lines


def _is_generated(text: str) -> bool:
    """Return whether `generate` could have written every line of a list; any other line is somebody's own.

    Ticks and titles may differ. Regenerating such a list loses nothing that isn't in the task files.
    """
    first, *rest = text.splitlines() or [""]
    fixed = ("", _SECTION, *_LEGEND)
    return bool(_TITLE.fullmatch(first)) and all(each in fixed or _GENERATED_ROW.fullmatch(each) for each in rest)


def _leaf(tree: Tree, task: Task, indent: str = "") -> str:
    """Return a leaf's line; only a completed leaf is ticked (I002-28), and a missing summary gets no link (I002-29)."""
    done = task.status == "completed"
    link = f" | [✅](./{paths.SUMMARIES}/{task.id}-summary.md)" if done and task.id in tree.summarized else ""
    mark = "x" if done else " "
    return f"{indent}- [{mark}] **{task.id}**: {task.title} → [📋](./{paths.TASKS}/{task.name}.json){link}"


def _read(session: Session) -> bytes | None:
    """Return the content of a session's list, None if there is none. Raises StateError."""
    try:
        return document.read(session.folder / paths.LIST, within=session.folder.parent.parent)[0]
    except MissingError:
        return None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
