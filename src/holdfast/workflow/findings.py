"""Findings: what a check of `holdfast doctor` has to say, for every check and every format."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Level = Literal["ok", "notice", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found. The fields say all; nobody reads the sentence back.

    Attributes:
        level: `ok`, `notice` for something that may be intended, or `problem`.
        text: a sentence that names the file or field.
        remedy: the command that repairs it, or what to do if no command can.
        fix: repairs it and returns a sentence that says what was done; None if a person should decide.
        check: the check's name.
        code: what kind of finding it is, in one word; empty if its check has only one.
        path: the file that it is about; None for none.
        field: the field in that file; empty for none.
    """

    level: Level
    text: str
    remedy: str = ""
    fix: Callable[[], str] | None = None
    check: str = ""
    code: str = ""
    path: Path | None = None
    field: str = ""


ok = partial(Finding, "ok")
"""Return a finding that all is well."""
notice = partial(Finding, "notice")
"""Return a finding that the user should know about, but that may be intended."""
problem = partial(Finding, "problem")
"""Return a finding that keeps Holdfast from doing its work."""
ELSEWHERE = "if it is another tool's, leave it there, and start workflows with `--format compaction`"
"""The remedy for a file in a format's place that isn't the format's: never one that takes it away from its tool."""


def aside(path: Path) -> str:
    """Return the command that sets a file aside, over none that was set aside before."""
    if not os.path.lexists(path):
        return f"look at {path}"
    names = (path.with_name(f"{path.name}.aside{f'-{number}' if number > 1 else ''}") for number in count(1))
    return shlex.join(["mv", str(path), str(next(each for each in names if not os.path.lexists(each)))])
