"""The described formats of a project: those in `formats/NAME.toml`, the user's and the project's once trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import formats, log, paths
from holdfast.formats.described import description
from holdfast.formats.described.format import DescribedFormat
from holdfast.workflow import definitions

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.described.description import Description
    from holdfast.workflow.definitions import Listed

KIND = formats.DESCRIPTIONS
FORMATS = definitions.Library(
    KIND,
    description.parse,
    is_name=lambda name: bool(description.NAME.fullmatch(name)),
)


def use(root: Path) -> None:
    """Make the described formats of a project known to this process, and those of another project unknown.

    What is wrong with a description costs that format alone.
    """
    try:
        found = {each.name: each.value for each in listed(root) if each.value is not None}
    except OSError as error:
        log.write("warning", f"formats without code can't be listed: {error}")
        return
    if found or formats.DESCRIBED:
        records = {name: rules.record() for name, rules in found.items()}
        formats.describe(records, {name: DescribedFormat(rules) for name, rules in found.items()})


def listed(root: Path) -> list[Listed[Description]]:
    """Return the files that describe formats, the user's first. Only the first of a name is used.

    None takes the name of a format that Holdfast or an installed package brings, or of a command.
    """
    names = reserved_names()
    found: list[Listed[Description]] = []
    for each in FORMATS.listed(root):
        if each.value is not None and each.name in names:
            reason = "there is a format or command of this name already; call it something else"
            found.append(each._replace(value=None, reason=reason))
        else:
            found.append(each)
    return found


def reserved_names() -> set[str]:
    """Return the names that no description may have: those of other formats and of commands."""
    return {*formats.OURS, *formats.brought(), *paths.modules("commands")}
