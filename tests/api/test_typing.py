"""Type checkers accept a handler that is written as the guide says, and find in another each mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from mypy import api

from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

PYRIGHT = ROOT / ".pyright/node_modules/.bin/pyright"
RIGHT = """
from pydantic import BaseModel

from holdfast import Context, Outcome, State, advise, ask, change_input, deny, force_turn, hookimpl, tell_user
from holdfast.events import BashInput, PreToolUse, Stop, UserPromptSubmit


class Options(BaseModel):
    branches: list[str] = ["main"]


@hookimpl(match="shell", on_failure="ask", once="turn", examples={"git push -f": "deny", "ls": None})
def on_pre_tool_use(event: PreToolUse, options: Options, state: State) -> Outcome | list[Outcome] | None:
    given = event.input_of(BashInput)
    if given is None:
        return None
    text: str = given["command"]
    for command in event.commands:
        argv: tuple[str, ...] = command.argv
        forced: bool | None = command.runs("git", "push", "-f", options.branches[0])
        with state.session as memory:
            memory["refused"] = memory.get("refused", 0) + len(argv)
        if forced:
            return deny("no")
        if forced is None:
            return [ask("sure?"), change_input({"command": text})]
    return [advise(f"{path.name} {event.asked}") for path in event.paths]


@hookimpl
def on_stop(event: Stop) -> Outcome | None:
    return force_turn("go on", at_most=3, within=60) if not event.stop_hook_active else None


@hookimpl(strict=True, tryfirst=True, timeout=2.5)
def on_user_prompt_submit(event: UserPromptSubmit, context: Context) -> Outcome:
    return tell_user(str(context.root))
"""
WRONG = """
from typing import Any

from holdfast import Context, Outcome, State, advise, deny, force_turn, hookimpl, tell_it  # wrong
from holdfast.events import BashInput, PreToolUse, PreToolUsed  # wrong


@hookimpl(matches="Bash")  # wrong
def on_stop(event: Stop) -> None: ...  # wrong


@hookimpl(timeout="5")  # wrong
def on_pre_compact(event: Any) -> None: ...


@hookimpl(once="day")  # wrong
def on_post_compact(event: Any) -> None: ...


@hookimpl(on_failure="open")  # wrong
def on_session_end(event: Any) -> None: ...


@hookimpl  # wrong
def on_session_start(event: Any) -> str:
    return "hello"


@hookimpl(examples={"ls": True})  # wrong
def on_setup(event: Any) -> None: ...


@hookimpl
def on_pre_tool_use(event: PreToolUse, context: Context, state: State) -> Outcome | None:
    print(event.tool_nam)  # wrong
    print(event.commands[0].args)  # wrong
    print(context.cwd)  # wrong
    if given := event.input_of(BashInput):
        print(given["comand"])  # wrong
    state.session["count"] = 1  # wrong
    with state.turns as memory:  # wrong
        memory["count"] = 1
    deny()  # wrong
    deny(5)  # wrong
    force_turn("go on", within="a minute")  # wrong
    return "no"  # wrong
"""


def mypy(path: Path) -> dict[int, str]:
    """Return what mypy says of a file: line → error."""
    said, failed, _ = api.run(["--config-file", "", "--strict", "--no-error-summary", str(path)])
    assert not failed, failed
    return {int(line): text for line, text in re.findall(rf"{path.name}:(\d+): error: (.*)", said)}


def pyright(path: Path) -> dict[int, str]:
    """Return what pyright says of a file: line → error."""
    if not PYRIGHT.exists():
        pytest.skip("pyright isn't installed: make .pyright/.ready")
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, str(path)]
    said = json.loads(subprocess.run(command, capture_output=True, check=False, cwd=path.parent).stdout)
    found = [each for each in said["generalDiagnostics"] if each["severity"] == "error"]
    return {each["range"]["start"]["line"] + 1: each["message"] for each in found}


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_right_uses_pass_and_each_wrong_one_is_found(checker: Callable[[Path], dict[int, str]], tmp_path: Path) -> None:
    """Each of the marked lines is an error, and no other."""
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    assert checker(tmp_path / "right.py") == {}
    marked = {number for number, line in enumerate(WRONG.splitlines(), 1) if "# wrong" in line}
    found = checker(tmp_path / "wrong.py")
    assert found.keys() == marked, found
