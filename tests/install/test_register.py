"""What is registered: the right events, matchers that select enough, and a harmless command."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients.claude import claude
from holdfast.clients.claude.matchers import matches
from holdfast.clients.claude.replies import EXIT_CODE_EVENTS
from holdfast.events import EVENTS
from holdfast.install import register
from holdfast.plugins.discovery import HandlerFile
from holdfast.plugins.scan import Route
from tests.processes import SOURCE
from tests.tables import each_row

SHELLS = [shell for shell in ("/bin/sh", shutil.which("bash"), shutil.which("dash")) if shell]


def file(
    *routes: tuple[str, str | None],
    place: Literal["shipped", "user", "project"] = "shipped",
    name: str = "some",
    **changes: Any,
) -> HandlerFile:
    """A handler file with these (event, matcher) routes."""
    made = tuple(Route(event, "on_it", match) for event, match in routes)
    given: dict[str, Any] = {"trusted": True, "off": False, **changes}
    return HandlerFile(place, name, Path(place, f"{name}.py"), b"", "", routes=made, **given)


def wanted(*routes: tuple[str, str | None]) -> dict[str, str | None]:
    entries = register.entries(register.wishes_of([file(*routes)]), EVENTS)
    return {event: entry.matcher for event, entry in entries.items()}


@each_row(
    "matchers, union",
    [
        (["Bash"], "Bash"),
        (["Write", "Bash|Edit", "Write"], "Bash|Edit|Write"),
        (["Bash, Edit"], "Bash|Edit"),
        (["Task"], "Agent|Task"),
        (["Agent|Bash"], "Agent|Bash|Task"),
        (["Bash", None], None),
        (["Bash", ""], None),
        (["Bash", "*"], None),
        (["mcp__a__.*"], "(?:mcp__a__.*)"),
        (["Bash", "mcp__a__.*", "Task"], "^(?:Agent|Bash|Task)$|(?:mcp__a__.*)"),
        (["^Edit", "Write$", "^Edit"], "(?:^Edit)|(?:Write$)"),
    ],
)
def test_one_matcher_selects_what_any_route_asks_for(matchers: list[str | None], union: str | None) -> None:
    """Lists are joined, a regular expression stands beside them, and no matcher beats them all."""
    assert wanted(*(("PreToolUse", matcher) for matcher in matchers)) == {"PreToolUse": union}


@each_row(
    "pattern",
    [
        *("(?i)bash", "(?P<x>a)", "(?<n>a)", "(?#note)a", "(?>a)", "(a)?(?(1)b|c)"),
        *("(a)\\1", "\\Abash", "bash\\Z", "a++", "a{2}+"),
        *("(unclosed", "a{99999999999999999999}", "(" * 9_999 + ")" * 9_999),
    ],
    ids=lambda pattern: pattern[:24],
)
def test_a_pattern_the_client_may_not_read_asks_for_every_value(pattern: str) -> None:
    """One pattern that is invalid for the client would silence every handler of its event (client fact §4.2)."""
    assert wanted(("PreToolUse", pattern), ("PreToolUse", "Bash")) == {"PreToolUse": None}


def test_events_whose_lists_know_only_bars() -> None:
    """StopFailure and FileChanged get one list with bars, from which FileChanged reads the files to watch."""
    assert wanted(("FileChanged", ".envrc|.env"), ("FileChanged", "pyproject.toml")) == {
        "FileChanged": ".env|.envrc|pyproject.toml"
    }
    assert wanted(("FileChanged", ".envrc||"), ("FileChanged", "|.env")) == {"FileChanged": ".env|.envrc"}
    assert wanted(("StopFailure", "rate_limit"), ("StopFailure", "^(?:a|b)$")) == {
        "StopFailure": "rate_limit|^(?:a|b)$"
    }


def test_events_without_a_matcher_field_get_no_matcher() -> None:
    """The client ignores matchers there."""
    assert wanted(("Stop", "Bash")) == {"Stop": None}


TOOLS = st.sampled_from(["Bash", "Task", "Agent", "mcp__a__b", "Web Fetch", "x-y"])
MATCHERS = st.lists(TOOLS, min_size=1, max_size=3).map("|".join) | st.sampled_from(["mcp__.*", "^B", "sh$", "Task.*"])


@given(matchers=st.lists(MATCHERS, min_size=1, max_size=4), tool=TOOLS)
def test_nothing_a_route_asks_for_is_lost(matchers: list[str], tool: str) -> None:
    """Whatever one route selects, the registered matcher selects."""
    union = wanted(*(("PreToolUse", matcher) for matcher in matchers))["PreToolUse"]
    if any(matches(matcher, tool, "PreToolUse") for matcher in matchers):
        assert matches(union, tool, "PreToolUse")


@each_row("event", EVENTS)
def test_a_command_is_recognised_as_ours(event: str) -> None:
    """Every command we register is found again."""
    assert register.ours(register.command(event))


@each_row(
    "command",
    [
        "",
        "echo hello",
        'tee /tmp/payload | "$HOME/.local/share/holdfast/run" Stop',
        "/usr/bin/wrapper $HOME/.local/share/holdfast/run Stop",
        "$HOME/.local/share/holdfast/runner Stop",
        "$HOME/.local/share/holdfast/run.sh Stop",
        "python3 /opt/holdfast/run",
    ],
)
def test_a_command_that_only_mentions_the_launcher_is_not_ours(command: str) -> None:
    """Somebody else's command is never touched."""
    assert not register.ours(command)


def run(shell: str, event: str, home: Path | None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.defpath} | ({} if home is None else {"HOME": str(home)}) | variables
    return subprocess.run([shell, "-c", register.command(event)], env=env, input=b"{}", capture_output=True)


def launcher(home: Path, text: str, mode: int = 0o755) -> None:
    path = home / ".local/share/holdfast/run"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(mode)


@each_row("shell", SHELLS)
@each_row("event", ["PreToolUse", "TeammateIdle", "TaskCompleted"])
def test_the_command_passes_the_event_and_stdin_and_only_two_means_no(tmp_path: Path, shell: str, event: str) -> None:
    """The launcher gets the event's name and the payload; its exit code counts only where 2 is the only no."""
    launcher(tmp_path, '#!/bin/sh\nprintf "%s " "$1"; cat; echo reason >&2; exit "${CODE:-2}"\n')
    done = run(shell, event, tmp_path)
    decides = event in EXIT_CODE_EVENTS
    assert (done.stdout, done.returncode) == (f"{event} {{}}".encode(), 2 if decides else 0)
    assert done.stderr == (b"reason\n" if decides else b"")


@each_row("shell", SHELLS)
@each_row("event", ["PreToolUse", "TeammateIdle"])
@each_row("code", [0, 1, 126, 127, 255])
def test_no_other_exit_code_of_the_launcher_gets_out(tmp_path: Path, shell: str, event: str, code: int) -> None:
    """A failing launcher never refuses anything."""
    launcher(tmp_path, f"#!/bin/sh\nexit {code}\n")
    done = run(shell, event, tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_command_refuses_just_the_events_that_can_be_strict(tmp_path: Path) -> None:
    """With the launcher failing, the command, `refuse.sh` and the client's list agree on every event."""
    launcher(tmp_path, "#!/bin/sh\nexit 1\n")
    shutil.copy(SOURCE / "holdfast/refuse.sh", tmp_path / ".local/share/holdfast")
    memory = tmp_path / ".local/state/holdfast/strict"
    memory.parent.mkdir(parents=True)
    memory.write_text("".join(f"{event}\t*\t*\t/x/guard.py\tf\n" for event in EVENTS))
    refused = set()
    for event in EVENTS:
        made = run("/bin/sh", event, tmp_path, CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(tmp_path))
        assert made.returncode == (1 if event == "WorktreeCreate" else 0)
        refused |= {event} if b"guard.py" in made.stdout else set()
    assert refused == claude.STRICT_EVENTS


@each_row("shell", SHELLS)
@each_row("event", ["PreToolUse", "TaskCompleted"])
def test_without_holdfast_the_command_is_silent(tmp_path: Path, shell: str, event: str) -> None:
    """On a machine without Holdfast, or without HOME, every event passes."""
    for home in (tmp_path, None):
        done = run(shell, event, home)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@each_row("shell", SHELLS)
@each_row("code", [0, 1, 2])
def test_a_worktree_is_named_or_the_command_fails_in_plain_words(tmp_path: Path, shell: str, code: int) -> None:
    """The client takes the last line for the folder, and silence for an error that says nothing: so we say it."""
    assert "To see why: holdfast handlers check" in register.NO_WORKTREE
    silent = run(shell, "WorktreeCreate", tmp_path)
    assert (silent.returncode, silent.stdout, silent.stderr.decode()) == (1, b"", f"{register.NO_WORKTREE}\n")

    launcher(tmp_path, f'#!/bin/sh\necho "user/a.py: no" >&2; printf %s "$FOLDER"; exit {code}\n')
    failed = run(shell, "WorktreeCreate", tmp_path)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.decode() == f"user/a.py: no\n{register.NO_WORKTREE}\n"

    (tmp_path / ".local/share/holdfast/run").write_text("#!/bin/sh\necho '/a b/c'\n")
    made = run(shell, "WorktreeCreate", tmp_path)
    assert (made.returncode, made.stdout, made.stderr) == (0, b"/a b/c\n", b"")


@each_row("shell", SHELLS)
@each_row("event", ["PreToolUse", "TaskCompleted"])
@each_row("kind", ["dead interpreter", "not executable", "folder"])
def test_with_the_launcher_broken_the_command_passes(tmp_path: Path, shell: str, event: str, kind: str) -> None:
    """An interpreter that is gone, a file that may not run, a folder in its place: exit 0 and an empty stdout."""
    if kind == "folder":
        (tmp_path / ".local/share/holdfast/run").mkdir(parents=True)
    else:
        launcher(tmp_path, "#!/gone/python -IS\nprint(1)\n", 0o644 if kind == "not executable" else 0o755)
    done = run(shell, event, tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    if event == "PreToolUse":
        assert done.stderr == b""


@each_row(
    "event, registered, asked, covered",
    [
        ("PreToolUse", None, "Bash", True),
        ("PreToolUse", "*", None, True),
        ("PreToolUse", "Bash", None, False),
        ("PreToolUse", "Bash|Edit", "Edit", True),
        ("PreToolUse", "Bash|Edit", "Edit|Write", False),
        ("PreToolUse", "Agent", "Task", True),
        ("PreToolUse", "^(?:Bash)$|(?:mcp__.*)", "Bash", True),
        ("PreToolUse", "^(?:Bash)$|(?:mcp__.*)", "mcp__.*", True),
        ("PreToolUse", "Bash", "^Ba", False),
        ("PreToolUse", "^Ba", "^Ba", True),
        ("FileChanged", "a.py|b.py", "b.py", True),
        ("FileChanged", "a.py", "b.py", False),
        ("Stop", "anything", "Bash", True),
    ],
)
def test_what_a_registered_matcher_covers(event: str, registered: str | None, asked: str | None, covered: bool) -> None:
    """Where that cannot be told of an expression, it does not."""
    assert register.covers(event, registered, asked) is covered
