"""Every registered command really runs; the check names what the client wouldn't accept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients.claude import scopes
from holdfast.install import install, launcher
from holdfast.testkit.client import Client
from tests import pluginhome
from tests.doctoring import examine, only

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.clients.claude.scopes import Target
    from holdfast.install.plugin import Copy


@pytest.fixture
def target(root: Path) -> Target:
    """The user's settings after an install."""
    made = scopes.target("user", root)
    install.install(made)
    return made


def test_where_nothing_is_registered_nothing_is_run(root: Path) -> None:
    """That is said."""
    assert "no command is registered" in only("fire", root, "notice").text


def leave_only(target: Target, *names: str, **changes: Any) -> None:
    """Take all events but some out of the settings, and change the entries of those."""
    settings = json.loads(target.settings.read_text("utf-8"))
    settings["hooks"] = {name: settings["hooks"][name] for name in names}
    for name in names:
        settings["hooks"][name][0]["hooks"][0] |= changes
    target.settings.write_text(json.dumps(settings), "utf-8")


def pretend(program: str) -> None:
    """Have the launcher be another program."""
    paths.launcher().write_text(f"#!/bin/sh\n{program}\n", "utf-8")


def times(*tops: Path) -> dict[str, int]:
    """Return when each file below some folders was last written."""
    return {str(path): path.lstat().st_mtime_ns for top in tops for path in sorted(top.rglob("*"))}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands run on after their limits, which are as short as 1.5 seconds: a machine may be busy."""
    run = Client.run
    monkeypatch.setattr(Client, "run", lambda self, command, payload, _limit: run(self, command, payload))


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_every_registered_event_answers(target: Target, root: Path, home: Path) -> None:
    """Each in a line of its own; a workflow is saved and restored; nothing of the user's is read or written."""
    (root / "CLAUDE.local.md").write_text("# Current Workflow State\n\nWorkflow: Mine\nPhase: 1/2 - A\n")
    handler = paths.user_handlers() / "mine.py"
    handler.parent.mkdir(parents=True)
    handler.write_text(
        "from holdfast import hookimpl\n@hookimpl\ndef on_stop(event, context):\n"
        f"    open({str(home / 'ran')!r}, 'w').close()\n"
    )

    before = times(root, home)
    found = examine("fire", root)

    assert times(root, home) == before
    assert {each.level for each in found} == {"ok"}, found
    events = list(json.loads(target.settings.read_text("utf-8"))["hooks"])
    assert sorted(each.text.partition(" ")[0] for each in found) == sorted(events)
    said = {each.text.partition(" ")[0]: each.text for each in found}
    assert "characters" in said["PreCompact"]
    assert "SessionStart-compact" in said["SessionStart"]
    assert "characters" in said["SessionStart"]
    assert "PreToolUse-Agent" in said["PreToolUse"]  # what its matcher selects
    assert "PostToolUseFailure-Bash as Agent" in said["PostToolUseFailure"]
    assert "of 1.5 seconds" in said["SessionEnd"]


@pytest.mark.parametrize(
    ("program", "limit", "words"),
    [
        ("echo hello", 30, "it prints plain text, which goes nowhere: 'hello\\n'"),
        ("echo '{}'", 30, "it ended with 0, but Holdfast never got the event"),
        ("exit 0", 30, "it ended with 0, but Holdfast never got the event"),
        ("exec sleep 600", 0.4, "it didn't end within 0.4 seconds"),
    ],
)
def test_what_the_client_would_not_take_is_a_problem(
    target: Target, root: Path, program: str, limit: float, words: str
) -> None:
    """With the event, the payload and the settings file."""
    leave_only(target, "Stop", timeout=limit)
    pretend(program)

    found = only("fire", root, "problem")

    assert found.text.startswith(f"Stop (Stop), registered in {target.settings}: ")
    assert words in found.text


def test_what_the_registered_command_itself_does_is_seen(target: Target, root: Path) -> None:
    """Its exit code and its stderr, as the shell leaves them."""
    command = 'p="$HOME/.local/share/holdfast/run"; [ -x "$p" ] && "$p" Stop; echo oops >&2; exit 2'
    leave_only(target, "Stop", command=command)
    found = only("fire", root, "problem")
    assert "exit code 2; it writes to stderr: oops" in found.text


def test_a_missing_launcher_is_not_taken_for_silence(target: Target, root: Path) -> None:
    """The command ends with 0 then, by design; the log tells."""
    leave_only(target, "Stop")
    paths.launcher().unlink()
    found = only("fire", root, "problem")
    assert "never got the event" in found.text
    assert found.remedy == "holdfast doctor"
    launcher.write()
    assert {each.level for each in examine("fire", root)} == {"ok"}


def test_an_error_inside_is_told_from_the_log(target: Target, root: Path) -> None:
    """A failure inside ends with 0 and silence."""
    leave_only(target, "Stop")
    pretend('mkdir -p "$HOME/log"; echo "2026-03-01 error Stop: it raised KeyError" > "$HOME/log/holdfast.log"')
    found = only("fire", root, "problem")
    assert found.text.endswith(": Stop: it raised KeyError")


def test_an_event_that_was_never_recorded_is_run_all_the_same(target: Target, root: Path) -> None:
    """With the fields that every event has; an event that does not exist is none of the client's."""
    settings = json.loads(target.settings.read_text("utf-8"))
    hook = {"type": "command", "command": 'p="$HOME/.local/share/holdfast/run"; [ -x "$p" ] && "$p"; exit 0'}
    settings["hooks"] = {"TeammateIdle": [{"hooks": [hook]}], "Nonsense": [{"hooks": [hook]}]}
    target.settings.write_text(json.dumps(settings))

    idle, nonsense = examine("fire", root)

    assert (idle.level, idle.text.partition(":")[0]) == ("ok", "TeammateIdle (never recorded)")
    assert nonsense.text == f"{target.settings} registers Nonsense, which isn't an event of Claude Code"


def test_the_payload_is_one_that_the_entry_is_registered_for(target: Target, root: Path, tmp_path: Path) -> None:
    """Where none was recorded that its matcher selects, the field is changed."""
    out = tmp_path / "payload"
    command = f'p="$HOME/.local/share/holdfast/run"; tee {out} | "$p" PostToolUseFailure; exit 0'
    leave_only(target, "PostToolUseFailure", command=command)

    assert {each.level for each in examine("fire", root)} == {"ok"}
    payload = json.loads(out.read_text())
    assert (payload["hook_event_name"], payload["tool_name"]) == ("PostToolUseFailure", "Agent")
    assert not payload["cwd"].startswith(str(root))


# --- the plugin's hooks -------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """The plugin, installed, enabled and ready."""
    return pluginhome.enable(pluginhome.copy_of_plugin(tmp_path / "the plugin"))


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_the_plugins_hooks_are_fired(copy: Copy, root: Path, home: Path) -> None:
    """Alone they are all there is: each answers, nobody is sent to install, and nothing is written."""

    before = times(root, home)
    found = examine("fire", root)

    assert times(root, home) == before
    assert {(each.level, each.remedy) for each in found} == {("ok", "")}, found
    assert [each.text.partition(" ")[0] for each in found] == [
        "PreCompact",
        "SessionStart",
        *[event for event in copy.registered() if event not in ("PreCompact", "SessionStart")],
    ]
    said = {each.text.partition(" ")[0]: each.text for each in found}
    for event, name in (("PreCompact", "PreCompact-manual"), ("SessionStart", "SessionStart-compact")):
        assert said[event].startswith(f"{event} ({name}) of the plugin holdfast@holdfast: ")
        assert "characters" in said[event]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("echo hello", "it prints plain text, which goes nowhere: 'hello\\n'"),
        ("exit 0", "it ended with 0, but Holdfast never got the event"),
    ],
)
def test_what_a_hook_of_the_plugins_does_wrong_is_named(copy: Copy, root: Path, program: str, words: str) -> None:
    """With the event and the file that registers it."""
    hooks = json.loads((copy.root / "hooks" / "hooks.json").read_text())
    (copy.root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"Stop": hooks["hooks"]["Stop"]}}))
    (copy.root / "plugin" / "run.sh").write_text(f"{program}\n")
    found = only("fire", root, "problem")
    assert found.text == f"Stop (Stop), registered in {copy.root}/hooks/hooks.json: {words}"


def test_without_an_environment_no_hook_of_the_plugins_is_run(root: Path, tmp_path: Path) -> None:
    """Its first event would begin to build one; and an install is not what is missing."""
    copy = pluginhome.enable(pluginhome.copy_of_plugin(tmp_path / "plugin"), ready=False)
    found = only("fire", root, "notice")
    assert found.text.startswith(
        "the hooks of the plugin holdfast@holdfast weren't run, because its Python environment isn't ready"
    )
    assert found.remedy == "holdfast doctor"
    assert not copy.data.exists()
