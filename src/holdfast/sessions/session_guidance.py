"""The guidance of a workflow for one session: its file, with what the ledger knows of its agents and reading."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from holdfast import capture
from holdfast.files.redact import redact
from holdfast.sessions import agents as launched
from holdfast.sessions import (
    compactions,
    conversations,
    deliveries,
    messages,
    owners,
    required,
)
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import guidance, wording
from holdfast.workflow.todos import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.clients.client import Todo, Trail
    from holdfast.memory.rows import Agent, Compaction
    from holdfast.sessions.arbitration import Verdict
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.guidance import Guidance
    from holdfast.workflow.model import Workflow
    from holdfast.workflow.wording import Message


AGENTS = 10  # ended agents that are described, the latest first


def compile(
    project: Workspace,
    conversation: str,
    workflow: Workflow,
    *,
    others: Sequence[Workflow] = (),
    todos: Sequence[Todo] = (),
    notes: Sequence[str] = (),
    compacted: bool = False,
) -> Guidance:
    """Write the sidecar and return the guidance that points to it.

    Args:
        project: the project.
        conversation: the one that gets it; empty if that is not known yet.
        workflow: the workflow.
        others: workflows that get a line each.
        todos: the session's open to-dos; those that represent the workflow's phases are left out.
        notes: further notes about it, a line each.
        compacted: whether a compaction is the reason; the client itself names running agents then.
    """
    titles = {phase.title for phase in workflow.phases}
    known = required.states(project, conversation, workflow)
    agents = [each for each in launched.waiting(project, conversation) if each.workflow in ("", workflow.key)]
    agents = [each for each in agents if not compacted or each.unused]
    return guidance.compile(
        workflow,
        root=project.root,
        others=others,
        own_todos=[each._replace(text=redact(each.text)) for each in todos if each.text not in titles],
        agents=agent_lines(agents),
        notes=notes,
        files=required.files(known),
        compacted=compacted,
        beside=capture.allowed(project.config, workflow.path),
    )


def trail(project: Workspace, event: Event, compaction: Compaction | None) -> Trail:
    """Return a session's trail from its transcript, without anything that the user excludes from capture.

    Where the compaction changed the session's id or its transcript, or the event names none, it is the one that was
    announced (`compaction`), or that was named before.
    """
    own = event.transcript_path or conversations.get(project, conversations.of(project, event.session_id)).transcript
    before = compaction.transcript if compaction else ""
    config = project.config
    mask = partial(capture.event, config) if config.exclude or config.exclude_patterns else None
    return project.transcripts.trail(*dict.fromkeys(each for each in (before, own) if each), mask=mask)


def restore(
    event: Event,
    context: Context,
    workflow: Workflow,
    verdict: Verdict,
    notes: Sequence[str],
    *,
    compacted: bool,
    compaction: Compaction | None = None,
) -> Message:
    """Give a session the guidance of its workflow, and store the delivery first.

    Args:
        event: a `SessionStart`, or the `UserPromptSubmit` that gives what a `SessionStart` could not.
        context: its context.
        workflow: the workflow, which becomes the session's own.
        verdict: the verdict that chose it.
        notes: further notes about it, a line each.
        compacted: whether a compaction is the reason.
        compaction: that compaction, if it is known.
    """
    project, conversation = Workspace.at(event, context)
    branch = owners.branch(project, workflow)
    owners.own(project, workflow, conversation)
    launched.catch_up(project, conversation, event.transcript_path)
    notes = list(notes)
    if unread := workflow.key in messages.pending_keys(project, conversation, messages.UNREAD):
        notes.append(
            "required reading may be missing: CLAUDE.local.md wasn't read to its end (`holdfast status --why`)"
        )
    if branch and branch != project.branch:
        notes.append(f"last worked on in branch {branch!r}; this is {project.branch or 'a detached head'!r}")
    holders = owners.holders(project, verdict.others)
    others = [each for each in verdict.others if not each.finished or holders[each.key] == conversation]
    todos = trail(project, event, verdict.compaction).todos
    made = compile(project, conversation, workflow, others=others, todos=todos, notes=notes, compacted=compacted)
    if compaction is None and getattr(event, "source", "") == "compact":
        compaction = compactions.note_unannounced(project, conversation, workflow)
    message = deliveries.deliver(
        project,
        event,
        made.text,
        made.mark,
        workflow=workflow,
        compaction=compaction,
        omitted=made.omitted,
    )

    def delivered() -> None:
        if message.on_delivered:
            message.on_delivered()
        if unread:
            messages.tell(project, conversation, messages.UNREAD, workflow.key)
        if messages.was_told(project, conversation, messages.TODO_LIST, workflow.key):  # the guidance has the list
            messages.tell(project, conversation, messages.TODO_LIST, workflow.key, digest(workflow))

    context.log(f"restored {workflow.title!r} ({workflow.ref}), step {verdict.step}", session=event.session_id)
    return message._replace(on_delivered=delivered)


def agent_lines(listed: Iterable[Agent]) -> list[str]:
    """Return lines about the agents that run, then about those that ended and whose results are not known to be used.

    The same agents give the same lines, because they hold no times.
    """
    agents = list(listed)
    warning = "is running; don't start it again"
    running = [f"{name(each)} {warning}{task(each)}" for each in agents if each.status == "running"]
    ended = sorted((each for each in agents if each.unused), key=lambda each: each.ended_at, reverse=True)
    more = [f"{len(ended) - AGENTS} more have ended: `holdfast status` lists them"] if len(ended) > AGENTS else []
    return [*running, *(line for each in ended[:AGENTS] for line in _ended(each)), *more]


def _ended(agent: Agent) -> list[str]:
    if agent.state == "missing" and agent.run:
        return [interrupted(agent)]
    how = "has finished" if agent.status == "finished" else "has failed"
    lines = [f"{name(agent)} {how}; its result is still unused{task(agent)}"]
    who = wording.one_line(agent.run, 80)
    if agent.words.strip():
        lines.append(f"last words of {who}: {wording.quoted(agent.words, wording.VALUE_LIMIT_CHARS)}")
    places = [("output", agent.output), ("transcript", agent.transcript)]
    return [*lines, *(f"{what} of {who}: {wording.clean(path)}" for what, path in places if path)]


def interrupted(agent: Agent) -> str:
    """Return the line about an agent that was cut off and can go on."""
    return f"{name(agent)} was interrupted; SendMessage to its id continues it{task(agent)}"


def name(agent: Agent) -> str:
    """Return what an agent is called: its kind, its id, and its phase if nothing else says what it is for."""
    known = agent.description.strip()  # which `task` has; a phase's id says less
    phase = f" for {wording.one_line(agent.phase, 80)}" if agent.phase and not known else ""
    return f"{wording.one_line(agent.agent_type, 80)} ({wording.one_line(agent.run, 80)}){phase}"


def task(agent: Agent) -> str:
    """Return an agent's task, in brackets; empty if it isn't known."""
    return f" (launched for {wording.quoted(agent.description)})" if agent.description.strip() else ""
