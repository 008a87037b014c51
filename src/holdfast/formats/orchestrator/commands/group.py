"""`holdfast orchestrator …`: what only the orchestrator format has."""

from __future__ import annotations

import click

from holdfast.formats.orchestrator.commands import notes, runs, states, tasks


@click.group(name="orchestrator")
def command() -> None:
    """Run a task document with phases, safety bounds and learnings (.claude/agent-state.json).

    \b
    Examples:
      holdfast orchestrator start docs/tasks/user-auth.md
      holdfast orchestrator task finish 1.1 --cost 0.20
    """


for each in (
    *(runs.start, runs.approve, tasks.task, tasks.phase, notes.supervise, notes.learn, notes.checkpoint, notes.agents),
    *(runs.bounds, runs.review, runs.complete, runs.fail, states.query, states.check, states.repair, states.restore),
    *(states.take_over, states.archive, notes.locks),
):
    command.add_command(each)
