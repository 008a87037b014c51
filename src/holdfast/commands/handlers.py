"""`holdfast handlers …`: list, trust, check and write handlers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast import events, hookspecs, inspection, loader, paths, trust, upkeep
from holdfast.commands import options
from holdfast.errors import HoldfastError
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.project import Project


@click.group(name="handlers")
def command() -> None:
    """List, trust, check and write handlers."""


@command.command(name="list")
@options.json_option
@options.project_option
def list_(as_json: bool, project_dir: str | None) -> None:
    """Print what runs for each event, in order, from which file; and what does not run, with the reason."""
    files = loader.find(options.open_project(project_dir))
    listed = inspection.listing(files)
    mute = [(file, inspection.idle(file)) for file in files if file.off or not file.routes]
    if as_json:
        options.print_json({"events": listed, "no_event": [{"file": str(file.path), "why": why} for file, why in mute]})
        return
    for event, rows in listed.items():
        shown = [row for row in rows if not row["off"]]
        if shown:
            click.echo(event)
        for number, row in enumerate(shown, 1):
            place = "-" if row["idle"] else f"{number}."
            click.echo(f"  {place:<3}{row['place']:<8} {row['file']}  {_marks(row)}".rstrip())
    for file, why in mute:
        click.echo(f"{file.path}: {why}")


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

    Without FILES all that are not trusted yet. Shows what each answers, and what it would take the place of.
    """
    project = options.open_project(project_dir)
    chosen = _choose(project, files)
    if not chosen:
        click.echo("Nothing to trust: every file of the project is trusted as it is.")
        return
    for path, content in chosen.items():
        _describe(project, path, content)
    if not yes and not _confirmed(len(chosen)):
        raise HoldfastError("nothing was trusted")
    entries = {trust.relative_name(project.root, path): trust.digest(content) for path, content in chosen.items()}
    trust.grant(project.root, entries)
    click.echo(f"Trusted: {', '.join(entries)}. A change of content ends the trust.")
    _register(options.open_project(project_dir))


@command.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@options.project_option
def untrust(files: tuple[Path, ...], project_dir: str | None) -> None:
    """Take trust back from FILES, or from all of the project."""
    project = options.open_project(project_dir)
    names = {trust.relative_name(project.root, _inside(project, path)) for path in files}
    count = trust.revoke(project.root, names or None)
    click.echo(f"{count} file(s) are no longer trusted.")
    _register(options.open_project(project_dir))


@command.command()
@options.json_option
@options.project_option
def check(as_json: bool, project_dir: str | None) -> None:
    """Load every handler and name the ones at fault, with what they last did wrong; exit code 1 if there are any."""
    project = options.open_project(project_dir)
    files = loader.find(project)
    complaints = inspection.complaints(project, files)
    if as_json:
        options.print_json([{"file": str(file.path), "place": file.place, "fault": said} for file, said in complaints])
    else:
        for file, said in complaints:
            click.echo(f"{file.place}/{file.path.name}: {said}\n  {file.path}")
        for file in files:
            if file.notice:
                click.echo(f"{file.place}/{file.path.name}: {file.notice}")
        good = len(files) - len({file.path for file, _ in complaints})
        click.echo(f"{good} of {len(files)} handler files are sound.")
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
    source = f'"""Answers {event}."""\n\n{hookspecs.example(f"on_{events.snake(event)}")}'.encode()
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source)
    if in_project:
        trust.grant(project.root, {trust.relative_name(project.root, path): trust.digest(source)})
    click.echo(f"Wrote {path}. Edit it, then run holdfast handlers check.")
    _register(options.open_project(project_dir))


def _choose(project: Project, files: Sequence[Path]) -> dict[Path, bytes]:
    """Return the files to trust with the bytes that will be shown and hashed."""
    known = [file.path for file in loader.find(project) if file.place == "project"]
    config = paths.project_config(project.root)
    candidates = [_inside(project, path) for path in files] or [*known, *([config] if config.is_file() else [])]
    chosen: dict[Path, bytes] = {}
    for path in candidates:
        if path not in known and path != config:
            raise HoldfastError(f"{path} is neither a handler of {project.root} nor its holdfast.toml")
        content = path.read_bytes()
        if files or not trust.trusted(project.root, trust.relative_name(project.root, path), trust.digest(content)):
            chosen[path] = content
    return chosen


def _inside(project: Project, path: Path) -> Path:
    """Return a path that was given, as it lies in the project."""
    places = (Path.cwd() / path, project.root / path, paths.project_handlers(project.root) / path)
    whole = next((place for place in places if place.exists()), None)
    if whole is None:
        raise HoldfastError(f"{path} does not exist")
    absolute = whole.parent.resolve() / whole.name
    if not absolute.is_relative_to(project.root):
        raise HoldfastError(f"{path} does not lie in {project.root}")
    return absolute


def _describe(project: Project, path: Path, content: bytes) -> None:
    click.echo(f"{trust.relative_name(project.root, path)}  sha256 {trust.digest(content)[:16]}…")
    if path.suffix != ".py":
        click.echo("  configuration: " + ", ".join(content.decode(errors="replace").split("\n"))[:300])
        if project.untrusted_ledger:
            click.echo(
                f"  joins the ledger of project.id {wording.quoted(project.untrusted_id)}: {project.untrusted_ledger}"
            )
        return
    files = loader.find(project)
    this = next(file for file in files if file.path == path)
    for route in this.routes:
        click.echo(f"  answers {route.event}" + (f" ({route.match})" if route.match else ""))
    for other in files:
        if other.name == this.name and other.place != "project":
            guard = other.place == "user" and other.strict
            click.echo(f"  {'would not replace' if guard else 'replaces'} {other.path}{' (strict)' if guard else ''}")
    for fault in this.faults:
        click.echo(f"  at fault: {fault}")


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise HoldfastError("this is no terminal to ask at; read the files, then add --yes")
    return click.confirm(f"These {count} file(s) will run by themselves in every session here. Trust them?")


def _register(project: Project) -> None:
    for line in upkeep.keep_registered(project):
        click.echo(line)
    if not paths.launcher().exists():
        click.echo("Nothing is registered yet: run holdfast install.")
