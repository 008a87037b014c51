"""`holdfast export`: print everything that Holdfast knows of a project as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.files import atomic
from holdfast.sessions.history import export


@click.command(name="export")
@options.output_argument
@click.option("--verbatim", is_flag=True, help="Leave secrets in. Otherwise they are masked.")
@options.project_option
def command(output: Path | None, verbatim: bool, project_dir: str | None) -> None:
    """Print all that Holdfast knows of this project as one JSON document, or write it to FILE.

    The document has the ledger with earlier contents and the archive, recorded events, lines of the log, and sidecars.
    Only you can read FILE.

    \b
    Example:
      holdfast export project.json
    """
    project = options.open_project(project_dir)
    options.insist_on_ledger(project)
    whole = export.document(project, verbatim=verbatim)
    for said in whole["unread"]:
        click.echo(paths.shown(said), err=True)
    if output is None or output == Path("-"):
        options.print_json(whole)
        return
    text = f"{json.dumps(whole, indent=2)}\n"
    atomic.write(output.absolute(), text.encode(), mode=0o600)
    output.chmod(0o600)  # an existing file would keep its mode
    click.echo(f"Wrote {paths.shown(str(output))}. Only you can read it.", err=True)
