"""The plan or memory file that a save made a state from: the state ends with it, unless somebody changed it since."""

from __future__ import annotations

import glob
import hashlib
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from holdfast.errors import LedgerError
from holdfast.formats.compaction.detection import memory, memoryblocks, memoryphases, plans, planstatus, plantext
from holdfast.frozen import NamedTuple
from holdfast.workflow import names, prose, statuses, values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.workflow.records import Records

MARK = "derived_from"  # key in a state's context: the plan, relative to the root
PLACE, DIGEST = "source", "state"  # keys in the ledger: the source, and the hash of the state as a save made it


class Source(NamedTuple):
    """The file that a save made a state from.

    Attributes:
        place: its path relative to the root; empty if an agent made the state.
        derived: whether the state is still as the save made it, so that its source decides about it (I001-9).
    """

    place: str = ""
    derived: bool = False


def of(project: Records, path: Path, raw: bytes, context: Mapping[str, Any]) -> Source:
    """Return the source of the state at `path` with the content `raw`."""
    if mark := values.text(context.get(MARK, "")):
        return Source(mark, derived=True)
    with suppress(LedgerError):
        if (last := project.remembered(path)) and (made := last["content"].get(DIGEST)):
            return Source(last["content"][PLACE], made == digest(raw))
    return Source()


def digest(raw: bytes) -> str:
    """Return the hash of a state file's content."""
    return hashlib.sha256(raw).hexdigest()


def ended(root: Path, place: str, title: str, since: float) -> str:
    """Say why a workflow's source no longer describes it as unfinished; empty while it does.

    A source that didn't change after the state is not read: the later of the two counts (I001-6).

    Args:
        root: the project's root.
        place: the source, relative to it.
        title: the workflow's title.
        since: when the state file was last changed, in seconds since 1970.
    """
    is_plan = fnmatchcase(place, f"{plans.FOLDER}/*/{plans.FILE}")
    if not (is_plan or place == memory.FILE):
        return ""
    path = root / place
    try:
        if path.stat().st_mtime < since:
            return ""
        found = prose.read(path, root)
    except (FileNotFoundError, NotADirectoryError):
        return _missing(root, path) if is_plan else f"{place} is gone"
    except (OSError, ValueError):
        return ""
    if found is None or not found.whole:
        return ""
    return _plan(found.text, path, root) if is_plan else _memory(found.text, title)


def _missing(root: Path, path: Path) -> str:
    place = path.relative_to(root)
    moved = next(path.parent.parent.glob(f"*/{glob.escape(path.parent.name)}/{plans.FILE}"), None)
    return f"{place} was moved to {moved.relative_to(root)}" if moved else f"{place} is gone"


def _plan(text: str, path: Path, root: Path) -> str:
    kind = plantext.parse(text, path, root, 0.0).kind
    over = kind in (planstatus.COMPLETED, planstatus.DROPPED)
    return f"in {path.relative_to(root)} {kind}" if over else ""


def _memory(text: str, title: str) -> str:
    block, others = memoryblocks.find(text)
    blocks = others if isinstance(block, str) else [block, *others]
    named = (each for each in blocks if names.key(memoryphases.unmarked(each.name)[0]) == names.key(title))
    if any(statuses.opening(each.status) != "dropped" for each in named):
        return ""
    return f"{memory.FILE} no longer names it as unfinished"
