"""`holdfast agents`: list agents and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from holdfast.commands import options
from holdfast.commands.verb import Json, ListGroup, verb
from holdfast.errors import HoldfastError
from holdfast.sessions import agent_list
from holdfast.sessions.forget import erasure
from holdfast.sessions.forget.ledger_rows import Scope
from holdfast.sessions.workspace import Workspace
from holdfast.workflow.wording import count, one_line

if TYPE_CHECKING:
    from holdfast.memory.rows import Agent


@click.group(name="agents", cls=ListGroup)
def command() -> None:
    """List agents and runs of scripts, show what they returned, and let them run anew.

    NAME is an agent's id, or the id or the name of a script's run. The beginning of an id is enough.

    \b
    Examples:
      holdfast agents
      holdfast agents show wf_d604c20b-bc1
      holdfast agents rerun review
    """


@verb("list", command)
def list_(
    project: Workspace,
    *,
    everything: Annotated[bool, "--all", f"Also those before the latest {agent_list.LISTED}."] = False,
    as_json: Json = False,
) -> None:
    """Print agents and runs of scripts, the latest first.

    \b
    Examples:
      holdfast agents list
      holdfast agents list --json
    """
    rows = agent_list.list_latest(project, -1 if everything else agent_list.LISTED)
    found = agent_list.describe(project, rows)
    left_out = agent_list.count(project) - len(found)
    if left_out:
        click.echo(f"note: {count(left_out, 'earlier one')} left out; `--all` lists them, too.", err=True)
    if as_json:
        options.print_json([each._asdict() for each in found])
        return
    for each in found:
        options.say(f"{each.name:<24}  {each.status:<11}  {one_line(each.about, 80)}")
    if not found:
        options.say("No agents are known here.")


@verb("show", command)
def show(project: Workspace, name: str, *, as_json: Json = False) -> None:
    """Print what an agent returned, or each agent of a run.

    \b
    Examples:
      holdfast agents show wf_d604c20b-bc1
      holdfast agents show a5f934ab1770c0194 --json
    """
    row = _found(project, name)
    (entry,), results = agent_list.describe(project, [row]), agent_list.results(project, row)
    if as_json:
        options.print_json(entry._asdict() | {"results": [each._asdict() for each in results]})
        return
    options.say(f"{entry.name}  {entry.status}  {one_line(entry.about)}")
    for each in results:
        options.say(f"\n{each.label or each.agent_id}: {each.state}" + (f"\n{each.text}" if each.text else ""))
    if entry.kind == "run" and entry.status in ("interrupted", "partial", "completed"):
        options.say(f"\nTo use these results in a session, name {entry.name} in your prompt, and ask to resume it.")


@verb("rerun", command)
def rerun(project: Workspace, name: str) -> None:
    """Let an agent, or the agents of a run, run anew.

    What they returned isn't used when they are launched once more.

    \b
    Examples:
      holdfast agents rerun wf_d604c20b-bc1
      holdfast agents rerun review
    """
    row = _found(project, name)
    agent_list.discard(project, row)
    anew = "all of its agents run" if row.kind == "script" else "it runs"
    options.say(f"{row.run or row.call} won't be used again: launched once more, {anew}.")


@verb("forget", command)
def forget(project: Workspace, name: str) -> None:
    """Forget an agent or a run.

    What Holdfast knows of it is deleted: rows of the ledger, the file with a long result, and the recorded events and
    lines of the log that name it. The client's own files stay.

    \b
    Examples:
      holdfast agents forget a5f934ab1770c0194
    """
    row = _found(project, name)
    done = erasure.forget(project, Scope(agents=agent_list.ids(project, row)))
    if not done.clean:
        raise erasure.unclean(project, "the next `holdfast forget` cleans it")
    options.say(f"{row.run or row.call} is forgotten: {count(sum(done.rows.values()), 'row')} deleted.")


def _found(project: Workspace, name: str) -> Agent:
    row = agent_list.find(project, name)
    if row is None:
        raise HoldfastError(
            f"no agent and no run here is called {one_line(name, 80)!r}; `holdfast agents list` shows them"
        )
    return row
