"""Write handler files: an empty one, one of the catalogue, or one for each rule of hookify."""

from __future__ import annotations

import ast
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import click

from holdfast import paths
from holdfast.clients.claude import claude, events
from holdfast.commands import options, terminal
from holdfast.commands.verb import InProject, verb
from holdfast.errors import HoldfastError, because, command_line, did_you_mean
from holdfast.install import hookify, inspection, upkeep
from holdfast.plugins import discovery, strict_memory
from holdfast.sessions.workspace import Workspace


def _catalogue() -> dict[str, bytes]:
    """Return the sources of the ready-made handlers by name."""
    return {path.stem: path.read_bytes() for path in sorted(paths.shipped("catalogue").glob("*.py"))}


@verb("add")
def add(
    project: Workspace,
    name: str | None = None,
    *,
    in_project: InProject = False,
) -> None:
    """Add a ready-made handler to your handlers folder.

    Without NAME, it lists them. The file is yours to edit: one that differs from the catalogue's is never overwritten.

    \b
    Examples:
      holdfast handlers add
      holdfast handlers add git_guard
      holdfast handlers add protected_paths --in-project
    """
    known = _catalogue()
    if name is None:
        first_lines = ((each, (ast.get_docstring(ast.parse(known[each])) or "").splitlines()[0]) for each in known)
        terminal.put_wrapped(terminal.console(), terminal.table(first_lines))
        click.echo("To add one: holdfast handlers add NAME")
        return
    name = name.removesuffix(".py")
    if name not in known:
        raise HoldfastError(f"the catalogue has no handler {name!r}{did_you_mean(name, known, else_all=True)}")
    path = _folder(project, in_project) / f"{name}.py"
    if path.exists():
        if path.read_bytes() != known[name]:
            raise HoldfastError(f"{path} differs from the catalogue's and stays as it is; to replace it, move it away")
        options.say_short(f"{path} is already there, unchanged.")
        return
    _write(project, {path: known[name]}, trusted=in_project)
    click.echo(f"Its options go into [options.{name}] of a holdfast.toml; the file lists them.")
    if b".commands" in known[name] and not find_spec("tree_sitter_bash"):
        click.echo("Install holdfast[shell], or it asks about each command that isn't just plain words.")


@verb("new")
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
    path = _folder(project, in_project) / f"{name}.py"
    if path.exists():
        raise HoldfastError(f"{path} already exists; choose another name")
    source = f'"""Answers {event}."""\n\n{events.example(f"on_{events.snake(event)}")}'
    _write(project, {path: source.encode()}, trusted=in_project)
    click.echo("Next: edit it, then check that it loads: holdfast handlers check")
    if in_project:
        click.echo(f"Trust it again after each edit: {command_line('handlers', 'trust', path.name)}")
    click.echo(f"To try it: {command_line('handlers', 'try', event)}. Changes take effect at the next event.")


@verb("import")
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
    folder = _folder(project, in_project)
    names = {file.name: file.path for file in discovery.find(claude, project)}
    sources: dict[Path, bytes] = {}
    for path in chosen:
        try:
            rules = hookify.rules(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, HoldfastError) as error:
            click.echo(f"Left out {path}: {because(error) if isinstance(error, OSError) else error}")
            continue
        for rule in rules:
            target = folder / f"{rule.name}.toml"
            if taken := names.get(rule.name) or (target if os.path.lexists(target) else None):
                options.say_short(f"Left out {path}: {taken} has its name, {rule.name}.")
            else:
                sources[target] = rule.text.encode()
                names[rule.name] = target
    _write(project, sources, trusted=in_project)


def refresh(project: Workspace) -> None:
    """Register what the handlers want now, and print what changed or why nothing runs."""
    files = discovery.find(claude, project)
    for line in upkeep.keep_registered(project, files):
        options.say_short(line)
    for event, why in inspection.withheld(project, files).items():
        click.echo(f"{event} is not registered: {why}")
    if not paths.launcher().exists():
        click.echo("Nothing runs yet, because Holdfast isn't registered. Run holdfast install.")


def _folder(project: Workspace, in_project: bool) -> Path:
    """Return the folder that a new handler is written to."""
    return paths.project_handlers(project.root) if in_project else paths.user_handlers()


def _write(project: Workspace, sources: dict[Path, bytes], *, trusted: bool) -> None:
    """Write new handler files and register what they want, and say so.

    Args:
        project: the project.
        sources: their content by path; nothing is there.
        trusted: whether they are the project's, and so have to be trusted.

    Raises:
        OSError: a file can't be written.
    """
    for path, source in sources.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source)
        options.say_short(f"Wrote {path}.")
    if trusted:
        strict_memory.trust_files(claude, project.root, sources)
    refresh(options.reopen(project))
