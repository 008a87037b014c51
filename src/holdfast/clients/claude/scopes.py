"""Where Claude Code keeps the settings of each scope, with what belongs beside them."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project", "local"]


@dataclass(frozen=True, slots=True)
class Target:
    """One settings.json to work on: `settings` as it was named, `root` the project's folder."""

    scope: Scope
    settings: Path
    root: Path

    @property
    def real(self) -> Path:
        """The file itself, behind any symbolic links; it need not exist."""
        return Path(os.path.realpath(self.settings))

    @property
    def skill(self) -> Path:
        """Where this scope's copy of our skill lies."""
        folder = claude_dir() if self.scope == "user" else self.root / ".claude"
        return folder / "skills" / "holdfast" / "SKILL.md"

    @property
    def undo(self) -> str:
        """The command that takes back what an install of this target did."""
        return self._command("uninstall")

    @property
    def redo(self) -> str:
        """The command that installs into this target, or brings what is installed up to date."""
        return self._command("install")

    def _command(self, verb: str) -> str:
        usual = target(self.scope, self.root).settings
        named = "" if self.settings == usual else f" --settings {shlex.quote(str(self.settings))}"
        project = "" if self.scope == "user" else f" --project {shlex.quote(str(self.root))}"
        return f"holdfast {verb} --scope {self.scope}{named}{project}"


def claude_dir() -> Path:
    """Return the client's folder for the user: CLAUDE_CONFIG_DIR if set, else `~/.claude`."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named).absolute() if named else Path.home() / ".claude"


def target(scope: Scope, root: Path, settings: Path | None = None) -> Target:
    """Return the target of a scope; `settings` names another file than the scope's own (client fact §4.3)."""
    if settings is None:
        name = "settings.local.json" if scope == "local" else "settings.json"
        settings = (claude_dir() if scope == "user" else root / ".claude") / name
    return Target(scope, settings.absolute(), root)


def target_of(settings: Path, root: Path) -> Target:
    """Return the target of a settings file whose scope is not known: its place says which it is."""
    scopes: tuple[Scope, ...] = ("user", "local", "project")
    for scope in scopes:
        if target(scope, root).real == Path(os.path.realpath(settings)):
            return target(scope, root, settings)
    return target("local" if settings.name == "settings.local.json" else "project", root, settings)
