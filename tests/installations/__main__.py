"""Record an installation made by this tree, in the middle of a session: `python -m tests.installations NAME`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.installations import FOLDER, fire, holdfast, launched, record
from tests.processes import Place

MINE = '''"""A guard and an adviser of the user's own."""

from holdfast import advise, deny, hookimpl
from holdfast.events import PreToolUse, UserPromptSubmit


@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event: PreToolUse):
    return deny("I say no") if "rm -rf" in event.tool_input.get("command", "") else None


@hookimpl
def on_user_prompt_submit(event: UserPromptSubmit):
    return advise("Mind the gap.")
'''
TEAM = '''"""The team's guard."""

from holdfast import deny, hookimpl


@hookimpl(match="Bash", strict=True)
def on_pre_tool_use(event):
    return deny("the team says no") if "deploy" in event.tool_input.get("command", "") else None
'''
PHASES = ("Plan it @planner", "Build it @builder", "Test it @tester")


def main(name: str) -> None:
    """Record it as NAME.json; raises FileExistsError where that is recorded already."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder) / "home", Path(folder) / "project")
        place.write(place.home / ".config" / "holdfast" / "handlers" / "mine.py", MINE)
        place.project_handler("team", TEAM)
        place.write(".claude/holdfast.toml", '[project]\nid = "team/calculator"\n')
        (place.home / "run").mkdir(mode=0o700)
        for words in (["handlers", "trust", "--yes"], ["install", "--scope", "user", "--allow-cli"]):
            holdfast(place, *words)
        fire(place, "SessionStart-startup")
        phases = [word for phase in PHASES for word in ("--phase", phase)]
        holdfast(place, "start", "Calculator", "--format", "hybrid", *phases)
        launched(place, "PreToolUse-Agent", "Plan it", "planner")
        launched(place, "PostToolUse-Agent", "Plan it", "planner")
        launched(place, "PreToolUse-Agent", "Build it", "builder")
        fire(place, "PreCompact-auto")
        with (FOLDER / f"{name}.json").open("x", encoding="utf-8") as file:
            file.write(record(place))


if __name__ == "__main__":
    main(*sys.argv[1:])
