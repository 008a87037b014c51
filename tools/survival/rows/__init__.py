"""The rows of the score: each is a function that plays something that may go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.survival.rows import agents, contents, files, hooks, identity, kills, plain, workflowless
from tools.survival.samples import FORMATS
from tools.survival.workflow_files import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.scene import Scene


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        play: plays it.
        long: it has as many compactions as `--cycles` says; other rows have three.
        unasked: it is played in a full run; other rows only if asked for.
        quick: it is among the few of a quick run, one of each kind of trouble.
        formats: the formats in which it is played; without a workflow, the name of what is restored instead.
    """

    play: Callable[[Scene], None]
    long: bool = False
    unasked: bool = True
    quick: bool = False
    formats: tuple[str, ...] = FORMATS

    @property
    def words(self) -> str:
        """What happens in it: the docstring of its function."""
        return " ".join((self.play.__doc__ or "").split())


ROWS: dict[str, Row] = {
    "warm": Row(plain.warm, long=True, quick=True),
    "by hand": Row(plain.by_hand, formats=BY_HAND),
    "no compaction": Row(plain.uninvited),
    "registered twice": Row(plain.twice_registered),
    "no PreCompact": Row(hooks.no_precompact, quick=True),
    "no PostCompact": Row(hooks.no_postcompact),
    "PreCompact alone": Row(hooks.precompact_alone),
    "PreCompact hours before": Row(hooks.precompact_early),
    "reply lost": Row(hooks.reply_lost),
    "new session id": Row(identity.new_session_id, quick=True),
    "no transcript path": Row(identity.no_transcript),
    "two sessions": Row(identity.two_sessions, quick=True),
    "two worktrees": Row(identity.two_worktrees),
    "fork": Row(identity.fork),
    "branch switched": Row(identity.branch),
    "in a subagent": Row(identity.subagent),
    "kill -9": Row(kills.killed, unasked=False),
    "broken files": Row(files.broken_files, quick=True),
    "read-only folder": Row(files.read_only),
    "full disk": Row(files.full_disk),
    "clock back": Row(hooks.clock_back),
    "1,000 to-dos": Row(contents.many_todos),
    "characters": Row(contents.characters),
    "names": Row(contents.names),
    "agents": Row(agents.agents, quick=True),
    "concurrent": Row(files.concurrent, quick=True),
    "no workflow": Row(workflowless.no_workflow, quick=True, formats=("trail",)),
}
"""Every row by its name, in the table's order. Rows that aren't `unasked` are played only if named."""
