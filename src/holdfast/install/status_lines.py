"""Switch the client's status line on and off: events keep what it shows as long as the folder for that is there."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast import paths
from holdfast.errors import StateError
from holdfast.files import status_file
from holdfast.install import installs, registration

if TYPE_CHECKING:
    from holdfast.clients.claude.scopes import Target
    from holdfast.install.settingstext import SettingsText

_SHARED = (
    f'To show Holdfast\'s line in it, have your script pass on what it reads: printf %s "$input" | '
    f'"{registration.LAUNCHER}" {status_file.ARGUMENT}'
)


def switch_on(text: SettingsText, target: Target) -> list[str]:
    """Have events keep what the line shows; return lines that say whose the settings' status line is.

    Raises StateError if the folder can't be made.
    """
    folder = status_file.folder()
    try:
        paths.ensure_private(folder)
    except OSError as error:
        raise StateError(folder, f"cannot be created: {error.strerror or error}") from error
    if text.status_line == "ours":
        return [f"Status line: Holdfast's, in {target.settings}. It shows a session's workflow from its next event on."]
    return [f"Status line: {target.settings} has one already, which stays.", _SHARED]


def switch_off() -> None:
    """Unless another install asked for the line, remove the files that it shows, so that events write none."""
    if not any(each.status_line for each in installs.load().values()):
        with suppress(OSError):
            shutil.rmtree(status_file.folder())
