"""Restores workflows after a compaction: notes which sessions live, finds whose a workflow is, gives its guidance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, capture, environment, hookimpl, paths, tell_user
from holdfast.dispatch.budget import units
from holdfast.sessions.compaction import deliveries, hints, snapshots
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Context, Outcome
    from holdfast.events import PostCompact, SessionEnd, SessionStart, SubagentStop, UserPromptSubmit
    from holdfast.sessions.compaction.snapshots import Seal
    from holdfast.sessions.ownership.judging import Verdict
    from holdfast.workflow.model import Found, Workflow


_TAKEN = "taken"  # the hint that a workflow is another live session's
_UNREAD = "unread file"  # the hint that a state file could not be read


@hookimpl
def on_session_start(event: SessionStart, context: Context) -> list[Outcome]:
    """Let the model call the command line, and after a compaction give it its workflow back (R001-16, R001-17).

    So too when a session is resumed that crashed; at any other start the user gets a line about unfinished work, and
    the model nothing (I001-12). After a subagent's own compaction it gets back what it was launched for, and no more.
    """
    from holdfast.sessions.compaction import compactions, summaries

    said: list[Outcome] = [environment({"HOLDFAST_PROJECT_DIR": str(context.root)}, path=[str(paths.command_dir())])]
    if event.in_subagent:
        return said + (_part(event, context, event.agent_id) if event.source == "compact" else [])
    known = sessions.known(context.project, event.session_id)
    if event.source == "compact" and compactions.is_an_agents(context.project, event.session_id, context.environ):
        summaries.take(context.project, event.session_id)  # the agent's
        return said + _part(event, context, compactions.whose(context.project, event.session_id))
    crashed = event.source == "resume" and sessions.crashed(context.project, event.session_id)
    _seen(event, context)
    said += _former(context)
    if event.source == "compact" or (crashed and _owns(event, context)):
        return said + _restore(event, context, known)
    return said + _hint(event, context)


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> list[Outcome]:
    """Note that the session lives, and tell its model of workflows that it was given from a terminal.

    It is also the second chance of guidance whose absence the transcript proves.

    So it is where the reply to SessionStart(compact) was lost, and where that event never fired after a PreCompact
    ([ISS 28305], [ISS 15174]).
    """
    _seen(event, context)
    news = _given(event, context)
    lost = deliveries.settle(context.project, event.session_id)
    if lost is None and not snapshots.missed(context.project, event.session_id):
        return news
    context.log(f"the guidance {lost.mark if lost else 'of a compaction'} never arrived; given again")
    given = _trail(event, context) if lost and not lost.workflow else _restore(event, context, known=True)
    if lost and not given:
        deliveries.let_go(context.project, lost.id)
    return [*given, *news]


def _given(event: UserPromptSubmit, context: Context) -> list[Outcome]:
    """Tell the model, once for each, of the workflows that a person gave to its session from a terminal."""
    project, session = context.project, event.session_id
    keys = hints.owed(project, session, hints.GIVEN)
    if not keys or event.in_subagent:
        return []
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import guidance, registry, wording

    there = registry.candidates(Workspace.of(project), session).workflows
    found = [each for each in there if each.key in keys and not each.finished]
    mine = [each for each in found if owners.owner(project, each) == session]

    def told() -> None:
        for key in keys:
            hints.tell(project, session, hints.GIVEN, key)

    if not mine:
        told()
        return []
    listed = wording.fenced("What the user gave to this session from a terminal.", [guidance.line(e) for e in mine])
    ways = "`holdfast show` shows it, `holdfast next` says what to do. Ask the user if you should begin."
    return [advise(f"{listed}\n{ways}", on_delivered=told)]


@hookimpl
def on_subagent_stop(event: SubagentStop, context: Context) -> None:
    """Note what the compaction's own agent wrote: it is the summary, known before SessionStart(compact) must answer."""
    from holdfast.sessions.compaction import summaries

    if event.is_compaction and event.last_assistant_message:
        summaries.note(context.project, event.session_id, event.last_assistant_message)


@hookimpl
def on_post_compact(event: PostCompact, context: Context) -> None:
    """Report what the summary had lost, where no SubagentStop told it before."""
    from holdfast.sessions.compaction import compactions, losses
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    last = next(iter(deliveries.recent(context.project, 1, event.session_id)), None)
    if event.in_subagent or not event.compact_summary or last is None:
        return
    if compactions.is_an_agents(context.project, event.session_id, context.environ):
        return  # the agent's own summary, of which the main conversation's guidance says nothing
    told = next(iter(losses.recent(context.project, 1, event.session_id)), None)
    if told is None or told.noted_at < last.made_at:
        found = registry.candidates(Workspace.of(context.project), event.session_id).workflows
        for workflow in [each for each in found if each.key == last.workflow]:
            losses.note(context.project, event.session_id, workflow, event.compact_summary)


@hookimpl
def on_session_end(event: SessionEnd, context: Context) -> None:
    """Note that the session no longer claims anything."""
    sessions.ended(context.project, event.session_id)


def _seen(event: SessionStart | UserPromptSubmit, context: Context) -> None:
    process = sessions.client_process(context.environ)
    sessions.seen(context.project, event.session_id, process, event.transcript_path)


def _former(context: Context) -> list[Outcome]:
    """Tell the user of the ledger that the project had while its `project.id` needed no trust."""
    if context.project.untrusted_ledger is None:
        return []
    from holdfast.sessions.ownership import former_ledger

    notice = former_ledger.notice(context.project)
    return [tell_user(f"Holdfast: {notice}")] if notice else []


def _owns(event: SessionStart, context: Context) -> bool:
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    found = registry.candidates(Workspace.of(context.project), event.session_id).workflows
    return any(owners.owner(context.project, each) == event.session_id for each in found if each.resumable)


def _hint(event: SessionStart, context: Context) -> list[Outcome]:
    """Name the user one unfinished workflow that is not another live session's."""
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import guidance, registry

    others = sessions.live_others(context.project, event.session_id)
    problem = context.project.ledger.problem
    said: list[Outcome] = [tell_user(f"Holdfast: {problem}.")] if problem else []
    found = registry.candidates(Workspace.of(context.project), event.session_id)
    said += _unread(event, context, found)
    waiting = [
        each
        for each in owners.ranked(found.workflows)
        if each.resumable and owners.owner(context.project, each) not in others and owners.fresh(context.project, each)
    ]
    if not waiting:
        return said
    more = f", and {len(waiting) - 1} more (`holdfast list`)" if len(waiting) > 1 else ""
    more += f"; {found.left} other state files were not looked at (`holdfast list`)" if found.left else ""
    line = f"Holdfast: unfinished here is {guidance.line(waiting[0])}{more}. `holdfast show` shows it."
    return [*said, tell_user(line)]


def _restore(event: SessionStart | UserPromptSubmit, context: Context, known: bool) -> list[Outcome]:
    from holdfast.sessions.compaction import summaries
    from holdfast.sessions.history import history
    from holdfast.sessions.ownership import judging
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import registry

    found = registry.candidates(Workspace.of(context.project), event.session_id)
    for workflow in found.workflows:
        history.observe(context.project, workflow)
    verdict = judging.judge(context.project, event.session_id, found.workflows, known=known)
    unread = _unread(event, context, found)
    if verdict.full is not None:
        told = [_deliver(event, context, verdict.full, verdict, found), *unread, *_blind(context)]
        return told + _vanished(event, context)
    summaries.take(context.project, event.session_id)
    if event.hook_event_name == "UserPromptSubmit":
        return unread  # what the compaction took is finished by now, or another session's
    told = unread + _say_refused(event, context, verdict.refused) + _say_taken(event, context, verdict.taken)
    told += _mention(found, verdict.others)
    told += [tell_user(f"Holdfast: {line}") for line in _plans_left(context)]
    told += _vanished(event, context) + _stale_plan(event, context)
    return told + _trail(event, context, verdict.seal)


def _trail(event: SessionStart | UserPromptSubmit, context: Context, seal: Seal | None = None) -> list[Outcome]:
    """Give a session that got no workflow back what it did, as its own transcript tells it, unless `trail` is off.

    Where the compaction changed the session's id or its transcript, or the event names none, it is the one that was
    sealed, or that was named before.
    """
    own = event.transcript_path or sessions.transcript(context.project, event.session_id)
    before = seal.transcript if seal else ""
    if not context.config.trail or not (own or before):
        return []
    from holdfast.trail import text as trail

    entries = context.project.transcripts.tail(own)
    if before and before != own:
        entries = context.project.transcripts.tail(before) + entries
    if context.config.exclude or context.config.exclude_patterns:
        entries = [capture.event(context.config, entry) for entry in entries]
    text = trail.text(trail.read(entries), branch=context.project.branch, root=context.root)
    if not text:
        return []
    project, session = context.project, event.session_id
    delivery = deliveries.begin(
        project,
        session,
        event=event.hook_event_name,
        workflow="",
        title="the session's trail",
        mark=trail.mark(text),
        units=units(text),
        transcript=own,
        seal=seal,
    )
    context.log(f"gave the session's trail, {units(text)} characters", session=session)
    return [advise(text, must_keep=True, on_delivered=lambda: deliveries.written(project, delivery))]


def _deliver(
    event: SessionStart | UserPromptSubmit, context: Context, workflow: Workflow, verdict: Verdict, found: Found
) -> Outcome:
    """Give the guidance, and note that it is on its way before anything can go wrong."""
    from holdfast.events import TaskNotification
    from holdfast.sessions.agents import notices
    from holdfast.sessions.compaction import losses, session_guidance, summaries
    from holdfast.sessions.ownership import owners
    from holdfast.sessions.reading import reading

    project, session = context.project, event.session_id
    branch = owners.branch(project, workflow)
    owners.own(project, workflow, session)
    recap = summaries.take(project, session)
    notices.catch_up(project, session, event.transcript_path, TaskNotification.noted)
    notes = [_problem(problem.path, problem.reason, context) for problem in found.problems]
    notes += [*_left(found), *_plans_left(context)]
    if unread := workflow.key in hints.owed(project, session, hints.UNREAD):
        notes.append("required reading may be missing: CLAUDE.local.md was not read to its end (`holdfast explain`)")
    if branch and branch != project.branch:
        notes.append(f"it was last worked on in branch {branch!r}; now it is {project.branch or 'a detached head'!r}")
    back = session_guidance.compile(project, session, workflow, others=verdict.others, notes=notes, recap=recap)
    made = back.guidance
    delivery = deliveries.begin(
        project,
        session,
        event=event.hook_event_name,
        workflow=workflow.key,
        title=workflow.title,
        mark=made.mark,
        units=units(made.text),
        omitted=made.omitted,
        step=verdict.step,
        transcript=event.transcript_path,
        seal=verdict.seal if event.hook_event_name == "SessionStart" else None,
    )
    if recap:
        losses.note(project, session, workflow, recap)

    def delivered() -> None:
        deliveries.written(project, delivery)
        if unread:
            hints.tell(project, session, hints.UNREAD, workflow.key)
        reading.inlined(project, session, back.known, made.inlined)
        if verdict.seal is None and event.hook_event_name == "SessionStart":
            # No PreCompact left a seal: a spent one shows in `holdfast status` that there was a compaction.
            snapshots.leave(project, session, "none", [snapshots.of(workflow)])
            snapshots.claim(project, session, known=True)

    context.log(f"restored {workflow.title!r} ({workflow.ref}), step {verdict.step}", session=session)
    return advise(made.text, must_keep=True, on_delivered=delivered)


def _part(event: SessionStart, context: Context, agent: str | None) -> list[Outcome]:
    """Give a subagent that was compacted what it was launched for; nothing where that is not known for certain."""
    from holdfast.sessions.agents import attribution
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow import briefs, registry

    project, session = Workspace.of(context.project), event.session_id
    launch = attribution.of(project, session, agent, event.transcript_path) if agent else None
    if launch is None or not (launch.prompt or launch.phase):
        return []
    found = registry.candidates(project, session).workflows if launch.phase else ()
    workflow = next((each for each in found if each.key == launch.workflow), None)
    phase = next((each for each in workflow.phases if each.id == launch.phase), None) if workflow else None
    context.log(f"gave {launch.agent_type} ({agent}) back what it was launched for", session=session)
    told = (launch.agent_type, launch.description, launch.prompt, workflow, phase)
    brief = registry.of_agents(workflow.format).brief(project, workflow, phase) if workflow and phase else None
    return [advise(briefs.given_back(*told, root=context.root, brief=brief), must_keep=True)]


def _blind(context: Context) -> list[Outcome]:
    """Without a ledger nobody knows whose a workflow is: what the files have is restored, and the user told so."""
    problem = context.project.ledger.problem
    blind = "so what was restored was chosen without knowing which other sessions are live"
    return [tell_user(f"Holdfast: {problem}; {blind}. `holdfast doctor` says how to mend it.")] if problem else []


def _problem(path: Path, reason: str, context: Context) -> str:
    shown = path.relative_to(context.root) if path.is_relative_to(context.root) else path
    return f"{shown} could not be read: {reason}"


def _mention(found: Found, others: tuple[Workflow, ...]) -> list[Outcome]:
    """Where nothing is restored, say in a line each what is there."""
    from holdfast.workflow import guidance, wording

    lines = [guidance.line(other) for other in others if other.resumable]
    if not lines:
        return []
    lead = "Workflows of this project that were not restored, being too old."
    return [advise(wording.fenced(lead, [*lines, *_left(found)]))]


def _unread(event: SessionStart | UserPromptSubmit, context: Context, found: Found) -> list[Outcome]:
    """Tell the user, once in a session for each, of the state files that could not be read."""
    project, session = context.project, event.session_id
    new = [each for each in found.problems if not hints.told(project, session, _UNREAD, str(each.path))]
    if not new:
        return []

    for each in new:
        hints.tell(project, session, _UNREAD, str(each.path))
    more = f" {len(new) - 1} more could not be read either; `holdfast doctor` names them." if len(new) > 1 else ""
    return [tell_user(f"Holdfast: {_problem(new[0].path, new[0].reason, context)}.{more}")]


def _left(found: Found) -> list[str]:
    """Say how many workflows nobody looked at, where there are any."""
    if not found.left:
        return []
    return [f"{found.left} other state files were not looked at; `holdfast list` shows them."]


def _plans_left(context: Context) -> list[str]:
    """Say how many plans the save before the compaction did not look at, and what to do about it."""
    from holdfast.workflow import manyfiles

    left = manyfiles.left(paths.plans_dir(context.root))
    if not left:
        return []
    return [
        f"{left} older plans in CLAUDE/Plan were not looked at: move those that are finished into a folder of it,"
        " or edit the one that is worked on."
    ]


def _vanished(event: SessionStart | UserPromptSubmit, context: Context) -> list[Outcome]:
    """Tell the user, once for each, of workflows that are ignored because their state file was removed.

    Not the model: removing the file is how the document has it complete a workflow (R001-19).
    """
    keys = hints.take(context.project, event.session_id, hints.GONE)
    if not keys:
        return []
    from holdfast.sessions.history import removed_state

    lines = [removed_state.line(context.project, key) for key in keys]
    return [tell_user(f"Holdfast: {line}") for line in lines if line]


def _stale_plan(event: SessionStart | UserPromptSubmit, context: Context) -> list[Outcome]:
    """Name the model the old plan that the save before the compaction left alone."""
    places = hints.take(context.project, event.session_id, hints.STALE)
    if not places:
        return []
    from holdfast.formats.compaction.detection import plans
    from holdfast.workflow import wording

    lines = [line for place in places[-1:] if (line := plans.hint(context.root, place))]
    return [advise(wording.fenced("An old plan of this project was not taken up.", lines))] if lines else []


def _say_refused(
    event: SessionStart | UserPromptSubmit, context: Context, refused: tuple[Workflow, ...]
) -> list[Outcome]:
    """A wrong restore is worse than none: say in one line that there is something, and how to take it."""
    if not refused:
        return []
    deliveries.refuse(context.project, event.session_id, event=event.hook_event_name, workflows=refused)
    context.log(f"refused: {len(refused)} workflow(s) another live session could own", level="warning")
    return [
        tell_user(
            f"Holdfast restored nothing: {len(refused)} workflow(s) here could belong to another live session. "
            "`holdfast list` shows them; `holdfast next NAME`, asked of this session's model, takes one."
        ),
        advise(
            f"Holdfast restored no workflow: {len(refused)} here could belong to another live session. If you worked "
            "on one, find it with `holdfast list` and claim it with `holdfast next ID`; else leave it alone."
        ),
    ]


def _say_taken(event: SessionStart | UserPromptSubmit, context: Context, taken: tuple[Workflow, ...]) -> list[Outcome]:
    """Tell the user, once for each, that another live session has a workflow, and how to move it; not what it is."""
    from holdfast.sessions.ownership import owners

    project, session = context.project, event.session_id
    new = [each for each in taken if not hints.told(project, session, _TAKEN, each.key)]
    if not new:
        return []

    for each in new:
        hints.tell(project, session, _TAKEN, each.key)
    holders = sorted({(owners.owner(project, each) or "")[:8] for each in new})
    return [
        tell_user(
            f"Holdfast restored nothing: {len(new)} workflow(s) here belong to another live session "
            f"({', '.join(holders)}). `holdfast list` shows them; "
            f"`holdfast resume NAME --session {session[:8]} --anyway` moves one here."
        )
    ]
