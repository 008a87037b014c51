"""Where workflows and what is said of them lie in a project, known without loading any format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Layout(NamedTuple):
    """What a format keeps in a project, as paths and patterns relative to the root.

    Attributes:
        top: the folder that holds its state.
        states: the files that hold state.
        views: the files that repeat the state or go with it: lists, plans, summaries.
        lists: those of them that list what is to be done, and are never read back.
        shared: what of all this git sees, for a team to commit or to ignore as it likes. A folder that holds nothing
            of it is this machine's, and is kept out of git from the start.
    """

    top: str
    states: tuple[str, ...]
    views: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    shared: str = ""


LAYOUTS = {
    "hybrid": Layout(
        ".claude/state",
        (".claude/state/workflow.json", ".claude/state/workflow.extra.json"),
        (".claude/workflow_state_system.md",),
        shared=".claude/workflow_state_system.md",
    ),
    "compaction": Layout("untracked/workflow-state", ("untracked/workflow-state/*/state-*.json",)),
    "wfs": Layout(
        ".workflow",
        (
            ".workflow/WFS-*/workflow-session.json",
            ".workflow/WFS-*/workflow-session.extra.json",
            ".workflow/WFS-*/.task/IMPL-*.json",
        ),
        (".workflow/WFS-*/*.md", ".workflow/WFS-*/.*/*", ".workflow/.scratchpad/*"),
        lists=(".workflow/WFS-*/TODO_LIST.md",),
        shared=".workflow",
    ),
}
"""What each format keeps where. Whoever looks through a project for all of it goes by this, and names no path."""
STATES = tuple(pattern for layout in LAYOUTS.values() for pattern in layout.states)
LISTS = tuple(pattern for layout in LAYOUTS.values() for pattern in layout.lists)
ASIDE = ("*.corrupt-*", "*.kept-*")  # what is set aside, beside the file it was
SOURCES = ("CLAUDE.local.md", "CLAUDE/Plan/*/PLAN.md")  # what is detected (R001-21, R001-22)


def is_state(root: Path, path: Path) -> bool:
    """Tell whether a path in the project at `root` is one that a format keeps a workflow at."""
    return _among(root, path, STATES)


def is_list(root: Path, path: Path) -> bool:
    """Tell whether a path in the project at `root` is a list that a format generates from its state."""
    return _among(root, path, LISTS)


def private(root: Path, path: Path) -> Path | None:
    """Return the folder of this machine's own state that a path lies in; None for what a team may share."""
    for layout in LAYOUTS.values():
        if layout.shared != layout.top and path.is_relative_to(root / layout.top):
            return root / layout.top
    return None


def kept(root: Path, path: Path) -> bool:
    """Tell whether a path in the project at `root` holds a workflow, or says something of one."""
    return _among(root, path, (*STATES, *LISTS, *SOURCES))


def folders(root: Path) -> list[Path]:
    """Return the folders of the project at `root` that the formats write to, as far as they are there.

    A folder may be a symbolic link itself; what lies behind one is left out.
    """
    found = []
    for layout in LAYOUTS.values():
        inner = (pattern.rpartition("/")[0] for pattern in (*layout.states, *layout.views))
        for pattern in dict.fromkeys([layout.top, *inner]):
            found += [folder for folder in sorted(root.glob(pattern)) if folder.is_dir() and not _behind(root, folder)]
    return list(dict.fromkeys(found))


def _behind(root: Path, folder: Path) -> bool:
    """Tell whether a folder below the root lies behind a symbolic link."""
    return any(each.is_symlink() for each in folder.parents if each not in (root, *root.parents))


def _among(root: Path, path: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a path below a root fits one of the patterns, part by part."""
    if not path.is_relative_to(root):
        return False
    inner = path.relative_to(root)
    depth = len(inner.parts)
    return any(pattern.count("/") + 1 == depth and inner.match(pattern) for pattern in patterns)
