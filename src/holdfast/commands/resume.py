"""`holdfast resume`: claim a workflow for a session, and print its guidance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.commands import options
from holdfast.sessions.compaction import session_guidance
from holdfast.sessions.ownership import claims, sessions
from holdfast.workflow import views
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from holdfast.sessions.ownership.claims import Claim


@click.command(name="resume")
@options.workflow_argument
@click.option("--session", "session_id", metavar="ID", help="The session that gets it, if not the one that runs this.")
@click.option("--anyway", is_flag=True, help="Take it even from another live session.")
@options.json_option
@options.project_option
def command(
    workflow_id: str | None, session_id: str | None, anyway: bool, as_json: bool, project_dir: str | None
) -> None:
    """Claim the current workflow, or WORKFLOW, for a session, and print its guidance.

    If a model runs this, its own session gets the workflow. If you run it, the live session gets it. If none is live,
    the next session gets it. You can start that one with the guidance.

    \b
    Examples:
      claude "$(holdfast resume)"
      holdfast resume payments --session 1b2c3d4e
    """
    project = options.open_project(project_dir)
    asking = options.session()
    session = sessions.completed(project, session_id) if session_id else asking
    claim = claims.claim(project, workflow_id, session, asked_by=asking, anyway=anyway)
    text = session_guidance.compile(project, claim.session or "", claim.workflow).guidance.text
    if as_json:
        fields = {"session": claim.session, "previous_owner": claim.before, "guidance": text}
        options.print_json(views.row(claim.workflow) | fields)
        return
    if not project.ledger.problem:  # without a ledger no owner is recorded, and that was said
        click.echo(_news(claim), err=True)
    # Not `options.say`: the guidance is clean already, and cleaning would break Holdfast's own fences around data.
    click.echo(text, nl=not text.endswith("\n"))


def _news(claim: Claim) -> str:
    name = quoted(claim.workflow.title)
    had = f" Session {claim.before[:8]} no longer has it." if claim.before and claim.live else ""
    if claim.session is None:
        return f"No session owns {name} now. The next one here gets this text after its first compaction."
    return f"{name} belongs to session {claim.session[:8]} now. It gets this text after each compaction.{had}"
