"""Rows in which the client's hooks don't fire, or fire at the wrong time."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.scene import Scene

HOURS = timedelta(hours=5)
DAYS = timedelta(days=2)


def no_precompact(scene: Scene) -> None:
    """PreCompact never fires."""
    client, planted = scene.begin()
    scene.cycle(client, planted, pre=False)


def no_postcompact(scene: Scene) -> None:
    """PostCompact never fires."""
    client, planted = scene.begin()
    scene.cycle(client, planted, post=False)


def precompact_alone(scene: Scene) -> None:
    """PreCompact fires and no compaction comes; one that does comes later."""
    client, planted = scene.begin()
    for number in range(scene.cycles):
        client.precompact()
        client.rests()
        client.asks()
        scene.advance(client, planted, number, scene.cycles)
        client.rests()
        client.asks()
        scene.found.quiet(client)
        scene.compact(client, planted)
    scene.repeat(client, planted)


def precompact_early(scene: Scene) -> None:
    """PreCompact fires hours before the summary is swapped in, and the work goes on in between."""
    client, planted = scene.begin()
    for number in range(scene.cycles):
        summary = scene.summary(planted)
        client.precompact()
        client.summarised(summary)
        scene.advance(client, planted, number, scene.cycles)
        client.rests()
        scene.place.tick(HOURS)
        client.asks()
        scene.found.quiet(client)
        client.before_compaction = client.transcript.last
        client.restarted()
        client.postcompacted(summary)
        client.goes_on(summary)
        scene.found.judge(client, planted)
    scene.repeat(client, planted)


def reply_lost(scene: Scene) -> None:
    """SessionStart answers and the answer never arrives, or it does not fire at all; the next prompt is the chance."""
    client, planted = scene.begin()
    for number in range(scene.cycles):
        scene.advance(client, planted, number, scene.cycles)
        scene.found.quiet(client)
        summary = scene.summary(planted)
        client.precompact()
        client.summarised(summary)
        if number % 2 == 0:
            client.arrives = False
            client.restarted()
            client.arrives = True
        client.goes_on(summary)
        scene.found.judge(client, planted)
        client.rests()
        client.asks()
        scene.found.quiet(client)
    scene.repeat(client, planted)


def clock_back(scene: Scene) -> None:
    """The clock jumps back by days: within a compaction, before one, after one."""
    client, planted = scene.begin()
    for number in range(scene.cycles):
        scene.advance(client, planted, number, scene.cycles)
        scene.found.quiet(client)
        summary = scene.summary(planted)
        steps: tuple[Callable[[], object], ...] = (
            client.precompact,
            partial(client.summarised, summary),
            client.restarted,
        )
        for place, step in enumerate(steps):
            if place == number % 3:
                scene.place.tick(-DAYS)
            step()
        client.goes_on(summary)
        scene.found.judge(client, planted)
    scene.repeat(client, planted)
