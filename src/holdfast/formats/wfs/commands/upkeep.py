"""`holdfast wfs check|repair|todo`: find and repair what disagrees, and write the list of tasks."""

from __future__ import annotations

import click

from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.formats.wfs import check as wfs_check
from holdfast.formats.wfs import index, store
from holdfast.formats.wfs import list as lists
from holdfast.formats.wfs import repair as wfs_repair
from holdfast.formats.wfs.commands import pages, targets


@click.command()
@targets.session_argument
@options.json_option
@options.project_option
def check(name: str | None, as_json: bool, project_dir: str | None) -> None:
    """Check sessions, tasks, markers and lists.

    The exit code is 1 if something is wrong. A remark alone is not.

    \b
    Example:
      holdfast wfs check user-auth
    """
    project = options.open_project(project_dir)
    found = list(wfs_check.findings(project, [store.get(project, name).folder] if name else store.folders(project)))
    found += () if name else wfs_check.elsewhere(project)
    pages.print_findings(found, "No problem found.", as_json=as_json)


@click.command()
@click.option("--dry-run", is_flag=True, help="Print what would be repaired, and change nothing.")
@options.json_option
@options.project_option
def repair(dry_run: bool, as_json: bool, project_dir: str | None) -> None:
    """Repair markers, states, tasks and lists that disagree.

    What a file held before is kept, beside it or as a generation.

    \b
    Example:
      holdfast wfs repair --dry-run
    """
    project = options.open_project(project_dir)
    done, failed = list[str](), list[str]()
    for each in wfs_repair.repairs(project):
        try:
            if not dry_run:
                each.do()
            done.append(each.what)
        except HoldfastError as error:
            failed.append(f"{each.what}: {error}")
    if as_json:
        options.print_json({"dry_run": dry_run, "repairs": done, "failed": failed})
    else:
        head = "would repair: " if dry_run else ""
        options.say(
            "\n".join([*(f"{head}{each}" for each in done), *(f"not repaired: {each}" for each in failed)])
            or "Nothing to repair."
        )
        if dry_run and done:
            click.echo("These repairs may show more to repair.", err=True)
    if failed:
        raise SystemExit(1)


@click.command()
@targets.session_argument
@click.option("--anyway", is_flag=True, help="Do it even if somebody wrote lines into the list. That list is kept.")
@options.json_option
@options.project_option
def todo(name: str | None, anyway: bool, as_json: bool, project_dir: str | None) -> None:
    """Write TODO_LIST.md from the tasks, and print it.

    What the list said differently is printed too, and kept as a generation.

    \b
    Example:
      holdfast wfs todo
    """
    project = options.open_project(project_dir)
    session = store.current(project, name)
    board = index.board(project, session.folder)
    drift = lists.drift(session, board)
    refused = lists.renew(project, session, anyway=anyway)
    if refused:
        raise HoldfastError(refused)
    text = lists.content(session, board).decode("utf-8", "replace")
    if as_json:
        options.print_json({"session": session.name, "drift": list(drift), "text": text})
        return
    for line in drift:
        click.echo(f"The list was different: {line}", err=True)
    options.say(text.removesuffix("\n"))
