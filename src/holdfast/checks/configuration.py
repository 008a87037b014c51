"""Check that every line of the user's and the project's holdfast.toml counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import config, paths
from holdfast.checks import folders, notice, ok, problem
from holdfast.files import access, trust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.sessions.workspace import Workspace


def findings(project: Workspace) -> Iterator[Finding]:
    """Read the user's and the project's file like every event does; the project's as if it were trusted."""
    file = paths.project_config(project.root)
    loaded = config.load(project.root, trusted=trust.config_trusted(project.root))
    blocked = [each for each in (paths.user_config(), file) if folders.blocked(each)]
    places = {paths.user_config(): None, file: project.root, paths.managed_config(): None}
    wrong = [
        (each, text) for each, within in places.items() if each not in blocked for text in config.check(each, within)
    ]
    for place, text in wrong:
        yield problem(text, access.remedy(place) or f"correct {place}", path=place)
    if loaded.ignored:
        keys = ", ".join(f'"{key}"' for key in loaded.ignored)
        text = f"{file} isn't trusted in its current content, so it doesn't set {keys}"
        if project.untrusted_ledger:
            text += f", and Holdfast doesn't use the ledger {project.untrusted_ledger}"
        yield notice(text, trust.config_command(project.root))
    if not (wrong or loaded.ignored or blocked):
        present = [str(each) for each in (paths.user_config(), file) if access.is_there(each)]
        yield ok(f"{' and '.join(present)}: every key is valid" if present else "no holdfast.toml, and none is needed")
