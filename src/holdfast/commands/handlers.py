"""`holdfast handlers`: list, trust, check and write handlers."""

from __future__ import annotations

import difflib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast import paths, trust
from holdfast.clients import claude
from holdfast.clients.claude import events
from holdfast.commands import options
from holdfast.errors import HoldfastError, StateError
from holdfast.files import document, tomlfile
from holdfast.install import format_index, inspection, upkeep
from holdfast.plugins import loader, scan, strictness, switches
from holdfast.terminal_text import printable
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.plugins.loader import HandlerFile
    from holdfast.sessions.workspace import Workspace

_DIFF_LIMIT_LINES = 400  # of a diff shown before a file is trusted


@click.group(name="handlers")
def command() -> None:
    """List, trust, check and write handlers."""


@command.command(name="list")
@options.json_option
@options.project_option
def list_(as_json: bool, project_dir: str | None) -> None:
    """Print what runs for each event, in order, from which file; and what does not run, with the reason."""
    project = options.open_project(project_dir)
    files = loader.find(claude, project)
    listed = inspection.listing(files, inspection.withheld(project, files))
    mute = [(file, inspection.idle(file)) for file in files if file.off or not file.routes]
    told = {(file.path, why) for file, why in mute}
    remarks = [(file, said) for file in files for said in (*file.faults, *file.doubts) if (file.path, said) not in told]
    if as_json:
        without = [{"file": str(file.path), "why": why} for file, why in mute]
        remarked = [{"file": str(file.path), "remark": said} for file, said in remarks]
        options.print_json({"events": listed, "no_event": without, "remarks": remarked})
        return
    for event, rows in listed.items():
        shown = [row for row in rows if not row["off"]]
        if shown:
            click.echo(event)
        for number, row in enumerate(shown, 1):
            place = "-" if row["idle"] else f"{number}."
            click.echo(f"  {place:<3}{row['place']:<8} {row['file']}  {_marks(row)}".rstrip())
    for file, said in (*mute, *remarks):
        click.echo(f"{file.path}: {said}")


def _marks(row: dict[str, Any]) -> str:
    marks = [f"match={row['match']}"] if row["match"] else []
    marks += ["strict"] if row["strict"] else []
    marks += ["trusted"] if row["place"] == "project" and row["trusted"] else []
    marks += [f"BROKEN: {row['broken']}"] if row["broken"] else []
    marks += [f"does not run: {row['idle']}"] if row["idle"] else []
    return "  ".join(marks)


@command.command(name="trust")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.project_option
def trust_(files: tuple[Path, ...], yes: bool, project_dir: str | None) -> None:
    """Trust handlers of the project, and its holdfast.toml, with exactly the content they have now.

    Without FILES all that are not trusted yet. Shows what changed since a file was trusted, what each answers, and what
    it would take the place of.
    """
    project = options.open_project(project_dir)
    for line in format_index.refresh():
        click.echo(line)
    chosen = _choose(project, files)
    for file in [] if files else _gone(project):
        click.echo(f"{file.name} was trusted and is gone. Put it back, or: {_letting_go(project, file)}")
    if not chosen:
        click.echo("Nothing to trust: every file of the project is trusted as it is.")
        return
    for path, content in chosen.items():
        _describe(project, path, content)
    if not yes and not _confirmed(len(chosen)):
        raise HoldfastError("nothing was trusted")
    entries = {trust.relative_name(project.root, path): trust.digest(content) for path, content in chosen.items()}
    trust.grant(project.root, entries, chosen.values())
    click.echo(f"Trusted: {', '.join(entries)}. A change of content ends the trust.")
    _register(options.open_project(project_dir))


@command.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@options.project_option
def untrust(files: tuple[Path, ...], project_dir: str | None) -> None:
    """Take trust back from FILES, or from all of the project.

    A strict handler that refuses because it was changed or is gone refuses nothing after this.
    """
    project = options.open_project(project_dir)
    names = {trust.relative_name(project.root, _inside(project, path)) for path in files}
    known = trust.granted(project.root)
    count = trust.revoke(project.root, names or None)
    for name in names or known:
        strictness.remember(project.root / name, ())
    click.echo(f"{count} file(s) are no longer trusted.")
    _register(options.open_project(project_dir))


@command.command()
@click.argument("name")
@options.project_option
def off(name: str, project_dir: str | None) -> None:
    """Switch the handler NAME off in your own configuration. A strict one then refuses nothing.

    A strict handler of yours whose file is gone is forgotten.
    """
    name = name.removesuffix(".py")
    files = _named(name, project_dir)
    for file in files:
        strictness.remember(file.path, ())
    if not any(file.path.exists() for file in files):
        click.echo(f"Forgotten: {files[0].path} is gone, and refuses nothing any more.")
    elif switches.set_listed(name, off=True, on=False):
        click.echo(f"{name} is off: {paths.user_config()} says so. Undo: holdfast handlers on {name}")
    else:
        click.echo(f"{name} was off already.")
    project = options.open_project(project_dir)
    if any(file.active for file in loader.find(claude, project) if file.name == name):
        click.echo(f"It still runs here: {paths.project_config(project.root)} has a handlers.off of its own.")
    _register(project)


@command.command()
@click.argument("name")
@options.project_option
def on(name: str, project_dir: str | None) -> None:
    """Switch the handler NAME on again in your own configuration, also one that is off by default."""
    name = name.removesuffix(".py")
    _named(name, project_dir)
    changed = switches.set_listed(name, off=False)
    if any(file.off for file in _named(name, project_dir)):
        changed |= switches.set_listed(name, on=True)
    click.echo(f"{name} is on." if changed else f"{name} was on already.")
    for file in _named(name, project_dir):
        if not file.active:
            click.echo(f"{file.path} does not run: {inspection.idle(file)}")
    _register(options.open_project(project_dir))


def _named(name: str, project_dir: str | None) -> list[HandlerFile]:
    """Return the handler files called `name`. Raises HoldfastError if there is none."""
    files = [file for file in loader.find(claude, options.open_project(project_dir)) if file.name == name]
    if not files:
        raise HoldfastError(f"there is no handler {name!r}; holdfast handlers list names them")
    return files


@command.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@options.json_option
@options.project_option
def check(files: tuple[Path, ...], as_json: bool, project_dir: str | None) -> None:
    """Load every handler, or FILES, and name the ones at fault, with what they last did wrong.

    Says too what will not run, and the command that changes that. The exit code is 1 if a handler is at fault.
    """
    project = options.open_project(project_dir)
    found = loader.find(claude, project)
    chosen = _chosen(found, files) if files else found
    complaints = inspection.complaints(project, chosen)
    if as_json:
        options.print_json([{"file": str(file.path), "place": file.place, "fault": said} for file, said in complaints])
    else:
        for file, said in complaints:
            click.echo(f"{file.place}/{file.path.name}: {said}\n  {file.path}")
        for file, said in inspection.remarks(project, chosen, asked=bool(files)):
            click.echo(f"{file.place}/{file.path.name}: note: {said}")
        good = len(chosen) - len({file.path for file, _ in complaints})
        click.echo(f"{good} of {len(chosen)} handler files are sound.")
        if not inspection.registered_events(project):
            click.echo("None of them runs: nothing is registered. Run holdfast install.")
    sys.exit(1 if complaints else 0)


@command.command()
@click.argument("name")
@click.option("--event", required=True, type=click.Choice(list(events.EVENTS)), help="Which event it answers.")
@click.option("--in-project", is_flag=True, help="Into the project's folder, trusted, instead of the user's own.")
@options.project_option
def new(name: str, event: str, in_project: bool, project_dir: str | None) -> None:
    """Write a handler file NAME.py that answers an event, and register the event."""
    if not name.isidentifier() or name.startswith("_"):
        raise click.BadParameter(f"{name!r} is not a name for a Python file", param_hint="NAME")
    project = options.open_project(project_dir)
    folder = paths.project_handlers(project.root) if in_project else paths.user_handlers()
    path = folder / f"{name}.py"
    if path.exists():
        raise HoldfastError(f"{path} exists already; choose another name")
    source = f'"""Answers {event}."""\n\n{events.example(f"on_{events.snake(event)}")}'.encode()
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source)
    if in_project:
        trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(source)}, [source])
    click.echo(f"Wrote {path}. Edit it, then run holdfast handlers check.")
    _register(options.open_project(project_dir))


def _choose(project: Workspace, files: Sequence[Path]) -> dict[Path, bytes]:
    """Return the files to trust, each with the bytes that are shown and hashed."""
    known = [file.path for file in loader.find(claude, project) if file.place == "project" and file.path.exists()]
    config = paths.project_config(project.root)
    candidates = [_inside(project, path) for path in files] or [*known, *([config] if config.exists() else [])]
    chosen: dict[Path, bytes] = {}
    for path in candidates:
        if path not in known and path != config:
            raise HoldfastError(f"{path} is neither a handler of {project.root} nor its holdfast.toml")
        try:
            limit = tomlfile.LIMIT_BYTES if path == config else loader.SIZE_LIMIT_BYTES
            content, _ = document.read(path, limit, within=project.root)
        except StateError as error:
            if files:
                raise
            click.echo(f"Left out: {error}")
            continue
        if files or not trust.trusted(project.root, trust.relative_name(project.root, path), trust.digest(content)):
            chosen[path] = content
    return chosen


def _chosen(found: Sequence[HandlerFile], files: Sequence[Path]) -> list[HandlerFile]:
    """Return the handler files that `files` names, each by its path from here or by its file name."""
    chosen: list[HandlerFile] = []
    for path in files:
        here = (Path.cwd() / path).resolve()
        same = [file for file in found if file.path.resolve() == here]
        same = same or [file for file in found if str(path) in (file.name, file.path.name)]
        if not same:
            raise HoldfastError(f"{path} is no handler file; holdfast handlers list names them")
        chosen += same
    return chosen


def _gone(project: Workspace) -> list[Path]:
    """Return the project's trusted handlers that no longer exist."""
    folder = paths.project_handlers(project.root)
    there = [project.root / name for name in trust.granted(project.root)]
    return [path for path in there if path.parent == folder and not path.exists()]


def _letting_go(project: Workspace, path: Path) -> str:
    return shlex.join(["holdfast", "handlers", "untrust", "--project", str(project.root), path.name])


def _inside(project: Workspace, path: Path) -> Path:
    """Return the absolute path of a file in the project; a file that is gone counts while it is trusted.

    Raises:
        HoldfastError: there is no such file, or it lies outside the project.
    """
    places = (Path.cwd() / path, project.root / path, paths.project_handlers(project.root) / path)
    known = {project.root / name for name in trust.granted(project.root)}
    whole = next((place for place in places if place.exists() or place in known), None)
    if whole is None:
        raise HoldfastError(f"{path} does not exist")
    absolute = whole.parent.resolve() / whole.name
    if not absolute.is_relative_to(project.root):
        raise HoldfastError(f"{path} does not lie in {project.root}")
    return absolute


def _describe(project: Workspace, path: Path, content: bytes) -> None:
    name = trust.relative_name(project.root, path)
    click.echo(f"{name}  sha256 {trust.digest(content)[:16]}…")
    for line in _changed(project, name, content):
        click.echo(f"  {printable(line)}")  # click would remove control characters; here you must see them
    if path.suffix != ".py":
        said = ", ".join(content.decode(errors="replace").split("\n"))[:300]
        click.echo(f"  configuration: {said}")
        if project.untrusted_ledger:
            known = wording.quoted(project.untrusted_id)
            click.echo(f"  joins the ledger of project.id {known}: {project.untrusted_ledger}")
        return
    read = scan.scan(content, claude)
    for route in read.routes:
        marks = f" ({route.match})" * bool(route.match) + " strict" * route.strict
        click.echo(f"  answers {route.event}{marks}")
    for other in loader.find(claude, project):
        if other.name == path.stem and other.place != "project":
            guard = other.place == "user" and other.strict
            click.echo(f"  {'would not replace' if guard else 'replaces'} {other.path}{' (strict)' if guard else ''}")
    for fault in read.faults.values():
        click.echo(f"  at fault: {fault}")


def _changed(project: Workspace, name: str, content: bytes) -> Iterator[str]:
    """Yield a unified diff from the trusted content of a file to the present one; nothing if it wasn't trusted."""
    granted = trust.granted(project.root).get(name)
    if granted in (None, trust.digest(content)):
        return
    before = trust.content(project.root, name)
    if before is None:
        yield "changed since it was trusted; what it was then was not kept, so read all of it"
        return
    old, new = (text.decode(errors="backslashreplace").split("\n") for text in (before, content))
    lines = list(difflib.unified_diff(old, new, "as trusted", "as it is now", lineterm=""))
    yield from lines[:_DIFF_LIMIT_LINES]
    if len(lines) > _DIFF_LIMIT_LINES:
        yield f"… and {len(lines) - _DIFF_LIMIT_LINES} more lines; read the file"


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise HoldfastError("this is no terminal to ask at; read the files, then add --yes")
    return click.confirm(f"These {count} file(s) will run by themselves in every session here. Trust them?")


def _register(project: Workspace) -> None:
    for line in upkeep.keep_registered(project):
        click.echo(line)
    for event, why in inspection.withheld(project, loader.find(claude, project)).items():
        click.echo(f"{event} is {why}")
    if not paths.launcher().exists():
        click.echo("Nothing is registered yet: run holdfast install.")
