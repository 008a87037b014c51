"""Check that the formats from other packages can be used."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.checks import notice, ok, problem
from holdfast.formats.record import listed
from holdfast.install import format_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_ANEW = "holdfast doctor --fix"


def look(project: Workspace) -> Iterator[Finding]:
    """Load each of these formats, and compare the index that events read with what is installed."""
    found = format_index.find()
    known = {each.NAME for each in listed(formats.index())}
    usable = [each for each in found if not each.fault]
    if not found and not known:
        yield ok("no other package brings a format")
    for each in found:
        if each.fault:
            remedy = f"upgrade or uninstall {each.package.partition(' ')[0]}"
            yield problem(f"the format {each.name!r} of {each.package} can't be used: {each.fault}", remedy)
        elif each.name in known:
            yield ok(f"format {each.name}: {each.package}")
    for name in sorted(known - {each.name for each in found}):
        text = f"the package that brings the format {name!r} is gone, so its workflows are not read"
        yield problem(f"{text}; install it again, or have the format forgotten", _ANEW, _refresh(name))
    if format_index.render(usable) != formats.index() and known <= {each.name for each in found}:
        new = [each.name for each in usable if each.name not in known]
        text = "what events know of the formats that installed packages bring is out of date"
        if new:
            text = f"an installed package brings the format {', '.join(map(repr, new))}, which events don't know yet"
        yield notice(text, _ANEW, _refresh(""))


def _refresh(name: str) -> partial[str]:
    return partial(_index, name)


def _index(name: str) -> str:
    return "; ".join(format_index.refresh()) or (f"forgot the format {name!r}" if name else "")
