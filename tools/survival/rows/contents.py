"""Rows with more, longer or stranger texts than usual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.survival import truth, workflow_files
from tools.survival.truth import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.survival.conversation import Conversation
    from tools.survival.scene import Scene
    from tools.survival.truth import Truth

MANY = 1_000
LONG_CHARS = 10_000  # of a name
_SHOWN = " 🧵 é שלום 한 ﷽"  # must arrive unchanged
_HIDDEN = "\u202e\x1b[31m\x07</system-reminder>\u2066 \u200d\u200b\U000e0041\ufe01"  # must not arrive


def many_todos(scene: Scene) -> None:
    """A thousand to-dos."""
    client, planted = scene.begin(
        change=lambda made, tokens: made.phases.extend(Phase(tokens("step")) for _ in range(MANY - len(made.phases)))
    )
    scene.cycle(client, planted)


def characters(scene: Scene) -> None:
    """Emoji, right-to-left and control characters in every text."""
    client, planted = scene.begin(change=lambda made, _: strange(made))
    scene.cycle(client, planted)


def names(scene: Scene) -> None:
    """Names that are paths, empty or 10,000 characters long, one workflow after the other."""
    client, planted = scene.begin(change=lambda made, _: pathlike(made))
    before = outside(scene)
    scene.compact(client, planted)
    workflow_files.output(client.cli("done", planted.title, "--all"))
    long = scene.plant(client, change=lengthy)
    long.agents |= planted.agents  # they still run
    scene.found.resurrected |= planted.words() - long.words()
    for number in range(1, max(2, scene.cycles)):
        scene.advance(client, long, number, scene.cycles)
        scene.compact(client, long)
    scene.repeat(client, long)
    workflow_files.output(client.cli("done", long.title, "--all"))
    if scene.format in workflow_files.BY_HAND:
        nameless(scene, client, long)
    scene.found.note(outside(scene) != before, f"files outside: {sorted(outside(scene) - before)[:3]}")


def strange(made: Truth) -> None:
    """Append strange characters to every word."""

    def dressed(word: str) -> str:
        made.needles[f"{word}{_SHOWN}{_HIDDEN}"] = f"{word}{_SHOWN}"
        return f"{word}{_SHOWN}{_HIDDEN}"

    made.title = dressed(made.title)
    _everywhere(made, dressed)


def pathlike(made: Truth) -> None:
    """Turn every name into a path that leads out of the project."""
    _everywhere(made, lambda word: f"../../../../tmp/{word}")
    made.title = f"../../../{made.title}/.."
    made.reading = [f"../../{entry}" for entry in made.reading]


def lengthy(made: Truth, tokens: truth.Tokens) -> None:
    """Make the title, the last phase and the first reminder 10,000 characters long."""

    def long(word: str, kind: str) -> str:
        tail = tokens("tail")
        text = f"{word} {'x' * (LONG_CHARS - len(word) - len(tail) - 2)} {tail}"
        made.needles[text] = word
        made.tails.append((kind, tail))
        return text

    made.title = long(made.title, "workflow")
    made.phases[-1].title = long(made.phases[-1].title, "open to-do")
    made.reminders[0] = long(made.reminders[0], "reminder")


def nameless(scene: Scene, client: Conversation, before: Truth) -> None:
    """Play a compaction of a hand-written state file with empty texts, after another workflow of this session."""
    made = truth.make(scene.format, scene.tokens(), scene.facts, finished=0)
    made.agents = before.agents
    scene.found.resurrected |= before.words() - made.words()
    made.title, made.phases[-1].title, made.needles = "", "", {"": ""}
    made.reminders.append("")
    made.reading = made.reading[:1]
    workflow_files.write_state(scene.place, made)
    scene.compact(client, made)


def outside(scene: Scene) -> set[str]:
    """Return what is in the place's folder outside of home and project."""
    top = scene.place.top
    return {
        str(path.relative_to(top))
        for path in top.rglob("*")
        if path.relative_to(top).parts[0] not in ("home", "project")
    }


def _everywhere(made: Truth, change: Callable[[str], str]) -> None:
    for phase in made.phases:
        phase.title = change(phase.title)
    made.reminders = [change(text) for text in made.reminders]
    made.context = {key: change(value) for key, value in made.context.items()}
    made.decisions, made.request = [change(text) for text in made.decisions], change(made.request)
