"""The rows of the score: each is a function that plays something that may go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.survival.rows import agents, contents, files, hooks, identity, kills, plain, workflowless
from tools.survival.samples import FORMATS
from tools.survival.workflow_files import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.scene import Scene


class Row(NamedTuple):
    """One row.

    Attributes:
        play: plays it.
        formats: the formats in which it is played; without a workflow, the name of what is restored instead.
    """

    play: Callable[[Scene], None]
    formats: tuple[str, ...] = FORMATS


ROWS: dict[str, Row] = {
    "warm": Row(plain.warm),
    "by hand": Row(plain.by_hand, formats=BY_HAND),
    "no compaction": Row(plain.uninvited),
    "registered twice": Row(plain.twice_registered),
    "no PreCompact": Row(hooks.no_precompact),
    "no PostCompact": Row(hooks.no_postcompact),
    "PreCompact alone": Row(hooks.precompact_alone),
    "PreCompact hours before": Row(hooks.precompact_early),
    "reply lost": Row(hooks.reply_lost),
    "new session id": Row(identity.new_session_id),
    "no transcript path": Row(identity.no_transcript),
    "two sessions": Row(identity.two_sessions),
    "two worktrees": Row(identity.two_worktrees),
    "fork": Row(identity.fork),
    "branch switched": Row(identity.branch),
    "in a subagent": Row(identity.subagent),
    "kill -9": Row(kills.killed),
    "broken files": Row(files.broken_files),
    "read-only folder": Row(files.read_only),
    "full disk": Row(files.full_disk),
    "clock back": Row(hooks.clock_back),
    "1,000 to-dos": Row(contents.many_todos),
    "characters": Row(contents.characters),
    "names": Row(contents.names),
    "agents": Row(agents.agents),
    "concurrent": Row(files.concurrent),
    "no workflow": Row(workflowless.no_workflow, formats=("trail",)),
}
"""Every row by its name, in the table's order."""
