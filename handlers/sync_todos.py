"""Keeps phases, Markdown view and to-do list in step with what subagents did.

To-dos follow the workflow and never move it (R000-32). A hook cannot call a tool (I000-11): the model is told the
list to write, once, when it changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import advise, change_input, hookimpl
from holdfast.sessions.agents import agent_status, lifecycle, progress
from holdfast.sessions.ownership import sessions

if TYPE_CHECKING:
    from holdfast import Context, Outcome
    from holdfast.events import PostToolUse, PostToolUseFailure, PreCompact, PreToolUse, SessionStart, UserPromptSubmit
    from holdfast.workflow.model import Step, Workflow

_UNMOVED = "unmoved"  # the hint that says how a phase is moved by hand
NAMED = 20  # titles of corrected to-dos that are named
PROMPT = 4_000  # characters of a prompt that are shown; an agent's words can be long


@hookimpl(match="Agent|Task|TodoWrite")
def on_pre_tool_use(event: PreToolUse, context: Context) -> list[Outcome]:
    """Start the phase an agent is launched for; correct a to-do list that contradicts the workflow."""
    sessions.heard(context.project, event.session_id)
    if event.in_subagent:
        return []
    moved = _settle(event, context)
    if event.tool_name == "TodoWrite":
        return [*_corrected(event, context), *_report(event.session_id, context, moved)]
    started = _launch(event, context)
    return _report(event.session_id, context, [*moved, *([started] if started else [])])


@hookimpl(match="Agent|Task|TaskCreate|TaskUpdate")
def on_post_tool_use(event: PostToolUse, context: Context) -> list[Outcome]:
    """Finish the phase of an agent that returned; remember the ids of tasks that stand for phases."""
    sessions.heard(context.project, event.session_id)
    if event.in_subagent:
        return []
    if not event.is_agent_launch:
        _remember_task(event, context)
        return []
    from holdfast.events import agent_result

    started = _launch(event, context)  # a hook that did not fire before the call must not cost the phase (I000-6)
    call = lifecycle.call_id(event.tool_use_id, event.tool_input)
    result = agent_result(event.tool_response)
    run = lifecycle.run_id(result.agent_id, call)
    lifecycle.named(context.project, event.session_id, call, run, result.output_file)
    moved = progress.settle(context.project, event.session_id) or ([started] if started else [])
    return [*_report(event.session_id, context, moved), *_unmoved(event.session_id, context, call)]


@hookimpl(match="Agent|Task")
def on_post_tool_use_failure(event: PostToolUseFailure, context: Context) -> list[Outcome]:
    """Fail the phase of an agent that failed."""
    if event.in_subagent:
        return []

    _launch(event, context)
    call = lifecycle.call_id(event.tool_use_id, event.tool_input)
    lifecycle.named(context.project, event.session_id, call, lifecycle.run_id("", call))
    return _report(event.session_id, context, progress.settle(context.project, event.session_id))


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> list[Outcome]:
    """Judge what background agents reported since the last main-thread event."""
    if event.in_subagent:
        return []
    moved = _settle(event, context)
    lifecycle.abandon_open(context.project, event.session_id)
    return _report(event.session_id, context, moved)


@hookimpl(tryfirst=True)
def on_pre_compact(event: PreCompact, context: Context) -> None:
    """Bring the workflow up to date before it is saved."""
    if not event.in_subagent:
        _settle(event, context)


@hookimpl(match="compact|resume", tryfirst=True)
def on_session_start(event: SessionStart, context: Context) -> None:
    """Bring the workflow up to date before it is restored."""
    if not event.in_subagent:
        _settle(event, context)


def _settle(event: PreToolUse | UserPromptSubmit | PreCompact | SessionStart, context: Context) -> list[progress.Moved]:
    """Judge what agents reported, also where the event that told it found nothing to write on, as on a full disk."""
    if agent_status.unanswered(context.project, event.session_id):
        from holdfast.events import Returned
        from holdfast.sessions.agents import notices

        notices.catch_up_calls(context.project, event.session_id, event.transcript_path, Returned.noted)
    return progress.settle(context.project, event.session_id)


def _launch(event: PreToolUse | PostToolUse | PostToolUseFailure, context: Context) -> progress.Moved | None:
    given = {name: value for name, value in event.tool_input.items() if isinstance(value, str)}
    return progress.launch(
        context.project,
        event.session_id,
        lifecycle.call_id(event.tool_use_id, event.tool_input),
        given.get("subagent_type", ""),
        given.get("description", ""),
        given.get("prompt", ""),
        begun=event.hook_event_name != "PreToolUse",
    )


def _corrected(event: PreToolUse, context: Context) -> list[Outcome]:
    """Correct only the status of items that stand for phases, and say so."""
    from holdfast.sessions.agents import todolists
    from holdfast.workflow import todos, wording

    workflow = progress.mine(context.project, event.session_id)
    given = event.tool_input.get("todos")
    if workflow is None or not isinstance(given, list):
        return []
    corrected, titles = todos.correct(given, workflow)
    if todos.covers(corrected, workflow):
        digest = todos.digest(todos.wanted(workflow))
        todolists.tell(context.project, event.session_id, workflow.key, digest)
    if not titles:
        return []
    named = [f"- {wording.one_line(title)}" for title in titles[:NAMED]]
    named += [f"+{len(titles) - NAMED} more"] if len(titles) > NAMED else []
    lead = f"Holdfast set the status of these to-dos to their {workflow.unit}'s status, as the workflow has it."
    return [change_input({**event.tool_input, "todos": corrected}), advise(wording.fenced(lead, named))]


def _remember_task(event: PostToolUse, context: Context) -> None:
    from holdfast.sessions.agents import todolists

    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    if event.tool_name == "TaskCreate":
        task = response.get("task")
        if isinstance(task, dict) and task.get("id") and task.get("subject"):
            todolists.remember_task(context.project, event.session_id, str(task["id"]), str(task["subject"]))
    elif response.get("success") is not False and event.tool_input.get("taskId"):
        given = event.tool_input
        todolists.change_task(
            context.project,
            event.session_id,
            str(given["taskId"]),
            subject=given.get("subject") if isinstance(given.get("subject"), str) else None,
            status=given.get("status") if isinstance(given.get("status"), str) else None,
        )


def _report(session: str, context: Context, moved: list[progress.Moved]) -> list[Outcome]:
    """Tell the model what moved, what comes next, and the to-do list if it is another than the one it knows."""
    lines = [text for each in moved for text in (_sentence(each), *(f"{note}." for note in each.notes))]
    lines += [_doubt(*each) for each in progress.contradicted(context.project, session)]
    listed: list[Outcome] = []
    workflow = progress.mine(context.project, session)
    if workflow is not None:
        from holdfast.workflow import registry

        listed = _wanted_list(session, context, workflow, bool(moved))
        # Not where the last thing was a launch: it is what comes next. Without a move, an agent did its bookkeeping.
        over = moved[-1].phase.status in ("completed", "failed", "blocked") if moved else bool(listed)
        step = registry.get(workflow.format).step(workflow) if over else None
        lines += _next(session, context, workflow, step) if step else []
    if not lines:
        return listed
    from holdfast.workflow import wording

    return [advise(wording.fenced("What changed in this session's workflow, and what comes next.", lines)), *listed]


def _unmoved(session: str, context: Context, call: str) -> list[Outcome]:
    """Say once how the model moves a workflow itself, where an agent was launched for no phase though one is due."""
    project, launch = context.project, agent_status.find(context.project, session, call)
    if launch is None or launch.phase:
        return []
    workflow = progress.mine(project, session)
    if workflow is None or workflow.finished:
        return []
    from holdfast.sessions.compaction import hints
    from holdfast.workflow import registry, wording

    key, step = workflow.key, registry.get(workflow.format).step(workflow)
    due = next((each for each in workflow.phases if step and each.number == step.number), None)
    if due is None or hints.told(project, session, _UNMOVED, key):
        return []
    unit = workflow.unit
    lead = f"No {unit} of this session's workflow moved: nothing ties this agent to the one that is due."
    given = wording.fenced(lead, [f"Due: {workflow.named(due)} {wording.quoted(due.title)}"])
    text = (
        f"{given}\nIf that {unit} is done, run `holdfast done`. To launch an agent for a {unit}, make its id or exact "
        "title the description or the prompt's first line."
    )
    return [advise(text, on_delivered=lambda: hints.tell(project, session, _UNMOVED, key))]


def _next(session: str, context: Context, workflow: Workflow, step: Step) -> list[str]:
    """Return what comes next, and what else can be begun beside it, as lines of a fence."""
    from holdfast.workflow import registry, views, wording

    at_work = agent_status.at_work(context.project, session)
    running = {launch.phase: launch for launch in at_work if launch.workflow == workflow.key}
    phase = next((each for each in workflow.phases if each.number == step.number), None)
    if phase and phase.id in running:
        lines = [f"Next: {workflow.named(phase)}; {_running(running[phase.id])}."]
    else:
        lines = [f"Next: {wording.one_line(step.text, 300)}."]
        if phase is not None and step.prompt != step.text:  # else nothing can be begun
            cut = f"{step.prompt[:PROMPT]}… (whole in {workflow.place})"
            lines += [views.call(step), step.prompt if len(step.prompt) <= PROMPT else cut]
    ready = registry.of_agents(workflow.format).ready(workflow)
    beside = [each for each in ready if each is not phase and each.id not in running]
    if beside:
        named = [f"{workflow.named(each)} {wording.quoted(each.title)} ({each.agent or 'no agent'})" for each in beside]
        more = f" and {len(beside) - NAMED} more" if len(beside) > NAMED else ""
        lines.append(f"Ready beside it, to be worked on in parallel: {', '.join(named[:NAMED])}{more}.")
    return lines


def _running(launch: agent_status.Agent) -> str:
    from holdfast.workflow import wording

    named = ", ".join(filter(None, (wording.one_line(launch.agent_type), launch.agent_id)))
    return f"its agent ({named}) was started already and is running"


def _doubt(launch: agent_status.Agent, words: str) -> str:
    from holdfast import formats
    from holdfast.workflow import registry, wording

    name = (launch.workflow or formats.WITH_AGENTS[0]).partition(":")[0]
    undoing = registry.of_agents(name).undoing
    return (
        f"An agent ({wording.one_line(launch.agent_type)}) reported a failure after its phase {launch.phase} "
        f"was completed: {wording.one_line(words)}. The phase stays completed; a person can undo that with "
        f"`{undoing(launch.phase or '')}`."
    )


def _sentence(moved: progress.Moved) -> str:
    from holdfast.workflow import wording

    phase = moved.phase
    name = moved.workflow.named(phase)
    sentence = f'{name[0].upper()}{name[1:]} "{wording.one_line(phase.title)}" is {phase.status}'
    if phase.status == "completed" and phase.deliverables:
        sentence += f"; deliverables: {wording.one_line(', '.join(phase.deliverables))}"
    if moved.words:
        sentence += f" ({wording.one_line(moved.words)})"
    return f"{sentence}. Its state is in {phase.place or moved.workflow.place}."


def _wanted_list(session: str, context: Context, workflow: Workflow, moved: bool) -> list[Outcome]:
    from holdfast.sessions.agents import todolists
    from holdfast.workflow import todos

    if context.config.todos == "off" or workflow.status == "pending":
        return []
    project, key = context.project, workflow.key
    digest = todos.digest(todos.wanted(workflow))
    known = todolists.told(project, session, key)
    if known == digest or (known is None and not moved):
        return []
    text = todos.request(workflow, todolists.task_ids(project, session))
    return [advise(text, on_delivered=lambda: todolists.tell(project, session, key, digest))]
