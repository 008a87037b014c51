"""Moving a workflow's phases by what its agents were launched for and what they reported.

Most events find nothing to move, so what moves a phase is loaded only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.survival import launches, results

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.project import Project
    from holdfast.survival.launches import Launch
    from holdfast.survival.results import Due
    from holdfast.workflow.model import Phase, Workflow


class Moved(NamedTuple):
    """A phase that an agent moved, or that could not be moved.

    Attributes:
        workflow: as it is now.
        phase: the phase that was moved, as it is now.
        words: why not, or what a failed agent said; may be empty.
    """

    workflow: Workflow
    phase: Phase
    words: str = ""


def mine(project: Project, session: str) -> Workflow | None:
    """Return the workflow whose phases this session's agents work on, if there is one it may touch."""
    from holdfast.survival import owners
    from holdfast.workflow.formats import hybrid

    found = owners.of_session(project, session, hybrid.find(project).workflows)
    return next((workflow for workflow in found if not workflow.recovered), None)


def launch(
    project: Project,
    session: str,
    tool_use_id: str,
    agent: str,
    description: str,
    prompt: str,
    *,
    begun: bool = False,
) -> Moved | None:
    """Note the launch of an agent and start the phase it is for (R000-14, I000-6, I000-15).

    A phase that is completed before its agent is launched is not its own, whatever the prompt names: what that agent
    reports later fills in nothing.

    Args:
        project: where.
        session: the main session.
        tool_use_id: the call.
        agent: `subagent_type`; empty is the client's general-purpose agent.
        description: the call's short description.
        prompt: the call's prompt.
        begun: the agent runs, or has run, already; it may have completed its phase itself (I000-8).

    Returns:
        The phase that became active by it, or None when none did.
    """
    from holdfast.survival import owners
    from holdfast.workflow.formats import hybrid

    if launches.find(project, session, tool_use_id):
        return None
    workflow = mine(project, session)
    agent = agent or "general-purpose"
    phase = _meant(workflow, f"{description}\n{prompt}", agent, begun) if workflow else None
    key = workflow.key if workflow and phase else None
    said = {"description": description, "prompt": prompt}
    launches.launched(project, session, tool_use_id, agent, key, phase.id if phase else None, **said)
    if workflow is None or phase is None:
        return None
    owners.take(project, workflow, session)  # a session that comes later must not keep the result from counting
    # The format itself sees to it that one phase is active at a time (R000-15) and that no hook revives a finished one.
    return _move(project, phase.id, lambda: hybrid.move(project, phase.id, "active", by="hook"))


def settle(project: Project, session: str) -> list[Moved]:
    """Judge every launch whose result is in, and move the phases they were for.

    Only to be called at a main-thread event, after the event's own signal was kept (`results.due`).

    Returns:
        The phases that moved, in the order in which their agents ended.
    """
    moved = [_apply(project, session, due) for due in results.due(project, session)]
    return [each for each in moved if each is not None]


def contradicted(project: Project, session: str) -> list[tuple[Launch, str]]:
    """Return, once, the launches whose completed phase is in doubt, for a failure was reported afterwards.

    A hook never undoes a completion; people can (`holdfast hybrid reopen`).
    """
    return [(due.launch, due.words) for due in results.disputed(project, session)]


def _meant(workflow: Workflow, text: str, agent: str, begun: bool) -> Phase | None:
    """Return the phase an agent is launched for, if it is one that a launch, or its end alone, may still move."""
    from holdfast.workflow.formats import hybrid

    phase = hybrid.match_phase(workflow, text, agent)
    if phase and phase.status == "completed" and (workflow.finished or not begun):
        return None
    if phase and phase.status == "failed" and begun:  # a start is caught up with by name, a retry is not (I000-6)
        return hybrid.match_phase(workflow, text, "")
    return phase


def _apply(project: Project, session: str, due: Due) -> Moved | None:
    launched = due.launch
    phase = _phase(mine(project, session), launched) if launched.phase else None
    # No hook undoes a completion: a failure that comes after it is told instead (`contradicted`).
    doubtful = phase is not None and phase.status == "completed" and due.state == "failed"
    moved = _finish(project, phase, due) if phase and not doubtful else None
    launches.judged(project, session, launched.tool_use_id, "completed" if doubtful else due.state)
    return moved


def _phase(workflow: Workflow | None, launched: Launch) -> Phase | None:
    if workflow is None or workflow.key != launched.workflow:
        return None
    return next((each for each in workflow.phases if each.id == launched.phase), None)


def _finish(project: Project, phase: Phase, due: Due) -> Moved | None:
    """End a phase; one that its agent has completed itself only gets what is still empty of the report (I000-8)."""
    from holdfast.workflow.formats import hybrid

    if phase.status == "failed":
        return None  # a retry that was never launched
    phase_id = phase.id
    if due.state == "failed":
        failed = _move(project, phase_id, lambda: hybrid.move(project, phase_id, "failed", error=due.words, by="hook"))
        return failed and Moved(failed.workflow, failed.phase, failed.words or due.words)
    deliverables, handover = hybrid.extract_result(due.words)
    return _move(
        project,
        phase_id,
        lambda: hybrid.move(project, phase_id, "completed", deliverables=deliverables, handover=handover, by="hook"),
    )


def _move(project: Project, phase_id: str, change: Callable[[], tuple[Workflow, bool]]) -> Moved | None:
    """Make a change; one that is refused is reported with the workflow as it stands."""
    from holdfast.workflow.formats import hybrid

    try:
        workflow, changed = change()
        words = ""
    except HoldfastError as error:
        workflow_now = next(iter(hybrid.find(project).workflows), None)
        if workflow_now is None:
            return None
        workflow, changed, words = workflow_now, True, str(error)
    phase = next((each for each in workflow.phases if each.id == phase_id), None)
    return Moved(workflow, phase, words) if changed and phase else None
