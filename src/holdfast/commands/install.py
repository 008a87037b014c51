"""`holdfast install`: register Holdfast in Claude Code's settings."""

from __future__ import annotations

import compileall
from typing import TYPE_CHECKING, Annotated

import click

from holdfast import checks, paths
from holdfast.checks import fire
from holdfast.clients.claude import scopes, settings_schema
from holdfast.commands import options
from holdfast.commands.verb import DryRun, ProjectDir, Scope, SettingsFile, verb
from holdfast.errors import HoldfastError, StateError, command_line
from holdfast.files import document
from holdfast.install import format_index, handler_packages, install, register, registrations
from holdfast.install import settings as settings_file
from holdfast.project import Project

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target

_NEXT = (
    'Next, in a project of yours: holdfast start "What you work on" --phase "First step"\n'
    "Then start claude there. Its model is told of the workflow, which survives its compactions."
)


@verb("install")
def command(
    *,
    scope: Scope = "user",
    settings: SettingsFile = None,
    printing: Annotated[bool, "--print", "Print the settings that a team would get, and change nothing."] = False,
    dry_run: DryRun = False,
    allow_cli: Annotated[bool, "Let the model run holdfast commands unasked, and give it the skill."] = False,
    status_line: Annotated[bool, "--statusline", "Show workflow and phase in the client's status line."] = False,
    all_events: Annotated[bool, "Register events that older clients don't know, too."] = False,
    project_dir: ProjectDir = None,
) -> None:
    """Register Holdfast's handlers in Claude Code's settings.json.

    Only Holdfast's own entries change. Every other character of the file stays.
    `holdfast uninstall` undoes all of it. A status line of your own is never replaced.

    A client shows a dialog at its start if settings name an event that it doesn't know. So your own settings get the
    events that the installed client knows, and a project's settings those of the oldest supported client. With
    --all-events both get all events.

    \b
    Examples:
      holdfast install
      holdfast install --scope project --dry-run
    """
    target = options.target(scope, settings, project_dir)
    _check_place(target)
    asked = install.Options(allow_cli=allow_cli, status_line=status_line, all_events=all_events)
    if printing:
        click.echo(register.printed(target.root), nl=False)
    elif dry_run:
        click.echo(install.preview(target, asked), nl=False)
    else:
        brought = handler_packages.refresh()
        click.echo(paths.shown("\n".join([*brought, *install.install(target, asked)])))
        _warn_of_faults(target)
        for line in format_index.refresh():  # last, because it can fail: what was registered is printed by now
            click.echo(line)
        compile_package()
        click.echo(paths.shown(_test(target)))
        click.echo(_NEXT)


def _check_place(target: Target) -> None:
    """Raise HoldfastError if a project's usual settings file lies elsewhere, which only its owner may ask for."""
    usual = target.settings == scopes.target(target.scope, target.root).settings
    if target.scope != "user" and usual and document.leads_out(target.settings, target.root):
        named = command_line("install", "--scope", target.scope, "--settings", str(target.real))
        raise HoldfastError(
            f"{target.settings} leads out of the project through a symbolic link, which a repository can contain; to "
            f"change that file: {named}"
        )


def _warn_of_faults(target: Target) -> None:
    """Name on stderr what the client ignores in the files that a session reads, `target` among them."""
    for each in registrations.targets(Project.open(target.root)):
        try:
            faults = settings_schema.faults(settings_file.read(each.real).text or "")
        except StateError:
            continue  # `holdfast doctor` reports that
        for fault in faults:
            click.echo(paths.shown(f"Warning: {each.settings}: {fault}"), err=True)


def _test(target: Target) -> str:
    """Send a test event to a command that `target` registers, and return a line about the answer.

    Raises HoldfastError if there is none, with the reason and the way to repair it.
    """
    found = fire.canary(entry for entry in registrations.entries(target) if entry.ours)
    if found is not None and found.level == "ok":
        return f"Tested: {found.text}. A server makes later events faster."
    if found is None or not any(entry.ours for entry in registrations.entries(target)):  # or uninstalled meanwhile
        return f"Not tested: {target.settings} registers no event."
    project = options.open_project(str(target.root), tell=False)
    try:
        causes = [each for each in checks.run(project, ("programs",)) if each.level == "problem"]
    finally:
        project.close()
    cause = next(iter(causes), found)
    raise HoldfastError(f"a test event wasn't answered: {cause.text}. To repair it: {cause.remedy}")


def compile_package() -> None:
    """Write the package's missing bytecode, because not every installer does and each cold event would compile it.

    What cannot be written is skipped; Python then compiles it in memory.
    """
    compileall.compile_dir(paths.package_root() / "holdfast", quiet=2)
