"""Restore after a compaction: a session's workflow, the trail of its own work, or an agent's launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.sessions import (
    agents,
    arbitration,
    compactions,
    conversations,
    deliveries,
    messages,
    owners,
    phases,
    session_guidance,
)
from holdfast.sessions.agent_events import compacts_agent
from holdfast.sessions.workspace import Workspace
from holdfast.trail import text as trail
from holdfast.workflow import briefs, guidance, registry, wording
from holdfast.workflow.wording import Message, units

if TYPE_CHECKING:
    from holdfast.memory.rows import Compaction
    from holdfast.sessions.arbitration import Verdict
    from holdfast.sessions.compactions import Lost
    from holdfast.sessions.hook import Context, Event
    from holdfast.workflow.model import Workflow

PLANS = 20  # plans that are named
_TAKEN = "taken"  # the hint that a workflow is another live session's


def restore(event: Event, context: Context, *, known: bool = True, lost: Lost | None = None) -> list[Message]:
    """Give a compacted session its workflow back, or the trail of its own work where it has none (R001-16, R001-17).

    A workflow that another live session could own isn't restored; messages say how to claim it.

    Args:
        event: a `SessionStart`, or the `UserPromptSubmit` that makes up for one.
        context: its context.
        known: whether Holdfast knew the session before this event (`join` tells).
        lost: what never reached the session, if this makes up for it.

    Returns:
        The workflow's guidance, and other messages to the model and the user.
    """
    trail_alone = lost and lost.delivery and not lost.delivery.workflow
    compaction = lost.compaction if lost else None
    found = _trail(event, context, compaction) if trail_alone else _restored(event, context, known, compaction)
    if lost and lost.delivery and not found:
        deliveries.let_go(context.project, lost.delivery.id)
    return found


def restore_agent(event: Event, context: Context) -> list[Message]:
    """Give a compacted subagent what it was launched for; nothing where that is not known for certain.

    `event` is a `SessionStart` of which `compacts_agent` holds.
    """
    project, agent = Workspace.of(context.project), event.agent_id
    conversation = conversations.of(project, event.session_id)
    if not event.in_subagent:
        agent = agents.compacted_agent(project, conversation)
    launch = agents.attribute(project, conversation, agent, event.transcript_path) if agent else None
    if launch is None or not (launch.prompt or launch.phase):
        return []
    found = registry.candidates(project, conversation).workflows if launch.phase else ()
    workflow = next((each for each in found if each.key == launch.workflow), None)
    phase = next((each for each in workflow.phases if each.id == launch.phase), None) if workflow else None
    context.log(f"restored the task of {launch.agent_type} ({agent})", session=event.session_id)
    task = (launch.agent_type, launch.description, launch.prompt, workflow, phase)
    brief = registry.brief(project, workflow, phase) if workflow and phase else None
    return [Message(briefs.given_back(*task, root=context.root, brief=brief), must_keep=True)]


def report_losses(event: Event, context: Context, text: str) -> None:
    """Count the facts that a summary kept of the workflow that its session got last, unless they are counted.

    `event` is a `PostCompact`, `text` the summary.
    """
    project, conversation = Workspace.at(event, context)
    last = next(iter(deliveries.recent(project, 1, conversation)), None)
    if last is None or not last.compaction or compacts_agent(event, context):
        return  # an agent's own summary has nothing to do with the main conversation's guidance
    for workflow in registry.candidates(project, conversation).workflows:
        if workflow.key == last.workflow:
            compactions.count_facts(project, last.compaction, workflow, text)


def _restored(event: Event, context: Context, known: bool, lost: Compaction | None) -> list[Message]:
    project, conversation = Workspace.at(event, context)
    found = registry.candidates(project, conversation)
    for each in found.workflows:
        phases.observe(project, each)
    missed = compactions.missed(project, conversation)
    resumed = getattr(event, "source", "") == "resume" and missed is None
    verdict = arbitration.judge(project, event.session_id, found.workflows, known=known, compacted=not resumed)
    conversation = conversations.of(project, event.session_id)  # it may turn out to be an earlier one
    notices = messages.unreadable(project, conversation, found) + messages.omitted(project, conversation, found)
    notices += [
        messages.once(project, conversation, messages.UNSAVED, [line], Message(f"Holdfast: {line}", to_user=True))
        for line in messages.pending_keys(project, conversation, messages.UNSAVED)
    ]
    if verdict.full is not None:
        notes = [messages.problem(project, each) for each in found.problems]
        workflow = _compacted(event, context, verdict.full)
        guidance = session_guidance.restore(
            event, context, workflow, verdict, notes, compacted=not resumed, compaction=verdict.compaction or lost
        )
        return [guidance, *notices, *_blind(context), *messages.vanished(project, conversation)]
    if event.hook_event_name == project.client.PROMPT_EVENT:
        return notices  # the lost workflow is finished by now, or another session's
    notices += _refused(event, context, verdict) + _taken(event, context, verdict.taken)
    notices += _mention(verdict.others)
    notices += messages.vanished(project, conversation) + _waiting(project, conversation)
    return notices + _trail(event, context, verdict.compaction)


def _compacted(event: Event, context: Context, workflow: Workflow) -> Workflow:
    """Record the compaction in the state that its session gets back, which is restored even if that fails.

    PreCompact is too early for it, because a compaction may still fail. An event that makes up for a lost delivery
    records nothing.
    """
    if workflow.finished or workflow.recovered or getattr(event, "source", "") != "compact":
        return workflow
    try:
        return registry.get(workflow.format).compacted(Workspace.of(context.project), workflow)
    except HoldfastError as error:
        context.log(f"{workflow.place}: the compaction wasn't recorded: {error}", level="warning")
        return workflow


def _trail(event: Event, context: Context, compaction: Compaction | None = None) -> list[Message]:
    """Give a session without a workflow what it did, read from its own transcript, unless `trail` is off."""
    if not context.config.trail:
        return []
    project = Workspace.of(context.project)
    found = session_guidance.trail(project, event, compaction)
    text, mark = trail.text(found, branch=project.branch, root=context.root)
    if not text:
        return []
    message = deliveries.deliver(project, event, text, mark, workflow=None, compaction=compaction)
    context.log(f"restored the session's trail ({units(text)} characters)", session=event.session_id)
    return [message]


def _blind(context: Context) -> list[Message]:
    """Tell the user that, without a ledger, workflows were restored from files although their owner is unknown."""
    problem = context.project.ledger.problem
    text = f"Holdfast: {problem}. What was restored was chosen without knowing which other sessions are live."
    return [Message(text, to_user=True)] if problem else []


def _mention(others: tuple[Workflow, ...]) -> list[Message]:
    """Name the workflows that weren't restored, a line each, if none was."""
    lines = [guidance.line(other) for other in others if other.resumable]
    if not lines:
        return []
    lead = "Not restored: old, or nothing shows that you work on it. To continue one, run `holdfast next NAME`."
    return [Message(wording.fenced(lead, lines))]


def _waiting(project: Workspace, conversation: str) -> list[Message]:
    """Tell the model about the plans that PreCompact skipped, a line each."""
    places = messages.pending_keys(project, conversation, messages.WAITING)
    found = registry.detected(lambda detector: detector.waiting(project, places)) if places else ()
    lines = [line for each in found for line in each]
    if not lines:
        return []
    more = [f"+{len(lines) - PLANS} more"] if len(lines) > PLANS else []
    lead = (
        "Plans in progress that weren't loaded: they are old, or nothing shows that you work on one. "
        f"{wording.TAKE_UP.format('one')}"
    )
    message = Message(wording.fenced(lead, [*lines[:PLANS], *more]))
    return [messages.once(project, conversation, messages.WAITING, places, message)]


def _refused(event: Event, context: Context, verdict: Verdict) -> list[Message]:
    """Name the command that claims a workflow of another session: a wrong restore is worse than none."""
    refused = verdict.refused
    if not refused:
        return []
    deliveries.refuse(context.project, event, refused, verdict.compaction)
    found = wording.count(len(refused), "workflow")
    context.log(f"restored nothing: {found} could belong to another live session", level="warning")
    return [
        Message(
            f"Holdfast restored nothing: {found} here could belong to another live session. "
            f"To continue {'it' if len(refused) == 1 else 'one'}, ask Claude to run `holdfast next NAME`; "
            "`holdfast status` shows the names.",
            to_user=True,
        ),
        Message(
            f"Holdfast restored no workflow: {len(refused)} here could belong to another live session. If you worked "
            "on one, find it with `holdfast status` and claim it with `holdfast next ID`. Otherwise leave it alone."
        ),
    ]


def _taken(event: Event, context: Context, taken: tuple[Workflow, ...]) -> list[Message]:
    """Tell the user, once for each, that another live session has a workflow, and how to move it, but not its title."""
    project, conversation = Workspace.at(event, context)
    new = [each for each in taken if not messages.was_told(project, conversation, _TAKEN, each.key)]
    if not new:
        return []
    holding = [each for each in owners.holders(project, new).values() if each]
    holders = sorted(each[:8] for each in conversations.session_ids(project, holding).values())
    belong, them = ("belongs", "it") if len(new) == 1 else ("belong", "them")
    message = Message(
        f"Holdfast restored nothing: {wording.count(len(new), 'workflow')} here {belong} to another live session "
        f"({', '.join(holders)}). `holdfast status` shows {them}; "
        f"`holdfast claim NAME --session {event.session_id[:8]} --anyway` moves one here.",
        to_user=True,
    )
    return [messages.once(project, conversation, _TAKEN, [each.key for each in new], message)]
