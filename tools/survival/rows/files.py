"""Rows in which files can't be read or written."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.formats import RECORDS
from tests.torture.scratch import NO_ROOT
from tools.survival import workflow_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tools.survival.scene import Scene
    from tools.survival.truth import Truth

DAMAGES: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: data[: len(data) // 2],
    lambda data: b"\x00" * len(data),
    lambda data: b"",
)


def broken_files(scene: Scene) -> None:
    """Truncated, corrupt and empty state files, and a foreign one where the other format keeps its own."""
    client, planted = scene.begin()
    foreign, held = _foreign(scene)
    scene.compact(client, planted)
    for number in range(scene.cycles):
        file = state_file(scene, planted)
        file.write_bytes(DAMAGES[number % len(DAMAGES)](file.read_bytes()))
        scene.compact(client, planted)
        if number + 1 == scene.cycles:
            scene.repeat(client, planted)
        value = scene.word("value")
        workflow_files.output(client.cli("update", planted.title, "--set", f"turn={value}"))
        planted.set("turn", value)
    scene.compact(client, planted)
    scene.found.note(foreign.read_bytes() != held, f"{foreign} was changed")


def read_only(scene: Scene) -> None:
    """The project's folder cannot be written, then the state folder neither, then both can be again."""
    client, planted = scene.begin()
    scene.found.fallback = scene.place.root
    if os.geteuid() == 0:  # root ignores permissions
        if not shutil.which("setpriv"):
            scene.skipped = "root obeys no permissions here"
            return
        launcher = scene.place.launcher
        real = launcher.rename(launcher.with_name("real"))
        scene.place.write(launcher, f'#!/bin/sh\nexec {shlex.join([*NO_ROOT, str(real)])} "$@"\n').chmod(0o755)
    folders = (scene.place.root, scene.place.home / ".local" / "state")
    locked: list[Path] = []
    try:
        for number in range(scene.cycles):
            if not locked:
                scene.advance(client, planted, number, scene.cycles)
            if number < len(folders):
                locked += _lock(folders[number])
            else:
                _unlock(locked)
            with _untouched(scene, *(folders[: number + 1] if locked else ())):
                scene.compact(client, planted)
        scene.repeat(client, planted)
    finally:
        _unlock(locked)


def full_disk(scene: Scene) -> None:
    """No file can grow: every write fails, over a state that was restored before and over one that was not."""
    client, planted = scene.begin()
    scene.found.fallback = scene.place.root
    for number in range(scene.cycles):
        scene.place.shell_prefix = ""
        scene.advance(client, planted, number, scene.cycles)
        if number % 2 == 0:
            scene.compact(client, planted)
        scene.found.quiet(client)
        scene.place.shell_prefix = "ulimit -f 0; "
        with _untouched(scene, scene.place.root, scene.place.home / ".local" / "state"):
            scene.compact(client, planted)
    scene.place.shell_prefix = ""
    scene.compact(client, planted)
    scene.repeat(client, planted)


def concurrent(scene: Scene) -> None:
    """Handlers and commands at the same moment, in two sessions."""
    client, planted = scene.begin()
    other = scene.bystander()
    for _ in range(scene.cycles):
        scene.found.quiet(client)
        values = {f"side{place}": scene.word("value") for place in range(4)}
        words = [("update", planted.title, "--set", f"{key}={value}") for key, value in values.items()]
        with ThreadPoolExecutor(8) as pool:
            done = [pool.submit(client.cli, *each) for each in words]
            busy = [pool.submit(client.rests), pool.submit(other.rests), pool.submit(other.asks)]
            busy += [pool.submit(client.precompact), pool.submit(other.precompact)]
            for each in done:
                workflow_files.output(each.result())
            for event in busy:
                event.result()
        for key, value in values.items():
            planted.set(key, value)
        scene.compact(client, planted)
    scene.repeat(client, planted)


def state_file(scene: Scene, planted: Truth) -> Path:
    """Return the state file of a workflow."""
    files = scene.place.root.glob(RECORDS[planted.format].STATES[0])
    return next(file for file in files if planted.title in file.read_text("utf-8", "replace"))


def _foreign(scene: Scene) -> tuple[Path, bytes]:
    """Write another tool's file in the place of the other format's state file. Return its path and content."""
    tokens = scene.tokens()
    words = [tokens("alien") for _ in range(3)]
    held = {"name": words[0], "workflow": {"phase": words[1]}, "steps": words[2:]}
    scene.found.foreign |= set(words)
    other = next(name for name in reversed(workflow_files.BY_HAND) if name != scene.format)
    file = scene.place.write(RECORDS[other].STATES[0].replace("*", "alien"), json.dumps(held))
    return file, file.read_bytes()


@contextmanager
def _untouched(scene: Scene, *folders: Path) -> Iterator[None]:
    """Record a fault if a file changes within the block: then it was writable after all."""
    before = _contents(folders)
    yield
    after = _contents(folders)
    changed = [str(path) for path, data in before.items() if after.get(path) != data]
    scene.found.note(bool(changed), f"could be written after all: {', '.join(changed[:3])}")


def _contents(folders: Iterable[Path]) -> dict[Path, bytes]:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if not path.name.endswith("-shm")}  # shared memory, not content


def _lock(folder: Path) -> list[Path]:
    found = [path for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    for path in found:
        path.chmod(path.stat().st_mode & ~0o222)
    return found


def _unlock(found: list[Path]) -> None:
    for path in found:
        if path.exists():
            path.chmod(path.stat().st_mode | 0o200)
    found.clear()
