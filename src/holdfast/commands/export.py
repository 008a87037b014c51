"""`holdfast export`: print all that is known of a project as one JSON document."""

from __future__ import annotations

import json
from pathlib import Path

import click

from holdfast.commands import options
from holdfast.dispatch import faults
from holdfast.files import atomic
from holdfast.files.redact import redact_value
from holdfast.sessions.history import export


@click.command(name="export")
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--verbatim", is_flag=True, help="Leave secrets in it; without this they are masked.")
@options.project_option
def command(file: Path | None, verbatim: bool, project_dir: str | None) -> None:
    """Print all that Holdfast knows of this project as one JSON document, or write it to FILE, readable by you alone.

    It holds the ledger with kept contents and the archive, recorded events, lines of the log and sidecars.
    """
    project = options.open_project(project_dir)
    options.insist_on_ledger(project)
    known = faults.within(project)
    whole = export.document(project, verbatim=verbatim) | {"faults": known if verbatim else redact_value(known)}
    if file is None:
        options.print_json(whole)
        return
    atomic.write(file.absolute(), f"{json.dumps(whole, indent=2)}\n".encode(), mode=0o600)
    file.chmod(0o600)  # an existing file would keep its mode
    click.echo(f"Wrote {file}.", err=True)
