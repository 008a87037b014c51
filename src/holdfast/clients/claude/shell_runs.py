"""Find the runs of shell commands in a transcript's entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.clients.claude.entries import blocks, mapping, plain, text
from holdfast.clients.claude.trail.tasks import SHELLS, ran
from holdfast.files.transcript import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from re import Pattern

CALL = re.compile(rb'"name":"(?:Bash|PowerShell)"')
"""What a line holds that notes a call of a shell."""


def calls(entries: Iterable[dict[str, Any]], commands: Pattern[str], *, aside: bool) -> dict[str, str]:
    """Return the commands that match, by the ids of their calls, oldest first."""
    found = dict[str, str]()
    for entry in entries:
        if bool(entry.get("isSidechain")) is not aside:
            continue
        for block in blocks(entry):
            command = text(mapping(block, "input"), "command")
            if block.get("type") == "tool_use" and block.get("name") in SHELLS and commands.search(command):
                found[text(block, "id")] = command
    found.pop("", None)
    return found


def results(entries: Iterable[dict[str, Any]], commands: Mapping[str, str]) -> list[Run]:
    """Return the runs of commands that have ended, oldest first; a command in the background hasn't."""
    found = dict[str, Run]()
    for entry in entries:
        for block in blocks(entry):
            id_ = text(block, "tool_use_id")
            if block.get("type") != "tool_result" or id_ not in commands:
                continue
            data = mapping(entry, "toolUseResult")
            run = ran(commands[id_], plain(block.get("content")), data, failed=block.get("is_error") is True)
            if run is not None:
                found[id_] = Run(run.command, run.output, run.failed, text(entry, "timestamp"))
    return list(found.values())
