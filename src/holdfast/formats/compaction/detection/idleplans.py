"""Which plans were seen not to be in progress, kept so that none of them is read again before it changes."""

from __future__ import annotations

import hashlib
import marshal
import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.files import cache
from holdfast.files.file_memo import Stamp, stamp
from holdfast.formats.compaction.detection import planphases, planstatus, plantext
from holdfast.workflow import prose, statuses

if TYPE_CHECKING:
    from collections.abc import Mapping

FEW = 32  # plans that are read again each time rather than all be written down
KEPT = 20_000  # plans that are written down at most, those that were seen last
_FORMAT = 1


def known(top: Path) -> dict[str, Stamp]:
    """Return the plans in a folder that were not in progress: by folder name, the stamp each file had.

    Empty where nothing is kept, or it is broken, of another folder, or was found by other rules than ours.
    """
    body = cache.read(_file(top))
    if body is None:
        return {}
    try:
        place, rules, stamps = marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return {}
    return stamps if (place, rules) == (os.fsencode(top), _rules()) else {}


def keep(top: Path, before: Mapping[str, Stamp], found: Mapping[str, Stamp]) -> None:
    """Keep that these plans are not in progress, where they are more than a few.

    Args:
        top: the folder of all plans.
        before: those that were known and did not change since, or were not looked at.
        found: those that were read just now and are old enough for their stamps to be believed.
    """
    if len(found) > FEW:
        kept = dict([*before.items(), *found.items()][-KEPT:])
        cache.write(_file(top), marshal.dumps((os.fsencode(top), _rules(), kept)))


def _rules() -> tuple[int | Stamp, ...]:
    """Return by what rules a plan counts as one in progress: the form that is kept, and this very code."""
    modules = (plantext, planstatus, planphases, prose, statuses)
    return (_FORMAT, *(stamp(Path(str(each.__file__)).stat()) for each in modules))


def _file(top: Path) -> Path:
    return cache.folder() / f"{hashlib.sha256(os.fsencode(top)).hexdigest()[:32]}.idle"
