"""`holdfast handlers`: list, trust, check and write handlers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.table import Column, Table
from rich.text import Text

from holdfast import clock, paths
from holdfast.clients.claude import claude, events
from holdfast.commands import (
    handler_catalogue,
    handler_registration,
    handler_tests,
    handler_trust,
    handler_try,
    options,
    terminal,
    timefmt,
)
from holdfast.commands.verb import InProject, Json, ListGroup, verb
from holdfast.dispatch import notices
from holdfast.errors import HoldfastError, because, command_line
from holdfast.files.redact import redact
from holdfast.install import hookify, inspection
from holdfast.memory import log as event_log
from holdfast.plugins import activity, discovery, statics, strict_memory, switches
from holdfast.plugins import options as handler_options
from holdfast.plugins.loader import Call
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plugins.discovery import HandlerFile


@click.group(name="handlers", cls=ListGroup)
@click.pass_context
def command(context: click.Context) -> None:
    """List, write, try, test, check and trust handlers, and switch them on and off.

    \b
    Examples:
      holdfast handlers
      holdfast handlers add git_guard
      holdfast handlers new guard --event PreToolUse
      holdfast handlers try PreToolUse Bash "git push --force"
      holdfast handlers check
    """
    if context.invoked_subcommand not in ("check", "test"):
        paths.home()


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
            terminal.put(console, [Text(event, "bold")])
            terminal.put_wrapped(console, _table(shown))
    for path, remark in (*unused, *remarks):
        terminal.put_wrapped(console, _text(f"{_file_name(path)}: {remark}"))
    if any(file.path.parent == paths.shipped("handlers") for file in files):
        terminal.put_wrapped(console, _text(f"The shipped handlers are in {paths.shipped('handlers')}."))


def _options(file: HandlerFile, project: Workspace) -> dict[str, Any]:
    """Return the options of a handler: configured values as JSON without secrets; None is its own default."""
    own = dict.fromkeys(statics.option_names(file.source)) if file.place != "shipped" else {}
    configured = handler_options.values(file, project).items()
    return own | {name: redact(json.dumps(value, default=str)) for name, value in configured}


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the handlers of an event in their order, as a table."""
    table = Table.grid(*(Column(overflow="fold") for _ in range(4)), padding=(0, 2, 0, 0))
    for number, row in enumerate(rows, 1):
        order = "-" if row["inactive_reason"] else f"{number}."
        table.add_row(f"  {order}", row["place"], _text(_file_name(Path(row["file"]))), _text(_marks(row)))
    return table


def _text(text: str) -> Text:
    """Return text with short paths, without control characters and the client's tags."""
    return Text(paths.shown(wording.clean(text)))


def _file_name(path: Path) -> str:
    """Return a handler's path; of a shipped one its name, because a long folder in each line hides all else."""
    return path.name if path.parent == paths.shipped("handlers") else str(path)


def _say(text: str) -> None:
    """Print text with short paths."""
    click.echo(paths.shown(text))


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
        marks += [f"{what} {timefmt.when(at, clock.now()).partition(' (')[0]}"] if at else []
    marks += ["trusted"] if row["place"] == "project" and row["trusted"] else []
    marks += [f"BROKEN: {row['broken']}"] if row["broken"] else []
    marks += [f"doesn't run: {row['inactive_reason']}"] if row["inactive_reason"] else []
    return "  ".join(marks)


command.add_command(handler_catalogue.command)
command.add_command(handler_trust.grant)
command.add_command(handler_trust.revoke)
command.add_command(handler_try.command)
command.add_command(handler_tests.check)
command.add_command(handler_tests.test)


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
        _say(f"Forgot {(gone or files)[0].path}, which is gone. It no longer refuses anything.")
        for file in files:
            if file.path.exists():
                _say(f"{file.path} stays on. To switch it off too: {command_line('handlers', 'off', name)}")
    elif switches.set_listed(name, off=True, on=False):
        _say(f"{name} is off, in {paths.user_config()}. To undo this: {command_line('handlers', 'on', name)}")
    else:
        click.echo(f"{name} was already off.")
    project = options.reopen(project)
    if any(file.active for file in discovery.find(claude, project) if file.name == name):
        _say(f"It still runs here, because {paths.project_config(project.root)} has its own handlers.off.")
    handler_registration.refresh(project)


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
        _say(f"Took {name} out of handlers.off in {paths.user_config()}. No handler here has that name.")
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
            _say(f"{file.path} doesn't run: {inspection.idle(file)}")
    handler_registration.refresh(project)


def _named(project: Workspace, name: str) -> list[HandlerFile]:
    """Return the handler files called `name`. Raises HoldfastError if there is none."""
    found = discovery.find(claude, project)
    files = [file for file in found if file.name == name]
    if not files:
        raise handler_tests.unknown(name, found)
    return files


@verb("new", command)
def new(
    project: Workspace,
    name: str,
    *,
    event: Annotated[
        str,
        click.Choice(tuple(events.EVENTS), case_sensitive=False),
        {"metavar": "EVENT"},
        "The event it answers, such as PreToolUse.",
    ],
    in_project: InProject = False,
) -> None:
    """Write a handler that answers an event.

    The file is NAME.py in your handlers folder. The event is registered if Holdfast is installed.

    \b
    Examples:
      holdfast handlers new guard --event PreToolUse
      holdfast handlers new guard --event PreToolUse --in-project
    """
    if not name.isidentifier() or name.startswith("_"):
        raise click.BadParameter(f"{name!r} is not a name for a Python file", param_hint="NAME")
    path = handler_registration.folder(project, in_project) / f"{name}.py"
    if path.exists():
        raise HoldfastError(f"{path} already exists; choose another name")
    source = f'"""Answers {event}."""\n\n{events.example(f"on_{events.snake(event)}")}'.encode()
    handler_registration.write(project, path, source, trusted=in_project)
    click.echo("Next: edit it, then check that it loads: holdfast handlers check")
    if in_project:
        click.echo(f"Trust it again after each edit: {command_line('handlers', 'trust', path.name)}")
    click.echo(f"To try it: {command_line('handlers', 'try', event)}. Changes take effect at the next event.")


@verb("import", command)
def import_(project: Workspace, *files: Path, in_project: InProject = False) -> None:
    """Write handlers that do what rule files of the plugin hookify do.

    Without FILES, these are .claude/hookify.*.local.md here and in your home. They stay as they are.

    \b
    Examples:
      holdfast handlers import
      holdfast handlers import .claude/hookify.dangerous-rm.local.md --in-project
    """
    places = [project.root / ".claude", Path.home() / ".claude"]
    chosen = files or [path for place in places for path in sorted(place.glob("hookify.*.local.md"))]
    if not chosen:
        raise HoldfastError(f"there are no files hookify.*.local.md in {' and '.join(map(str, places))}")
    folder = handler_registration.folder(project, in_project)
    names = {file.name: file.path for file in discovery.find(claude, project)}
    written: dict[Path, bytes] = {}
    for path in chosen:
        try:
            made = hookify.rules(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, HoldfastError) as error:
            click.echo(f"Left out {path}: {because(error) if isinstance(error, OSError) else error}")
            continue
        for rule in made:
            target = folder / f"{rule.name}.toml"
            if taken := names.get(rule.name) or (target if os.path.lexists(target) else None):
                _say(f"Left out {path}: {taken} has its name, {rule.name}.")
                continue
            folder.mkdir(parents=True, exist_ok=True)
            target.write_text(rule.text, "utf-8")
            written[target] = rule.text.encode()
            names[rule.name] = target
            _say(f"Wrote {target}.")
    if in_project:
        strict_memory.trust_files(claude, project.root, written)
    handler_registration.refresh(options.reopen(project))
