"""Warn about names of agents that the client doesn't know."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from holdfast.clients.claude import agent_files, scopes
from holdfast.paths import shown
from holdfast.workflow.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.sessions.workspace import Workspace


def tell_unknown(project: Workspace, agents: Iterable[str]) -> None:
    """Say which agents the client would not find, where it looks for them, and which ones are spelt alike.

    A plugin's agents (`plugin:agent`) are not looked for.
    """
    wanted = {each.removeprefix("@") for each in agents if ":" not in each}
    known = agent_files.names(project.root) if wanted else []
    folded = {each.casefold(): each for each in known}
    for agent in sorted(wanted.difference(known)):
        near = [folded[each] for each in get_close_matches(agent.casefold(), folded)]
        hint = f"did you mean {' or '.join(f'@{each}' for each in near)}?" if near else "create it, or name another"
        places = f"{agent_files.FOLDER}/ or {shown(f'{scopes.claude_dir()}/agents')}/"
        click.echo(f"warning: there is no agent {quoted(agent)}, neither built in nor in {places}; {hint}", err=True)
