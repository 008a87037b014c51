"""The names of agents that you type: spelt as the client knows them, with a note on those it doesn't know."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from holdfast.clients.claude import agent_files, scopes
from holdfast.paths import shown
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.sessions.workspace import Workspace

_NEAR = 3  # names that are suggested


def spelt(project: Workspace, phases: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (title, agent) pairs with each agent in the client's own spelling, if only its case differs."""
    if not any(agent for _, agent in phases):
        return tuple(phases)
    known = {name.casefold(): name for name in reversed(agent_files.names(project.root))}
    return tuple((title, known.get(agent.casefold(), agent)) for title, agent in phases)


def tell_unknown(project: Workspace, agents: Iterable[str]) -> None:
    """Say which agents the client would not find, where it looks for them, and which ones are spelt alike.

    A plugin's agents (`plugin:agent`) are not looked for.
    """
    known: dict[str, str] = {}
    for agent in dict.fromkeys(each.removeprefix("@") for each in agents if ":" not in each):
        known = known or {name.casefold(): name for name in reversed(agent_files.names(project.root))}
        if agent.casefold() not in known:
            near = [known[each] for each in get_close_matches(agent.casefold(), known, n=_NEAR)]
            hint = f"did you mean {' or '.join(f'@{each}' for each in near)}?" if near else "create it, or name another"
            places = f"{agent_files.FOLDER}/ or {shown(f'{scopes.claude_dir()}/agents')}/"
            click.echo(
                f"warning: there is no agent {quoted(agent)}, neither built in nor in {places}; {hint}",
                err=True,
            )
