"""`holdfast claim`: claim a workflow for a session, and print its guidance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from holdfast.commands import options
from holdfast.commands.verb import Json, Name, verb
from holdfast.errors import command_line
from holdfast.sessions import conversations, messages, selection, session_guidance
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import views
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.sessions.selection import Claim


@verb("claim")
def command(
    project: Workspace,
    workflow_id: Name = None,
    *,
    session_id: Annotated[
        str | None, "--session", {"metavar": "ID"}, "The session that gets it, if not the one that runs this."
    ] = None,
    anyway: Annotated[bool, "Take it even from another live session."] = False,
    as_json: Json = False,
) -> None:
    """Print the guidance of the current workflow, or of WORKFLOW, and claim it for a session.

    If Claude runs this, its own session gets the workflow. If you run it in a terminal, the session whose prompt
    contains the printed text gets it, even from another live session.

    \b
    Examples:
      text=$(holdfast claim) && claude "$text"
      holdfast claim payments --session 1b2c3d4e
    """
    asking = options.conversation(project)
    session = conversations.completed(project, session_id) if session_id else asking
    claim = selection.claim(project, workflow_id, session, asked_by=asking, anyway=anyway)
    made = session_guidance.compile(project, claim.session or "", claim.workflow)
    text = made.text
    if not project.ledger.problem:
        messages.note_printed(project, made.mark, claim.workflow.key)
    if as_json:
        holders = {"session": claim.session, "previous_owner": claim.before}
        named = {key: conversations.session_id(project, each) if each else None for key, each in holders.items()}
        fields = named | {"guidance": text}
        options.print_json(views.row(claim.workflow) | fields)
        return
    # Not `options.say`: the guidance is clean already, and cleaning would break Holdfast's own fences around data.
    click.echo(text, nl=not text.endswith("\n"))
    if not project.ledger.problem:  # without a ledger no owner is recorded; a warning said so
        click.echo(_news(project, claim, session), err=True)


def _news(project: Workspace, claim: Claim, wanted: str | None) -> str:
    names = conversations.session_ids(project, filter(None, (claim.session, claim.before)))
    name, whose = quoted(claim.workflow.title), names.get(claim.session or "", "")[:8]
    if claim.held and wanted and wanted != claim.session:
        return f"{name} still belongs to session {whose}, which is live. To take it, add --anyway."
    if claim.held:
        return f"{name} belongs to session {whose}, which is live. A session with this text as its prompt takes it."
    if claim.session:
        had = f" Session {names[claim.before][:8]} no longer has it." if claim.before and claim.live else ""
        return f"{name} belongs to session {whose} now. It gets this text after each compaction.{had}"
    live = sorted(conversations.session_ids(project, conversations.live_others(project, "")).values())
    typed = views.shortest(project, claim.workflow)
    give = [command_line("claim", typed, "--session", each[:8]) for each in live]
    named = f" To give it to a live session: {', or '.join(f'`{each}`' for each in give)}." if give else ""
    return f"No session owns {name} yet. The session that gets this text as its prompt will.{named}"
