"""One program that a shell command runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from re import fullmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Command:
    """A program that a shell command runs, as far as the command's text tells.

    Attributes:
        text: the part of the text that it was read from.
        argv: the program and its arguments, without quotes and escapes. An expansion, such as `$HOME` or `*.py`, stays
            as it is written. Empty if there are only redirections or assignments, or if nothing could be read: then
            any program may run.
        sure: whether exactly this runs. False if a word has an expansion, if more words follow that the text doesn't
            have (`xargs`), or if a shell runs what the text doesn't have (`curl … | sh`).
        inside: what runs it, outermost first: names of programs (`sudo`, `xargs`), and `sh -c` (any shell), `eval`,
            `find -exec`, `$( )`, `<( )`, `<<` (a shell's here-document or here-string), `|` (text that is piped to a
            shell), `<` (a substitution that a shell reads), `function`.
        unknown: the positions in `argv` of the words with an expansion.
        environment: the variables that are set for it.
        reads: the files that its input is redirected from.
        writes: the files that its output is redirected to.
        stdin: the command whose output is piped to it.
        folder: where it runs, relative to the event's `cwd`; None if a `cd` before it can't be read.
    """

    text: str
    argv: tuple[str, ...] = ()
    sure: bool = False
    inside: tuple[str, ...] = ()
    unknown: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    stdin: Command | None = None
    folder: str | None = ""

    @property
    def program(self) -> str:
        """The program's name without its folder; empty if there is none."""
        return self.argv[0].rpartition("/")[2] if self.argv else ""

    @property
    def sources(self) -> tuple[Command, ...]:
        """The commands of the pipe before it, the nearest first."""
        return (self.stdin, *self.stdin.sources) if self.stdin else ()

    def runs(self, program: str, *arguments: str) -> bool | None:
        """Return whether it runs a program with all of some arguments, in any order; None if it may.

        Args:
            program: the name without folder; a glob, such as `mkfs*`.
            arguments: globs. A one-letter option is also found in a group: `-f` in `-rf`. Of programs such as git, the
                first one that is no option is the subcommand.
        """
        if not self.argv:
            return None if not (self.sure or self.reads or self.writes) else False
        if 0 in self.unknown:
            return None
        if not fnmatchcase(self.program, program):
            return False
        known = [word for position, word in enumerate(self.argv) if position not in self.unknown][1:]
        found = all(any(_fits(word, wanted) for word in known) for wanted in arguments)
        subcommand = next((each for each in arguments if not each.startswith("-")), "*")
        if program in _WITH_SUBCOMMANDS and not self._may_be(subcommand):
            return False
        return True if found else False if self.sure else None

    def _may_be(self, subcommand: str) -> bool:
        """Return whether the first operand may be a subcommand; what follows an option may be its value."""
        after_option = False
        for position, word in enumerate(self.argv[1:], 1):
            if position in self.unknown or (not word.startswith("-") and fnmatchcase(word, subcommand)):
                return True
            if not word.startswith("-") and not after_option:
                return False
            after_option = word.startswith("-")
        return not self.sure


_WITH_SUBCOMMANDS = frozenset(
    ("git", "gh", "docker", "podman", "kubectl", "helm", "npm", "npx", "pnpm", "yarn", "cargo", "pip", "aws", "gcloud")
) | {"terraform", "vault", "restic"}


def _fits(word: str, wanted: str) -> bool:
    grouped = fullmatch(r"-\w", wanted) and fullmatch(r"-\w+", word)
    return fnmatchcase(word, wanted) or (bool(grouped) and wanted[1] in word)
