"""What Holdfast remembers of sessions, for handlers: use the functions listed here, not the modules below.

Each takes the handler's `event` and `context` and writes what it learns to the ledger. Functions with something to tell
return messages, which `holdfast.deliver` turns into outcomes. They raise `HoldfastError` only if the ledger can't be
read or written.

- A session's life: `join`, `touch`, `leave`, `crashed`.
- A compaction: `compacts_agent`, `save`, `restore`, `restore_agent`, `lost`, `report_losses`.
- Messages that a session gets once: `announce_unfinished`, `renewed`, `pending_handovers`, `untrusted_ledger`,
  `restore_for_command` (what a slash command is about).
- `received`: the workflow whose printed guidance is in a prompt belongs to its session.
- Required reading: `note_read`, `forget_reading`, `unread`, `reading_that_holds`, `reminder_due`, `reminded`.
- Agents that an event reports on: `start_agent`, `note_agent`, `note_result`, `note_failure`, `note_notice`,
  `record_stop`, `end_agents`, `note_script_run`.
- Agents that are launched again: `relaunch`, `roster`, `record_prompt`, `start_epoch`, `carry_runs`.
- Phases that agents move: `launch_agent`, `finish_agent`, `settle_agents`, `abandon_calls`, `report`, `report_unmoved`.
- What formats ask for around agents: `held_launch`, `lock_file`, `unlock_files`.
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

from holdfast.sessions.abilities import held_launch as held_launch
from holdfast.sessions.abilities import lock_file as lock_file
from holdfast.sessions.abilities import take_evidence as take_evidence
from holdfast.sessions.abilities import unlock_files as unlock_files
from holdfast.sessions.agent_events import compacts_agent as compacts_agent
from holdfast.sessions.agent_events import end_agents as end_agents
from holdfast.sessions.agent_events import note_agent as note_agent
from holdfast.sessions.agent_events import note_failure as note_failure
from holdfast.sessions.agent_events import note_notice as note_notice
from holdfast.sessions.agent_events import note_result as note_result
from holdfast.sessions.agent_events import record_stop as record_stop
from holdfast.sessions.agent_events import relaunch as relaunch
from holdfast.sessions.agent_events import start_agent as start_agent
from holdfast.sessions.agent_events import start_epoch as start_epoch
from holdfast.sessions.agent_relaunch import Relaunch as Relaunch
from holdfast.sessions.agent_roster import roster as roster
from holdfast.sessions.compactions import Lost as Lost
from holdfast.sessions.compactions import lost as lost
from holdfast.sessions.conversations import crashed as crashed
from holdfast.sessions.conversations import join as join
from holdfast.sessions.conversations import leave as leave
from holdfast.sessions.conversations import record_prompt as record_prompt
from holdfast.sessions.conversations import touch as touch
from holdfast.sessions.messages import pending_handovers as pending_handovers
from holdfast.sessions.messages import untrusted_ledger as untrusted_ledger
from holdfast.sessions.offers import announce_unfinished as announce_unfinished
from holdfast.sessions.offers import received as received
from holdfast.sessions.offers import renewed as renewed
from holdfast.sessions.offers import restore_for_command as restore_for_command
from holdfast.sessions.progress import Corrected as Corrected
from holdfast.sessions.progress import Moved as Moved
from holdfast.sessions.progress import abandon_calls as abandon_calls
from holdfast.sessions.progress import correct_todos as correct_todos
from holdfast.sessions.progress import finish_agent as finish_agent
from holdfast.sessions.progress import launch_agent as launch_agent
from holdfast.sessions.progress import note_task as note_task
from holdfast.sessions.progress import report as report
from holdfast.sessions.progress import report_unmoved as report_unmoved
from holdfast.sessions.progress import settle_agents as settle_agents
from holdfast.sessions.reads import forget_reading as forget_reading
from holdfast.sessions.reads import note_read as note_read
from holdfast.sessions.reads import reminded as reminded
from holdfast.sessions.reads import reminder_due as reminder_due
from holdfast.sessions.recordings import record as record
from holdfast.sessions.required import RequiredFile as RequiredFile
from holdfast.sessions.required import reading_that_holds as reading_that_holds
from holdfast.sessions.required import unread as unread
from holdfast.sessions.restoration import report_losses as report_losses
from holdfast.sessions.restoration import restore as restore
from holdfast.sessions.restoration import restore_agent as restore_agent
from holdfast.sessions.saving import save as save
from holdfast.sessions.scripts import carry_runs as carry_runs
from holdfast.sessions.scripts import note_script_run as note_script_run
from holdfast.sessions.status_line import show_status as show_status
from holdfast.workflow.wording import Message as Message
