"""What a session gets back after a compaction: its workflow, the trail of its own work, or an agent's launch."""

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

    Nothing is given that another live session could own; the user and the model are told how to claim it.

    Args:
        event: a `SessionStart`, or the `UserPromptSubmit` that makes up for one.
        context: its context.
        known: whether Holdfast knew the session before this event (`join` tells).
        lost: what never reached the session, if this makes up for it.

    Returns:
        The workflow's guidance, and what else the model and the user are to be told.
    """
    trail_alone = lost and lost.delivery and not lost.delivery.workflow
    compaction = lost.compaction if lost else None
    told = _trail(event, context, compaction) if trail_alone else _restored(event, context, known, compaction)
    if lost and lost.delivery and not told:
        deliveries.let_go(context.project, lost.delivery.id)
    return told


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
    told = (launch.agent_type, launch.description, launch.prompt, workflow, phase)
    brief = registry.get(workflow.format).brief(project, workflow, phase) if workflow and phase else None
    return [Message(briefs.given_back(*told, root=context.root, brief=brief), must_keep=True)]


def report_losses(event: Event, context: Context, text: str) -> None:
    """Count what a summary kept of the workflow that a compaction's session was given last, unless that is known.

    `event` is a `PostCompact`, `text` the summary.
    """
    project, conversation = Workspace.at(event, context)
    last = next(iter(deliveries.recent(project, 1, conversation)), None)
    if last is None or not last.compaction or compacts_agent(event, context):
        return  # of an agent's own summary the main conversation's guidance says nothing
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
    told = messages.unreadable(project, conversation, found) + messages.omitted(project, conversation, found)
    told += [
        messages.once(project, conversation, messages.UNSAVED, [line], Message(f"Holdfast: {line}", to_user=True))
        for line in messages.pending_keys(project, conversation, messages.UNSAVED)
    ]
    if verdict.full is not None:
        notes = [messages.problem(project, each) for each in found.problems]
        workflow = _compacted(event, context, verdict.full)
        guidance = session_guidance.restore(
            event, context, workflow, verdict, notes, compacted=not resumed, compaction=verdict.compaction or lost
        )
        return [guidance, *told, *_blind(context), *messages.vanished(project, conversation)]
    if event.hook_event_name == project.client.PROMPT_EVENT:
        return told  # what the compaction took is finished by now, or another session's
    told += _refused(event, context, verdict) + _taken(event, context, verdict.taken)
    told += _mention(verdict.others)
    told += messages.vanished(project, conversation) + _waiting(project, conversation)
    return told + _trail(event, context, verdict.compaction)


def _compacted(event: Event, context: Context, workflow: Workflow) -> Workflow:
    """Record the compaction in the state that its session gets back; what can't be written is restored all the same.

    Not before the compaction, because one may still fail, and not when an event makes up for a lost delivery.
    """
    if workflow.finished or workflow.recovered or getattr(event, "source", "") != "compact":
        return workflow
    try:
        return registry.get(workflow.format).compacted(Workspace.of(context.project), workflow)
    except HoldfastError as error:
        context.log(f"{workflow.place}: the compaction wasn't recorded: {error}", level="warning")
        return workflow


def _trail(event: Event, context: Context, compaction: Compaction | None = None) -> list[Message]:
    """Give a session that got no workflow back what it did, as its own transcript tells it, unless `trail` is off."""
    if not context.config.trail:
        return []
    project = Workspace.of(context.project)
    found = session_guidance.trail(project, event, compaction)
    text = trail.text(found, branch=project.branch, root=context.root)
    if not text:
        return []
    told = deliveries.deliver(project, event, text, trail.mark(text), workflow=None, compaction=compaction)
    context.log(f"restored the session's trail ({units(text)} characters)", session=event.session_id)
    return [told]


def _blind(context: Context) -> list[Message]:
    """Without a ledger nobody knows whose a workflow is: what the files have is restored, and the user told so."""
    problem = context.project.ledger.problem
    blind = "so what was restored was chosen without knowing which other sessions are live"
    text = f"Holdfast: {problem}; {blind}. `holdfast doctor` says how to repair it."
    return [Message(text, to_user=True)] if problem else []


def _mention(others: tuple[Workflow, ...]) -> list[Message]:
    """Where nothing is restored, say in a line each what is there."""
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
    told = Message(wording.fenced(lead, [*lines[:PLANS], *more]))
    return [messages.once(project, conversation, messages.WAITING, places, told)]


def _refused(event: Event, context: Context, verdict: Verdict) -> list[Message]:
    """A wrong restore is worse than none: say in one line that there is something, and how to take it."""
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
    """Tell the user, once for each, that another live session has a workflow, and how to move it; not what it is."""
    project, conversation = Workspace.at(event, context)
    new = [each for each in taken if not messages.was_told(project, conversation, _TAKEN, each.key)]
    if not new:
        return []
    holding = [each for each in owners.holders(project, new).values() if each]
    holders = sorted(each[:8] for each in conversations.session_ids(project, holding).values())
    belong, them = ("belongs", "it") if len(new) == 1 else ("belong", "them")
    told = Message(
        f"Holdfast restored nothing: {wording.count(len(new), 'workflow')} here {belong} to another live session "
        f"({', '.join(holders)}). `holdfast status` shows {them}; "
        f"`holdfast claim NAME --session {event.session_id[:8]} --anyway` moves one here.",
        to_user=True,
    )
    return [messages.once(project, conversation, _TAKEN, [each.key for each in new], told)]
