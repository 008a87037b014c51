"""`holdfast export`: print everything that Holdfast knows of a project as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import click

from holdfast import paths
from holdfast.commands import options
from holdfast.commands.verb import Output, verb
from holdfast.sessions import export
from holdfast.sessions.workspace import Workspace


@verb("export")
def command(
    project: Workspace,
    output: Output = None,
    *,
    verbatim: Annotated[bool, "Leave secrets in. Otherwise they are masked."] = False,
) -> None:
    """Print all that Holdfast knows of this project as one JSON document, or write it to FILE.

    The document has the ledger with earlier contents and the archive, recorded events, lines of the log, and sidecars.
    Only you can read FILE.

    \b
    Example:
      holdfast export project.json
    """
    options.insist_on_ledger(project)
    whole = export.document(project, verbatim=verbatim)
    for reason in whole["unread"]:
        options.say_short(reason, err=True)
    if output is None or output == Path("-"):
        options.print_json(whole)
        return
    options.write_private(output.absolute(), f"{json.dumps(whole, indent=2)}\n".encode())
    click.echo(f"Wrote {paths.shown(str(output))}. Only you can read it.", err=True)
