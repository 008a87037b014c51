"""Compute the hook time of a session of a hundred tool calls from the medians of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench.firing import MATCHED

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLD = (
    "100 tool calls (40 Bash, 30 Read, 20 Edit, 6 TodoWrite, 4 Agent), 3 prompts, 1 compaction, from start to end; "
    "with the shipped handlers alone Bash starts no process"
)
MIX: dict[str, int] = {
    "SessionStart (startup)": 1,
    "UserPromptSubmit": 3,
    "PostToolUse (Read)": 30,
    "PostToolUse (Edit)": 20,
    "PreToolUse (TodoWrite)": 6,
    "PreToolUse (Agent)": 4,
    "SubagentStart": 4,
    "SubagentStop": 5,  # a compaction ends with one too
    "PostToolUse (Agent)": 4,
    "PreCompact": 1,
    "SessionStart (compact)": 1,
    "PostCompact": 1,
    "Stop": 3,
    "SessionEnd": 1,
}
"""How often each event of the session starts a process, by its name in `firing.EVENTS`."""

BASH = {MATCHED: 40}
"""The additional firings if a user's handler wants every Bash command."""


def seconds(medians: Mapping[str, float], mix: Mapping[str, int] = MIX) -> float | None:
    """Return the seconds that a mix of firings takes, or None if one of them wasn't measured.

    Args:
        medians: milliseconds by the firing's name.
        mix: how often each is fired.
    """
    if any(name not in medians for name in mix):
        return None
    return sum(medians[name] * count for name, count in mix.items()) / 1000
