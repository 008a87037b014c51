"""The row of a session without a workflow, which gets the trail, made from its own transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.testkit import recorded
from tools.survival import ordinary, repository, score, workflow_files, worklog
from tools.survival.transcript import summary_of
from tools.survival.worklog import Worked

if TYPE_CHECKING:
    from tools.survival.conversation import Conversation
    from tools.survival.ordinary import Ordinary
    from tools.survival.scene import Scene
    from tools.survival.worklog import Entry


class _Live(Worked):
    """The work of a simulated session: the user's prompts go through the hooks, the rest into its transcript."""

    def __init__(self, client: Conversation, branch: str) -> None:
        self.home, self.tasks = str(client.root), str(client.home / "tmp" / "claude" / client.session / "tasks")
        self._client, self._branch, self._shapes = client, branch, recorded.transcript()

    def add(self, entry: Entry) -> None:
        now = clock.stamp(self._client.place.now)
        self._client.transcript.wrote({**entry, "gitBranch": self._branch, "timestamp": now})

    def shape(self, kind: str) -> Entry:
        return worklog.shape(kind, self._shapes)

    def say(self, text: str) -> None:
        self._client.asks(text)


def no_workflow(scene: Scene) -> None:
    """No workflow at all: 29 facts of an ordinary session's own transcript, of which 27 in the text are enough.

    Another session of the same folder does the same work, always as the last of the two to write, and nothing of it
    may be told.
    """
    branch = f"feature/{scene.word('branch')}"
    repository.make(scene.place.root, branch)
    workflow_files.install(scene.place)
    scene.found.heading = score.TRAIL
    client, work, planted = _plant(scene, branch)
    _, others_work, others = _plant(scene, branch)
    scene.found.foreign |= others.words
    for number in range(scene.cycles + 1):
        if 0 < number < scene.cycles:
            client.asks()
            ordinary.go_on(work, planted, number)
        ordinary.go_on(others_work, others, number)
        _compact(scene, client, planted)
    scene.found.same_as_before(client)
    client.asks()


def _plant(scene: Scene, branch: str) -> tuple[Conversation, _Live, Ordinary]:
    """Start a session and let it do its work."""
    client = scene.client()
    client.starts()
    work = _Live(client, branch)
    return client, work, ordinary.plant(work, "TodoWrite", mark=scene.word("canary"), branch=branch)


def _compact(scene: Scene, client: Conversation, planted: Ordinary) -> None:
    """Compact a session and let it answer, without another prompt, which would change the trail."""
    scene.found.quiet(client)
    summary = summary_of(fact.needle for fact in planted.facts[::5])
    client.precompact()
    client.summarised(summary)
    client.restarted()
    client.postcompacted(summary)
    client.writes_down(summary)
    scene.found.judge_trail(client, planted)
