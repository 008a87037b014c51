"""Check that formats and handlers of other packages can be used, and formats without code and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import formats
from holdfast.checks import notice, ok, problem
from holdfast.formats.described import catalog
from holdfast.formats.record import listed
from holdfast.install import format_index, handler_packages
from holdfast.workflow import definitions, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace

_ANEW = "holdfast doctor --fix"


def findings(project: Workspace) -> Iterator[Finding]:
    """Load each of these formats, and compare the index that events read with what is installed."""
    yield from _definitions(project)
    for text in handler_packages.unusable():
        yield notice(text, "tell the package's author")
    found = format_index.find()
    known = {each.NAME for each in listed(formats.index())}
    usable = [each for each in found if not each.fault]
    for each in found:
        if each.fault:
            remedy = f"upgrade or uninstall {each.package.partition(' ')[0]}"
            yield problem(f"the format {each.name!r} of {each.package} can't be used: {each.fault}", remedy)
        elif each.name in known:
            yield ok(f"format {each.name}: {each.package}")
    if gone := sorted(known - {each.name for each in found}):
        text = f"the package that brings the format {', '.join(gone)} is gone, so its workflows can't be read"
        yield problem(f"{text}; install the package again, or forget the format", _ANEW, _refresh)
    elif format_index.render(usable) != formats.index():
        names = ", ".join(each.name for each in usable) or "none"
        text = f"the index that events read is out of date: the installed packages bring these formats: {names}"
        yield notice(text, _ANEW, _refresh)
    elif not found:
        yield ok("no installed package adds a format")


def _definitions(project: Workspace) -> Iterator[Finding]:
    """Yield the state of the formats that TOML files describe, and the machines and the like that can't be used."""
    kinds = [(catalog.KIND, catalog.listed(project.root))]
    kinds += [(library.kind, library.of_people(project.root)) for library in registry.libraries()]
    for kind, listed_files in kinds:
        for each in listed_files:
            if not each.trusted:
                remedy = f"read it, then run: {definitions.trusting(kind, each.name)}"
                yield notice(f"{each.path} is not trusted, so it isn't used", remedy)
            elif each.value is None:
                yield problem(f"{kind}/{each.name} can't be used: {each.reason}", f"correct {each.path}")


def _refresh() -> str:
    return "; ".join(format_index.refresh())
