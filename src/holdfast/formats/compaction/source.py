"""The plan or memory file that a save made a state from: the state ends with it, unless somebody changed it since."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import LedgerError
from holdfast.formats.compaction import record
from holdfast.formats.compaction.detection import memory_file, plan_file
from holdfast.workflow import names, text_file, values

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.records import Records
    from holdfast.workflow.statefile import StateFile

MARK = "derived_from"  # key in a state's context: the plan, relative to the root
PLACE, DIGEST = "source", "state"  # keys in the ledger: the source, and the hash of the state as a save made it
_MEMORY, _ = record.SOURCES


class Source(NamedTuple):
    """The file that a save made a state from.

    Attributes:
        place: its path relative to the root; empty if an agent made the state.
        derived: whether the state is still as the save made it, so that its source decides about it (I001-9).
        seen: whether this project's ledger saw the source. Elsewhere it may never have existed.
    """

    place: str
    derived: bool
    seen: bool


def of(project: Records, file: StateFile) -> Source:
    """Return the file that a save made a state from."""
    last = None
    with suppress(LedgerError):
        last = project.remembered(file.path)
    if mark := values.text(values.mapping(file.data.get("context"), "context", []).get(MARK, "")):
        return Source(mark, derived=True, seen=last is not None)
    made = last["content"].get(DIGEST) if last else ""
    return Source(last["content"][PLACE] if last and made else "", made == digest(file.document.raw), seen=True)


def digest(raw: bytes) -> str:
    """Return the hash of a state file's content."""
    return hashlib.sha256(raw).hexdigest()


def ended(root: Path, source: Source, title: str, since: float) -> str:
    """Say why a workflow's source no longer describes it as unfinished; empty while it does.

    A source that didn't change after the state is not read: the later of the two counts (I001-6).

    Args:
        root: the project's root.
        source: the source.
        title: the workflow's title.
        since: when the state file was last changed, in seconds since 1970.
    """
    if not any(fnmatchcase(source.place, pattern) for pattern in record.SOURCES):
        return ""
    path, place = root / source.place, source.place
    try:
        written = text_file.read(path, root) if path.stat().st_mtime >= since else None
    except (FileNotFoundError, NotADirectoryError):
        return f"{place} is gone" if source.seen else ""
    except (OSError, ValueError):
        return ""
    if written is None or not written.whole:
        return ""
    if place == _MEMORY:
        return "" if _names(written.text, title) else f"{place} no longer names it as unfinished"
    ending = plan_file.ending(written.text)
    return f"in {place} {ending}" if ending else ""


def _names(text: str, title: str) -> bool:
    """Return whether a memory file names a workflow, which it doesn't say was given up."""
    named = (block for block in memory_file.blocks(text) if names.key(block.name) == names.key(title))
    return any(not block.ending for block in named)
