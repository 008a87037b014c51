"""What a session ran and edited, one entry after the other, as its transcript shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.entries import blocks, edited_path, mapping, mappings, plain, text
from holdfast.clients.claude.tools import EDITORS
from holdfast.clients.claude.trail.tasks import SHELLS
from holdfast.files.transcript import Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXIT = ("Exit code ", "Error: Exit code ")


def read(entries: Sequence[dict[str, Any]]) -> list[Work]:
    """Return the commands that ran and the files that were edited, oldest first; never raises for what entries hold.

    Subagents' entries are not the session's own. A command that was refused never ran, and one in the background has
    no result here.
    """
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    found: list[Work] = []
    seen: set[str] = set()
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("isSidechain"):
            continue
        id_ = text(entry, "uuid")
        if id_ and id_ in seen:
            continue
        seen.add(id_)
        if entry.get("type") == "assistant":
            for block in blocks(entry):
                if block.get("type") == "tool_use":
                    calls[text(block, "id")] = (text(block, "name"), mapping(block, "input"))
        elif entry.get("type") == "user":
            found += _results(entry, calls)
    return found


def _results(entry: dict[str, Any], calls: dict[str, tuple[str, dict[str, Any]]]) -> Iterator[Work]:
    results = [block for block in blocks(entry) if block.get("type") == "tool_result"]
    data = mapping(entry, "toolUseResult") if len(results) == 1 else {}
    at = text(entry, "timestamp")
    for result in results:
        name, given = calls.pop(text(result, "tool_use_id"), ("", {}))
        failed, output = result.get("is_error") is True, plain(result.get("content"))
        if name in SHELLS and not text(data, "backgroundTaskId") and (not failed or output.startswith(_EXIT)):
            yield Work(at, command=text(given, "command"), output=output, failed=failed)
        elif name in EDITORS and not failed and (path := edited_path(given, data)):
            yield Work(at, path=path, lines_added=_added(name, given, data))


def _added(name: str, given: dict[str, Any], data: dict[str, Any]) -> int:
    """Return how many lines an edit added: those of its patch, else those of what was written."""
    patch = [line for hunk in mappings(data.get("structuredPatch")) for line in hunk.get("lines") or []]
    if patch:
        return sum(isinstance(line, str) and line.startswith("+") for line in patch)
    return len(text(given, "content" if name == "Write" else "new_string").splitlines())
