"""Rows in which nothing goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.survival import truth, workflow_files

if TYPE_CHECKING:
    from tools.survival.scene import Scene


def warm(scene: Scene) -> None:
    """Compactions one after another, with work between them, beside a workflow that was completed before."""
    workflow_files.install(scene.place, scene.format)
    scene.decoys()
    client = scene.client()
    client.starts()
    client.asks("Let us begin.")
    scene.complete_another(client)
    planted = scene.plant(client)
    scene.cycle(client, planted)
    client.ends()


def by_hand(scene: Scene) -> None:
    """The state as people keep it: a hybrid file written by hand, or a CLAUDE.local.md the state file comes from."""
    workflow_files.install(scene.place, scene.format)
    scene.decoys()
    client = scene.client()
    client.starts()
    tokens = scene.tokens()
    planted = truth.make(scene.format, tokens, scene.facts, finished=0)
    for number in range(scene.cycles):
        planted.listed = not workflow_files.write_source(scene.place, planted)
        if planted.listed:
            workflow_files.write_state(scene.place, planted)
        client.asks("I wrote down where we are.")
        scene.compact(client, planted)
        if number + 1 < scene.cycles:
            if planted.left:
                planted.complete_phase(tokens("note") if planted.listed else "")
            planted.set("turn", tokens("value"))
            planted.ask(tokens("asked"))
            planted.decide(tokens("decided"))
    scene.repeat(client, planted)


def uninvited(scene: Scene) -> None:
    """No compaction: start-up, prompts, tools, a resume, /clear; and guidance on the resume of what crashed."""
    client, planted = scene.begin()
    client.rests()
    client.asks()
    scene.found.quiet(client)
    for _ in range(scene.cycles):
        scene.crash(client, planted)
        client.starts("resume")
        scene.found.judge(client, planted)
        client.asks()
        client.rests()
        scene.leaves(client, planted)
        client.process = scene.process()
        client.starts("resume")
        client.asks()
        scene.found.quiet(client)
    client.ends("clear")
    scene.gone_agents(planted)
    other = scene.client(process=client.process)
    other.starts("clear")
    other.asks()
    scene.found.quiet(other)


def twice_registered(scene: Scene) -> None:
    """The plugin and the settings both register Holdfast."""
    client, planted = scene.begin()
    scene.place.install_plugin()
    scene.cycle(client, planted)
