"""Rows in which it isn't obvious who owns the workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.survival import repository, workflow_files
from tools.survival.rows import agents

if TYPE_CHECKING:
    from tools.survival.conversation import Conversation
    from tools.survival.scene import Scene
    from tools.survival.truth import Truth


def new_session_id(scene: Scene) -> None:
    """The compaction changes session id and transcript path, beside another live session with a workflow.

    Every second time PreCompact does not fire either; then the new transcript is a copy of the old one. An agent that
    finished before is launched again under the new id.
    """
    client, planted = scene.begin()
    scene.bystander()
    for number in range(scene.cycles + 1):
        if number < scene.cycles:
            scene.advance(client, planted, number, scene.cycles)
        words = scene.word("report")
        # The last guidance but one is compared with the last one, so it names no agent that the last one doesn't.
        done = agents.finished(client, "finder", words) if number < scene.cycles - 1 else None
        scene.found.quiet(client)
        summary = scene.summary(planted)
        if number % 2 == 0:
            client.precompact()
        client.becomes(scene.session(), forked=number % 2 == 1)
        client.summarised(summary)
        client.restarted()
        client.goes_on(summary)
        scene.found.judge(client, planted)
        if done:
            agents.again(scene, client, done, words)
    scene.found.same_as_before(client)


def no_transcript(scene: Scene) -> None:
    """The client gives an empty transcript path."""
    client, planted = scene.begin(keeps_transcript=False)
    scene.cycle(client, planted)


def two_sessions(scene: Scene) -> None:
    """Two live sessions in one folder, each with a workflow, whose compactions interleave."""
    one, first = scene.begin()
    other = scene.client()
    other.starts()
    other.asks("Something else.")
    second = scene.plant(other, format_name=workflow_files.BESIDE)
    _interleaved(scene, (one, first), (other, second))


def two_worktrees(scene: Scene) -> None:
    """Two worktrees of one repository, a live session with a workflow in each."""
    beside = scene.place.top / "worktree"
    repository.make(scene.place.root, "main")
    repository.add_worktree(scene.place.root, beside, "topic")
    one, first = scene.begin()
    other = scene.client(beside)
    other.starts()
    other.asks("The same elsewhere.")
    second = scene.plant(other)
    _interleaved(scene, (one, first), (other, second))


def fork(scene: Scene) -> None:
    """A session is forked: beside the one it comes from it gets nothing; when that one is gone it goes on."""
    client, planted = scene.begin()
    scene.bystander()
    scene.compact(client, planted)
    for number in range(1, scene.cycles):
        scene.advance(client, planted, number, scene.cycles)
        heir = scene.fork(client)
        with scene.found.strange_to(planted):
            heir.precompact()
            heir.restarted()
            heir.goes_on("A fork of something.")
            scene.found.quiet(heir)
        scene.compact(client, planted)
        scene.end_process(client, planted)
        scene.compact(heir, planted, pre=number % 2 == 0)
        client = heir
    scene.repeat(client, planted)


def branch(scene: Scene) -> None:
    """The branch is switched within a session; a new session gets the workflow of the branch it is on."""
    repository.make(scene.place.root, "one")
    client, planted = scene.begin()
    scene.compact(client, planted)
    scene.repeat(client, planted)
    repository.checkout(scene.place.root, "two")
    scene.advance(client, planted, 0, scene.cycles)
    scene.compact(client, planted)
    repository.checkout(scene.place.root, "one")
    scene.compact(client, planted)
    scene.leaves(client, planted)
    repository.checkout(scene.place.root, "two")
    other = scene.client()
    other.starts()
    late = scene.plant(other, format_name=workflow_files.BESIDE)
    scene.leaves(other, late)
    scene.found.named.add(late.title)
    scene.found.resurrected |= late.words() - {late.title, late.phases[late.current - 1].title}
    repository.checkout(scene.place.root, "one")
    for pre in (True, False)[: max(scene.cycles - 1, 1)]:
        heir = scene.client()
        heir.starts()
        heir.asks()
        scene.compact(heir, planted, pre=pre)
        scene.leaves(heir, planted)


def subagent(scene: Scene) -> None:
    """A subagent's own compaction, which old clients do not mark: it gets its own part and nothing of the main one."""
    client, planted = scene.begin()
    process = client.process
    for number in range(scene.cycles):
        scene.advance(client, planted, number, scene.cycles)
        client.process = "" if number % 2 else process
        errand = scene.word("errand")
        agent = client.begins_agent("Explore", f"Look into {errand}, please.")
        client.asides.clear()
        marks = {} if number % 2 else {"agent_id": agent.run, "agent_type": "Explore"}
        name = "auto-in-subagent" if marks else "auto"
        summary = "The subagent looked into it."
        client.fire_aside(f"PreCompact-{name}", **marks)
        client.fire_aside("SubagentStop-compaction", last_assistant_message=summary)
        client.fire_aside(f"SessionStart-compact{'-in-subagent' if marks else ''}", **marks)
        client.fire_aside(f"PostCompact-{name}", compact_summary=summary, **marks)
        scene.found.asides(client, planted, errand if marks else "")  # unmarked events name no agent
        client.ends_agent(agent, "Nothing to be seen.")
        scene.found.quiet(client)
        scene.compact(client, planted)
    scene.repeat(client, planted)


def _interleaved(scene: Scene, *pairs: tuple[Conversation, Truth]) -> None:
    (one, first), (other, second) = pairs
    for number in range(scene.cycles):
        for client, planted in pairs:
            scene.advance(client, planted, number, scene.cycles)
            scene.found.quiet(client)
        one.precompact()
        other.precompact()
        for client, planted in ((other, second), (one, first)):
            client.summarised(scene.summary(planted))
            client.restarted()
        for client, planted in pairs:
            client.goes_on(scene.summary(planted))
        for client, planted, stranger in ((one, first, second), (other, second, first)):
            scene.found.foreign = set(stranger.words())
            scene.found.judge(client, planted)
        scene.found.foreign = set()
    for client, planted, stranger in ((one, first, second), (other, second, first)):
        scene.found.foreign = set(stranger.words())
        scene.repeat(client, planted)
        scene.found.foreign = set()
