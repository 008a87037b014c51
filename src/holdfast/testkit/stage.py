"""The simulated client for stories: it shows what hooks say and what files hold, and stops at the first failure."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.testkit import place
from holdfast.testkit.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from holdfast.process.run_program import CompletedProgram
    from holdfast.testkit.reply import Heard

COLUMNS = 76  # fits between the borders of a panel in a terminal of 80 columns
_LOG_LINES = 20  # how many of the last lines are shown


class NotShown(Exception):
    """Something the story promised didn't happen; the message says what."""


class Panel(NamedTuple):
    """A text to show, with a title that names its file or its origin."""

    title: str
    text: str


@dataclass(frozen=True)
class Shown:
    """One step of a story.

    Attributes:
        title: what the step shows.
        did: the event that was sent, or the command that was run.
        panels: messages, and the present content of files; a panel without text isn't shown.
        words: an explanation.
    """

    title: str
    did: str
    panels: Sequence[Panel] = ()
    words: str = ""


def promise(holds: bool, words: str) -> None:
    """Raise NotShown if something that a story promises didn't happen.

    Args:
        holds: whether it happened.
        words: what should have happened.
    """
    if not holds:
        raise NotShown(f"not shown: {words}")


@dataclass
class Stage(Client):
    """A session in its own project, for telling a story. Any failure raises NotShown."""

    def install(self) -> str:
        """Install Holdfast as a team does, into the project's settings, start the session, and return what it printed.

        Raises:
            NotShown: it failed, or SessionStart didn't tell the model's Bash tool the command's and project's folders.
        """
        printed = self._printed(self.place.install("--scope", "project"), "holdfast install", 0)
        self.fire("SessionStart-startup")
        variables = self.env_file.read_text("utf-8") if self.env_file.exists() else ""
        promise("HOLDFAST_PROJECT_DIR" in variables, "Claude's Bash tool can call the command line")
        return printed

    def fire(self, name: str, **changes: Any) -> Heard:
        """Send a recorded event as `Client.fire` does; raises NotShown if a hook doesn't end with 0."""
        heard = super().fire(name, **changes)
        for hook in heard.hooks:
            self._printed(hook, name, 0)
        return heard

    def holdfast(self, *arguments: str, code: int = 0) -> str:
        """Run the command line as the model's Bash tool does and return what it printed.

        Args:
            arguments: the arguments of `holdfast`.
            code: the expected exit code.

        Raises:
            NotShown: it ended with another exit code; the message has its stderr.
        """
        return self._printed(self.bash(*arguments), f"holdfast {' '.join(arguments)}", code)

    def write(self, path: str, text: str) -> None:
        """Write a file of the project, as a person does in an editor."""
        self.place.write(path, text, self.root)

    def file(self, path: str | Path, lines: int = 40) -> Panel:
        """Return a panel with the first `lines` of a file of the project.

        Raises:
            NotShown: there is no such file.
        """
        target = self.root / path
        title = target.relative_to(self.root).as_posix()
        promise(target.is_file(), f"{title} is there")
        found = target.read_text("utf-8").rstrip().splitlines()
        more = [f"… {len(found) - lines} more lines"] if len(found) > lines else []
        return Panel(title, "\n".join([*found[:lines], *more]))

    def log(self) -> list[str]:
        """Return the last lines of Holdfast's log in this home."""
        return self.place.log()[-_LOG_LINES:]

    def _printed(self, ended: CompletedProgram, name: str, code: int) -> str:
        if ended.exit_code is None:
            raise NotShown(f"not shown: {name} ends within {self.place.limit_s:g} seconds")
        promise(ended.exit_code == code, f"{name} ends with {code}, not {ended.exit_code}: {ended.stderr.strip()}")
        return ended.stdout if code == 0 else ended.stdout + ended.stderr


@contextmanager
def opened() -> Iterator[Stage]:
    """Yield a stage in a folder that is removed afterwards; nothing outside it is read or written."""
    with place.opened() as made:
        made.variables["COLUMNS"] = str(COLUMNS)
        yield Stage(made, made.root)
