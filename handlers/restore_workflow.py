"""Restores workflows after a compaction: notes which sessions live, finds whose a workflow is, gives its guidance."""

from pathlib import Path

from holdfast import Context, Outcome, advise, environment, hookimpl, paths, tell_user
from holdfast.events import SessionEnd, SessionStart, UserPromptSubmit
from holdfast.survival import agents, compactions, history, owners, seals, sessions
from holdfast.workflow import formats, guidance
from holdfast.workflow.model import Found, Workflow


@hookimpl
def on_session_start(event: SessionStart, context: Context) -> list[Outcome]:
    """Let the model call the command line, and after a compaction give it its workflow back (R001-16, R001-17).

    So too when a session is resumed that crashed; at any other start the user gets a line about unfinished work, and
    the model nothing (I001-12).
    """
    said = [environment({"HOLDFAST_PROJECT_DIR": str(context.root)}, path=[str(paths.command_dir())])]
    if event.in_subagent:
        return said
    known = sessions.known(context.project, event.session_id)
    if event.source == "compact" and compactions.is_an_agents(context.project, event.session_id, context.environ):
        return said
    crashed = event.source == "resume" and sessions.crashed(context.project, event.session_id)
    sessions.seen(context.project, event.session_id, sessions.client_process(context.environ))
    if event.source == "compact" or (crashed and _owns(event, context)):
        return said + _restore(event, context, known)
    return said + _hint(event, context)


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> None:
    """Note that the session lives: what it owns is not given to another one."""
    sessions.seen(context.project, event.session_id, sessions.client_process(context.environ))


@hookimpl
def on_session_end(event: SessionEnd, context: Context) -> None:
    """Note that the session no longer claims anything."""
    sessions.ended(context.project, event.session_id)


def _owns(event: SessionStart, context: Context) -> bool:
    found = formats.all_found(context.project).workflows
    return any(owners.owner(context.project, each) == event.session_id for each in found if not each.finished)


def _hint(event: SessionStart, context: Context) -> list[Outcome]:
    """Name the user one unfinished workflow that is not another live session's."""
    others = sessions.live_others(context.project, event.session_id)
    waiting = [
        each
        for each in owners.ranked(formats.all_found(context.project).workflows)
        if not each.finished
        and owners.owner(context.project, each) not in others
        and owners.fresh(context.project, each)
    ]
    if not waiting:
        return []
    more = f", and {len(waiting) - 1} more (`holdfast list`)" if len(waiting) > 1 else ""
    return [tell_user(f"Holdfast: unfinished here is {guidance.line(waiting[0])}{more}. `holdfast show` shows it.")]


def _restore(event: SessionStart, context: Context, known: bool) -> list[Outcome]:
    found = formats.all_found(context.project)
    for workflow in found.workflows:
        history.observe(context.project, workflow)
    verdict = owners.judge(context.project, event.session_id, found.workflows, known=known)
    if verdict.full is None:
        return _say_refused(context, verdict.refused) + _mention(found, verdict.others, context)
    owners.own(context.project, verdict.full, event.session_id)
    text = _guidance(verdict.full, verdict.others, found, event.session_id, context)
    restored = verdict.full
    context.log(f"restored {restored.title!r} ({restored.ref}), step {verdict.step}", session=event.session_id)
    return [advise(text, must_keep=True, on_delivered=lambda: _note_restored(event, context, restored, verdict.sealed))]


def _guidance(workflow: Workflow, others: tuple[Workflow, ...], found: Found, session: str, context: Context) -> str:
    """Compile the guidance; its overflow lies beside it in the sidecar."""
    notes = [_problem(problem.path, problem.reason, context) for problem in found.problems]
    running = agents.running(context.project, session)
    lines = [_running(launch) for launch in running if launch.workflow in (None, workflow.key)]
    return guidance.compile(workflow, root=context.root, others=others, agents=lines, notes=notes).text


def _running(launch: agents.Launch) -> str:
    """Say of an agent in flight that it must not be started again."""
    phase = f" for {launch.phase}" if launch.phase else ""
    return f"{launch.agent_type} ({launch.agent_id}){phase} was started and has not reported its end; it runs already"


def _problem(path: Path, reason: str, context: Context) -> str:
    shown = path.relative_to(context.root) if path.is_relative_to(context.root) else path
    return f"{shown} could not be read: {reason}"


def _mention(found: Found, others: tuple[Workflow, ...], context: Context) -> list[Outcome]:
    """Where nothing is restored, say in a line each what is there and what cannot be read."""
    lines = [guidance.line(other) for other in others if not other.finished]
    problems = [_problem(problem.path, problem.reason, context) for problem in found.problems]
    said: list[Outcome] = []
    if lines:
        said.append(advise("\n".join(["Workflows of this project that were not restored, being too old:", *lines])))
    if problems:
        said.append(tell_user("Holdfast: " + "; ".join(problems)))
    return said


def _say_refused(context: Context, refused: tuple[Workflow, ...]) -> list[Outcome]:
    """A wrong restore is worse than none: say in one line that there is something, and how to take it."""
    if not refused:
        return []
    context.log(f"refused: {len(refused)} workflow(s) another live session could own", level="warning")
    return [
        tell_user(
            f"Holdfast restored nothing: {len(refused)} workflow(s) here could belong to another live session. "
            "`holdfast list` shows them; `holdfast next NAME`, asked of this session's model, takes one."
        )
    ]


def _note_restored(event: SessionStart, context: Context, workflow: Workflow, sealed: bool) -> None:
    """Where no PreCompact left a seal, leave a spent one: `holdfast status` shows every restore."""
    if not sealed:
        seals.leave(context.project, event.session_id, "none", [seals.of(workflow)])
        seals.claim(context.project, event.session_id, known=True)
