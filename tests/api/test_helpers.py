"""Files that handlers import from their own folder: `_name.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.commandline import holdfast

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

    Make = Callable[..., HoldfastProject]

FOLDER = ".claude/handlers"
GUARD = """
from holdfast import deny, hookimpl
from . import _words
from ._words import loud

@hookimpl(strict=True)
def on_pre_tool_use():
    return deny(loud(_words.TEXT))
"""
WORDS = "from ._case import upper\nTEXT = 'no'\n\ndef loud(text):\n    return upper(text)\n"
CASE = "def upper(text):\n    return text.upper()\n"
FILES = {f"{FOLDER}/guard.py": GUARD, f"{FOLDER}/_words.py": WORDS, f"{FOLDER}/_case.py": CASE}


def test_a_handler_imports_helpers_beside_it(holdfast_project: Make) -> None:
    """Directly and through another helper; `trust` lists each, and no helper is a handler."""
    project = holdfast_project(FILES)
    said = holdfast("handlers", "trust", "--yes", root=project.root).out
    assert all(f"{FOLDER}/{name}" in said for name in ("guard.py", "_words.py", "_case.py"))
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("NO (project/guard.py)")
    assert "_words.py: a helper file" in holdfast("handlers", "list", root=project.root).out


def test_a_changed_helper_counts_as_a_change_of_its_handlers(holdfast_project: Make) -> None:
    """It never runs; a strict handler refuses and names the helper until it is trusted again."""
    project = holdfast_project(FILES)
    holdfast("handlers", "trust", "--yes", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash")
    project.checked = False
    project.write({f"{FOLDER}/_case.py": CASE.replace("upper()", "lower()")})
    fired = project.fire("PreToolUse", "PreToolUse-Bash")
    assert "its helper was changed since you trusted it" in fired.stdout
    assert "_case.py" in fired.stdout
    command = f"holdfast handlers trust --project {project.root} _case.py"
    assert command in project.fire("UserPromptSubmit").stdout or command in fired.stdout
    assert "_case.py" in holdfast("handlers", "list", root=project.root).out
    holdfast("handlers", "trust", "_case.py", "--yes", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("no (project/guard.py)")


def test_a_changed_helper_of_one_that_guards_nothing_is_told(holdfast_project: Make) -> None:
    """The handler doesn't run, and a session's start names the helper."""
    project = holdfast_project(FILES | {f"{FOLDER}/guard.py": GUARD.replace("(strict=True)", "")})
    holdfast("handlers", "trust", "--yes", root=project.root)
    project.fire("PreToolUse", "PreToolUse-Bash").assert_denied("NO (project/guard.py)")
    project.checked = False
    project.write({f"{FOLDER}/_words.py": WORDS + "# more\n"})
    project.fire("PreToolUse", "PreToolUse-Bash").assert_not_called("guard")
    told = project.fire("SessionStart").reply["systemMessage"]
    assert "guard.py imports _words.py, which you haven't trusted as it is now, so it does not run" in told


def test_a_helper_that_is_gone_is_a_fault(holdfast_project: Make) -> None:
    """And a strict handler refuses."""
    project = holdfast_project(FILES)
    holdfast("handlers", "trust", "--yes", root=project.root)
    (project.root / FOLDER / "_words.py").unlink()
    project.checked = False
    fired = project.fire("PreToolUse", "PreToolUse-Bash")
    assert fired.specific["permissionDecision"] == "deny"
    assert "_words" in fired.stdout
