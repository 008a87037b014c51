"""Whatever fails, an event for which a strict handler is known is refused, and no other event is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import STRICT_EVENTS
from holdfast.install import launcher, native, registration
from holdfast.install.native import Relay
from tests import processes, relays, warmth
from tests.processes import INTERPRETER, SOURCE, Ended, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

GUARD = """
    from holdfast import *
    @hookimpl(strict=True, match="Bash")
    def on_pre_tool_use(event):
        return None
    """
"""A strict handler that lets every call pass, as long as it is asked."""
LONG_AGO = 3600.0  # seconds


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home with a guard that one event has shown to Holdfast."""
    made = processes.make(tmp_path)
    made.user_handler("guard", GUARD)
    assert made.fire(call(made), "PreToolUse").stdout == ""
    return made


def call(place: Place, tool: str = "Bash", **changes: Any) -> dict[str, Any]:
    """Return a tool call that is about to be made."""
    return place.payload("PreToolUse-Bash", **({"tool_name": tool} | changes))


def raw(place: Place, tool: str, value: bytes) -> bytes:
    """Return a tool call as the client writes it, with some bytes for its input."""
    payload = call(place, tool)
    del payload["tool_input"]
    return json.dumps(payload).encode()[:-1] + b', "tool_input": ' + value + b"}\n"


def reason(ended: Ended) -> str:
    """Return why a call was refused; it is an error if it was not."""
    assert ended.exit_code == 0
    assert ended.specific["permissionDecision"] == "deny"
    return str(ended.specific["permissionDecisionReason"])


# --- what comes on stdin ------------------------------------------------------------------------------------------

UNREADABLE: dict[str, bytes] = {
    "5000 digits": b'{"timeout": ' + b"9" * 5_000 + b"}",
    "not UTF-8": b'{"command": "\xff"}',
    "nested": b"[" * 100_000,
    "cut off": b'{"command": "ls',
    "not JSON": b"nonsense",
    "no object": b"5",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_call_that_cannot_be_read_is_refused(place: Place, name: str) -> None:
    """The tool's name comes before what is at fault, so calls that the guard would not judge still pass."""
    assert "user/guard.py: on_pre_tool_use" in reason(place.fire(raw(place, "Bash", UNREADABLE[name]), "PreToolUse"))
    assert place.fire(raw(place, "Read", UNREADABLE[name]), "PreToolUse").stdout == ""


def test_a_refusal_without_a_known_guard_names_what_lifts_it(place: Place) -> None:
    """Where the memory of strict handlers cannot be read, that is in the way; its removal costs nothing else."""
    memory = place.home / ".local/state/holdfast/strict"
    memory.unlink()
    memory.mkdir()
    lift = reason(place.fire(raw(place, "Bash", UNREADABLE["not JSON"]), "PreToolUse")).partition("To do without it: ")[
        2
    ]

    assert lift.startswith(f"rm -r {memory}. ")
    memory.rmdir()
    assert "To do without it: holdfast handlers off guard." in reason(
        place.fire(raw(place, "Bash", UNREADABLE["not JSON"]), "PreToolUse")
    )


def test_what_cannot_be_read_whole_is_not_taken_for_another_clients(place: Place) -> None:
    """The environment tells whose it is: the session's id may stand behind what is at fault."""
    environ = place.environ(CLAUDECODE=None, AI_AGENT="claude-code_2-1-197_harness")
    assert "user/guard.py" in reason(place.fire(b'{"tool_name": "Bash", "x": \xff', "PreToolUse", environ=environ))


def test_a_slash_command_that_cannot_be_read_is_judged_by_its_name(tmp_path: Path) -> None:
    """As a call is by its tool's."""
    made = processes.make(tmp_path)
    made.write(made.home / ".local/state/holdfast/strict", "UserPromptExpansion\tdeploy\t*\t/x/guard.py\ton_x\n")

    deploy, review = (
        made.fire(b'{"command_name": "%b", \xff' % name, "UserPromptExpansion") for name in (b"deploy", b"review")
    )

    assert deploy.reply["decision"] == "block"
    assert review.stdout == ""


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[]", b'"PreToolUse"', b'{"tool_name": "Bas'])
def test_a_tool_that_cannot_be_read_counts_as_matching(place: Place, data: bytes) -> None:
    """Nobody knows whether the guard would have judged it."""
    assert "user/guard.py" in reason(place.fire(data, "PreToolUse"))


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": 5},
        {"session_id": None},
        {"session_id": ["x"]},
        {"tool_input": 5},
        {"tool_input": None},
        {"hook_event_name": 5},
        {"hook_event_name": "PreCoffee"},
        {"hook_event_name": None},
    ],
    ids=str,
)
def test_a_malformed_field_is_refused(place: Place, changes: dict[str, Any]) -> None:
    """An event of Claude Code's whose fields have wrong types cannot be judged."""
    assert "user/guard.py" in reason(place.fire(call(place, **changes), "PreToolUse"))
    assert place.fire(call(place, "Read", **changes), "PreToolUse").stdout == ""


@pytest.mark.parametrize("key", ["session_id", "tool_name", "tool_input", "hook_event_name"])
def test_a_missing_field_is_refused(place: Place, key: str) -> None:
    """So is one that lacks what every call has."""
    payload = call(place)
    del payload[key]
    assert "user/guard.py" in reason(place.fire(payload, "PreToolUse"))


@pytest.mark.parametrize("key", ["conversation_id", "generation_id", "sessionId", "hookEventName"])
def test_a_key_of_another_client_opens_nothing(place: Place, key: str) -> None:
    """The guard is asked as ever: here it has nothing against the call."""
    assert place.fire({**call(place), key: "x"}, "PreToolUse").stdout == ""
    place.user_handler("guard", GUARD.replace("None", "deny('no')"))
    assert reason(place.fire({**call(place), key: "x"}, "PreToolUse")) == "no (user/guard.py)"


@pytest.mark.parametrize(
    "payload",
    [
        {"cursor_version": "2.1", "conversation_id": "c", "hook_event_name": "PreToolUse", "tool_name": "Bash"},
        {"sessionId": "s", "toolName": "Bash", "cwd": "/"},
    ],
)
def test_another_clients_event_stays_unanswered(place: Place, payload: dict[str, Any]) -> None:
    """Cursor and Copilot run the same settings, and a refusal would stop them."""
    assert place.fire(payload, "PreToolUse").stdout == ""
    assert place.fire(json.dumps(payload).encode()[:-1] + b', "x": \xff}', "PreToolUse").stdout == ""
    assert place.fire(call(place), "PreToolUse", environ=place.environ(CLAUDE_PROJECT_DIR=None)).stdout == ""


def test_a_project_whose_path_nothing_can_have_is_refused(place: Place) -> None:
    """Its 50,000 parts are not followed, for that takes seconds, and no line of the log holds them."""
    environ = place.environ(CLAUDE_PROJECT_DIR=str(place.root) + "/x" * 50_000)
    said = reason(place.fire(call(place), "PreToolUse", environ=environ))
    assert "user/guard.py: on_pre_tool_use: CLAUDE_PROJECT_DIR is longer than any path can be" in said
    assert place.fire(call(place, "Read"), "PreToolUse", environ=environ).stdout == ""
    assert "/x/x" not in place.log()


def test_a_stdin_that_never_ends_is_refused(place: Place) -> None:
    """By the tool's name, which came; a call that nobody guards passes."""
    for tool, refused in (("Bash", True), ("Read", False)):
        script = (
            "import sys; from holdfast import engine; engine.PREPARE_LIMIT_S = 1; sys.exit(engine.main('PreToolUse'))"
        )
        ours, theirs = os.pipe()
        os.write(theirs, raw(place, tool, b'{"command": "never ')[:-2])
        done = subprocess.run(
            [INTERPRETER[0], "-c", script],
            stdin=ours,
            env=place.environ(PYTHONPATH=str(SOURCE)),
            capture_output=True,
            timeout=processes.PATIENCE,
            check=False,
        )
        os.close(ours)
        os.close(theirs)
        assert (b"its time was up" in done.stdout) is refused


# --- what fails inside --------------------------------------------------------------------------------------------

FAULTS: dict[str, str] = {
    "configuration": "import holdfast.config as m; m.load = boom",
    "trust": "import holdfast.files.trust as m; m.config_trusted = boom",
    "finding": "import holdfast.plugins.loader as m; m.find = boom",
    "reading the event": "import holdfast.clients.claude as m; m.parse = boom",
    "choosing": "import holdfast.plugins.loader as m; m.plan = boom",
    "forking": "import holdfast.process.child as m; m.os.fork = boom",
    "merging": "import holdfast.dispatch.conclusion as m; m.conclude = boom",
    "writing the environment": "import holdfast.dispatch.output as m; m.write_environment = boom",
    "pairing": "import holdfast.dispatch.duplicates as m; m.once = boom",
    "an exit": "import holdfast.plugins.loader as m; m.find = lambda *a: sys.exit(3)",
    "no memory": "import holdfast.plugins.loader as m; m.find = lambda *a: bytes(1 << 60)",
    "a hang": "import holdfast.plugins.loader as m; m.find = lambda *a: __import__('time').sleep(600)",
    "the refusal itself": "from holdfast.plugins import loader, strictness; loader.find = strictness.guarding = boom",
}


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_fails_inside_is_refused(place: Place, tmp_path: Path, name: str) -> None:
    """Through the relay, as the entrypoint starts the engine; nothing else is refused, and without a guard nothing."""
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "def boom(*given, **named): raise RuntimeError('boom')\n"
        "import holdfast.engine; holdfast.engine.PREPARE_LIMIT_S = 2\n"
        f"{FAULTS[name]}\n"
        "from holdfast import relay\n"
        f"sys.exit(relay.main({str(script)!r}, {str(SOURCE)!r}, sys.argv[1]))\n"
    )

    def fire(payload: dict[str, Any], event: str = "PreToolUse") -> Ended:
        done = processes.run(
            [INTERPRETER[0], str(script), event], processes.encoded(payload), place.environ(), place.root
        )
        return Ended(done.exit_code, done.stdout.strip(), done.stderr, done.seconds)

    assert "guard.py" in reason(fire(call(place)))
    assert fire(place.payload("PostToolUse-Bash"), "PostToolUse").stdout == ""
    if name != "the refusal itself":  # the shell does not read the tool
        assert fire(call(place, "Read")).stdout == ""
    shutil.rmtree(place.home / ".config" / "holdfast" / "handlers")
    (place.home / ".local/state/holdfast/strict").unlink()
    assert fire(call(place)).stdout == ""


def test_a_reply_that_was_written_is_never_doubled(place: Place, tmp_path: Path) -> None:
    """A failure after the reply went out leaves it as it is: two JSON objects would count for nothing."""
    place.user_handler("guard", GUARD.replace("None", "deny('no')"))
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        "def boom(*given, **named): raise RuntimeError('boom')\n"
        "import holdfast.dispatch.faults as m; m.note_printed = boom\n"
        "from holdfast import engine; sys.exit(engine.main('PreToolUse'))\n"
    )
    ended = processes.run([INTERPRETER[0], str(script)], processes.encoded(call(place)), place.environ(), place.root)

    assert reason(ended) == "no (user/guard.py)"
    assert "failed inside Holdfast" in place.log()


def test_the_relay_refuses_what_the_client_ends(place: Place, tmp_path: Path) -> None:
    """Before the event is handed over; the reason says so."""
    script = tmp_path / "run.py"
    script.write_text(
        f"import os, sys; sys.path.insert(0, {str(SOURCE)!r}); import holdfast.relay as m\n"
        "m.ask = lambda *_: os.kill(os.getpid(), 15)\n"
        f"sys.exit(m.main({str(script)!r}, {str(SOURCE)!r}, sys.argv[1]))\n"
    )

    def fire(event: str) -> Ended:
        return processes.run([INTERPRETER[0], str(script), event], b"{}", place.environ(), place.root)

    said = reason(fire("PreToolUse"))
    assert "the strict handler guard.py could not check this, because the client ended it." in said
    assert place.log() == ""
    assert fire("PermissionRequest").stdout == ""  # nobody guards it


@pytest.mark.parametrize("event", sorted(STRICT_EVENTS))
def test_every_event_that_can_be_strict_is_refused_in_its_own_form(tmp_path: Path, event: str) -> None:
    """The engine's refusal and the shell's are what the client takes for a no."""
    made = processes.make(tmp_path)
    made.write(made.home / ".local/state/holdfast/strict", f"{event}\t*\t*\t/x/guard.py\ton_x\n")
    unreadable = made.fire(b"\xff", event)
    unknown = made.fire({"session_id": "s", "hook_event_name": "PreCoffee"}, event)
    shell = processes.run(["/bin/sh", str(SOURCE / "holdfast/refuse.sh"), event], b"", made.environ(), made.root)

    for ended in (unreadable, unknown, shell):
        said = json.dumps(ended.reply)
        assert "guard.py" in said
        assert ('"block"' if event.startswith("UserPrompt") else '"deny"') in said
        assert ended.specific.get("hookEventName", event) == event


# --- a hostile repository -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["a = " + "9" * 5_000, "[handlers]\nx = " + "1" * 5_000, "a = [" * 5_000, "\udcff", "a" + ".a" * 10_000 + "=1"],
    ids=["digits", "digits in a table", "nested", "not UTF-8", "dots"],
)
def test_no_configuration_of_a_repository_opens_a_guard(place: Place, text: str) -> None:
    """A file that nobody trusts makes no event fail: the guard is asked."""
    place.write(".claude/holdfast.toml", text.encode("utf-8", "surrogateescape"))
    assert place.fire(call(place), "PreToolUse").stdout == ""
    place.user_handler("guard", GUARD.replace("None", "deny('asked')"))
    assert reason(place.fire(call(place), "PreToolUse")) == "asked (user/guard.py)"


def test_no_variable_hides_a_guard(place: Place, tmp_path: Path) -> None:
    """A project's settings may set it; the command that the refusal names lifts it there, and nowhere else."""
    environ = place.environ(XDG_CONFIG_HOME=str(tmp_path / "other"))
    said = reason(place.fire(call(place), "PreToolUse", environ=environ))
    assert "user/guard.py: on_pre_tool_use" in said
    assert place.fire(call(place, "Read"), "PreToolUse", environ=environ).stdout == ""

    command = said.partition("(in a terminal: ")[2].partition(")")[0]
    python = f"{INTERPRETER[0]} -m holdfast"
    terminal = place.environ(PYTHONPATH=str(SOURCE), CLAUDECODE=None, CLAUDE_PROJECT_DIR=None)
    ended = processes.run(["/bin/sh", "-c", command.replace("holdfast", python, 1)], b"", terminal, place.root)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert place.fire(call(place), "PreToolUse", environ=environ).stdout == ""
    place.user_handler("guard", GUARD.replace("None", "deny('asked')"))
    assert reason(place.fire(call(place), "PreToolUse")) == "asked (user/guard.py)"


# --- the launcher, its package and its interpreter ----------------------------------------------------------------


@pytest.fixture(params=relays.KINDS)
def installed(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Place:
    """The same home with the programs that an install writes, for a copy of the package; with either relay."""
    if request.param == "native":
        monkeypatch.setattr(native, "find", lambda: Relay(relays.limited().read_bytes(), "for tests"))
    monkeypatch.setenv("HOME", str(place.home))
    shutil.copytree(SOURCE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "bin").mkdir()
    # A link to a virtual environment's interpreter would not find that environment.
    place.write(tmp_path / "bin" / "python", f'#!/bin/sh\nexec {INTERPRETER[0]} "$@"\n').chmod(0o755)
    monkeypatch.setattr(paths, "package_root", lambda: tmp_path / "package")
    write_programs(place, tmp_path / "bin" / "python")
    assert native.is_native(paths.launcher()) is (request.param == "native")
    return place


def write_programs(place: Place, python: Path) -> None:
    """Write what an install writes, to start an interpreter."""
    for path, data in launcher.files(interpreter=str(python)).items():
        place.write(path, data).chmod(0o755)


def registered(place: Place, event: str = "PreToolUse", data: bytes = b"") -> Ended:
    """Run the very command that stands in settings.json."""
    command = ["/bin/sh", "-c", registration.command(event)]
    return processes.run(command, data or processes.encoded(call(place)), place.environ(), place.root)


def age(top: Path) -> None:
    """Make it long ago that a folder or anything in it changed."""
    for each in (top, *top.rglob("*")):
        os.utime(each, (time.time() - LONG_AGO,) * 2, follow_symlinks=False)


def test_the_registered_command_lets_a_call_pass(installed: Place) -> None:
    """As long as nothing is missing, the guard decides."""
    ended = registered(installed)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")


def take(place: Place, what: str) -> None:
    """Take something away that the launcher needs, long ago."""
    top = place.home.parent
    if what == "package":
        shutil.rmtree(top / "package" / "holdfast")
    elif what == "relay":
        (top / "package" / "holdfast" / "relay.py").unlink()
    elif what == "engine":
        (top / "package" / "holdfast" / "engine.py").unlink()
    else:
        (top / "bin" / "python").unlink()
        if what == "target":  # as a virtual environment's link to a Python that is gone
            (top / "bin" / "python").symlink_to("../base/python3")
    age(top / "package")
    age(top / "bin")


GONE = {
    "package": "Holdfast's package is missing",
    "relay": "Holdfast's package is missing",
    "engine": "Holdfast does not load",
    "python": "Holdfast's Python is missing",
    "target": "Holdfast's Python is missing",
}
"""What may be gone -> why the guard's calls are refused."""


@pytest.mark.parametrize("what", GONE)
def test_whatever_is_gone_guards_stay_closed_and_each_session_is_told(installed: Place, what: str) -> None:
    """However long ago; every other event is silence, and none fails."""
    take(installed, what)
    said = reason(registered(installed))
    assert GONE[what] in said
    assert "To install it again: " in said
    start = installed.payload("SessionStart-startup")
    ended = registered(installed, "SessionStart", processes.encoded(start))
    assert (ended.exit_code, ended.stderr, list(ended.reply)) == (0, "", ["systemMessage"])
    assert ended.reply["systemMessage"].startswith(GONE[what])
    for event in ("Stop", "PostToolUse", "TaskCompleted", "TeammateIdle"):
        ended = registered(installed, event, b"{}")
        assert (event, ended.exit_code, ended.stdout, ended.stderr) == (event, 0, "", "")
    age(installed.home / ".local")
    assert GONE[what] in reason(registered(installed))


INSTALLERS = {
    "uvx": {"uvx": 'shift 2; exec "$@"', "uv": ""},
    "pipx": {"pipx": '[ "$1" = install ] || { shift 3; exec "$@"; }'},
    "python3": {"python3": 'mkdir -p "$3/bin"; cp "${0%/*}/pip" "${0%/*}/holdfast" "$3/bin"', "pip": ""},
}
"""Stand-ins for what the named lines run: they install nothing, and run this tree's command."""


@pytest.mark.parametrize("installer", INSTALLERS)
def test_the_lines_that_a_message_names_for_what_is_gone_work(installed: Place, tmp_path: Path, installer: str) -> None:
    """The one that removes Holdfast and the one that installs it again, in a refusal and from the command."""
    tools = {name: str(shutil.which(name)) for name in ("sh", "uname", "rm", "mkdir", "cp")}
    scripts = {name: f'exec {path} "$@"' for name, path in tools.items()} | INSTALLERS[installer]
    scripts["holdfast"] = f'PYTHONPATH={SOURCE} exec {INTERPRETER[0]} -m holdfast "$@"'
    for name, script in scripts.items():
        installed.write(tmp_path / "tools" / name, f"#!/bin/sh\n{script}\n").chmod(0o755)
    environ = installed.environ(PATH=str(tmp_path / "tools"))
    settings = installed.write(
        installed.home / ".claude" / "settings.json", json.dumps(registration.settings({"PreToolUse": None}))
    )
    take(installed, "python")
    refusing = ["/bin/sh", "-c", registration.command("PreToolUse")]
    for lead, registered in (("To install it again: ", True), ("To remove it: ", False)):
        write_programs(installed, tmp_path / "bin" / "python")
        said = reason(processes.run(refusing, b"", environ, installed.root))
        called = processes.run([str(launcher.programs()[1]), "uninstall"], b"", environ, installed.root)
        line = said.partition(lead)[2].partition("\n")[0]
        assert (called.exit_code, called.stdout, f"{lead}{line}\n" in called.stderr) == (1, "", True), called.stderr
        done = processes.run(["/bin/sh", "-c", line], b"", environ, installed.root)
        assert (done.exit_code, done.stderr) == (0, ""), line
        assert (settings.exists() and "share/holdfast" in settings.read_text()) is registered
        assert processes.run(refusing, processes.encoded(call(installed)), environ, installed.root).stdout == ""


def test_the_shell_names_the_first_guard_of_the_event(installed: Place) -> None:
    """In whose place it refuses: neither another event's nor another project's, nor all that there are."""
    memory = installed.write(
        installed.home / ".local/state/holdfast/strict",
        "PermissionRequest\t*\t*\t/x/other.py\tf\nPreToolUse\tBash\t/elsewhere\t/x/far.py\tf\n"
        f"PreToolUse\tBash\t{installed.root}\t/x/near.py\tf\nPreToolUse\tBash\t*\t/x/guard.py\tf\n",
    )
    command = ["/bin/sh", str(SOURCE / "holdfast" / "refuse.sh"), "PreToolUse"]
    said = reason(processes.run(command, b"", installed.environ(), installed.root))
    assert said == (
        "Refused: the strict handler near.py could not check this, because Holdfast did not answer. "
        f"In a terminal, 'holdfast doctor' shows why. To lift this without Holdfast: rm -r '{memory}'"
    )


def logged_by_the_shell(place: Place, **changes: str | None) -> None:
    """Have `refuse.sh` log a failure of an event that nobody guards."""
    command = ["/bin/sh", str(SOURCE / "holdfast" / "refuse.sh"), "Stop", "it failed", "", "", "was\nlost"]
    ended = processes.run(command, b"", place.environ(**changes), place.root)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "")


def test_the_shell_logs_a_failure_for_you_alone(place: Place) -> None:
    """On one line, whatever the failure says, below a folder that others can't enter."""
    logged_by_the_shell(place)
    assert place.log().endswith("error Stop was lost\n")
    folder = place.home / ".local" / "state" / "holdfast" / "log"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / "holdfast.log")] == [0o700, 0o600]


@pytest.mark.parametrize("state", ["relative", None])
def test_the_shell_makes_no_folder_where_no_state_belongs(place: Place, state: str | None) -> None:
    """Neither in the project nor at the root, though nobody says where your state is."""
    before = sorted(place.root.rglob("*"))
    logged_by_the_shell(place, XDG_STATE_HOME=state, HOME=state)
    assert sorted(place.root.rglob("*")) == before
    assert not Path("/.local/state/holdfast").exists()


def test_the_shell_knows_a_project_by_any_of_its_paths(installed: Place, tmp_path: Path) -> None:
    """Whoever opens it through a link opens none of its guards."""
    (tmp_path / "link").symlink_to(installed.root)
    installed.write(
        installed.home / ".local/state/holdfast/strict", f"PreToolUse\t*\t{installed.root}\t/x/guard.py\tf\n"
    )
    command = ["/bin/sh", str(SOURCE / "holdfast" / "refuse.sh"), "PreToolUse"]
    environ = installed.environ(CLAUDE_PROJECT_DIR=str(tmp_path / "link"))
    assert "guard.py" in reason(processes.run(command, b"", environ, installed.root))


@pytest.mark.parametrize("folder", ["bin", "it's here"])
def test_an_interpreter_that_crashes_refuses(installed: Place, tmp_path: Path, folder: str) -> None:
    """It is there, whatever its path is."""
    python = installed.write(tmp_path / folder / "python", "#!/bin/sh\nkill -9 $$\n")
    python.chmod(0o755)
    write_programs(installed, python)
    assert "Holdfast did not answer" in reason(registered(installed))


def test_what_was_uninstalled_is_silent(installed: Place) -> None:
    """Without a launcher nothing of Holdfast's is left to refuse."""
    launcher.remove()
    assert registered(installed).stdout == ""


def test_without_a_guard_nothing_that_is_missing_refuses(installed: Place, tmp_path: Path) -> None:
    """Another project's guard, another event's, or none at all."""
    shutil.rmtree(tmp_path / "package" / "holdfast")
    memory = installed.home / ".local/state/holdfast/strict"
    memory.write_text("PreToolUse\t*\t/somewhere/else\t/x/guard.py\tf\nPermissionRequest\t*\t*\t/x/guard.py\tf\n")
    assert registered(installed).stdout == ""
    memory.unlink()
    assert registered(installed).stdout == ""
    for root in (installed.root, "/written/as%09only Holdfast/reads%0Ait"):  # which may be this one
        memory.write_text(f"PreToolUse\t*\t{root}\t/x/guard.py\tf\n")
        assert "guard.py" in reason(registered(installed))


@pytest.mark.parametrize("state", ["it's", 'a"b', "a\\b", "ä b", "$HOME", "`id`"])
def test_the_refusal_is_json_whatever_the_paths(installed: Place, tmp_path: Path, state: str) -> None:
    """Its text quotes the memory's path, so that whoever reads it can lift the refusal without Holdfast."""
    folder = tmp_path / state
    installed.write(folder / "holdfast" / "strict", 'PreToolUse\t*\t*\t/x/gu"ard\\.py\tf\n')
    command = ["/bin/sh", str(SOURCE / "holdfast" / "refuse.sh"), "PreToolUse", 'a "reason"']
    ended = processes.run(command, b"", installed.environ(XDG_STATE_HOME=str(folder)), installed.root)
    assert "a strict handler could not check this, because Holdfast did not answer" in reason(ended)


@pytest.mark.parametrize("folder", [False, True])
def test_the_refusal_names_a_command_that_lifts_it(installed: Place, tmp_path: Path, *, folder: bool) -> None:
    """It works without Holdfast, as it has to, and whatever lies in the place of what is remembered of guards."""
    shutil.rmtree(tmp_path / "package" / "holdfast")
    memory = installed.home / ".local/state/holdfast/strict"
    if folder:
        memory.unlink()
        memory.mkdir()
    lift = reason(registered(installed)).rpartition("To lift this without Holdfast: ")[2]
    subprocess.run(["/bin/sh", "-c", lift], check=True, timeout=processes.PATIENCE)
    assert registered(installed).stdout == ""


# --- the state folder ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a folder away")
def test_a_state_folder_of_another_user_is_not_believed(installed: Place) -> None:
    """Guards in your handlers folder still run. What can't be asked is refused, whatever the memory there says."""
    state = installed.home / ".local" / "state" / "holdfast"
    for memory in (b"", None):
        os.chown(state, 4711, 4711)
        (state / "strict").unlink(missing_ok=True)
        if memory is not None:
            (state / "strict").write_bytes(memory)
        ledgers = sorted(state.rglob("*.db"))
        assert registered(installed).stdout == ""
        registered(installed, "SessionStart", processes.encoded(installed.payload("SessionStart-startup")))
        assert sorted(state.rglob("*.db")) == ledgers
        assert (state / "strict").exists() is (memory is not None)
        assert "it belongs to another user" in installed.log()
        command = ["/bin/sh", str(launcher.programs()[2]), "PreToolUse"]
        said = reason(processes.run(command, b"", installed.environ(), installed.root))
        assert said.endswith("make Holdfast's state folder your own, or set XDG_STATE_HOME")
        assert "could not check it: a handler: " in reason(registered(installed, data=b"nonsense"))
    os.chown(state, os.getuid(), os.getgid())
    assert registered(installed).stdout == ""
    assert (state / "strict").exists()


def test_a_state_folder_that_others_may_write_is_closed_to_them(installed: Place) -> None:
    """If it is yours: then the memory in it holds."""
    state = installed.home / ".local" / "state" / "holdfast"
    state.chmod(0o777)
    assert registered(installed).stdout == ""
    assert stat.S_IMODE(state.stat().st_mode) & 0o022 == 0
    assert "guard.py" in (state / "strict").read_text()


# --- the warm server ----------------------------------------------------------------------------------------------


@pytest.fixture(params=relays.KINDS)
def warm(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[warmth.Warm]:
    """A place with a warm server, either relay, and the guard beside the handler that says so."""
    if not hasattr(socket, "SO_PEERCRED"):
        pytest.skip("asks /proc")
    place = warmth.make(tmp_path_factory.mktemp("w"))
    if request.param == "native":
        place = warmth.native(place)
    place.user_handler("guard", GUARD)
    place.warm_up()
    try:
        yield place
    finally:
        place.close()


def started(
    place: warmth.Warm, body: str, server: str | None = None, *, strict: bool = True
) -> tuple[subprocess.Popen[bytes], int]:
    """Have the guard do something after it has left its parent's id; return the entrypoint and that id."""
    text = GUARD.replace(
        "return None", f"import os, time; open('{place.root}/pids', 'w').write(f'{{os.getppid()}} '); {body}"
    )
    place.user_handler("guard", text if strict else text.replace("strict=True, ", ""))
    if not strict:
        (place.home / ".local/state/holdfast/strict").unlink()  # or it would refuse for the guard that it was
    process = place.begin("PreToolUse", environ=place.environ(HOLDFAST_SERVER=server))
    assert process.stdin
    process.stdin.write(processes.encoded(call(place)))
    process.stdin.close()
    file = place.root / "pids"
    place.until(lambda: file.exists() and file.read_text().endswith(" "))
    return process, int(file.read_text())


def ended(process: subprocess.Popen[bytes]) -> Ended:
    """Wait for the entrypoint's end and return what it printed."""
    with process:
        assert process.stdout
        return Ended(process.wait(processes.PATIENCE), process.stdout.read().decode(), "", 0.0)


def test_a_worker_that_dies_after_go_refuses(warm: warmth.Warm) -> None:
    """stdin has been read by then, so nobody can answer the event any more."""
    process, worker = started(warm, "time.sleep(600)")
    os.kill(worker, signal.SIGKILL)
    assert "its process ended" in reason(ended(process))


@pytest.mark.parametrize("strict", [True, False])
def test_a_worker_that_is_stopped_refuses(warm: warmth.Warm, strict: bool) -> None:
    """When its time is up, before the client's is: what comes after that the client does not hear."""
    package = warm.entry.parent / "patient" / "holdfast"
    warm.configure("timeout = 3.0\ndeadline = 3.0\n")
    warmth.change(package / "engine.py", "WATCH_GRACE_S", "1.0")
    warm.limit("ANSWER_TIMEOUT_S", 10.0)  # it may be stopped before it could say that it has less
    warm.until(lambda: not warm.sockets)  # the server ends: what it has loaded is another now
    warm.warm_up()
    process, worker = started(warm, "os.kill(os.getppid(), 19); time.sleep(600)", strict=strict)
    said = ended(process)
    assert warmth.gone(worker)
    if strict:
        assert "its time was up" in reason(said)
    else:
        assert (said.exit_code, said.stdout) == (0, "")
    assert "PreToolUse is lost: the warm server did not answer it: its time was up" in warm.log()


def test_a_worker_whose_handlers_may_take_longer_is_not_given_up(warm: warmth.Warm) -> None:
    """It says so once they are chosen: the common limit is for choosing them."""
    warm.limit("ANSWER_TIMEOUT_S", 5.0)
    warm.until(lambda: not warm.sockets)
    warm.warm_up()
    process, _ = started(warm, "time.sleep(6); return deny('slept')")
    assert reason(ended(process)) == "slept (user/guard.py)"


@pytest.mark.parametrize("warmly", [True, False])
def test_a_client_that_ends_the_hook_is_refused(warm: warmth.Warm, warmly: bool) -> None:
    """SIGTERM is what the client sends when it has waited long enough: the guard has not said yes."""
    process, _ = started(warm, "time.sleep(600)", None if warmly else "off")
    process.send_signal(signal.SIGTERM)
    assert "the client ended it" in reason(ended(process))


def test_a_client_that_ends_a_hook_that_nobody_guards_hears_nothing(warm: warmth.Warm) -> None:
    """Without a guard SIGTERM is silence, as ever."""
    process, _ = started(warm, "time.sleep(600)", strict=False)
    process.send_signal(signal.SIGTERM)
    assert ended(process).stdout == ""


def test_a_worker_that_dies_after_its_reply_leaves_it_alone(warm: warmth.Warm) -> None:
    """The relay knows that the reply is out: a second one would make both unreadable."""
    warm.user_handler(
        "guard",
        GUARD.replace("return None", "return advise('x', on_delivered=die)")
        + f"import os, signal\n    def die():\n        open('{warm.root}/died', 'w').close()\n"
        + "        os.kill(os.getppid(), signal.SIGKILL)\n",
    )
    ended = warm.fire(call(warm), "PreToolUse")
    assert (warm.root / "died").exists()
    assert "x" in ended.advice
    assert "permissionDecision" not in ended.specific


def test_a_server_that_dies_refuses_nothing_by_itself(warm: warmth.Warm, tmp_path: Path) -> None:
    """Before *go* the event goes cold, after it the worker goes on: the guard is asked all the same."""
    process, _ = started(warm, "time.sleep(0.2)")
    os.kill(warm.pid, signal.SIGKILL)
    assert ended(process).advice in ("warm", "cold")


def test_the_read_timer_ends_no_handler(place: Place, tmp_path: Path) -> None:
    """Once handlers are chosen their own deadline counts: here the timer would ring in the middle of one."""
    place.user_handler("guard", GUARD.replace("return None", "import time; time.sleep(3); return deny('slept')"))
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys, time; sys.path.insert(0, {str(SOURCE)!r})\n"
        "from holdfast import engine; chosen = engine.prepare\n"
        "def prepare(*given):\n"
        "    engine._watch(time.monotonic() + 2)\n"  # as if the limit were over soon, on a machine however busy
        "    return chosen(*given)\n"
        "engine.prepare = prepare; sys.exit(engine.main('PreToolUse'))\n"
    )
    ended = processes.run([INTERPRETER[0], str(script)], processes.encoded(call(place)), place.environ(), place.root)
    assert reason(ended) == "slept (user/guard.py)"
