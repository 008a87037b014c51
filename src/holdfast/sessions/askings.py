"""What a person last asked a session for, and how often its conversation has begun anew since it started.

An agent that is launched again under the same prompt, after the conversation has begun anew, is the same work: the
model doesn't know any more that it launched it. Within one beginning it does know, so identical launches are meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast import clock
from holdfast.sessions import agents

if TYPE_CHECKING:
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Context, Event


class Asking(NamedTuple):
    """What a session works on.

    Attributes:
        prompt: the session and the id of the prompt that a person gave last; no prompt that the client made itself.
        epoch: the session and how often its conversation has begun anew.
    """

    prompt: str
    epoch: str


def note_prompt(event: Event, context: Context) -> None:
    """Note that a person gave a prompt, under which agents are launched from now on.

    Args:
        event: a `UserPromptSubmit` of a person, not one that the client made itself.
        context: its context.
    """
    prompt = str(getattr(event, "prompt_id", None) or clock.stamp())
    _note(context.project, event.session_id, "prompt = excluded.prompt, asked_at = excluded.asked_at", prompt, 0)


def begin(event: Event, project: OpenProject) -> None:
    """Note that a session's conversation begins anew: after a compaction, or as the client was started again."""
    _note(project, event.session_id, "beginnings = beginnings + 1", "", 1)


def current(project: OpenProject, session: str) -> Asking:
    """Return what a session works on now."""
    row = project.ledger.one(
        "SELECT prompt, beginnings FROM askings WHERE project = ? AND session = ?", project.key, session
    )
    prompt, number = (row["prompt"], row["beginnings"]) if row else ("", 0)
    return Asking(f"{session}/{prompt}", f"{session}/{number}")


def rename(project: OpenProject, before: str, session: str, *, cleared: bool) -> None:
    """Rewrite the prompts and beginnings of an earlier id's launches for the id that the session goes on under.

    Its beginnings come before those of the new id. After `/clear` the prompt is `agents.CLEARED`: the person starts
    over.
    """
    prompt = f"'{agents.CLEARED}'" if cleared else "replace(prompt_id, ?1 || '/', ?2 || '/')"
    earlier = ", ".join(f"{each} = replace({each}, ?1 || '/', ?2 || '/-')" for each in ("epoch", "answered"))
    project.ledger.run(
        f"UPDATE agents SET prompt_id = {prompt}, {earlier} WHERE conversation = ?1 AND call <> ''", before, session
    )


def _note(project: OpenProject, session: str, change: str, prompt: str, beginnings: int) -> None:
    project.ledger.run(
        "INSERT INTO askings (project, session, worktree, host, client, prompt, beginnings, asked_at)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, session) DO UPDATE SET {change}",
        *(project.key, session, project.worktree, project.host, project.client.NAME, prompt, beginnings),
        clock.stamp(),
    )
