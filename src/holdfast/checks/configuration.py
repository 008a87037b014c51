"""Whether every line of the two holdfast.toml counts."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from holdfast import config, paths, trust
from holdfast.checks import folders, notice, ok, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checks import Finding
    from holdfast.project import Project


def look(project: Project) -> Iterator[Finding]:
    """Read the user's and the project's file as every event does."""
    file = paths.project_config(project.root)
    loaded = config.load(project.root, trusted=trust.config_trusted(project.root))
    problems = [each for each in loaded.problems if not (each.startswith(str(file)) and folders.blocked(file))]
    for said in problems:
        mine = said.startswith(str(paths.user_config()))
        yield problem(said, f"correct {paths.user_config() if mine else file}")
    if loaded.ignored:
        keys = ", ".join(f'"{key}"' for key in loaded.ignored)
        text = f"{file} is not trusted with the content it has, so {keys} in it does not count"
        yield notice(text, shlex.join(["holdfast", "handlers", "trust", "--project", str(project.root), str(file)]))
    if not (problems or loaded.ignored):
        present = [str(each) for each in (paths.user_config(), file) if each.exists()]
        yield ok(f"{' and '.join(present)}: every key counts" if present else "there is none, and none is needed")
