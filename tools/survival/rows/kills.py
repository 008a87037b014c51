"""The row in which the entrypoint is killed while it writes."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.torture import scratch
from tools.survival import workflow_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tools.survival.conversation import Conversation
    from tools.survival.scene import Scene
    from tools.survival.truth import Truth

NEVER = 0
STEPS = ("update", "PreCompact", "SubagentStop", "SessionStart", "Stop", "UserPromptSubmit")


class _Strokes:
    """The counter of writes that a row shares with its processes through a file (`tests/torture/trouble.c`)."""

    def __init__(self, scene: Scene) -> None:
        self._file: Path = scene.place.top / "strokes"
        self.expect(NEVER)
        scene.place.variables |= {
            "LD_PRELOAD": str(scratch.preload()),
            "TROUBLE_COUNT": str(self._file),
            "TROUBLE_BELOW": f"{scene.place.home}/",
        }

    def expect(self, stop: int) -> None:
        """Count from 0; at write number `stop`, from 1, the process is killed, after half of it."""
        self._file.write_bytes((0).to_bytes(8, "little") + stop.to_bytes(8, "little"))

    @property
    def count(self) -> int:
        """The number of writes since."""
        return int.from_bytes(self._file.read_bytes()[:8], "little")


def killed(scene: Scene) -> None:
    """Kill -9 at writes of a command and of each event around a compaction, one after another."""
    client, planted = scene.begin()
    if not shutil.which("cc"):
        scene.skipped = "there is no C compiler here"
        return
    strokes = _Strokes(scene)
    counts = dict.fromkeys(STEPS, 0)
    _cycle(scene, client, planted, strokes, "", NEVER, counts)
    for step in STEPS:
        for stop in _spread(counts[step], scene.instants):
            scene.found.where = f"{step} killed at {stop} of {counts[step]}"
            _cycle(scene, client, planted, strokes, step, stop, {})
    scene.found.where = ""
    scene.repeat(client, planted)


def _cycle(
    scene: Scene,
    client: Conversation,
    planted: Truth,
    strokes: _Strokes,
    victim: str,
    stop: int,
    counts: dict[str, int],
) -> None:
    """Play a compaction in which one step is killed; without a victim, count the writes of each step."""
    scene.found.quiet(client)
    value = scene.word("value")
    summary = scene.summary(planted)

    def update() -> None:
        """Change a value; if the command is killed, run it again, as the person who typed it would."""
        ended = client.cli("update", planted.title, "--set", f"turn={value}")
        if victim == "update":
            strokes.expect(NEVER)
            ended = client.cli("update", planted.title, "--set", f"turn={value}")
        workflow_files.output(ended)
        planted.set("turn", value)

    steps: dict[str, Callable[[], object]] = {
        "update": update,
        "PreCompact": client.precompact,
        "SubagentStop": lambda: client.summarised(summary),
        "SessionStart": client.restarted,
        "Stop": lambda: client.writes_down(summary),
        "UserPromptSubmit": client.asks,
    }
    for name, step in steps.items():
        strokes.expect(stop if name == victim else NEVER)
        step()
        if name in counts:
            counts[name] = strokes.count
    strokes.expect(NEVER)
    client.rests()
    client.asks()
    scene.found.judge(client, planted)


def _spread(count: int, most: int | None) -> Iterator[int]:
    """Yield every number from 1 to `count`, or `most` of them, evenly spread."""
    if most is None or most >= count:
        yield from range(1, count + 1)
    else:
        yield from dict.fromkeys(1 + place * (count - 1) // max(most - 1, 1) for place in range(most))
