"""Move a workflow's phases when its agents are launched and when they report, and tell the model what moved.

The model hears what changed, what comes next, and which to-do list to write. The lists that it writes are corrected,
and the ids that its Task tools gave to tasks are noted.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.errors import HoldfastError, MissingError, SchemaMismatch, StateError
from holdfast.files.redact import redact
from holdfast.memory.rows import CUT_OFF, Task
from holdfast.sessions import agents, conversations, messages, owners
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import assignments, registry, todos, verbs, views, wording
from holdfast.workflow.model import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.clients.client import AgentResult
    from holdfast.memory.rows import Agent
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Call, Context, Event, Returned
    from holdfast.workflow.model import Phase, Status, Step, Workflow


_NOT_FOR_IT = (
    "this launch moves nothing, because you weren't launched for its workflow; say in your result if it is done"
)
_NO_RESULT = "its agent returned no result, so it isn't completed; if it is done, run `{}`"
_UNMOVED = "unmoved"  # the hint on how to move a phase by hand
NAMED = 20  # ready phases that are named
CORRECTED = 20  # corrected to-dos that are named
PROMPT_LIMIT_CHARS = 4_000  # characters of a prompt that are shown


class Moved(NamedTuple):
    """A phase that an agent moved, or that could not be moved.

    Attributes:
        workflow: the workflow as it is now.
        phase: the phase that was moved, as it is now.
        words: why it could not be moved, what a failed agent said, or another remark; may be empty.
        unwritten: whether the move is tried again at the next event, because the file could not be written or read.
        notes: further sentences for the model.
    """

    workflow: Workflow
    phase: Phase
    words: str = ""
    unwritten: bool = False
    notes: tuple[str, ...] = ()


def settle_agents(event: Event, context: Context) -> list[Moved]:
    """Move the phases whose agents have ended since the last event of the main conversation, and return them.

    Reports that could not be stored when they came, for example on a full disk, are read from the transcript.
    """
    project, conversation = Workspace.at(event, context)
    if agents.unanswered(project, conversation):
        agents.catch_up_calls(project, conversation, event.transcript_path)
    return settle(project, conversation)


def launch_agent(event: Call, context: Context) -> list[Moved]:
    """Record that an agent is launched, and start the phase it is for (R000-14, I000-6, I000-15).

    A call counts once, at its `PreToolUse` or `PostToolUse`; by the latter its agent may have completed the phase
    itself (I000-8). Any launch counts, planned or not (R000-30), but one inside another agent only if that was launched
    for the workflow. An agent launched for a phase that is completed already doesn't get it, whatever the prompt names:
    its report fills in nothing.

    Return the phase that became active by it, if one did. For a launch by an agent that wasn't launched for the
    workflow, that is the phase which it names and can't move.
    """
    project, conversation = Workspace.at(event, context)
    call, begun = (
        agents.call_id(event),
        event.hook_event_name != project.client.CALL_EVENT,
    )
    known = agents.of_call(project, conversation, call)
    if known and (known.state != "called" or known.verdict == "refused"):
        return []
    words = {name: value for name, value in event.tool_input.items() if isinstance(value, str)}
    agent = words.get("subagent_type") or "general-purpose"
    about = {name: words.get(name, "") for name in ("description", "prompt")}
    text = _text(**about)
    found = registry.agents_work_on(project, conversation)
    usable = _usable(project, conversation, found)
    workflow, phase = _meant(project, conversation, usable, text, agent, begun)
    if workflow is None:
        workflow, phase = _meant(project, conversation, _nobodys(project, conversation, found), text, agent, begun)
    if event.agent_id:
        launches = _launches_for(project, conversation, event.agent_id, workflow) if workflow else []
        if workflow is None or phase is None or any(each.phase == phase.id for each in launches):
            return []  # the launcher's own phase ends with itself, whoever helps
        if not launches:
            return [Moved(workflow, phase, _NOT_FOR_IT)] if assignments.named(workflow, text, agent) else []
    if workflow is None:
        workflow = _joined(project, usable, text, agent)
    key = workflow.key if workflow else ""
    agents.record_launch(project, conversation, call, agent, key, phase.id if phase else "", **about)
    if workflow is None or phase is None:
        return []
    owners.take(project, workflow, conversation)  # else a session that starts later could keep the result from counting
    # The format ensures that one phase is active at a time (R000-15) and that no hook revives a finished workflow.
    moved = _judge(project, workflow, phase.id, "active")
    return [moved] if moved else []


def finish_agent(event: Call, context: Context, result: AgentResult | None) -> list[Moved]:
    """Note which agent a call launched, and move the phases whose agents have ended.

    `event` is the `PostToolUse` or `PostToolUseFailure` of the Agent tool; `result` is what the call returned
    (`holdfast.events.agent_result`), None if it failed. Return the phases that moved, or the one that was started. What
    a launch inside an agent finished is settled at the next event of the main conversation.
    """
    started = launch_agent(event, context)  # if the hook before the call didn't fire, the phase still starts (I000-6)
    call, (project, conversation) = agents.call_id(event), Workspace.at(event, context)
    run = agents.run_id(result.agent_id if result else "", call)
    agents.name_run(project, conversation, call, run, result.output_file if result else "")
    if event.agent_id:
        return started
    return settle(project, conversation) or (started if result else [])


def abandon_calls(event: Event, context: Context) -> None:
    """Close the calls of the Agent tool that never returned: at a prompt, no foreground agent can still run."""
    agents.abandon_calls(*Workspace.at(event, context))


def session_workflow(project: Workspace, conversation: str) -> Workflow | None:
    """Return the workflow whose phases this session's agents work on; None if it may touch none.

    Of several, the session's own comes first, then unfinished before finished, then the last changed.
    """
    found = registry.agents_work_on(project, conversation, own=True)
    own = _usable(project, conversation, found)
    return next(iter(own or _all_mine(project, conversation)), None)


def _all_mine(project: Workspace, conversation: str, *, paused: bool = False) -> list[Workflow]:
    """Return the workflows that a session may touch, its own first; paused ones only if `paused`."""
    return _usable(project, conversation, registry.agents_work_on(project, conversation), paused=paused)


def _usable(project: Workspace, conversation: str, found: list[Workflow], *, paused: bool = False) -> list[Workflow]:
    """Return those of the found workflows that a session may touch, in the order of `_all_mine`."""
    ranked = owners.by_rank(owners.may_move(project, conversation, found))
    usable = [each for each in ranked if not each.recovered and (paused or not each.paused)]
    if len(usable) < 2:
        return usable
    holders = owners.holders(project, usable)
    return sorted(usable, key=lambda each: (holders[each.key] != conversation, each.finished))


def _nobodys(project: Workspace, conversation: str, found: list[Workflow]) -> list[Workflow]:
    """Return the fresh workflows that no live session owns, if this one may take any (`owners.takers`).

    Launching an agent for one of them claims it.
    """
    live = conversations.live_others(project, conversation)
    if conversation not in owners.takers(project, conversation, live):
        return []
    holders = owners.holders(project, found)
    free = [each for each in found if each.resumable and holders[each.key] not in (conversation, *live)]
    return owners.by_rank(owners.fresh_ones(project, free))


def at_work(project: Workspace, conversation: str) -> list[Agent]:
    """Return the running agents that work on a phase and have no verdict yet, foreground agents included."""
    found = agents.launched(project, conversation)
    return [each for each in found if each.phase and not each.verdict and each.status == "running"]


def restart(project: Workspace, conversation: str, agent: Agent) -> None:
    """Start the phase of an interrupted agent that is continued; its workflow then belongs to the conversation."""
    found = registry.agents_work_on(project, conversation)
    workflow, phase = _phase([*_usable(project, conversation, found), *_nobodys(project, conversation, found)], agent)
    if workflow and phase:
        owners.take(project, workflow, conversation)
        if phase.status == "failed":
            _judge(project, workflow, phase.id, "active")


def settle(project: Workspace, conversation: str) -> list[Moved]:
    """Judge every launch whose result is in, move the phases they were for, and return these as their agents ended.

    If a workflow can't be read or written now, its launches are judged at a later event. Call this only at an event of
    the main thread, after the event's own signal was stored: by then a bare SubagentStop that nothing contradicts
    counts as completed.
    """
    ended = [each for each in agents.launched(project, conversation) if each.state not in agents.BEGUN]
    due = sorted((each for each in ended if not each.judged), key=lambda each: (each.changed_at, each.call))
    moved = [_apply(project, conversation, each) for each in due]
    return [each for each in moved if each is not None]


def contradicted(project: Workspace, conversation: str) -> list[Agent]:
    """Return the agents with a failure reported after their phase was completed, each once.

    A hook never undoes a completion; people can (`AgentFormat.undoing`).
    """
    failed = [each for each in agents.launched(project, conversation) if agents.is_disputable(each)]
    return [each for each in failed if agents.judge(project, each, "disputed", before=("completed",))]


def _meant(
    project: Workspace, conversation: str, workflows: Sequence[Workflow], text: str, agent: str, begun: bool
) -> tuple[Workflow, Phase] | tuple[None, None]:
    """Return the phase an agent is launched for, with its workflow. A phase the text names beats the agent's name."""
    if len(workflows) > 1:
        workflows = sorted(workflows, key=lambda each: assignments.named(each, text, agent) is None)
    busy = {(each.workflow, each.phase) for each in at_work(project, conversation)} if workflows else ()
    for workflow in workflows:
        phase = registry.get(workflow.format).match_phase(workflow, text, agent)
        if phase and phase.status == "completed" and (workflow.finished or not begun):
            continue  # no launch may move it, nor its agent's end
        if phase and (workflow.key, phase.id) in busy:  # a second agent of the kind must name it
            phase = assignments.named(workflow, text, agent)
        if phase:
            return workflow, phase
    return None, None


def _launches_for(project: Workspace, conversation: str, agent_id: str, workflow: Workflow) -> list[Agent]:
    """Return the launches that may have started an agent, if all were for a workflow: its phases, or itself by name."""
    found = agents.candidates(project, conversation, agent_id)
    names = (workflow.id.casefold(), workflow.title.casefold())
    texts = [_text(each.description, each.prompt).casefold() for each in found]
    named = [any(name in text for name in names) for text in texts]
    return found if all(each.workflow == workflow.key or ok for each, ok in zip(found, named, strict=True)) else []


def _text(description: str, prompt: str) -> str:
    return f"{' '.join(description.split())}\n{prompt}"


def _apply(project: Workspace, conversation: str, due: Agent) -> Moved | None:
    workflow, phase = _phase(_all_mine(project, conversation, paused=True), due)
    # No hook undoes a completion: a failure that comes later is reported instead (`contradicted`).
    doubtful = phase is not None and phase.status == "completed" and due.outcome == "failed"
    if workflow is None and due.workflow and _is_unreadable(project, due.workflow):
        return None
    empty = due.outcome == "completed" and not due.words.strip()  # which shows no work (I000-14)
    if empty and phase and due.state == "stopped":
        return None  # the client's notification brings the result
    moved = None
    if workflow and phase and not doubtful:
        no_result = Moved(workflow, phase, _NO_RESULT.format(verbs.completing(workflow, phase)))
        left_open = empty and phase.status != "completed"
        moved = no_result if left_open else _finish(project, workflow, phase, due)
    if moved and moved.unwritten:
        return moved if agents.judge(project, due, "unwritten", before=("",)) else None
    if due.workflow and not due.phase:
        _left(project, conversation, due)
    verdict = "abandoned" if empty else "completed" if doubtful else due.outcome
    agents.judge(project, due, verdict)
    return moved


def _joined(project: Workspace, workflows: Sequence[Workflow], text: str, agent: str) -> Workflow | None:
    """Return the first workflow that lists an agent which was launched for none of its phases; None for none."""
    for workflow in workflows:
        with suppress(HoldfastError):  # an agent that isn't listed works all the same
            if registry.get(workflow.format).register_overseer(project, workflow, text, agent):
                return workflow
    return None


def _left(project: Workspace, conversation: str, due: Agent) -> None:
    """Tell a workflow that an agent which it lists for none of its phases has ended."""
    for workflow in _all_mine(project, conversation, paused=True):
        if workflow.key == due.workflow:
            text, keeper = _text(due.description, due.prompt), registry.get(workflow.format)
            with suppress(HoldfastError):  # `doctor` reports the broken state, and `doctor --fix` removes it
                keeper.unregister_overseer(project, workflow, text, due.agent_type)


def _is_unreadable(project: Workspace, key: str) -> bool:
    """Return whether the file of the workflow with this key exists and can't be read."""
    path, name = project.root / place_of(key), key.partition(":")[0]
    return any(each.path == path for each in registry.get(name).candidates(project, {key}).problems)


def _phase(workflows: Sequence[Workflow], launched: Agent) -> tuple[Workflow, Phase] | tuple[None, None]:
    for workflow in workflows if launched.phase else ():
        if workflow.key == launched.workflow:
            phase = next((each for each in workflow.phases if each.id == launched.phase), None)
            return (workflow, phase) if phase else (None, None)
    return None, None


def _finish(project: Workspace, workflow: Workflow, phase: Phase, due: Agent) -> Moved | None:
    """End a phase. If its agent completed it itself, only empty fields are filled from the report (I000-8)."""
    if phase.status == "failed" and due.verdict != "unwritten":
        return None  # it was not launched again; the error from its failure stays
    words = due.words or (CUT_OFF if due.outcome == "failed" else "")
    moved = _judge(project, workflow, phase.id, due.outcome, words)
    return moved and moved._replace(words=moved.words or (words if due.outcome == "failed" else ""))


def _judge(project: Workspace, workflow: Workflow, phase_id: str, status: Status, words: str = "") -> Moved | None:
    """Move a phase. A refused move is reported, with the workflow as it is."""
    keeper, unwritten = registry.get(workflow.format), False
    try:
        workflow, changed, remark, notes = keeper.judge(project, workflow, phase_id, status, words)
    except HoldfastError as error:
        remark = str(error)
        if isinstance(error, StateError) and not isinstance(error, (MissingError, SchemaMismatch)):
            unwritten = status != "active"  # a start that is missed is made up for when the agent ends
            remark = f"{error.path.name} {error.reason}" + ("; tried again at the next event" if unwritten else "")
        now = next((each for each in keeper.find(project).workflows if each.key == workflow.key), None)
        if now is None and not unwritten:
            return None
        workflow, changed, notes = now or workflow, True, ()
    phase = next((each for each in workflow.phases if each.id == phase_id), None)
    return Moved(workflow, phase, remark, unwritten, notes) if (changed or notes) and phase else None


class Corrected(NamedTuple):
    """A to-do list as it should be written, and the messages that tell the model what was corrected."""

    todos: list[Any]
    messages: list[wording.Message]


def report(event: Event, context: Context, moved: Sequence[Moved]) -> list[wording.Message]:
    """Return the moves, the next step, and the to-do list if it differs from the one the model knows.

    Call it after state and view are written, so that the to-do list comes last (R000-28). An agent gets only what
    moved, because the main conversation does what comes next. `moved` is what `settle_agents`, `launch_agent` or
    `finish_agent` returned.
    """
    project, conversation = Workspace.at(event, context)
    lines = list[str]()
    for each in moved:
        lines += [_sentence(each), *(f"{wording.capitalized(note)}." for note in each.notes)]
    listed: list[wording.Message] = []
    workflow = None
    if not event.agent_id:
        lines += [_doubt(project, each) for each in contradicted(project, conversation)]
        workflow = session_workflow(project, conversation)
    if workflow is not None:
        listed = _wanted_list(conversation, context, workflow, bool(moved))
        # Not after a launch: the launched phase is what comes next. A changed list without a move means that an agent
        # wrote the state file itself.
        over = moved[-1].phase.status in ("completed", "failed", "blocked") if moved else bool(listed)
        step = verbs.step(workflow) if over else None
        lines += _next(project, conversation, workflow, step) if step else []
    if not lines:
        return listed
    text = wording.fenced("Workflow update.", lines)
    return [wording.Message(text), *listed]


def report_unmoved(event: Call, context: Context) -> list[wording.Message]:
    """Return, once per workflow, how to move a phase by hand, if an agent was launched for none although one is due.

    To be called after `finish_agent`.
    """
    project, conversation = Workspace.at(event, context)
    launch = agents.of_call(project, conversation, agents.call_id(event))
    if launch is None or launch.workflow:  # it moves a phase, or its workflow lists it
        return []
    workflow = session_workflow(project, conversation)
    if workflow is None or workflow.finished:
        return []
    key, step = workflow.key, verbs.step(workflow)
    due = next((each for each in workflow.phases if step and each.number == step.number), None)
    if due is None or messages.was_told(project, conversation, _UNMOVED, key):
        return []
    unit = workflow.unit
    lead = f"No {unit} moved: nothing ties this agent to the {unit} that is due."
    done = f"When done: {verbs.completing(workflow, due)}"
    unmoved = wording.fenced(lead, [f"Due: {workflow.named(due)} {wording.quoted(due.title)}. {done}"])
    text = (
        f"{unmoved}\nTo launch an agent for a {unit}, use its id or exact "
        "title as the description or the prompt's first line."
    )
    return [wording.Message(text, on_delivered=lambda: messages.tell(project, conversation, _UNMOVED, key))]


def correct_todos(event: Call, context: Context) -> Corrected | None:
    """Correct the status of to-dos that represent phases and contradict the workflow (R000-32).

    `event` is the `PreToolUse` of TodoWrite.

    Returns:
        The corrected list for `change_input`; None if nothing needs correcting.
    """
    project, conversation = Workspace.at(event, context)
    workflow = session_workflow(project, conversation)
    written = event.tool_input.get("todos")
    if workflow is None or not isinstance(written, list):
        return None
    corrected, titles = todos.correct(written, workflow)
    known = partial(messages.tell, project, conversation, messages.TODO_LIST, workflow.key, todos.digest(workflow))
    covers = todos.covers(corrected, workflow)
    if not titles:
        if covers:
            known()
        return None
    named = [f"- {wording.one_line(title)}" for title in titles[:CORRECTED]]
    named += [f"+{len(titles) - CORRECTED} more"] if len(titles) > CORRECTED else []
    lead = f"Holdfast set the status of these to-dos to their {workflow.unit}'s status."
    return Corrected(corrected, [wording.Message(wording.fenced(lead, named), on_delivered=known if covers else None)])


def note_task(event: Returned, context: Context) -> None:
    """Note what a Task tool did to a task that may represent a phase: its opaque id, and its subject without secrets.

    `event` is the `PostToolUse` of a TaskCreate or TaskUpdate.
    """
    project, conversation = Workspace.at(event, context)
    table, values = project.ledger.table(Task), event.tool_input
    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    if event.tool_name == "TaskCreate":
        task = response.get("task")
        if isinstance(task, dict) and task.get("id") and task.get("subject"):
            table.put(Task(conversation, str(task["id"]), redact(str(task["subject"])), clock.stamp()))
    elif response.get("success") is not False and values.get("taskId"):
        row = {"conversation": conversation, "task_id": str(values["taskId"])}
        if values.get("status") == "deleted":
            table.drop(**row)
        elif isinstance(values.get("subject"), str) and values["subject"]:
            table.update({"subject": redact(values["subject"]), "changed_at": clock.stamp()}, **row)


def task_ids(project: OpenProject, conversation: str) -> dict[str, str]:
    """Return the known task ids by subject; if several tasks have the same subject, the latest."""
    rows = project.ledger.table(Task).where(conversation=conversation)
    return {row.subject: row.task_id for row in sorted(rows, key=lambda row: (row.changed_at, row.task_id))}


def _next(project: Workspace, conversation: str, workflow: Workflow, step: Step) -> list[str]:
    """Return lines that say what comes next, with the prompt for its agent (R000-35), and what else can begin."""
    busy = at_work(project, conversation)
    running = {agent.phase: agent for agent in busy if agent.workflow == workflow.key}
    phase = next((each for each in workflow.phases if each.number == step.number), None)
    if phase and phase.id in running:
        agent = running[phase.id]
        name = ", ".join(filter(None, (wording.one_line(agent.agent_type), agent.run)))
        lines = [f"Next: {workflow.named(phase)}; its agent ({name}) is already running."]
    else:
        lines = [f"Next: {wording.one_line(step.text, 300)}."]
        if phase is not None and step.prompt != step.text:  # else there is nothing to begin
            cut = f"{step.prompt[:PROMPT_LIMIT_CHARS]}… (whole in {workflow.place})"
            lines += [views.call(step), step.prompt if len(step.prompt) <= PROMPT_LIMIT_CHARS else cut]
    ready = verbs.ready(workflow)
    others = [each for each in ready if each is not phase and each.id not in running]
    if others:
        named = [
            f"{workflow.named(each)} {wording.quoted(each.title)} ({each.agent or 'no agent'})"
            for each in others[:NAMED]
        ]
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        lines.append(f"Also ready, to work on in parallel: {', '.join(named)}{more}.")
    return lines


def _doubt(project: Workspace, launch: Agent) -> str:
    workflow, phase = _phase(registry.with_keys(project, [launch.workflow]).workflows, launch)
    undo = verbs.undoing(workflow, phase) if workflow and phase else "holdfast reopen"
    title = wording.one_line(phase.title if phase else launch.phase)
    return (
        f"An agent ({wording.one_line(launch.agent_type)}) reported a failure after its phase {wording.quoted(title)} "
        f"was completed: {wording.one_line(launch.words).rstrip('.')}. The phase stays completed; a person can undo "
        f"that with `{wording.one_line(undo)}`."
    )


def _sentence(moved: Moved) -> str:
    phase = moved.phase
    name = moved.workflow.named(phase)
    sentence = f'{name[0].upper()}{name[1:]} "{wording.one_line(phase.title)}" is {phase.status}'
    if phase.status == "completed" and phase.deliverables:
        sentence += f"; deliverables: {wording.one_line(', '.join(phase.deliverables))}"
    if moved.words:
        sentence += f" ({wording.one_line(moved.words)})"
    return f"{sentence}."


def _wanted_list(conversation: str, context: Context, workflow: Workflow, moved: bool) -> list[wording.Message]:
    if context.config.todos == "off" or workflow.status == "pending":
        return []
    project, key = context.project, workflow.key
    digest = todos.digest(workflow)
    known = messages.last_value(project, conversation, messages.TODO_LIST, key)
    if known == digest or (known is None and not moved):
        return []
    text = todos.request(workflow, task_ids(project, conversation))
    delivered = partial(messages.tell, project, conversation, messages.TODO_LIST, key, digest)
    return [wording.Message(text, on_delivered=delivered)]
