"""What a feature file says: its title, and its checkboxes, which are its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import StateError
from holdfast.files import access, document
from holdfast.workflow import markdown

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT_BYTES = 512 * 1024
_MOST = 200  # boxes that are read


class Feature(NamedTuple):
    """A feature file.

    Attributes:
        title: its first heading; empty without one.
        boxes: the texts of its checkboxes, each with whether it is ticked.
    """

    title: str = ""
    boxes: tuple[tuple[str, bool], ...] = ()


def read(root: Path, key: str) -> Feature | None:
    """Return the content of a feature file; None if the project at `root` has no readable one."""
    try:
        raw, _ = document.read(root / key, _LIMIT_BYTES, within=root)
    except (StateError, ValueError):
        return None
    lines = markdown.lines(raw.decode("utf-8", "replace"))
    title = next((each.text for each in lines if each.kind == "heading"), "")
    boxes = [(each.text, each.box != " ") for each in lines if each.box is not None and each.text.strip()]
    return Feature(title, tuple(boxes[:_MOST]))


def in_folder(root: Path, folder: str) -> list[str]:
    """Return the names of the feature files in a folder of the project at `root`, in alphabetical order."""
    place = root / folder
    if not folder or not access.is_folder(place) or document.leads_out(place, root):
        return []
    return sorted(each.name for each in place.glob("*.md") if each.is_file())
