"""`holdfast explain`: explain what a compaction would save and restore here."""

from __future__ import annotations

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.install import skill
from holdfast.sessions.explain import explain, text


@click.command(name="explain")
@click.option("--protocol", is_flag=True, help="Print how a model keeps a workflow, as a section for a CLAUDE.md.")
@click.option("--all", "everything", is_flag=True, help="Give a reason for every plan, however many there are.")
@options.json_option
@options.project_option
def command(protocol: bool, everything: bool, as_json: bool, project_dir: str | None) -> None:
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
    explanation = explain(options.open_project(project_dir), options.session())
    if as_json:
        options.print_json(explanation)
    else:
        options.say(paths.shown(text(explanation, everything=everything)))
