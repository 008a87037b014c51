"""The sidecar: the file in the project with the full version of the guidance, which the model may read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from holdfast import log
from holdfast.errors import StateError
from holdfast.workflow import names, ownfolder

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow


def place(root: Path, workflow: Workflow) -> Path:
    """Return the path of a workflow's sidecar."""
    return ownfolder.place(root, f"{workflow.format}-{names.slug(workflow.title)}.md")


def digest(text: str) -> str:
    """Return the SHA-256 of a sidecar's text in hexadecimal."""
    return hashlib.sha256(_bytes(text)).hexdigest()


def write_sidecar(root: Path, workflow: Workflow, text: str) -> tuple[Path, str] | None:
    """Write a workflow's sidecar (0600, ignored by git, no link followed) and return its path and SHA-256.

    An unchanged sidecar isn't rewritten. If it can't be written, returns None and writes a line to the log.
    """
    path = place(root, workflow)
    try:
        ownfolder.put(root, path, _bytes(text))
    except (StateError, OSError) as error:
        log.write("warning", f"the sidecar wasn't written: {error}")
        return None
    return path, digest(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
