"""Find `wfs` sessions that don't lie directly in `.workflow/`, as later versions of the document keep them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from holdfast.formats.wfs import places
from holdfast.workflow.model import Foreign
from holdfast.workflow.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.workflow.records import Records


def foreign(project: Records) -> Iterator[Foreign]:
    """Yield the folders with such sessions (`.workflow/active/`), each with a command that moves one; none is read."""
    for folder, sessions in groupby(places.elsewhere(project), key=lambda each: each.parent):
        first, *others = sessions
        said = (
            f"has {count(1 + len(others), 'session')}, which Holdfast doesn't read: it works on sessions directly in "
            f"{places.TOP}/"
        )
        yield Foreign(folder, said, remedy=places.moving(first))
