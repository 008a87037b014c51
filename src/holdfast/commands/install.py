"""`holdfast install`: register Holdfast in Claude Code's settings."""

from __future__ import annotations

import compileall
import sys
from typing import TYPE_CHECKING, Annotated

import click

from holdfast import checks, paths
from holdfast.checks import fire
from holdfast.clients.claude import scopes, settings_schema
from holdfast.commands import options
from holdfast.commands.verb import DryRun, ProjectDir, Scope, SettingsFile, verb
from holdfast.errors import HoldfastError, StateError, command_line
from holdfast.files import document
from holdfast.install import format_index, handler_packages, install, installs, register, registrations
from holdfast.install import settings as settings_file
from holdfast.project import Project

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target

_QUESTION = f"""Claude keeps your workflow with these commands: holdfast {", ".join(install.MODEL_COMMANDS)}.
May it run them without asking you? They change nothing but workflows."""
_NEXT = """Next: start claude in a project of yours, and type
  /holdfast start a workflow for login"""


@verb("install")
def command(
    *,
    scope: Scope = "user",
    settings: SettingsFile = None,
    printing: Annotated[bool, "--print", "Print the settings that a team would get, and change nothing."] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, "Let Claude run the commands that keep a workflow without asking you."] = False,
    no_allow: Annotated[bool, "Don't, and take it back if an earlier install allowed it."] = False,
    status_line: Annotated[bool, "--statusline", "Show workflow and phase in the client's status line."] = False,
    all_events: Annotated[bool, "Register events that older clients don't know, too."] = False,
    project_dir: ProjectDir = None,
) -> None:
    """Register Holdfast's handlers in Claude Code's settings.json.

    Only Holdfast's own entries change. Every other character of the file stays.
    `holdfast uninstall` undoes all of it. A status line of your own is never replaced.

    Claude gets the skill /holdfast. On a terminal, the first install asks whether Claude may run the commands that keep
    a workflow without asking you; --yes and --no-allow answer that. A project's settings get the skill only with --yes.

    A client shows a dialog at its start if settings name an event that it doesn't know. So your own settings get the
    events that the installed client knows, and a project's settings those of the oldest supported client. With
    --all-events both get all events.

    \b
    Examples:
      holdfast install
      holdfast install --scope project --dry-run
    """
    options.at_most_one({"--yes": yes, "--no-allow": no_allow})
    target = options.target(scope, settings, project_dir)
    _check_place(target)
    allow_cli = yes if yes or no_allow or printing or dry_run else _asked(target)
    chosen = install.Options(allow_cli=allow_cli, status_line=status_line, all_events=all_events)
    if printing:
        click.echo(register.printed(target.root), nl=False)
    elif dry_run:
        click.echo(install.preview(target, chosen), nl=False)
    else:
        brought = handler_packages.refresh()
        options.say_short("\n".join([*brought, *install.install(target, chosen), _permissions(target)]))
        _warn_of_faults(target)
        for line in format_index.refresh():  # last, because it can fail: what was registered is printed by now
            click.echo(line)
        compile_package()
        options.say_short(_test(target))
        if target.skill.exists():
            click.echo(_NEXT)


def may_ask() -> bool:
    """Return whether somebody sits at a terminal."""
    return sys.stdin.isatty()


def _asked(target: Target) -> bool | None:
    """Ask whether Claude may run the commands; None if nobody can be asked, or an earlier install asked."""
    if not may_ask() or installs.get(target.real) is not None:
        return None
    return click.confirm(_QUESTION, default=True)


def _permissions(target: Target) -> str:
    """Return a line on whether Claude may run the commands without asking."""
    settings = settings_file.Settings(settings_file.read(target.real).text)
    names = ", ".join(install.MODEL_COMMANDS)
    if all(map(settings.allows, install.ALLOW_RULES)):
        return f"Permissions: Claude may run holdfast {names} without asking. To change that: {target.redo} --no-allow"
    return f"Permissions: Claude asks you first. To let it run holdfast {names} without asking: {target.redo} --yes"


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
            options.say_short(f"Warning: {each.settings}: {fault}", err=True)


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
    causes = [each for each in checks.run(project, ("programs",)) if each.level == "problem"]
    cause = next(iter(causes), found)
    raise HoldfastError(f"a test event wasn't answered: {cause.text}. To repair it: {cause.remedy}")


def compile_package() -> None:
    """Write the package's missing bytecode, because not every installer does and each cold event would compile it.

    What cannot be written is skipped; Python then compiles it in memory.
    """
    compileall.compile_dir(paths.package_root() / "holdfast", quiet=2)
