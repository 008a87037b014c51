"""A strict guard is asked at every door to a shell: tool calls, commands inside skills, Monitor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from holdfast.clients.claude.events import EVENTS, SINCE
from tests.client.conftest import CLIENTS
from tests.client.model import agent, bash, call, say

if TYPE_CHECKING:
    from tests.client.model import Turn
    from tests.client.world import World

GUARD = '''
from holdfast import deny, hookimpl

@hookimpl(match="shell", strict=True)
def on_pre_tool_use(event):
    """Refuse, and say where."""
    where = f"{event.tool_name} {event.invoked_by} {'agent' if event.in_subagent else 'main'}"
    return deny(f"GUARDED {where}.") if "touch" in event.tool_input["command"] else None
'''
BASH_GUARD = GUARD.replace('"shell"', '"Bash"')
ALL_TOOLS = '''
from holdfast import hookimpl

@hookimpl
def on_pre_tool_use(event):
    """Want every tool, so that Monitor's calls come under its own name."""
'''
SKILL = "---\nname: peek\ndescription: Peek at the project.\nallowed-tools: Bash\n---\nState: !`touch skill.txt`\n"
MODES: dict[str, tuple[str, ...]] = {
    "default": ("--allowedTools", "Skill"),
    "bypass": ("--dangerously-skip-permissions",),
}
HANDLERS = {
    "shell": ({"guard": GUARD}, "Monitor"),
    "Bash": ({"guard": BASH_GUARD}, "Bash"),
    "Bash-beside-all-tools": ({"guard": BASH_GUARD, "everything": ALL_TOOLS}, "Bash"),
}
"""The handlers, and the name under which the guard sees Monitor."""


@pytest.mark.scenario(6)
@pytest.mark.parametrize(
    ("mode", "handlers"),
    [
        *(("default", each) for each in HANDLERS),
        ("bypass", "shell"),
        *(pytest.param("bypass", each, marks=pytest.mark.nightly) for each in HANDLERS if each != "shell"),
    ],
)
def test_a_guard_at_every_door(world: World, mode: str, handlers: str) -> None:
    """In the conversation, in a foreground and a background agent; the event for skills is registered on its own."""
    version = tuple(map(int, world.version.split(".")))
    skills, monitors = version >= SINCE["PreSkillShellCommand"], version >= (2, 1, 329)
    files, monitor = HANDLERS[handlers]
    folder = world.client.home / ".config/holdfast/handlers"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    (world.project / ".claude/skills/peek").mkdir(parents=True)
    (world.project / ".claude/skills/peek/SKILL.md").write_text(SKILL)
    world.client.session().prompt("Let Holdfast see this client, and register what it knows.")
    assert ("PreSkillShellCommand" in world.settings.read_text()) is skills

    def doors() -> list[Turn]:
        watch = call("Monitor", command="touch monitor.txt", description="Watch", timeout_ms=2000)
        turns: list[Turn] = [bash("touch bash.txt")]
        turns += [call("ToolSearch", query="select:Monitor", max_results=1), watch] * monitors
        return turns + [call("Skill", skill="peek")] * skills

    agents = [agent("Front", "PROMPT-FRONT"), agent("Back", "PROMPT-BACK", background=True)]
    world.model.turns = [*doors(), *agents, say("End.")]
    world.model.agents = {f"PROMPT-{name}": [*doors(), say("Ok.")] for name in ("FRONT", "BACK")}
    session = world.client.session(*MODES[mode])
    session.prompt("Begin.")
    session.wait()  # for the background agent
    session.prompt("/peek")

    main, by_agent = ("\n".join(each.text for each in world.model.of(kind)) for kind in ("main", "agent"))
    expected = [(main, "Bash None main"), (by_agent, "Bash None agent")]
    if monitors:
        expected += [(main, f"{monitor} None main"), (by_agent, f"{monitor} None agent")]
    if skills:
        expected += [(main, "Bash claude main"), (main, "Bash user main"), (by_agent, "Bash claude agent")]
    assert not [where for text, where in expected if f"GUARDED {where}." not in text]
    assert {path.name for path in world.project.glob("*.txt")} == (set() if skills else {"skill.txt"})
    assert not world.complaints


@pytest.mark.scenario(13)
def test_the_newest_sdk_has_the_same_events() -> None:
    """An event that Holdfast doesn't know may be one more door; `make clients` fetches the declarations."""
    file = CLIENTS / "types/package/sdk.d.ts"
    if not file.exists():
        pytest.skip("the newest agent SDK could not be fetched, so its events are not compared with ours")
    found = re.search(r"HOOK_EVENTS: readonly \[([^]]*)\]", file.read_text("utf-8"))
    assert found, f"{file} declares no HOOK_EVENTS"
    assert set(re.findall(r"'(\w+)'", found[1])) == set(EVENTS)
