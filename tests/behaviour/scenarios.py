"""The scenarios that are played with both trees: each runs on its own stage and fills its tape."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from tests.behaviour.stage import ROOT, Stage, payloads
from tools.survival.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MEMORY = """# Working notes

Workflow: Move to the new queue
Phase: 2/4 - Write the adapter

@docs/queue.md
@docs/gone.md

## Key reminders
- Never drop a message

- [x] Phase 1: Read the old code
- [ ] Phase 2: Write the adapter
"""
_PLAN = """# Plan 007: Migrate the store

**Status**: In Progress

## Phases
- [x] Phase 1: Export
- [ ] Phase 2: Import
"""
_FILES = {"docs/queue.md": "How the queue works.\n", "README.md": "A project.\n", "src/app.py": "print('app')\n"}
_HANDLER = '''"""A guard and an adviser of the user's own."""

from holdfast import advise, ask, deny, hookimpl
from holdfast.events import PreToolUse


@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event: PreToolUse):
    command = event.tool_input.get("command", "")
    return deny("not here") if "rm -rf" in command else ask("sure?") if "sudo" in command else None


@hookimpl
def on_user_prompt_submit(event):
    return advise("Mind the gap.")


@hookimpl
def on_post_tool_use(event):
    raise ValueError("always wrong")
'''

_STARTS: dict[str, tuple[dict[str, str], tuple[tuple[str, ...], ...]]] = {
    "nothing": ({}, ()),
    "skills": (
        {"features/login.md": "# Login\n\n- [ ] Add the model\n- [ ] Add the form\n"},
        (("skills", "start", "dev", "--feature", "features/login.md"),),
    ),
    "orchestrator": (
        {"docs/tasks.md": "# Login\n\n### Phase 1: Base\n\n#### Task 1.1: Plan it\n\n#### Task 1.2: Build it\n"},
        (("orchestrator", "start", "docs/tasks.md"), ("orchestrator", "approve")),
    ),
    "hybrid": (
        {},
        (
            (
                "start",
                "Calculator",
                "--format",
                "hybrid",
                *("--phase", "Plan it @planner"),
                "--phase",
                "Build it @builder",
            ),
        ),
    ),
    "compaction": (
        {},
        (
            (
                *("start", "Calculator", "--format", "compaction", "--type", "custom", "--phase", "Plan it"),
                *("--phase", "Build it", "--read", "docs/queue.md", "--read", "docs/gone.md"),
                *("--remind", "Never use eval", "--set", "depth=3"),
            ),
        ),
    ),
    "wfs": (
        {},
        (
            ("wfs", "start", "Calculator"),
            ("wfs", "task", "add", "Plan it", "--agent", "@planner", "--accept", "A plan is there"),
            ("wfs", "task", "add", "Build it", "--agent", "@builder", "--after", "IMPL-1", "--focus", "src"),
            ("wfs", "task", "decompose", "IMPL-2", "Add", "Subtract"),
            ("wfs", "task", "start", "IMPL-1"),
        ),
    ),
    "memory": ({"CLAUDE.local.md": _MEMORY}, ()),
    "plan": ({"CLAUDE/Plan/007-migrate/PLAN.md": _PLAN}, ()),
}
_VIEWS = (
    *(["status"], ["list"], ["show"], ["explain"], ["resume"], ["log"], ["cost"], ["doctor"], ["handlers"]),
    *(["handlers", "check"], ["list", "--archive"], ["list", "--templates"], ["server"], ["wfs", "list"]),
    *(["wfs", "check"], ["wfs", "active"], ["wfs", "task", "list"], ["wfs", "task", "next"]),
    *(["wfs", "task", "show", "IMPL-2.1"], ["wfs", "task", "validate"], ["wfs", "todo"], ["hybrid", "todos"]),
)
_MOVES = (
    *(["next"], ["done"], ["done", "--note", "handed over"], ["hybrid", "phase", "phase_1", "--status", "failed"]),
    *(["update", "--read", "README.md", "--remind", "Be brief", "--set", "depth=4"], ["update", "--phase", "2"]),
    *(["start", "Another", "--phase", "One"], ["start", "Another", "--phase", "One", "--replace"]),
    *(["resume", "--anyway"], ["forget", "--everything", "--dry-run"], ["forget", "--everything", "--yes"]),
    *(["wfs", "task", "complete", "IMPL-1"], ["wfs", "task", "block", "IMPL-1"], ["wfs", "task", "start", "IMPL-2.1"]),
    *(["wfs", "task", "set", "IMPL-2.1", "--accept", "Adds"], ["wfs", "task", "decompose", "IMPL-1", "A", "B"]),
    *(["wfs", "pause"], ["wfs", "complete"], ["wfs", "repair"], ["wfs", "start", "Second"], ["doctor", "--fix"]),
    *(["nonsense"], ["show", "nothing-of-that-name"], ["wfs", "task", "show", "IMPL-9"]),
)


def scenarios(*, rows: bool) -> Iterator[tuple[str, bool, Callable[[Stage], None]]]:
    """Yield each scenario: its name, whether it is warm, and what plays it.

    Args:
        rows: also every row of the survival score, which takes long.
    """
    for start in _STARTS:
        yield f"each payload, {start}", False, _each_payload(start)
        yield f"all payloads warm, {start}", True, _payloads_in_turn(start)
        yield f"commands, {start}", False, _commands(start)
        yield f"story, {start}", False, _story(start)
        yield f"story warm, {start}", True, _story(start)
    yield "handlers", False, _handlers
    yield "handlers warm", True, _handlers
    yield "installed", False, _installed
    yield "help", False, _help
    yield "demo", False, _program("-m", "holdfast", "demo")
    for example in sorted((ROOT / "examples").glob("*.py")):
        yield f"example {example.stem}", False, _program(str(example.relative_to(ROOT)))
    if rows:
        yield "rows", False, _rows


def _begin(stage: Stage, start: str) -> None:
    files, commands = _STARTS[start]
    stage.make(_FILES | files)
    stage.fire("SessionStart-startup")
    for words in commands:
        stage.command(*words)


def _each_payload(start: str) -> Callable[[Stage], None]:
    """Each payload in the same state, and then what is remembered."""

    def play(stage: Stage) -> None:
        _begin(stage, start)
        kept = stage.keep()
        for name in payloads():
            stage.put_back(kept)
            stage.fire(name)
            stage.command("export")

    return play


def _payloads_in_turn(start: str) -> Callable[[Stage], None]:
    """One payload after the other, the session's ends last; then what is remembered."""

    def play(stage: Stage) -> None:
        _begin(stage, start)
        for name in sorted(payloads(), key=lambda name: name.startswith("SessionEnd")):
            stage.fire(name)
        stage.command("export")

    return play


def _commands(start: str) -> Callable[[Stage], None]:
    """Each command in the same state, as text and as JSON."""

    def play(stage: Stage) -> None:
        _begin(stage, start)
        kept = stage.keep()
        for words in (*_VIEWS, *_MOVES):
            for form in ((), ("--json",)):
                stage.put_back(kept)
                stage.command(*words, *form)

    return play


def _story(start: str) -> Callable[[Stage], None]:
    """Agents that work on it and fail, compactions between, a second session beside it, the end."""

    def play(stage: Stage) -> None:
        _begin(stage, start)
        units = ("IMPL-1", "IMPL-2.1", "IMPL-2.2") if start == "wfs" else ("Plan it", "Build it")
        kinds = dict(zip(units, ("planner", "builder", "builder"), strict=False))
        for number, unit in enumerate(units):
            for failed in (True, False):
                _agent(stage, f"toolu_{number}{failed:d}", unit, kinds[unit], failed=failed)
            stage.fire("PreCompact-auto")
            stage.fire("SubagentStop-compaction")
            stage.fire("SessionStart-compact")
            stage.fire("UserPromptSubmit")
        other = {"session_id": "22222222-2222-4222-8222-222222222222"}
        stage.fire("SessionStart-startup", **other)
        stage.fire("PreCompact-manual", **other)
        stage.fire("SessionStart-compact", **other)
        stage.fire("Stop")
        stage.fire("SessionEnd-other")
        stage.fire("SessionStart-resume")
        for words in _VIEWS:
            stage.command(*words, "--json")
        stage.command("report", "-o", "-")
        stage.command("export")

    return play


def _agent(stage: Stage, call: str, unit: str, kind: str, *, failed: bool) -> None:
    """Launch an agent that works on a unit, let it run and end."""
    asked = {"description": unit, "subagent_type": kind, "prompt": f"{unit}\n\nContext: as planned"}
    stage.fire("PreToolUse-Agent", tool_use_id=call, tool_input=asked)
    stage.fire("SubagentStart", agent_id=f"a{call}", agent_type=kind)
    stage.fire("SubagentStop", agent_id=f"a{call}", agent_type=kind, last_assistant_message="DELIVERABLES: calc.py")
    answer: dict[str, Any] = stage.payload("PostToolUse-Agent")["tool_response"]
    answer |= {"agentId": f"a{call}", "agentType": kind}
    answer |= {"status": "failed", "is_error": True} if failed else {}
    stage.fire("PostToolUse-Agent", tool_use_id=call, tool_input=asked, tool_response=answer)


def _handlers(stage: Stage) -> None:
    """A user's strict guard, one that fails, and a project's that is first not trusted, then trusted, then changed."""
    stage.make(_FILES | {".claude/handlers/team.py": _HANDLER, ".claude/holdfast.toml": "[handlers]\ntimeout = 7\n"})
    place = stage.home / ".config" / "holdfast" / "handlers" / "guard.py"
    place.parent.mkdir(parents=True)
    place.write_text(_HANDLER, "utf-8")
    for step in ((), ("handlers", "trust", "--yes"), ("handlers", "check"), ("handlers", "list", "--json")):
        if step:
            stage.command(*step)
        for name in ("SessionStart-startup", "PreToolUse-Bash", "PostToolUse-Bash", "UserPromptSubmit"):
            stage.fire(name)
        for words in ("rm -rf /", "sudo true"):
            stage.fire("PreToolUse-Bash", tool_input={"command": words})
    stage.write(".claude/handlers/team.py", _HANDLER.replace("sure?", "really?"))
    stage.fire("SessionStart-startup")
    stage.fire("PreToolUse-Bash")
    stage.write(".claude/handlers/team.py", "def broken(:\n")
    stage.fire("PreToolUse-Bash")
    stage.fire("PreToolUse-Bash", tool_name=7)
    place.unlink()
    stage.fire("PreToolUse-Bash")
    stage.command("doctor", "--json")


def _installed(stage: Stage) -> None:
    """What `install` writes, events through what it registered, and what `uninstall` leaves."""
    stage.make(_FILES)
    for scope in ("user", "project", "local"):
        stage.command("install", "--scope", scope, "--allow-cli")
    stage.command("doctor", "--json")
    settings = json.loads((stage.home / ".claude" / "settings.json").read_bytes())
    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in settings["hooks"].items()}
    for name, payload in payloads().items():
        if command := commands.get(payload["hook_event_name"]):
            stage.shell(name, command, stage.payload(name))
    for scope in ("local", "project", "user"):
        stage.command("uninstall", "--scope", scope)


def _help(stage: Stage) -> None:
    """What every command says of itself."""
    stage.make({})
    stage.command("--version")
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        words = waiting.pop(0)
        stage.command(*words, "--help")
        listed = stage.tape[-1][1].partition("\nOptions:\n")[2]  # a list of commands, or several by purpose
        waiting += [(*words, name) for name in re.findall(r"^  ([a-z]\S*)(?:  |$)", listed, re.MULTILINE)]


def _program(*words: str) -> Callable[[Stage], None]:
    def play(stage: Stage) -> None:
        stage.make({})
        stage.run([str(stage.tree / words[0]) if words[0].endswith(".py") else words[0], *words[1:]])

    return play


def _rows(stage: Stage) -> None:
    """Each row of the survival score in each format, without the kills."""
    stage.make({})
    path = os.pathsep.join((str(stage.tree / "src"), str(stage.tree)))  # each tree's own rows play its own package
    for row in (each for each in ROWS if each != "kill -9"):
        stage.run(["-m", "tools.survival", "--row", row, "--cycles", "3", "--json"], PYTHONPATH=path)
