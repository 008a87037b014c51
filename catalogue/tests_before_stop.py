"""Runs the tests before Claude stops, if it has edited files since they last passed; if they fail, it goes on.

After three turns in a row, or half an hour, it lets Claude stop. The next stop runs the tests again.

Known evasions: files that a shell command writes don't count as edits; tests that were deleted or weakened pass.

Cost: about 4 ms after an edit and before a stop, and the tests' time.
"""

import subprocess
from pathlib import Path

from pydantic import BaseModel

from holdfast import Context, Outcome, State, force_turn, hookimpl, tell_user
from holdfast.events import PostToolUse, Stop

SHOWN_CHARS = 3_000
USUAL = (  # a file of the project, a text in it, and the command for its tests
    ("Makefile", "\ntest:", "make test"),
    ("package.json", '"test":', "npm test"),
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("pyproject.toml", "pytest", "python3 -m pytest -q"),
)


class Options(BaseModel):
    """The `command` for the tests (if empty, what is usual), its `seconds`, and the bounds of the forced turns."""

    command: str = ""
    seconds: float = 540
    at_most: int = 3
    within: float = 1_800


@hookimpl(match="Edit|Write|NotebookEdit", examples={"src/app.py": None})
def on_post_tool_use(event: PostToolUse, state: State) -> None:
    """Remember that this session has edited a file, in a subagent too."""
    with state.project as memory:
        memory[event.session_id] = True


@hookimpl(timeout=600, examples={"Done.": "tell_user"})
def on_stop(event: Stop, context: Context, options: Options, state: State) -> Outcome | None:
    """Run the tests; if they fail, force a turn."""
    command, root = options.command or usual_command(context.root), context.root
    with state.project as memory:
        if event.session_id not in memory:
            return None
        if not command:
            del memory[event.session_id]
            return tell_user("No command for the tests was found. Set command in [options.tests_before_stop].")
    try:
        done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return tell_user(f"`{command}` took longer than {options.seconds:g} s, so nobody knows whether the tests pass.")
    if done.returncode:
        text = f"`{command}` fails. Correct the code, not the tests:\n{(done.stdout + done.stderr)[-SHOWN_CHARS:]}"
        return force_turn(text, at_most=options.at_most, within=options.within)
    with state.project as memory:
        memory.pop(event.session_id, None)
    return None


def usual_command(root: Path) -> str:
    """Return the command that projects of this kind have for their tests; empty if there is none."""
    for name, text, command in USUAL:
        if (root / name).is_file() and text in "\n" + (root / name).read_text("utf-8"):
            return command
    return ""
