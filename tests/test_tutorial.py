"""Who follows README or a tutorial sees what it says: commands are run, sessions played on recorded events."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.commandline import holdfast
from tests.processes import ROOT
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import HoldfastProject

pytestmark = pytest.mark.slow

PAGES = ("README.md", "docs/index.md", "docs/tutorial.md", "docs/guides/first-handler.md")
BLOCK = re.compile(r"(?:^`(\S+)`:\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BY_HAND = {"uv tool install .", "make demo", "make test"}  # tests/test_wheel.py installs the package


def started(project: HoldfastProject) -> str:
    """Start a session, which is told of the workflow."""
    return project.fire("SessionStart", "SessionStart-startup-tui").context


def compacted(project: HoldfastProject) -> str:
    project.fire("PreCompact", "PreCompact-manual")
    return project.fire("SessionStart", "SessionStart-compact").context


def launched(project: HoldfastProject) -> str:
    agent = Agent(project, "Collect the changes", "general-purpose")
    agent.about_to()
    agent.started()
    agent.stopped("Done.")
    return agent.returned("Done.").context


def asked(command: str) -> Callable[[HoldfastProject], str]:
    """Return what asks for a command of the shell, and returns the reply."""
    return lambda project: project.fire("PreToolUse", tool_name="Bash", tool_input={"command": command}).stdout


def nothing(project: HoldfastProject) -> str:
    """The next block has the command that Claude then runs; tests/client/test_commands.py plays it."""
    return ""


TODO_APP = (
    "/holdfast start a workflow for a todo app: design, build and test. "
    "Read docs/style.md, and remind yourself to run the tests."
)
IN_A_SESSION: dict[str, Callable[[HoldfastProject], str]] = {
    "claude": started,
    "/compact": compacted,
    "/holdfast start a workflow for login": nothing,
    TODO_APP: nothing,
    'Launch an agent with the description "Collect the changes".': launched,
    "Run printenv.": asked("printenv"),
    "Run git push -f.": asked("git push -f"),
}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_can_be_followed(page: str, holdfast_project: Callable[..., HoldfastProject]) -> None:
    """Each line of a block is typed; a `text` block says what came of the last one."""
    project, seen = holdfast_project({}), ""
    for name, kind, block in BLOCK.findall((ROOT / page).read_text("utf-8")):
        if name:
            project.write({name.replace("~/.config", os.environ["XDG_CONFIG_HOME"]): block})
        elif kind == "text":
            assert [line for line in block.splitlines() if line not in seen] == [], seen
        elif not kind:
            for line in (each.split(" # ")[0].strip() for each in block.replace("\\\n", " ").splitlines()):
                if line.startswith("holdfast "):
                    code = None if " try " in line else 0  # the text says whether it's refused
                    seen = holdfast(*shlex.split(line)[1:], root=project.root, code=code).out
                elif line not in BY_HAND:
                    seen = IN_A_SESSION[line](project)
