"""The row in which the entrypoint is killed at every boundary of a write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools.survival import faulty, workflow_files
from tools.survival.faulty import NEVER, Strokes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.survival.conversation import Conversation
    from tools.survival.scene import Scene
    from tools.survival.truth import Truth

STEPS = ("update", "PreCompact", "SubagentStop", "SessionStart", "Stop", "UserPromptSubmit")


def killed(scene: Scene) -> None:
    """Kill -9 at every boundary of a write of a command and of each event around a compaction, one after another."""
    client, planted = scene.begin()
    strokes = Strokes(scene.place.home / "strokes")
    for program, flags in ((scene.place.launcher, "-IS"), (scene.place.command, "-I")):
        call = f"strike({str(strokes.file)!r})"
        faulty.arm(program, call, interpreter=sys.executable, flags=flags)
    counts = dict.fromkeys(STEPS, 0)
    _cycle(scene, client, planted, strokes, "", NEVER, counts)
    for step in STEPS:
        for stop in _spread(counts[step], scene.instants):
            scene.found.where = f"{step} killed at {stop} of {counts[step]}"
            _cycle(scene, client, planted, strokes, step, stop, {})
    scene.found.where = ""
    scene.repeat(client, planted)


def _cycle(
    scene: Scene, client: Conversation, planted: Truth, strokes: Strokes, victim: str, stop: int, counts: dict[str, int]
) -> None:
    """Play a compaction in which one step is killed; without a victim, count the boundaries of each step."""
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
    """Yield every boundary from 1 to `count`, or `most` of them, evenly spread."""
    if most is None or most >= count:
        yield from range(1, count + 1)
    else:
        yield from dict.fromkeys(1 + place * (count - 1) // max(most - 1, 1) for place in range(most))
