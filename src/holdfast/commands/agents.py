"""`holdfast agents`: list agents, and show what they returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from holdfast.commands import options
from holdfast.commands.verb import Json, verb
from holdfast.sessions import agent_list
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import one_line

if TYPE_CHECKING:
    from holdfast.memory.rows import Agent

_LISTED = 100  # agents and runs that are listed for people


@verb("agents")
def command(
    project: Workspace,
    name: Annotated[str | None, {"metavar": "[ID]"}] = None,
    *,
    rerun: Annotated[bool, "Run the agent, or all agents of the run, again when it is launched once more."] = False,
    as_json: Json = False,
) -> None:
    """List the latest agents and runs of scripts, or show what one returned.

    ID is an agent's id, or the id or the name of a script's run. The beginning of an id is enough.

    \b
    Examples:
      holdfast agents
      holdfast agents wf_d604c20b-bc1
      holdfast agents review --rerun

    With --rerun, what an agent returned isn't used any more.
    """
    if name is None:
        if rerun:
            raise click.UsageError("name an agent or a run; `holdfast agents` lists them")
        _list(project, as_json=as_json)
        return
    row = agent_list.named(project, name)
    if rerun:
        _rerun(project, row)
    else:
        _show(project, row, as_json=as_json)


def _list(project: Workspace, *, as_json: bool) -> None:
    rows = agent_list.list_latest(project, -1 if as_json else _LISTED + 1)
    listed = agent_list.describe(project, rows if as_json else rows[:_LISTED])
    if as_json:
        options.print_json([each._asdict() for each in listed])
        return
    for each in listed:
        options.say(agent_list.line(each))
    if len(rows) > len(listed):
        options.note("older ones are left out; `holdfast agents --json` lists all")
    if not listed:
        options.say("No agents are known here.")


def _show(project: Workspace, row: Agent, *, as_json: bool) -> None:
    """Print what an agent returned, or each agent of a run."""
    (entry,), results = agent_list.describe(project, [row]), agent_list.results(project, row)
    if as_json:
        options.print_json(entry._asdict() | {"results": [each._asdict() for each in results]})
        return
    options.say(f"{entry.name}  {entry.status}  {one_line(entry.about)}")
    for each in results:
        options.say(f"\n{each.label or each.agent_id}: {each.state}" + (f"\n{each.text}" if each.text else ""))
    places = {"output": entry.output, "transcript": entry.transcript} if entry.kind != "run" else {}
    for label, path in places.items():
        if path:
            options.say(f"{label}: {path}")
    if entry.kind == "run" and entry.status in ("interrupted", "partial", "finished", "used"):
        options.say(f"\nTo use these results in a session, name {entry.name} in your prompt, and ask to resume it.")


def _rerun(project: Workspace, row: Agent) -> None:
    agent_list.discard(project, row)
    options.say(f"The results of {row.run or row.call} won't be used again. The next launch runs it from the start.")
