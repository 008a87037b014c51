"""`holdfast doctor`: find what is wrong, and repair it."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.text import Text

from holdfast import checks
from holdfast.commands import options, terminal
from holdfast.commands.verb import Json, ProjectDir, verb
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checks import Finding

    Mended = tuple[Finding, str, bool]  # a finding, what was done, and whether that succeeded

_SYMBOLS = {"ok": "✓", "notice": "!", "problem": "✗"}
_WORDS = {"ok": "ok:", "notice": "warning:", "problem": "problem:"}
_STYLES = {"ok": "green", "notice": "yellow", "problem": "bold red"}


@verb("doctor")
def command(
    *names: Annotated[str, {"metavar": "[NAME]..."}],
    fix: Annotated[bool, "Repair what can be repaired safely, and say what was done."] = False,
    fire: Annotated[bool, "Also run every registered command, in a temporary home and project."] = False,
    verbose: Annotated[bool, "-v", "List what is all right, too."] = False,
    as_json: Json = False,
    project_dir: ProjectDir = None,
) -> None:
    """Look for what stops Holdfast from working, and name the command that repairs it.

    It runs every check, or only those that you NAME: checks, or formats, whose files it checks. The exit code is 1 if
    there is a problem; a warning may be what you want. --fix never changes a project's settings, because they belong to
    its team.

    \b
    Examples:
      holdfast doctor
      holdfast doctor --fix
      holdfast doctor --fire -v
      holdfast doctor configuration
      holdfast doctor compaction --fix
    """
    chosen = names or checks.CHECKS
    findings, mended = _look(project_dir, chosen, fix=fix, tell=True)
    if mended:  # show what is still wrong
        findings = _look(project_dir, chosen)[0]
    if fire:
        findings += _look(project_dir, (checks.FIRE,))[0]
    if as_json:
        options.print_json(_json(findings, mended))
    else:
        _print(findings, mended, verbose=verbose)
    sys.exit(any(each.level == "problem" for each in findings))


def _look(
    project_dir: str | None, names: Sequence[str], *, fix: bool = False, tell: bool = False
) -> tuple[list[Finding], list[Mended]]:
    """Open the project afresh, run the checks and, with `fix`, repair what they find; with `tell`, say which it is."""
    with closing(options.find_project(project_dir, tell=False)) as project:
        if tell:
            options.note_enclosing(project, project_dir)
        if unknown := [each for each in names if each not in (*checks.names(), checks.FIRE)]:
            raise click.UsageError(f"there is no check {unknown[0]!r}; there are {', '.join(checks.names())}")
        findings = list(checks.run(project, names))
        return findings, list(checks.mend(findings)) if fix else []


def _json(found: Sequence[Finding], mended: Sequence[Mended]) -> dict[str, Any]:
    return {
        "findings": [_row(each) for each in found],
        "mended": [_row(each) | {"done": done, "succeeded": succeeded} for each, done, succeeded in mended],
        "problems": sum(each.level == "problem" for each in found),
        "notices": sum(each.level == "notice" for each in found),
    }


def _row(found: Finding) -> dict[str, Any]:
    return {
        "check": found.check,
        "level": found.level,
        "code": found.code or None,
        "path": str(found.path) if found.path else None,
        "field": found.field or None,
        "text": found.text,
        "remedy": found.remedy or None,
        "fixable": found.fix is not None,
    }


def _print(found: Sequence[Finding], mended: Sequence[Mended], *, verbose: bool) -> None:
    """Print problems and warnings with their remedies, with `verbose` everything, then a line that sums it up."""
    console = terminal.console()
    marks, arrow = (_SYMBOLS, "→") if console.is_terminal else (_WORDS, "fix:")

    def put(text: str, level: str) -> None:
        lead = Text.assemble("  ", (f"{marks[level]} ", _STYLES[level]))
        terminal.put_wrapped(console, terminal.row(lead, terminal.text(text)))

    shown = [each for each in found if verbose or each.level != "ok"]
    for name, group in groupby(shown, key=lambda each: each.check):
        terminal.put(console, [Text(name, "bold")])
        for each in group:
            put(each.text, each.level)
            if each.remedy:  # on one line: it may be a command to copy
                terminal.put(console, [terminal.text(f"    {arrow} {each.remedy}")])
    if mended:
        terminal.put(console, [Text("repaired", "bold")])
    for each, done, succeeded in mended:
        put(f"{each.check}: {done}", "ok" if succeeded else "problem")
    if shown or mended:
        click.echo()
    click.echo(_sum(found, again=not mended))


def _sum(found: Sequence[Finding], *, again: bool) -> str:
    checked = wording.count(len({each.check for each in found}), "check")
    words = [
        wording.count(number, word)
        for level, word in (("problem", "problem"), ("notice", "warning"))
        if (number := sum(each.level == level for each in found))
    ]
    if not words:
        return f"All good: {checked} passed."
    fixable = sum(each.fix is not None for each in found)
    repairs = f" `holdfast doctor --fix` repairs {fixable} of them." if again and fixable else ""
    return f"{' and '.join(words)} in {checked}.{repairs}"
