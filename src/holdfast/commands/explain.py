"""`holdfast explain`: explain what a compaction would save and restore here."""

from __future__ import annotations

from typing import Annotated

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.commands.verb import Json, ProjectDir, verb
from holdfast.install import skill
from holdfast.sessions.explain import explain, text


@verb("explain")
def command(
    *,
    protocol: Annotated[bool, "Print how a model keeps a workflow, as a section for a CLAUDE.md."] = False,
    everything: Annotated[bool, "--all", "Give a reason for every plan, however many there are."] = False,
    as_json: Json = False,
    project_dir: ProjectDir = None,
) -> None:
    """Explain which workflows a compaction would save and restore here, and why.

    \b
    Examples:
      holdfast explain
      holdfast explain --all
      holdfast explain --protocol >> CLAUDE.md
    """
    if protocol:
        click.echo(skill.protocol(), nl=False)
        return
    project = options.open_project(project_dir)
    explanation = explain(project, options.conversation(project))
    if as_json:
        options.print_json(explanation)
    else:
        options.say(paths.shown(text(explanation, everything=everything)))
