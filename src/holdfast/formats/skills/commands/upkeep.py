"""`holdfast skills cleanup|clear|check|repair`: remove what is old (R004-39), and mend what follows from files."""

from __future__ import annotations

import sys

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.skills import adapter, folder, inspection, retention, store
from holdfast.workflow.wording import count


@click.command()
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and change nothing.")
@options.json_option
@options.project_option
def cleanup(dry_run: bool, as_json: bool, project_dir: str | None) -> None:
    """Remove old workflows.

    These are workflows that were finished more than 24 hours ago or that nobody
    touched for 7 days. A workflow that a live session owns stays. `holdfast log`
    shows what a removed file held. Of very many files it reads 5,000 at a time,
    those that were changed the longest ago first.

    \b
    Example:
      holdfast skills cleanup --dry-run
    """
    project = options.open_project(project_dir)
    if not dry_run:
        store.tidy(project, adapter.find(project).workflows)
    due = retention.due(project, options.conversation(project) or "")
    gone = due.old if dry_run else retention.remove(project, due.old)
    if due.said:
        options.note(due.said)
    if as_json:
        rows = [{"path": each.place, "age_s": int(each.age.total_seconds())} for each in gone]
        options.print_json({"dry_run": dry_run, "removed": rows, "not_read": due.left})
        return
    listed = "\n".join(f"{each.place} would be removed: {each.said}" for each in gone)
    options.say((listed if dry_run else retention.summary(gone)) or "Nothing is old enough to be removed.")


@click.command()
@options.yes_option
@options.json_option
@options.project_option
def clear(yes: bool, as_json: bool, project_dir: str | None) -> None:
    """Remove all workflows, finished or not.

    This is for people. A workflow that another live session owns stays.
    `holdfast log` shows what the removed files held.

    \b
    Example:
      holdfast skills clear
    """
    project = options.open_project(project_dir)
    every, _, live = retention.due(project, options.conversation(project) or "", everything=True)
    if every and not yes:
        if not sys.stdin.isatty():
            raise HoldfastError(f"there is no terminal to ask on; --yes removes {count(len(every), 'workflow')}")
        click.confirm(f"Remove {count(len(every), 'workflow')}?", abort=True)
    gone = retention.remove(project, every)
    if as_json:
        options.print_json({"removed": [each.place for each in gone]})
    else:
        said = f"Removed {count(len(gone), 'workflow')}." if gone else "There is nothing to remove."
        options.say(f"{said} {count(live, 'workflow')} of a live session stayed." if live else said)


@click.command()
@options.json_option
@options.project_option
def check(as_json: bool, project_dir: str | None) -> None:
    """Check the files, and say how to repair them.

    The exit code is 1 if a workflow can't be read.

    \b
    Example:
      holdfast skills check
    """
    project = options.open_project(project_dir)
    found = inspection.findings(project)
    if as_json:
        options.print_json([each._asdict() for each in found])
    else:
        options.say("\n".join(f"{each.text} → {each.remedy}" for each in found) or "Nothing to repair.")
    if any(each.serious for each in found):
        raise SystemExit(1)


@click.command()
@options.json_option
@options.project_option
def repair(as_json: bool, project_dir: str | None) -> None:
    """Repair what can be repaired safely.

    That is broken state files whose last good content is known, the index,
    finished workflows in the wrong folder, and files that interrupted writes left
    behind.

    \b
    Example:
      holdfast skills repair
    """
    project = options.open_project(project_dir)
    done = inspection.repair(project)
    names, left = folder.readable(project)
    if left:
        options.note(f"{folder.left_out(len(names) + left, left)}. `{folder.CLEANUP}` removes old ones.")
    if as_json:
        options.print_json({"repaired": done})
    else:
        options.say("\n".join(f"repaired: {each}" for each in done) or "Nothing to repair.")


COMMANDS = (cleanup, clear, check, repair)
