"""What formats see in people's own files, and what they would save next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from holdfast import formats
from holdfast.formats import RECORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from holdfast.workflow.model import Workflow
    from holdfast.workflow.records import Records


class Outlook(NamedTuple):
    """What one format sees.

    Attributes:
        candidates: the files that were looked at: path, method, accepted, reasons, notable, kind, warnings.
        detected: the workflow that was found (`name`, `current`, `total`, `phase`, `source`, …), or None.
        action: what the next save would do: created, updated, unchanged, buried, none, or why it can't do anything.
        path: the state file that it would do that to.
        saved: the workflow after that; None if nothing would be written.
        files: the workflow in every state file of the format, older files of the same workflow included.
        near_misses: files that look like one of these but aren't read: path, reason with the command that helps.
    """

    candidates: tuple[Mapping[str, Any], ...] = ()
    detected: Mapping[str, Any] | None = None
    action: str = "none"
    path: Path | None = None
    saved: Workflow | None = None
    files: tuple[Workflow, ...] = ()
    near_misses: tuple[Mapping[str, str], ...] = ()


class Forecaster(Protocol):
    """The module `outlook` in the folder of a format whose record has SOURCES."""

    def outlook(self, project: Records, session: str) -> Outlook:
        """Look at all files, for a session. Never writes, and never raises for their contents."""

    def looked_at(self, candidates: Sequence[Mapping[str, Any]], root: str, *, everything: bool) -> list[str]:
        """Return a line for each candidate; of many, only for those that matter, unless `everything` is set."""


def outlooks(project: Records, session: str = "") -> list[Outlook]:
    """Return a session's outlook of each format that takes workflows over from people's own files."""
    return [forecaster.outlook(project, session) for forecaster in _forecasters().values()]


def looked_at(candidates: Sequence[Mapping[str, Any]], root: str, *, everything: bool) -> list[str]:
    """Return a line for each candidate, in its format's words, with paths relative to `root`."""
    lines = []
    for name, forecaster in _forecasters().items():
        tops = tuple(f"{root}{source.partition('/*')[0]}" for source in RECORDS[name].SOURCES)
        own = [each for each in candidates if str(each["path"]).startswith(tops)]
        lines += forecaster.looked_at(own, root, everything=everything)
    return lines


def _forecasters() -> dict[str, Forecaster]:
    names = (name for name, record in RECORDS.items() if record.SOURCES)
    return cast("dict[str, Forecaster]", formats.parts("outlook", names))
