"""`holdfast handlers`: list, trust, check and write handlers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast import clock, paths
from holdfast.clients.claude import claude
from holdfast.commands import handler_files, handler_tests, handler_trust, handler_try, options, terminal
from holdfast.commands.verb import Json, ListGroup, verb
from holdfast.dispatch import notices
from holdfast.errors import command_line
from holdfast.files.redact import redact
from holdfast.install import inspection
from holdfast.memory import log as event_log
from holdfast.plugins import activity, discovery, statics, strict_memory, switches
from holdfast.plugins import options as handler_options
from holdfast.plugins.loader import Call
from holdfast.sessions.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.plugins.discovery import HandlerFile


@click.group(name="handlers", cls=ListGroup)
def command() -> None:
    """List, write, try, test, check, trust, enable and disable handlers.

    \b
    Examples:
      holdfast handlers add git_guard
      holdfast handlers new guard --event PreToolUse
      holdfast handlers try PreToolUse Bash "git push --force"
    """


@verb("list", command)
def list_(project: Workspace, *, as_json: Json = False) -> None:
    """Print what runs for each event, in order.

    Each line names the file; of a shipped handler only its name. What doesn't run has a dash in place of its number,
    and the reason.

    \b
    Examples:
      holdfast handlers
      holdfast handlers list --json
    """
    files = discovery.find(claude, project)
    withheld = {event: f"not registered: {why}" for event, why in inspection.withheld(project, files).items()}
    listed = inspection.listing(files, withheld)
    decided = event_log.last_decisions(project)
    by_path = {str(file.path): file for file in files}
    for row in (row for rows in listed.values() for row in rows):
        key = f"{row['place']}/{Path(row['file']).name}"
        row["last_decision"], row["last_decision_at"] = decided.get(key, (None, None))
        row["options"] = _options(by_path[row["file"]], project)
    listed_files = {row["file"] for rows in listed.values() for row in rows if not row["off"]}
    unused = [(path, str(why)) for path, why in inspection.unused(project, files) if str(path) not in listed_files]
    remarks = [(file.path, remark) for file in files for remark in (*file.faults, *file.doubts)]
    remarks = [remark for remark in remarks if remark not in unused]
    if as_json:
        without = [{"file": str(path), "reason": why} for path, why in unused]
        remarked = [{"file": str(path), "remark": remark} for path, remark in remarks]
        options.print_json({"events": listed, "no_event": without, "remarks": remarked})
        return
    console = terminal.console()
    for event, rows in listed.items():
        if shown := [row for row in rows if not row["off"]]:
            terminal.put(console, [terminal.text(event, "bold")])
            terminal.put_wrapped(console, terminal.table(_cells(shown)))
    for path, remark in (*unused, *remarks):
        options.say_short(f"{_file_name(path)}: {remark}")
    if any(file.path.parent == paths.shipped("handlers") for file in files):
        options.say_short(f"The shipped handlers are in {paths.shipped('handlers')}.")


def _options(file: HandlerFile, project: Workspace) -> dict[str, Any]:
    """Return the options of a handler: configured values as JSON without secrets; None is its own default."""
    own = dict.fromkeys(statics.option_names(file.source)) if file.place != "shipped" else {}
    configured = handler_options.values(file, project).items()
    return own | {name: redact(json.dumps(value, default=str)) for name, value in configured}


def _cells(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of an event's handlers, in their order."""
    for number, row in enumerate(rows, 1):
        order = "-" if row["inactive_reason"] else f"{number}."
        yield f"  {order}", row["place"], _file_name(Path(row["file"])), _marks(row)


def _file_name(path: Path) -> str:
    """Return a handler's path; of a shipped one its name, because a long folder in each line hides all else."""
    return path.name if path.parent == paths.shipped("handlers") else str(path)


def _marks(row: dict[str, Any]) -> str:
    marks = [f"match={row['match']}"] if row["match"] else []
    marks += [f"from {row['package']}"] if row["package"] else []
    marks += ["strict"] if row["strict"] else []
    marks += [f"on_failure={row['on_failure']}"] if row["on_failure"] != "skip" else []
    marks += [f"once in a {row['once']}"] if row["once"] else []
    marks += ["in the background"] if row["background"] else []
    if row["options"]:
        shown = (name if value is None else f"{name}={value}" for name, value in row["options"].items())
        marks.append(f"options: {', '.join(shown)}")
    for what, at in (("ran", row["last_run"]), (row["last_decision"], row["last_decision_at"])):
        marks += [f"{what} {clock.ago(at, clock.now())}"] if at else []
    marks += ["trusted"] if row["place"] == "project" and row["trusted"] else []
    marks += [f"BROKEN: {row['broken']}"] if row["broken"] else []
    marks += [f"doesn't run: {row['inactive_reason']}"] if row["inactive_reason"] else []
    return "  ".join(marks)


@verb("off", command)
def off(project: Workspace, name: str) -> None:
    """Switch a handler off in your own configuration.

    A strict one refuses nothing after this. One whose file is gone is forgotten.

    \b
    Example:
      holdfast handlers off guard
    """
    name = Path(name).name.removesuffix(".py")
    files = _named(project, name)
    gone = [file for file in files if file.place != "project" and not file.path.exists()]
    for file in gone or files:
        strict_memory.remember(file.path, ())
    if gone or not any(file.path.exists() for file in files):
        options.say_short(f"Forgot {(gone or files)[0].path}, which is gone. It no longer refuses anything.")
        for file in files:
            if file.path.exists():
                options.say_short(
                    f"{file.path} stays on. To switch it off too: {command_line('handlers', 'off', name)}"
                )
    elif switches.set_listed(name, off=True, on=False):
        options.say_short(
            f"{name} is off, in {paths.user_config()}. To undo this: {command_line('handlers', 'on', name)}"
        )
    else:
        click.echo(f"{name} was already off.")
    project = options.reopen(project)
    if any(file.active for file in discovery.find(claude, project) if file.name == name):
        options.say_short(f"It still runs here, because {paths.project_config(project.root)} has its own handlers.off.")
    handler_files.refresh(project)


@verb("on", command)
def on(project: Workspace, name: str) -> None:
    """Switch a handler on in your own configuration.

    This also works for one that is off by default. A name that no handler has is taken out of `handlers.off`.

    \b
    Example:
      holdfast handlers on guard
    """
    name = Path(name).name.removesuffix(".py")
    if all(file.name != name for file in discovery.find(claude, project)) and switches.set_listed(name, off=False):
        options.say_short(f"Took {name} out of handlers.off in {paths.user_config()}. No handler here has that name.")
        return
    _named(project, name)
    changed = switches.set_listed(name, off=False)
    project = options.reopen(project)
    if any(file.off for file in _named(project, name)):
        changed |= switches.set_listed(name, on=True)
        project = options.reopen(project)
    resting = [
        call for file in _named(project, name) for route in file.routes if notices.left_out(call := Call(file, route))
    ]
    for call in resting:
        activity.wake(call)
    click.echo(f"{name} is on." if changed or resting else f"{name} was already on.")
    for file in _named(project, name):
        if not file.active:
            options.say_short(f"{file.path} doesn't run: {inspection.idle(file)}")
    handler_files.refresh(project)


def _named(project: Workspace, name: str) -> list[HandlerFile]:
    """Return the handler files called `name`. Raises HoldfastError if there is none."""
    found = discovery.find(claude, project)
    files = [file for file in found if file.name == name]
    if not files:
        raise handler_tests.unknown(name, found)
    return files


for each in (
    *(handler_files.add, handler_files.new, handler_files.import_),
    *(handler_trust.grant, handler_trust.revoke),
    *(handler_try.command, handler_tests.check, handler_tests.test),
):
    command.add_command(each)
