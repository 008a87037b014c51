"""Plant a workflow in its format's files: through the command line, or as people write them by hand."""

from __future__ import annotations

import json
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from holdfast import clock, formats, paths
from holdfast.formats import RECORDS
from tools.survival import samples

if TYPE_CHECKING:
    from holdfast.formats.described.description import Description
    from holdfast.process.run_program import CompletedProgram
    from holdfast.testkit.place import Place
    from tools.survival.conversation import Conversation
    from tools.survival.truth import Truth

BY_HAND = tuple(name for name in samples.FORMATS if samples.of(name).state)
"""The formats whose files people write by hand; workflows of the others are made by commands."""
BESIDE = next(name for name in BY_HAND if RECORDS[name].SEVERAL)
"""The format of other workflows in the same project, such as decoys and those of other sessions."""
_COMMAND_LIMIT_CHARS = 60_000  # of one command line; systems accept at least twice that


class Broken(Exception):
    """Something failed that must work before anything can be judged; the message says what."""


def install(place: Place, format_name: str = "") -> None:
    """Install Holdfast as a user does, and describe a format without code there. Raises Broken if that fails."""
    if format_name in formats.DESCRIBED:
        folder = place.home / paths.config_dir().relative_to(Path.home()) / "formats"
        folder.mkdir(parents=True, mode=0o700)
        shutil.copy(cast("Description", formats.DESCRIBED[format_name].rules).source, folder)
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
    words = ["--format", planted.format, "--type", samples.of(planted.format).kind]
    for phase in planted.phases:
        words += ["--phase", f"{phase.title} @{phase.agent}" if phase.agent else phase.title]
    more = [("--read", entry) for entry in planted.reading] + [("--remind", text) for text in planted.reminders]
    more += [("--set", setting(key, value)) for key, value in planted.variables.items()]
    first, rest = _portion(more, _COMMAND_LIMIT_CHARS - sum(map(len, words)))
    output(client.cli("start", planted.title, *words, *first))
    while rest:
        part, rest = _portion(rest, _COMMAND_LIMIT_CHARS)
        output(client.cli("update", planted.title, *part))
    if not samples.of(planted.format).begins:
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
    state = samples.of(planted.format).state
    assert state
    file = place.write(*state(planted, finished))
    moment = ((place.now or clock.now()) - age).timestamp()
    os.utime(file, (moment, moment))
    return file


def write_source(place: Place, planted: Truth) -> Path | None:
    """Write the file that describes a workflow, such as a memory file; None if its format reads no such file."""
    source = samples.of(planted.format).source
    return place.write(*source(planted)) if source else None
