"""Tell the model about the phases that its agents moved: what changed, what comes next, which to-do list to write.

The to-do lists that it writes are corrected, and the ids that its Task tools gave to tasks are noted.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import clock
from holdfast.files.redact import redact
from holdfast.memory.rows import Task
from holdfast.sessions import agents, messages, progress
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import registry, todos, verbs, views, wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.memory.rows import Agent
    from holdfast.project import OpenProject
    from holdfast.sessions.hook import Call, Context, Event, Returned
    from holdfast.sessions.progress import Moved
    from holdfast.workflow.model import Step, Workflow

_UNMOVED = "unmoved"  # the hint on how to move a phase by hand
NAMED = 20  # ready phases that are named
CORRECTED = 20  # corrected to-dos that are named
PROMPT_LIMIT_CHARS = 4_000  # characters of a prompt that are shown


class Corrected(NamedTuple):
    """A to-do list as it should be written, and the messages that tell the model what was corrected."""

    todos: list[Any]
    messages: list[wording.Message]


def report(event: Event, context: Context, moved: Sequence[Moved]) -> list[wording.Message]:
    """Return what moved, what comes next, and the to-do list if it differs from the one the model knows.

    Call it after state and view are written, so that the to-do list comes last (R000-28). An agent is told only what
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
        lines += [_doubt(project, each) for each in progress.contradicted(project, conversation)]
        workflow = progress.session_workflow(project, conversation)
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
    workflow = progress.session_workflow(project, conversation)
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
    workflow = progress.session_workflow(project, conversation)
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
    at_work = progress.at_work(project, conversation)
    running = {agent.phase: agent for agent in at_work if agent.workflow == workflow.key}
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
    beside = [each for each in ready if each is not phase and each.id not in running]
    if beside:
        named = [
            f"{workflow.named(each)} {wording.quoted(each.title)} ({each.agent or 'no agent'})"
            for each in beside[:NAMED]
        ]
        more = f" and {len(beside) - NAMED} more" if len(beside) > NAMED else ""
        lines.append(f"Also ready, to work on in parallel: {', '.join(named)}{more}.")
    return lines


def _doubt(project: Workspace, launch: Agent) -> str:
    found = registry.with_keys(project, [launch.workflow]).workflows
    workflow = next((each for each in found if each.key == launch.workflow), None)
    phase = next((each for each in workflow.phases if each.id == launch.phase), None) if workflow else None
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
    told = partial(messages.tell, project, conversation, messages.TODO_LIST, key, digest)
    return [wording.Message(text, on_delivered=told)]
