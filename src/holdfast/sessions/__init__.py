"""What Holdfast remembers of sessions, for handlers: use the functions listed here, not the modules below.

Each takes the handler's `event` and `context` and writes what it learns to the ledger. Functions with something to tell
return messages, which `holdfast.deliver` turns into outcomes. They raise `HoldfastError` only if the ledger can't be
read or written.

- A session's life: `join`, `touch`, `leave`, `crashed`.
- A compaction: `compacts_agent`, `save`, `restore`, `restore_agent`, `lost`, `keep_summary`, `report_losses`.
- What a session is told once: `announce_unfinished`, `renewed`, `pending_handovers`, `untrusted_ledger`,
  `restore_for_command` (what a slash command is about).
- `received`: the workflow whose printed guidance is in a prompt belongs to its session.
- Required reading: `note_read`, `forget_reading`, `unread`, `reading_that_holds`, `reminder_due`, `reminded`.
- Agents that an event reports on: `start_agent`, `note_agent`, `note_result`, `note_failure`, `note_notice`, `rest`,
  `end_agents`, `note_script_run`.
- Agents that are launched again: `relaunch`, `roster`, `note_prompt`, `begin_again`, `carry_runs`.
- Phases that agents move: `launch_agent`, `finish_agent`, `settle_agents`, `abandon_calls`, `report`, `report_unmoved`.
- What formats ask for around agents: `note_runs`, `held_launch`, `lock_file`, `unlock_files`.
- To-do lists: `correct_todos`, `note_task`.
- `take_evidence`: what the transcript shows of a workflow, such as commits and test results.
- `record` keeps an event for replay. `show_status` writes what the client's status line shows.

Example::

    from holdfast import deliver, hookimpl, sessions

    @hookimpl(match="compact")
    def on_session_start(event, context):
        if sessions.compacts_agent(event, context):
            return deliver(sessions.restore_agent(event, context))
        known = sessions.join(event, context)
        return deliver(sessions.restore(event, context, known=known))
"""

from __future__ import annotations

from holdfast.sessions.agents.coordination import held_launch, lock_file, note_runs, unlock_files
from holdfast.sessions.agents.progress import Moved, abandon_calls, finish_agent, launch_agent, settle_agents
from holdfast.sessions.agents.relaunch_answer import Relaunch
from holdfast.sessions.agents.relaunches import relaunch
from holdfast.sessions.agents.report import report, report_unmoved
from holdfast.sessions.agents.roster import roster
from holdfast.sessions.agents.signals import (
    begin_again,
    carry_runs,
    end_agents,
    note_agent,
    note_failure,
    note_notice,
    note_prompt,
    note_result,
    note_script_run,
    rest,
    start_agent,
)
from holdfast.sessions.compaction.snapshots import Lost, lost
from holdfast.sessions.conversations import crashed, join, leave, touch
from holdfast.sessions.evidence import take_evidence
from holdfast.sessions.history.recordings import record
from holdfast.sessions.messages import pending_handovers, untrusted_ledger
from holdfast.sessions.offers import announce_unfinished, received, renewed
from holdfast.sessions.read_results import note_read
from holdfast.sessions.reads import forget_reading, reminded, reminder_due
from holdfast.sessions.required import RequiredFile, reading_that_holds, unread
from holdfast.sessions.restoration import restore, restore_agent
from holdfast.sessions.saving import save
from holdfast.sessions.slash_commands import restore_for_command
from holdfast.sessions.status_line import show_status
from holdfast.sessions.summaries import compacts_agent, keep_summary, report_losses
from holdfast.sessions.todo_lists import Corrected, correct_todos, note_task
from holdfast.workflow.wording import Message

__all__ = [
    "Corrected",
    "Lost",
    "Message",
    "Moved",
    "Relaunch",
    "RequiredFile",
    "abandon_calls",
    "announce_unfinished",
    "begin_again",
    "carry_runs",
    "compacts_agent",
    "correct_todos",
    "crashed",
    "end_agents",
    "finish_agent",
    "forget_reading",
    "held_launch",
    "join",
    "keep_summary",
    "launch_agent",
    "leave",
    "lock_file",
    "lost",
    "note_agent",
    "note_failure",
    "note_notice",
    "note_prompt",
    "note_read",
    "note_result",
    "note_runs",
    "note_script_run",
    "note_task",
    "pending_handovers",
    "reading_that_holds",
    "received",
    "record",
    "relaunch",
    "reminded",
    "reminder_due",
    "renewed",
    "report",
    "report_losses",
    "report_unmoved",
    "rest",
    "restore",
    "restore_agent",
    "restore_for_command",
    "roster",
    "save",
    "settle_agents",
    "show_status",
    "start_agent",
    "take_evidence",
    "touch",
    "unlock_files",
    "unread",
    "untrusted_ledger",
]
