"""Check handlers and run their examples: those in use, and files or folders anywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.commands import options
from holdfast.commands.verb import Json, verb
from holdfast.errors import HoldfastError, did_you_mean
from holdfast.install import inspection
from holdfast.plugins import discovery
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import examples, firing
from holdfast.workflow.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.discovery import HandlerFile


@verb("check")
def check(project: Workspace, *files: Path, as_json: Json = False) -> None:
    """Load handlers and name those with a fault.

    Without FILES, it checks all. FILES are handlers' names, or files and folders anywhere. It also says what won't run,
    with the command that changes that. The exit code is 1 if a handler has a fault.

    \b
    Examples:
      holdfast handlers check
      holdfast handlers check guard.py
      holdfast handlers check .claude/handlers
    """
    found = discovery.find(claude, project)
    chosen = _chosen(found, files) if files else found
    complaints = inspection.complaints(project, chosen)
    if as_json:
        shown = [{"file": str(file.path), "place": file.place, "fault": fault} for file, fault in complaints]
        options.print_json(shown)
        sys.exit(1 if complaints else 0)
    for file, fault in complaints:
        options.say_short(f"{_name(file, found)}: {fault}\n  {file.path}")
    used = [file for file in chosen if file in found]
    doubts = [(file, each) for file in chosen if file not in used for each in file.doubts]
    for file, remark in (*inspection.remarks(project, used), *doubts):
        options.say_short(f"{_name(file, found)}: note: {remark}")
    named = {file.path for file in used}
    for path, why in inspection.unused(project, found):
        if path in named if files else path.parent != paths.shipped("handlers"):
            options.say_short(f"{path}: not used: {why}")
    good = len(chosen) - len({file.path for file, _ in complaints})
    of = "" if good == len(chosen) else f"{good} of "
    click.echo(f"No faults in {of}{count(len(chosen), 'handler')}.")
    if used and not inspection.registered_events(project):
        click.echo("None of them runs, because Holdfast isn't registered. Run holdfast install.")
    sys.exit(1 if complaints else 0)


@verb("test")
def test(project: Workspace, *files: Path, as_json: Json = False) -> None:
    """Run the examples of handlers.

    Without FILES, it tests yours and the project's that you trust. FILES are handlers' names, or files and folders
    anywhere, also before you trust them. Each example calls its function in a process of its own, in an empty project
    and an empty home. The exit code is 1 if one doesn't come out as it says, or a file has a fault.

    \b
    Examples:
      holdfast handlers test
      holdfast handlers test guard
      holdfast handlers test .claude/handlers
    """
    found = discovery.find(claude, project)
    used = _chosen(found, files) if files else [file for file in found if file.place != "shipped"]
    chosen = [file.path for file in used if (files or file.active) and file.path.exists()]
    for file in used:
        if not files and not file.active:
            options.say_short(f"{file.path}: not tested: {inspection.idle(file)}", err=as_json)
    with firing.own_home() as empty:
        tested = [firing.alone(path) for path in chosen]
        results = [each for file in tested for each in examples.run(file, empty)]
    failed = [each for each in results if not each.passed]
    faulty = [(file, fault) for file in tested for fault in file.faults]
    if as_json:
        names = ("expected", "actual", "passed")
        shown = [
            {"file": str(each.file.path), "line": each.route.line, "function": each.route.function}
            | {"example": each.text, **{name: getattr(each, name) for name in names}}
            for each in results
        ]
        faults = [{"file": str(file.path), "fault": fault} for file, fault in faulty]
        options.print_json({"examples": shown, "faults": faults})
        sys.exit(1 if failed or faulty else 0)
    for file, fault in faulty:
        options.say_short(f"{file.path}: {fault}")
    for each in failed:
        line = f":{each.route.line}" * bool(each.route.line)
        where = f"{each.file.path}{line}: {each.route.function}"
        options.say_short(f"{where}: {quoted(each.text)}: expected {each.expected or 'nothing'}, got {each.actual}")
    for file in tested:
        if not file.faults and not any(each.file is file for each in results):
            options.say_short(f"{file.path}: has no examples")
    good = f"{len(results) - len(failed)} of " * bool(failed)
    click.echo(f"{good}{count(len(results), 'example')} passed, of {count(len(tested), 'handler')}.")
    sys.exit(1 if failed or faulty else 0)


def unknown(name: str, found: Sequence[HandlerFile]) -> HoldfastError:
    """Return the error for a name that no handler has; it says which ones are like it."""
    near = did_you_mean(Path(name).stem, (file.name for file in found))
    return HoldfastError(f"there is no handler {name!r}{near or '; `holdfast handlers list` lists them'}")


def _chosen(found: Sequence[HandlerFile], files: Sequence[Path]) -> list[HandlerFile]:
    """Return the handler files that `files` names: those in use by path, folder or file name, others by path."""
    chosen: list[HandlerFile] = []
    for path in files:
        here = (Path.cwd() / path).resolve()
        same = [file for file in found if here in (file.path.resolve(), file.path.parent.resolve())]
        same = same or [file for file in found if str(path) in (file.name, file.path.name)]
        if not same and not here.exists():
            raise unknown(str(path), found)
        chosen += same or [firing.alone(each) for each in firing.named([here])]
    return chosen


def _name(file: HandlerFile, found: Sequence[HandlerFile]) -> str:
    return f"{file.place}/{file.path.name}" if file in found else file.path.name
