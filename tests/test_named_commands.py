"""The commands that messages name can be run as they stand, whatever the names in them are."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

import pytest

from holdfast import cli
from tests import processes
from tests.processes import SESSION

if TYPE_CHECKING:
    from pathlib import Path

    from tests.processes import Place

pytestmark = pytest.mark.slow

_WORD = r"""(?:'[^'\n]*'|"[^"\n]*"|[^\s`'"();,])+"""
NAMED = re.compile(rf"[`'](holdfast [^`\n]+?)[`']|(?:: |  |^)(holdfast(?: {_WORD})+)", re.MULTILINE)
"""A command in a message: in quotes, or behind a colon or at a line's begin up to the next comma, bracket or line."""

GUARD = "from holdfast import *\n\n@hookimpl(strict=True, match='Bash')\ndef on_pre_tool_use(event): return None\n"
HOOKS_OFF = '{"disableAllHooks": true, "env": {"CLAUDE_CODE_SIMPLE": "1"}}'
COMMANDS = """
    status
    next
    done
    status -v
    log
    restore
    claim nobody
    claim
    update
    start
    agents nobody
    agents
    handlers off nobody
    handlers new "my handler" --project-handler
    handlers list
    handlers check
    handlers trust --yes
    formats check nobody
    formats new "my format"
    formats list
    server
    doctor
    install --scope local
    install
    doctor
    status --why
    start "User auth" --phase "Design it" --phase Build
    start "User auth" --phase Build
    start "it's (one)" --phase Build --read missing.md
    next
    done
    update --phase 1 --status active
    done --all
    status
    status --all
    done --all user-auth
    claim user-auth
    next user-auth
    skills pending
    skills start nothing missing.md
    orchestrator bounds
    doctor orchestrator
    start "My topic" --format wfs
    wfs task show
    status --todos
    status
    handlers off "my guard"
    handlers on "my guard"
    uninstall
"""


def run(*words: str) -> tuple[int, str]:
    """Run the command line in this process; return its exit code and all that it prints."""
    printed, ended = io.StringIO(), None
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            cli.main(list(words))
    except SystemExit as end:
        ended = end.code
    return (ended if isinstance(ended, int) else 0), printed.getvalue()


def named(text: str) -> set[str]:
    """Return the commands that a message names."""
    return {(quoted or bare).removesuffix(".") for quoted, bare in NAMED.findall(text)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A home and a project with handlers, one of them strict, whose names a shell would split."""
    made = processes.make(tmp_path / "it's here")
    made.user_handler("my guard", GUARD)
    made.project_handler("team's guard", GUARD)
    for name, value in made.environ(CLAUDECODE=None, CLAUDE_PROJECT_DIR=None).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.root)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return made


def fire(place: Place, name: str) -> str:
    """Send a recorded event; return what the model and the user are told."""
    reply = place.fire(place.payload(name), name.partition("-")[0]).reply
    texts = [reply.get("systemMessage"), *reply.get("hookSpecificOutput", {}).values()]
    return "\n".join(str(each) for each in texts if each)


def test_each_command_that_a_message_names_can_be_run(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may fail, because a name in it is an example, but never for its usage."""
    told = [fire(place, name) for name in ("SessionStart-startup", "PreToolUse-Bash")]
    told += [run(*shlex.split(line))[1] for line in COMMANDS.strip().splitlines()]
    place.user_handler("my guard", "nonsense(")
    place.project_handler("team's guard", GUARD + "# changed\n")
    place.write(place.home / ".claude" / "settings.json", HOOKS_OFF)
    told += [fire(place, name) for name in ("SessionStart-startup", "PreToolUse-Bash")]
    told += [run(*line.split())[1] for line in ("handlers list", "handlers check", "doctor", "status")]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    told += [run("next")[1], run("done")[1]]
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")

    commands = named("\n".join(told))
    wrong = [
        f"{each}: {said}" for each in sorted(commands) for code, said in [run(*shlex.split(each)[1:])] if code == 2
    ]

    assert not wrong, "\n".join(wrong)
    assert len(commands) > 25, sorted(commands)
