"""`holdfast explain`: say what is detected, saved and restored here, and why."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.workflow.explain import explain, text


@click.command(name="explain")
@options.json_option
@options.project_option
def command(as_json: bool, project_dir: str | None) -> None:
    """Say which workflow is detected and by which marker, which state files exist and which pile up (R001-27)."""
    explanation = explain(options.open_project(project_dir))
    if as_json:
        options.print_json(explanation)
    else:
        options.say(text(explanation))
