"""`holdfast install`: register Holdfast in a settings.json."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from holdfast import paths
from holdfast.commands.targets import named, target_options
from holdfast.errors import HoldfastError
from holdfast.files import document
from holdfast.install import format_index, installer, wanted_events
from holdfast.profile import startup

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Scope

_NEXT = (
    "next: start a session of Claude Code; what you write down with "
    'holdfast start "What you work on" --phase "First step" survives its compactions'
)


@click.command("install")
@target_options
@click.option("--print", "printing", is_flag=True, help="Print the settings a team would get, and do nothing else.")
@click.option("--dry-run", is_flag=True, help="Print what would change in the settings file, and do nothing else.")
@click.option("--allow-cli", is_flag=True, help="Also let the model call this command unasked, and give it the skill.")
def command(
    scope: Scope, settings: Path | None, project_dir: str | None, printing: bool, dry_run: bool, allow_cli: bool
) -> None:
    """Register Holdfast's handlers in Claude Code's settings.json.

    Only entries of Holdfast's own are added, brought up to date or removed; every other character of the file stays.
    The file as it was is backed up first, and `holdfast uninstall` puts it back.
    """
    target = named(scope, settings, project_dir)
    if scope != "user" and settings is None and document.leads_out(target.settings, target.root):
        raise HoldfastError(
            f"{target.settings} leads out of the project through a symbolic link, which a repository can contain; "
            f"if you mean that file, name it: --settings {shlex.quote(str(target.real))}"
        )
    if printing:
        click.echo(wanted_events.printed(target.root), nl=False)
    elif dry_run:
        click.echo(installer.preview(target, allow_cli=allow_cli), nl=False)
    else:
        click.echo("\n".join(installer.install(target, allow_cli=allow_cli)))
        for line in format_index.refresh():  # last, because it can fail: what was registered is printed by now
            click.echo(line)
        compile_package()
        click.echo(startup.line())
        click.echo(_NEXT)


def compile_package() -> None:
    """Write the package's missing bytecode, because not every installer does and each cold event would compile it.

    What cannot be written is skipped; Python then compiles it in memory.
    """
    import compileall

    compileall.compile_dir(paths.package_root() / "holdfast", quiet=2)
