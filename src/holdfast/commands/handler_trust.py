"""Trust a project's handlers and its configuration by their content, or stop trusting them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.clients.claude import claude
from holdfast.commands import handler_files, options
from holdfast.commands.verb import Yes, verb
from holdfast.errors import HoldfastError, StateError, command_line
from holdfast.files import document, tomlfile, trust
from holdfast.install import format_index, handler_packages
from holdfast.plugins import discovery, executables, index, kinds, strict_memory
from holdfast.process.terminal_text import printable
from holdfast.sessions.workspace import Workspace
from holdfast.workflow import wording

if TYPE_CHECKING:
    from collections.abc import Sequence


@verb("trust")
def grant(project: Workspace, *files: Path, yes: Yes = False) -> None:
    """Trust a project's handlers and its holdfast.toml.

    Trust holds for exactly the content that the files have now. Without FILES, it is for all that aren't trusted yet.
    First you see what changed since you trusted a file, what it answers, and what it would replace.

    \b
    Examples:
      holdfast handlers trust
      holdfast handlers trust guard.py --yes
    """
    for line in (*handler_packages.refresh(), *format_index.refresh()):
        click.echo(line)
    chosen = _choose(project, files)
    for file in [] if files else _gone(project):
        untrust = command_line("handlers", "untrust", "--project", str(project.root), file.name)
        click.echo(f"{file.name} is gone, but still trusted. Put it back, or run: {untrust}")
    if not chosen:
        click.echo("Nothing to trust: you trust every file of this project as it is.")
        return
    for path, content in chosen.items():
        _describe(project, path, content)
    count = wording.count(len(chosen), "file")
    them = "it" if len(chosen) == 1 else "them"
    options.confirm(f"{count} will run in every session here. Trust {them}?", yes=yes)
    names = strict_memory.trust_files(claude, project.root, chosen)
    click.echo(f"Trusted: {', '.join(names)}. If a file changes, trust it again.")
    handler_files.refresh(options.reopen(project))


@verb("untrust")
def revoke(project: Workspace, *files: Path) -> None:
    """Stop trusting FILES, or all files of the project.

    A strict handler that refuses because it changed or is gone refuses nothing after this.

    \b
    Examples:
      holdfast handlers untrust guard.py
      holdfast handlers untrust
    """
    names = {trust.relative_name(project.root, _inside(project, path)) for path in files}
    known = trust.granted(project.root)
    count = trust.revoke(project.root, names or None)
    for name in names or known:
        strict_memory.remember(project.root / name, ())
    click.echo(f"{wording.count(count, 'file')} no longer trusted." if count else "No trusted file: nothing changed.")
    handler_files.refresh(options.reopen(project))


def _choose(project: Workspace, files: Sequence[Path]) -> dict[Path, bytes]:
    """Return the files to trust, each with the bytes that are shown and hashed."""
    files_of_project = [file for file in discovery.find(claude, project) if file.place == "project"]
    known = [file.path for file in files_of_project if file.path.exists()]
    known += sorted({path for file in files_of_project for path in file.helpers})
    config = paths.project_config(project.root)
    candidates = [_inside(project, path) for path in files] or [*known, *([config] if config.exists() else [])]
    chosen: dict[Path, bytes] = {}
    for path in candidates:
        if path not in known and path != config:
            raise HoldfastError(f"{path} is neither a handler of {project.root} nor its holdfast.toml")
        try:
            limit = tomlfile.LIMIT_BYTES if path == config else index.SIZE_LIMIT_BYTES
            content, _ = document.read(path, limit, within=project.root)
        except StateError as error:
            if files:
                raise
            click.echo(f"Left out: {error}")
            continue
        if files or not trust.trusted(project.root, trust.relative_name(project.root, path), trust.digest(content)):
            chosen[path] = content
    return chosen


def _gone(project: Workspace) -> list[Path]:
    """Return the project's trusted handlers that no longer exist."""
    folder = paths.project_handlers(project.root)
    there = [project.root / name for name in trust.granted(project.root)]
    return [path for path in there if path.parent == folder and not path.exists()]


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
        raise HoldfastError(f"{path} isn't in {project.root}")
    return absolute


def _describe(project: Workspace, path: Path, content: bytes) -> None:
    name = trust.relative_name(project.root, path)
    click.echo(f"{name}  sha256 {trust.digest(content)[:12]}")
    if trust.granted(project.root).get(name) not in (None, trust.digest(content)):
        before = trust.content(project.root, name)
        if before is None:
            click.echo("  changed since you trusted it; the earlier content wasn't kept, so read all of it")
        else:
            print_diff(before, content, "as trusted", "as it is now")
    if path.parent.name != "handlers":
        text = ", ".join(content.decode(errors="replace").strip().split("\n"))[:300]
        click.echo(f"  configuration: {text}")
        if project.untrusted_ledger:
            known = wording.quoted(project.untrusted_id)
            click.echo(f"  joins the ledger of project.id {known}: {project.untrusted_ledger}")
        return
    if kinds.is_helper(path.name):
        return
    read = kinds.declares(path.name, content, claude)
    for route in read.routes:
        marks = f" ({route.match})" * bool(route.match) + " strict" * route.strict
        click.echo(f"  answers {route.event}{marks}")
        for text, answer in route.examples.items():
            expected = answer if isinstance(answer, str) and answer else json.dumps(answer) if answer else "nothing"
            click.echo(printable(f"    example: {text} → {expected}"))
    if executables.is_script(content):
        click.echo(f"  {executables.NOT_COVERED}")
    for other in discovery.find(claude, project):
        if other.name == path.stem and other.place != "project":
            guard = other.strict
            click.echo(f"  {'would not replace' if guard else 'replaces'} {other.path}{' (strict)' if guard else ''}")
    for fault in read.faults.values():
        click.echo(f"  at fault: {fault}")


def print_diff(before: bytes, after: bytes, old: str, new: str, *, err: bool = False) -> None:
    """Print what changed between two contents with these names, all of it: you are asked to trust the new one."""
    first, second = (each.decode(errors="backslashreplace") for each in (before, after))
    for line in document.difference(first, second, old, new).removesuffix("\n").split("\n"):
        click.echo(f"  {printable(line)}", err=err)  # click would remove control characters; here you must see them
