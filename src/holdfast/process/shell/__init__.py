"""Which programs a shell command runs, with their words, as far as its text tells."""

from __future__ import annotations

from functools import lru_cache

from holdfast.process.shell.command import Command as Command
from holdfast.process.shell.reading import Reading


@lru_cache(maxsize=32)  # several handlers ask about one event
def read(text: str) -> tuple[Command, ...]:
    """Return the commands of a text for bash, in the order of the text; what runs another command is before it.

    What can't be read is a command that isn't `sure`. With the extra `holdfast[shell]`, bash's grammar is understood.
    Without it that is only a command of plain or quoted words, and everything else is one that can't be read.
    """
    reading = Reading(_parse)
    reading.read(text)
    return tuple(reading.found) or ((Command(text),) if text.strip() else ())


def _parse(reading: Reading, text: str, inside: tuple[str, ...], sure: bool) -> bool:
    """Add the commands of a script that needs a parser. Return False without one, or if it is nested too deeply."""
    try:
        from holdfast.process.shell import bash
    except ImportError:  # the extra isn't installed
        return False
    try:
        bash.Walk(reading, text, inside, sure).all()
    except RecursionError:
        return False
    return True
