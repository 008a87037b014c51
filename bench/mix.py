"""How much hook time a session of a hundred tool calls costs, from the medians of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.firing import MATCHED

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
    "SubagentStop": 5,  # the client ends a compaction with one, too
    "PostToolUse (Agent)": 4,
    "PreCompact": 1,
    "SessionStart (compact)": 1,
    "PostCompact": 1,
    "Stop": 3,
    "SessionEnd": 1,
}
"""The firings that become a process, by their names in `firing.EVENTS`."""

BASH = {MATCHED: 40}
"""What a handler of the user's own on every Bash command adds."""


def seconds(medians: Mapping[str, float], mix: Mapping[str, int] = MIX) -> float | None:
    """Return the seconds that a mix of firings takes; None where one of them was not measured.

    Args:
        medians: milliseconds by the firing's name.
        mix: how often each is fired.
    """
    if any(name not in medians for name in mix):
        return None
    return sum(medians[name] * count for name, count in mix.items()) / 1000
