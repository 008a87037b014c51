"""`holdfast doctor`: find what is wrong, and mend it."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from holdfast import checks
from holdfast.commands import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checks import Finding

_FIX = "holdfast doctor --fix"
_MARKS = {"ok": "✓", "notice": "!", "problem": "✗"}


@click.command(name="doctor")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, and say what was done.")
@click.option("--fire", is_flag=True, help="Also run every registered command, in a throw-away home and project.")
@options.json_option
@options.project_option
def command(fix: bool, fire: bool, as_json: bool, project_dir: str | None) -> None:
    """Look for what keeps Holdfast from doing its work; each finding names the command that mends it.

    Exit code 1 if there is a problem; what is only worth knowing is marked with "!". The settings of a project
    belong to its team and are never changed by --fix.
    """
    _say_where(project_dir)
    found, mended = _look(project_dir, checks.CHECKS, fix=fix)
    if mended:  # show what is still wrong
        found = _told_why(_look(project_dir, checks.CHECKS)[0], mended)
    if fire:
        found += _look(project_dir, (checks.FIRE,))[0]
    problems = sum(each.level == "problem" for each in found)
    if as_json:
        options.print_json(_json(found, mended))
    else:
        _print(found, mended)
    sys.exit(1 if problems else 0)


def _say_where(project_dir: str | None) -> None:
    project = options.open_project(project_dir, tell=False)
    if here := options.inside(project, project_dir):
        click.echo(
            f"Note: this looks at {project.root}. A session that is started in {here} is another project's: it reads "
            f"no .claude/settings.json of {project.root} (an install for the user covers both), and finds no workflow "
            "that lies there. `holdfast doctor --project .` looks at this folder.\n",
            err=True,
        )
    project.close()


def _look(
    project_dir: str | None, names: Sequence[str], *, fix: bool = False
) -> tuple[list[Finding], list[tuple[Finding, str, bool]]]:
    """Open the project afresh, run the checks and, with `fix`, repair what they find.

    Returns:
        The findings, and for each repair: its finding, what was done, and whether it succeeded.
    """
    project = options.open_project(project_dir, tell=False)
    try:
        found = list(checks.run(project, names))
        return found, list(checks.mend(found)) if fix else []
    finally:
        project.close()


def _told_why(found: Sequence[Finding], mended: Sequence[tuple[Finding, str, bool]]) -> list[Finding]:
    """Replace the remedy `--fix` with the reason why it has just failed, so that nobody runs it again in vain.

    A finding that had no failure of its own waits for another check's repair, so it gets the first failure's reason.
    """
    reasons = {
        (each.check, each.text): done.removeprefix(checks.UNMENDED)
        for each, done, succeeded in mended
        if not succeeded and each.remedy == _FIX
    }
    if not reasons:
        return list(found)
    first = next(iter(reasons.values()))
    return [
        replace(each, remedy=f"see to what stopped it ({reasons.get((each.check, each.text), first)}), then: {_FIX}")
        if each.remedy == _FIX
        else each
        for each in found
    ]


def _json(found: Sequence[Finding], mended: Sequence[tuple[Finding, str, bool]]) -> dict[str, Any]:
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
        "text": found.text,
        "remedy": found.remedy or None,
        "fixable": found.fix is not None,
    }


def _print(found: Sequence[Finding], mended: Sequence[tuple[Finding, str, bool]]) -> None:
    for name, group in groupby(found, key=lambda each: each.check):
        click.echo(name)
        for each in group:
            options.say(f"  {_MARKS[each.level]} {each.text}")
            if each.remedy:
                options.say(f"    → {each.remedy}")
    if mended:
        click.echo("\nmended")
    for each, done, succeeded in mended:
        options.say(f"  {_MARKS['ok' if succeeded else 'problem']} {each.check}: {done}")
    click.echo(f"\n{_sum(found, mended)}")


def _sum(found: Sequence[Finding], mended: Sequence[tuple[Finding, str, bool]]) -> str:
    counts = {level: sum(each.level == level for each in found) for level in ("problem", "notice")}
    words = [f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items() if count]
    fixable = sum(each.fix is not None for each in found)
    text = f"{' and '.join(words)}." if words else "Everything is as it should be."
    return text if mended or not fixable else f"{text} `holdfast doctor --fix` mends {fixable} of them."
