"""Holdfast's own folder in a project: files only for their owner, ignored by git, no links followed.

It holds sidecars, each the full version of a workflow's guidance, which the model may read; results of agents that were
too long for the guidance; and the report.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from holdfast import log, paths
from holdfast.errors import StateError
from holdfast.files import atomic, document
from holdfast.workflow import names, statefile

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Workflow

REPORT = "report.html"
_IGNORED = b"*\n"
_HEAD_BYTES = 64 * 1024  # bytes that are read to recognise a file of Holdfast's


def place(root: Path, name: str) -> Path:
    """Return the path of a file in Holdfast's folder of a project."""
    return paths.sidecar_dir(root) / name


def sidecar_place(root: Path, workflow: Workflow) -> Path:
    """Return the path of a workflow's sidecar."""
    return place(root, f"{workflow.format}-{names.slug(workflow.title)}.md")


def sidecar_digest(text: str) -> str:
    """Return the SHA-256 of a sidecar's text in hexadecimal."""
    return hashlib.sha256(_bytes(text)).hexdigest()


def write_sidecar(root: Path, workflow: Workflow, text: str) -> tuple[Path, str] | None:
    """Write a workflow's sidecar (0600, ignored by git, no link followed) and return its path and SHA-256.

    An unchanged sidecar isn't rewritten. If it can't be written, returns None and writes a line to the log.
    """
    path = sidecar_place(root, workflow)
    try:
        put(root, path, _bytes(text))
    except (StateError, OSError) as error:
        log.write("warning", f"the sidecar wasn't written: {error}")
        return None
    return path, sidecar_digest(text)


def result_place(root: Path, agent: str) -> Path:
    """Return the path of the file with an agent's result that was too long for the guidance."""
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in agent[:60])
    return place(root, f"agent-{safe}.md")


def result(agent: str, session: str, words: str) -> bytes:
    """Return the content of such a file: two lines that identify it, so that it can be forgotten, then the result."""
    return f"Agent: {agent}\nSession: {session}\n\n{words}".encode("utf-8", "replace")


def results(root: Path, session: str) -> list[Path]:
    """Return the files with results of a session's agents."""
    folder = existing(root)
    return [each for each in sorted(folder.glob("agent-*.md") if folder else ()) if _session(each) == session]


def report_place(root: Path, ledger: Path) -> Path:
    """Return the path of a project's HTML report: in its folder of Holdfast's, or beside its ledger.

    The latter is for a project without `.claude`, which a report alone is no reason to create.
    """
    return place(root, REPORT) if os.path.lexists(root / ".claude") else beside(ledger)


def beside(ledger: Path) -> Path:
    """Return the path of an HTML report next to a ledger."""
    return ledger.with_suffix(".html")


def existing(root: Path) -> Path | None:
    """Return Holdfast's folder in a project; None if there is none, or if a link leads to it."""
    folder = paths.sidecar_dir(root)
    try:
        statefile.guard(root, folder)
    except StateError:
        return None
    return folder if folder.is_dir() else None


def wrote(path: Path) -> bool:
    """Return whether Holdfast wrote a file in its folder: a sidecar, a result, a report, `.gitignore`, or a part.

    A file that a person edited still counts if it begins as Holdfast wrote it. A link never counts.
    """
    if path.is_symlink() or not path.is_file():
        return False
    if path.suffix == ".tmp":
        return atomic.is_temporary(path.name)
    try:
        begins = document.head(path, _HEAD_BYTES)[0]
    except StateError:
        return False
    if path.name == ".gitignore":
        return begins == _IGNORED
    if path.suffix == ".html":
        return begins.startswith(b"<!doctype html>") and b"<title>Holdfast: " in begins
    if path.suffix != ".md":
        return False
    return (begins.startswith(b"Workflow: ") and b"\nFull title: " in begins) or bool(_session(path))


def put(root: Path, path: Path, data: bytes) -> None:
    """Write a file (0600) to Holdfast's folder, with a `.gitignore` for the folder. Unchanged files aren't rewritten.

    Raises:
        StateError: a link is in the way.
        OSError: it can't be written.
    """
    statefile.guard(root, path)
    _write(path.parent / ".gitignore", _IGNORED)
    _write(path, data)


def _session(path: Path) -> str:
    """Return the session whose agent's result a file holds; empty if it holds none. A link never does."""
    if path.is_symlink():
        return ""
    try:
        first, _, rest = document.head(path, _HEAD_BYTES)[0].partition(b"\n")
    except StateError:
        return ""
    named = rest.partition(b"\n")[0]
    is_result = first.startswith(b"Agent: ") and named.startswith(b"Session: ")
    return named.removeprefix(b"Session: ").decode("utf-8", "replace") if is_result else ""


def _write(path: Path, data: bytes) -> None:
    try:
        if document.read(path)[0] == data:
            return
    except StateError:
        pass
    atomic.write(path, data, mode=0o600)
    path.chmod(0o600)  # else an existing file would keep its mode


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
