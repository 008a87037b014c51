"""The text of a `wfs` session's `TODO_LIST.md`: generated from the task files and never read back (R002-01)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from holdfast.formats.wfs import ids, places

if TYPE_CHECKING:
    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief

HEADING = "# Tasks"
_SECTION = "## Task Progress"
_LEGEND = (
    "## Status Legend",
    "- `▸` = Container task (has subtasks)",
    "- `- [ ]` = Pending leaf task",
    "- `- [x]` = Completed leaf task",
    "- Maximum 2 levels: Main tasks and subtasks only",
)
_MARK = re.compile(r"\[([ xX✓✔✅])\]|([✅✔☑☐⬜▸])")
_TICKS = frozenset("xX✓✔✅☑")
_GENERATED_ROW = re.compile(r"(?:▸|(?:  )?- \[.\]) \*\*[^*]+\*\*: .* → \[📋\]\(\./\S+\)(?: \| \[✅\]\(\./\S+\))?")
_TITLE = re.compile(rf"{HEADING}(?:: .*)?")


def is_generated(text: str) -> bool:
    """Return whether `generate` could have written every line of a list; any other line is somebody's own.

    Ticks and titles may differ. Regenerating such a list loses nothing that isn't in the task files.
    """
    first, *rest = text.splitlines() or [""]
    fixed = ("", _SECTION, *_LEGEND)
    return bool(_TITLE.fullmatch(first)) and all(each in fixed or _GENERATED_ROW.fullmatch(each) for each in rest)


@lru_cache(maxsize=4)  # a change compares the list with what it was and should be, and an event makes several changes
def generate(topic: str, board: Board, summaries: frozenset[str]) -> str:
    """Return the list of a session by the document's template (R002-40).

    Args:
        topic: what the session is about.
        board: its tasks.
        summaries: the ids, as written in the files, of the tasks that have a summary; others get no link (I002-29).
    """
    below: dict[str, list[str]] = {}
    for task in board.tasks:
        if above := board.parent(task):
            below.setdefault(above.name, []).append(_leaf(task, task.id in summaries, "  "))
    lines = [f"{HEADING}: {' '.join(topic.split())}", "", _SECTION]
    grouped = None  # whether the last line belongs to a container's group
    for task in board.tasks:
        if board.parent(task):
            continue  # it is listed below its container
        is_group = board.is_container(task)
        if is_group:
            lines += [""] if grouped is not None else []
            lines.append(f"▸ **{task.id}**: {task.title} → [📋](./{places.TASKS}/{task.name}.json)")
            lines += below.get(task.name, ())
        else:
            lines += [""] if grouped else []
            lines.append(_leaf(task, task.id in summaries))
        grouped = is_group
    return "\n".join([*lines, "", *_LEGEND, ""])  # at once: such a text of a thousand lines is large


def ticks(text: str) -> dict[ids.Key | None, tuple[str, bool | None]]:
    """Return the tasks that a list names, whatever its form, with their ids as written and whether they are ticked.

    A line is about the first id in it if it has a box, or a sign that stands for one. A task with several lines is
    ticked if all of them are. A container (`▸`) has no box: None.
    """
    found: dict[ids.Key | None, tuple[str, bool | None]] = {}
    for line in text.splitlines():
        marks = {box or sign for box, sign in _MARK.findall(line)}
        if marks and (named := ids.mentioned(line)):
            key = ids.key(named[0])
            id_, before = found.get(key, (named[0], None))
            ticked = not marks.isdisjoint(_TICKS)
            found[key] = id_, before if marks == {"▸"} else ticked and before is not False
    return found


def drift(text: str, wanted: str, board: Board, session: str = "") -> tuple[str, ...]:
    """Return how a list differs from the generated one, a line each; the task files decide, never its ticks (I002-30).

    Args:
        text: the list.
        wanted: the generated list.
        board: the session's tasks.
        session: the session's name if commands on its tasks must name it; else empty.
    """
    if text == wanted or (not board.tasks and text.strip() == HEADING):  # the list of a new session
        return ()
    seen = ticks(text)
    said = list[str]()
    for id_, ticked in seen.values():
        task = board.get(id_)
        if task is None:
            said.append(f"{id_} is listed, and has no file in {places.TASKS}/")
        elif ticked is not None and ticked != (board.status(task) == "completed"):
            seen_as = "ticked" if ticked else "not ticked"
            said.append(
                f"{task.id} is {seen_as}, and its file says {task.raw_status or 'nothing'}{_verb(task, board, session)}"
            )
    if not is_generated(text):
        return tuple(said)
    said += [f"{each.id} is missing from it" for each in board.tasks if each.key not in seen]
    return tuple(said) or ("its text is another than the one that its tasks give",)


def _verb(task: Brief, board: Board, session: str) -> str:
    """Say which command completes a task; empty if it is completed or a container."""
    if task.status == "completed" or board.is_container(task):
        return ""
    option = f" --session {session}" if session else ""
    return f": `holdfast wfs task complete {task.id}{option}` completes it"


def _leaf(task: Brief, has_summary: bool, indent: str = "") -> str:
    """Return a leaf's line; only a completed leaf is ticked (I002-28)."""
    done = task.status == "completed"
    link = f" | [✅](./{places.SUMMARIES}/{task.id}-summary.md)" if done and has_summary else ""
    mark = "x" if done else " "
    return f"{indent}- [{mark}] **{task.id}**: {task.title} → [📋](./{places.TASKS}/{task.name}.json){link}"
