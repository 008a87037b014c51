"""The second argument of a handler: the project, the environment and the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdfast import log as log_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from holdfast.config import Config
    from holdfast.project import OpenProject


@dataclass(eq=False)
class Context:
    """What a handler may need besides the event; it lives as long as the event.

    Attributes:
        project: the project of `CLAUDE_PROJECT_DIR`, with its configuration and ledger.
        environ: the hook's environment, as the client set it. It holds secrets: never log it whole.
        handler: the file name of the handler that is running, for the log.
    """

    project: OpenProject
    environ: Mapping[str, str] = field(repr=False)
    handler: str = ""

    @cached_property
    def root(self) -> Path:
        """The project's root: `CLAUDE_PROJECT_DIR`, never the payload's `cwd`, which follows `cd`."""
        return self.project.root

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.project.config

    def log(self, message: str, *, level: log_file.Level = "info", **fields: Any) -> None:
        """Write one line to Holdfast's log, redacted; never to stdout.

        Args:
            message: a sentence.
            level: debug, info, warning or error.
            fields: more values to add to the line.
        """
        log_file.write(level, message, handler=self.handler, **fields)
