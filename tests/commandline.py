"""The `holdfast` command, run in process as a user's or the model's shell runs it."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import click

from holdfast import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Said:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed for programs."""
        return json.loads(self.out)


def command_of(*words: str) -> click.Command:
    """Return the command that words name."""
    found: click.Command = cli.holdfast
    for word in words:
        assert isinstance(found, click.Group), words
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, words
        found = inner
    return found


def holdfast(*arguments: str, root: Path | None = None, session: str = "", code: int | None = 0) -> Said:
    """Run a command and expect an exit code, as `run` does."""
    return run(cli.main, *arguments, root=root, session=session, code=code)


def run(
    main: Callable[[list[str]], object],
    *arguments: str,
    root: Path | None = None,
    session: str = "",
    code: int | None = 0,
) -> Said:
    """Run a program's main function and expect an exit code.

    Args:
        main: takes the command line.
        arguments: the command line after the program's name.
        root: the project, given as the model's shell has it: in HOLDFAST_PROJECT_DIR.
        session: the session whose Bash tool runs it; none for a person's terminal.
        code: the exit code expected; None for any.
    """
    given = {"HOLDFAST_PROJECT_DIR": str(root) if root else "", "CLAUDE_CODE_SESSION_ID": session}
    out, err = io.StringIO(), io.StringIO()
    ended: int | str | None = None
    with mock.patch.dict(os.environ, {name: value for name, value in given.items() if value}):
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main([str(argument) for argument in arguments])
        except SystemExit as end:
            ended = end.code
    said = Said(ended if isinstance(ended, int) else 0 if ended is None else 1, out.getvalue(), err.getvalue())
    assert code is None or said.code == code, said
    return said
