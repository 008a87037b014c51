"""What the client's status line shows of a session: workflow, phase, agents, and when the workflow was last saved."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import clock, log, paths
from holdfast.errors import HoldfastError
from holdfast.files import status_file
from holdfast.files.redact import redact
from holdfast.process.terminal_text import printable
from holdfast.sessions import agents, compactions, contents, conversations, owners, required
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import count, one_line

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

_TITLE_LIMIT_CHARS = 40
_BETWEEN = " · "


def show_status(event: Event, context: Context, *, begins: bool = False, over: bool = False) -> None:
    """Write what the status line of an event's session shows from now on; nothing while nobody has one.

    Where a session `begins`, what sessions of long ago left is removed. Where it is `over`, nothing is shown.
    """
    if not wanted():
        return
    if begins:
        status_file.sweep()
    update(Workspace.of(context.project), event.session_id, over=over)


def wanted() -> bool:
    """Return whether a status line was installed (`holdfast install --statusline`)."""
    return (paths.state_dir() / "status").is_dir()


def sessions_shown(project: Workspace) -> set[str]:
    """Return the sessions of a project that are live, or whose status line shows something. Never raises."""
    with suppress(HoldfastError, OSError):
        if project.ledger_file.exists():
            known = {each.id for each in conversations.every(project)} | owners.all_owners(project)
            names = conversations.session_ids(project, known)
            shown = {each.name for each in status_file.folder().iterdir()}
            return {name for each, name in names.items() if name in shown} | {
                names[each] for each in conversations.live_others(project, "")
            }
    return set()


def update(project: Workspace, session: str, *, over: bool = False) -> None:
    """Write what one session's status line shows. A failure is logged, because nothing depends on the line."""
    try:
        conversation = conversations.of(project, session)
        workflow = None if over else required.own_workflow(project, conversation)
        line, saved_at_s = _shown(project, conversation, workflow) if workflow else ("", 0)
        status_file.write(session, line, saved_at_s)
    except (HoldfastError, OSError) as error:
        log.write("warning", f"the status line couldn't be written: {error}")


def _shown(project: OpenProject, conversation: str, workflow: Workflow) -> tuple[str, int]:
    """Return the line, and when the workflow was last saved, in seconds since 1970 (0: never)."""

    def short(text: str) -> str:
        return printable(one_line(redact(text), _TITLE_LIMIT_CHARS))

    phase = f"{workflow.progress_text} {short(workflow.current_name)}".strip()
    running = sum(each.status == "running" for each in agents.launched(project, conversation))
    parts = [short(workflow.title), phase, *([count(running, "agent")] if running else [])]
    changed = contents.changed_at(project, workflow.path, workflow.raw) or ""
    at = clock.parse(max(changed, compactions.saved_at(project, conversation)))
    return _BETWEEN.join(parts), int(at.timestamp()) if at else 0
