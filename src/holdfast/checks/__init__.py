"""The checks of `holdfast doctor`: each module here has a function `findings(project)` and is loaded when it runs."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import formats, paths
from holdfast.errors import HoldfastError
from holdfast.files import access
from holdfast.files.redact import redact
from holdfast.workflow.findings import Finding, notice, ok, problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.sessions.workspace import Workspace

FIRE = "fire"
"""The check that runs every registered command; it runs only with `--fire`."""
_FIRST = (
    *("programs", "plugin", "registration", "switches", "server", "handlers", "folders", "ledger"),
    *("deliveries", "states"),
)
CHECKS = (*_FIRST, *(name for name in paths.modules("checks") if name not in (*_FIRST, FIRE)))
"""The checks in their order: the ones named above, then every other module of this folder."""
__all__ = ["CHECKS", "FIRE", "Finding", "mend", "notice", "ok", "problem", "run"]


def names() -> tuple[str, ...]:
    """Return the names for `holdfast doctor NAME`: the checks, and the formats, whose files `states` checks."""
    return tuple(dict.fromkeys((*CHECKS, *formats.NAMES)))


def _findings(project: Workspace, name: str) -> Iterable[Finding]:
    """Return the findings of a check: a module of this folder, or `states` for the files of a format."""
    is_format = name in formats.NAMES
    module = import_module("holdfast.checks.states" if is_format else f"holdfast.checks.{name}")
    findings: Iterable[Finding] = module.findings(project, name) if is_format else module.findings(project)
    return findings


def run(project: Workspace, names: Iterable[str] = CHECKS) -> Iterator[Finding]:
    """Run checks one after another and yield their findings, with secrets masked in what they quote.

    A check that fails is a finding, and the others run.
    """
    for name in names:
        found = list[Finding]()
        try:
            with formats.off_stdout():  # the check of another package's format may print
                for each in _findings(project, name):
                    found.append(replace(each, check=name))
        except (HoldfastError, OSError) as error:
            found.append(problem(f"this couldn't be checked: {error}", _opening(error), check=name))
        except Exception as error:  # noqa: BLE001 - doctor must work when things are broken
            text = f"the check failed because of a bug in Holdfast: {type(error).__name__}: {error}"
            found.append(problem(text, "report it, with the output of `holdfast status`", check=name))
        yield from (replace(each, text=redact(each.text), remedy=redact(each.remedy)) for each in found)


def _opening(error: HoldfastError | OSError) -> str:
    """Return the remedy for an error that ended a check, such as the command that gives access to its file."""
    named = getattr(error, "path", None) or getattr(error, "filename", None)
    if not isinstance(named, str | os.PathLike):
        return "holdfast status"
    return access.remedy(Path(named)) or f"look at {os.fspath(named)}"


def mend(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str, bool]]:
    """Repair what can be repaired safely; yield each finding, what was done, and whether that succeeded."""
    for found in findings:
        if found.fix is None or found.level == "ok":
            continue
        try:
            done = found.fix()
        except (HoldfastError, OSError) as error:
            yield found, redact(f"couldn't be repaired: {error}"), False
        else:
            if done:  # empty if another repair did it already
                yield found, redact(done), True
