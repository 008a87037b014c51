"""`holdfast restore`: list, show and put back earlier contents of a workflow's file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import click

from holdfast import clock
from holdfast.commands import options
from holdfast.commands.verb import Json, Other, verb
from holdfast.sessions import contents, rewind
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording

if TYPE_CHECKING:
    from pathlib import Path


@verb("restore")
def command(
    project: Workspace,
    number: Annotated[str | None, {"metavar": "[N]"}] = None,
    *,
    workflow_id: Other = None,
    show: Annotated[bool, "Print version N, byte for byte to a pipe. Nothing changes."] = False,
    diff: Annotated[bool, "Print what changed from version N to now, or between the last two."] = False,
    replace: Annotated[bool, "Also over another workflow that is unfinished."] = False,
    as_json: Json = False,
) -> None:
    """List the versions of a workflow's state file: its earlier contents. Or put version N back, byte for byte.

    What the file holds now is kept as a version first.

    \b
    Examples:
      holdfast restore
      holdfast restore --diff
      holdfast restore 2 --workflow "User auth"
    """
    options.at_most_one({"--show": show, "--diff": diff, "--replace": replace})
    if number and not number.removeprefix("-").isdecimal():
        text = f"{number!r} isn't the number of a version; to name a workflow: --workflow {number}"
        raise click.UsageError(text)
    path = rewind.find(project, workflow_id, options.conversation(project))
    if diff:
        _diff(project, path, number)
    elif number is None:
        _list(project, path, as_json=as_json)
    elif show:
        _show(project, path, number)
    else:
        _restore(project, path, number, replace=replace)


def _list(project: Workspace, path: Path, *, as_json: bool) -> None:
    versions = contents.list_versions(project, path)
    if as_json:
        options.print_json([{"number": each.number, "at": each.at, "why": each.why} for each in versions])
        return
    for each in versions:
        options.say(f"{each.number:>4}  {clock.second(each.at)}  {each.why}")
    if not versions:
        options.note(f"no version of {path} was kept")


def _show(project: Workspace, path: Path, number: str) -> None:
    content = rewind.read(project, path, number)
    if sys.stdout.isatty():
        options.say(content.raw.decode("utf-8", "replace").removesuffix("\n"))
    else:
        sys.stdout.buffer.write(content.raw)


def _diff(project: Workspace, path: Path, number: str | None) -> None:
    pair = (number, rewind.NOW) if number else rewind.last_two(project, path)
    old, new = (rewind.read(project, path, each) for each in pair)
    if changes := rewind.diff(old, new):
        options.say(changes.removesuffix("\n"))
    else:
        options.note(f"No difference between {old.name} and {new.name}.")


def _restore(project: Workspace, path: Path, number: str, *, replace: bool) -> None:
    put = rewind.restore(project, path, number, replace=replace)
    workflow = put.workflow
    where = path.relative_to(project.root).as_posix() if path.is_relative_to(project.root) else str(path)
    name = f"{where}: {wording.quoted(workflow.title)}"
    if not put.changed:
        click.echo(f"{name} already holds version {number}, so nothing changed.")
        return
    if workflow.in_order:
        options.say(f"{name} is back at {workflow.progress_text} ({workflow.status}), as in version {number}.")
    else:  # its tasks decide its state, which is recomputed at once and may differ from the version's
        at = f"{workflow.progress_text} ({workflow.word})"
        options.say(f"{name}: put version {number} back; it is now at {at}.")
    if put.aside:
        click.echo(f"Its former content is kept next to it as {put.aside.name}.")
