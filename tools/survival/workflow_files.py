"""Plant a workflow in its format's files: through the command line, or as people write them by hand."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import clock, formats
from holdfast.formats import RECORDS
from tools import belongings
from tools.survival import samples
from tools.survival.samples import Described, WritesSource, WritesState

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.process.run_program import CompletedProgram
    from holdfast.testkit.place import Place
    from tools.survival.conversation import Conversation
    from tools.survival.truth import Truth

BY_HAND = tuple(name for name in samples.FORMATS if isinstance(samples.of(name), WritesState))
"""The formats whose files people write by hand; workflows of the others are made by commands."""
BESIDE = next(name for name in BY_HAND if RECORDS[name].SEVERAL)
"""The format of other workflows in the same project, such as decoys and those of other sessions."""
_COMMAND_LIMIT_CHARS = 60_000  # of one command line; systems accept at least twice that


class Broken(Exception):
    """Something failed that must work before anything can be judged; the message says what."""


def install(place: Place, format_name: str = "") -> None:
    """Install Holdfast as a user does, and describe a format without code there. Raises Broken if that fails."""
    if format_name in formats.DESCRIBED and isinstance(known := samples.of(format_name), Described):
        belongings.describe(known.described_in, place.home)
    ended = place.install()
    if ended.exit_code != 0:
        raise Broken(f"holdfast install ended with {ended.exit_code}: {ended.stderr.strip()}")


def output(ended: CompletedProgram) -> str:
    """Return what a command printed. Raises Broken if it failed."""
    if ended.exit_code != 0:
        raise Broken(f"a command ended with {ended.exit_code}: {ended.stderr.strip()[:300]}")
    return ended.stdout


def start(client: Conversation, planted: Truth) -> None:
    """Start a workflow on the command line, as a model does, with files for its required reading.

    Raises:
        Broken: the command failed.
    """
    for entry in planted.reading:
        client.place.write(entry, "What has to be known.\n", client.root)
    words = ["--format", planted.format, "--type", samples.of(planted.format).KIND]
    for phase in planted.phases:
        words += ["--phase", f"{phase.title} @{phase.agent}" if phase.agent else phase.title]
    more = [("--read", entry) for entry in planted.reading] + [("--remind", text) for text in planted.reminders]
    more += [("--set", setting(key, value)) for key, value in planted.variables.items()]
    first, rest = _portion(more, _COMMAND_LIMIT_CHARS - sum(map(len, words)))
    output(client.cli("start", planted.title, *words, *first))
    while rest:
        part, rest = _portion(rest, _COMMAND_LIMIT_CHARS)
        output(client.cli("update", planted.title, *part))
    if not samples.of(planted.format).BEGINS:
        output(client.cli("next", planted.title))


def setting(key: str, value: str | list[str]) -> str:
    """Return a context value as an argument of `--set`: a text unchanged, a list as JSON."""
    return f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _portion(pairs: list[tuple[str, str]], room: int) -> tuple[list[str], list[tuple[str, str]]]:
    taken: list[str] = []
    for number, pair in enumerate(pairs):
        room -= sum(map(len, pair))
        if room < 0 and number:
            return taken, pairs[number:]
        taken += pair
    return taken, []


def write_state(place: Place, planted: Truth, *, finished: bool = False, age: timedelta = timedelta()) -> Path:
    """Write a state file as people do."""
    known = samples.of(planted.format)
    assert isinstance(known, WritesState)
    name, text = known.state(planted, finished=finished)
    file = place.write(name, text)
    moment = ((place.now or clock.now()) - age).timestamp()
    os.utime(file, (moment, moment))
    return file


def write_source(place: Place, planted: Truth) -> Path | None:
    """Write the file that describes a workflow, such as a memory file; None if its format reads no such file."""
    known = samples.of(planted.format)
    return place.write(*known.source(planted)) if isinstance(known, WritesSource) else None
