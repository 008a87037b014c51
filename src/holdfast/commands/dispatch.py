"""`holdfast dispatch`: answer one event from stdin, as a hook does."""

from __future__ import annotations

import sys

from holdfast.commands.verb import verb
from holdfast.engine import main


@verb("dispatch")
def command(event: str | None = None) -> None:
    """Answer one event: read the payload from stdin, and print the reply.

    EVENT is the event's name. A name in the payload wins. The exit code is always 0. The entrypoint does the same and
    starts faster. Claude Code sets CLAUDECODE and CLAUDE_PROJECT_DIR for every hook; an event without them is ignored.

    \b
    Example:
      export CLAUDECODE=1 CLAUDE_PROJECT_DIR=$PWD
      holdfast dispatch Stop < payload.json
    """
    sys.exit(main(event))
