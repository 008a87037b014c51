"""Required reading outside the project: it is listed, but Claude isn't asked to read it."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.files.invisible import CONTROL, INVISIBLE
from holdfast.project import contains
from holdfast.workflow.wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterable

OUTSIDE = "outside the project"
# What a reader could take for a path in an entry, except after a bracket, as in `app/(admin)/page.tsx`.
_WORD = re.compile(r"(?<![)\]}>\w])[\w.~$/{][\w.~$/{}\\+-]*")
_INVISIBLE = re.compile(f"[{CONTROL}{INVISIBLE}]")


def outside(root: Path, entry: str) -> bool:
    """Return whether an entry of the required reading names something outside the project, links resolved.

    Anybody can plant a workflow's file, so it doesn't matter who wrote the entry. Whatever a reader could take for a
    path counts as well: a path in quotes or after other words, one with a variable in it, a URL.

    Args:
        root: the project's root, links resolved.
        entry: the entry, with or without `@`.
    """
    plain = entry.removeprefix("@")
    shown = clean(plain)
    texts = {plain, shown, _visible(shown)}
    return any(_leaves(root, each) for text in texts for each in {text, *_words(clean(text))})


def _visible(text: str) -> str:
    """Return a text without invisible characters such as joiners: a reader sees only the rest."""
    return _INVISIBLE.sub("", text)


def _words(text: str) -> Iterable[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _WORD.findall(text)


def _leaves(root: Path, text: str) -> bool:
    try:
        return not contains(root, root / Path(os.path.expandvars(text)).expanduser())
    except (OSError, ValueError, RuntimeError):  # no path at all
        return False
