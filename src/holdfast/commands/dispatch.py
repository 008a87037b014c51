"""`holdfast dispatch`: answer one event from stdin; what the entrypoint does."""

from __future__ import annotations

import sys

import click


@click.command(name="dispatch")
@click.argument("event", required=False)
def command(event: str | None) -> None:
    """Answer one event: the payload on stdin, the reply on stdout, exit code 0 whatever happens.

    EVENT is the event's name; the payload's own name wins. This is what the entrypoint does, slower to start.
    """
    from holdfast.engine import main

    sys.exit(main(event))
