"""Export everything that Holdfast knows of a project as one JSON document."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from holdfast import clock, log, paths
from holdfast.errors import StateError
from holdfast.files.document import read
from holdfast.files.redact import redact_value
from holdfast.memory.rows import TABLES
from holdfast.sessions import recordings
from holdfast.version import version
from holdfast.workflow import registry, views

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace

FORMAT = 1  # the version of the document


def document(project: Workspace, *, verbatim: bool = False) -> dict[str, Any]:
    """Return everything Holdfast knows of a project.

    It is JSON values: `ledger` (each table's rows), `recordings` (each session's events), `log`, `sidecars` (each
    file's text), `workflows` (as in their files), `unread` (a sentence for each file that can't be read, and for those
    that are too many), and the project's identity. Bytes that are no text are `{"base64": …}`. Secrets are masked
    unless `verbatim`; recordings and the log hold none. Raises LedgerError, and StateError for a file.
    """
    known, found = project.ledger_file.exists(), registry.all_found(project)
    tables = sorted(each.TABLE for each in TABLES) if known else []
    whole = {
        "format": FORMAT,
        "holdfast": version(),
        "exported_at": clock.stamp(),
        "redacted": not verbatim,
        "project": {"identity": project.identity, "key": project.key, "root": str(project.root)},
        "workflows": [views.whole(each) for each in found.workflows],
        "unread": [f"{each.path}: {each.reason}" for each in found.problems],
        "ledger": {table: [_plain(row) for row in project.ledger.rows(f"SELECT * FROM {table}")] for table in tables},
        "recordings": recordings.read(project),
        "log": log.tail(2 * log.LIMIT_BYTES, project=project.root),
        "sidecars": _sidecars(project),
    }
    return whole if verbatim else dict(redact_value(whole))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _text(value) if isinstance(value, bytes) else value for name, value in row.items()}


def _text(value: bytes) -> str | dict[str, str]:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _sidecars(project: Workspace) -> dict[str, str]:
    folder = paths.sidecar_dir(project.root)
    found: dict[str, str] = {}
    for file in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        try:
            found[file.name] = read(file, within=project.root)[0].decode("utf-8", "replace")
        except StateError as error:
            log.write("warning", f"the export leaves a file out: {error}")
    return found
