"""What the settings files register is compared with what the handlers want, file by file and all together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import client, install, installs, loader, paths, registered, registration, scopes, skillcopy
from holdfast.errors import StateError
from holdfast.events import EVENTS
from holdfast.project import Project
from tests.doctoring import examine, healthy, mend, obey, only

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.scopes import Scope, Target

STOP = "from holdfast import hookimpl\n\n\n@hookimpl\ndef on_{event}(event): ...\n"


def put(root: Path, scope: Scope = "user", *, allow_cli: bool = False) -> Target:
    target = scopes.target(scope, root)
    install.install(target, allow_cli=allow_cli)
    return target


def edit(target: Target, change: Callable[[dict[str, Any]], None]) -> None:
    settings = json.loads(target.settings.read_text("utf-8"))
    change(settings)
    target.settings.write_text(json.dumps(settings), "utf-8")


def handler(event: str) -> Path:
    path = paths.user_handlers() / "mine.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STOP.format(event=event), "utf-8")
    return path


def test_nothing_registered_is_a_problem(root: Path) -> None:
    """All three files are named, and the first command there is."""
    found = only("registration", root, "problem")

    for scope in ("user", "project", "local"):
        assert str(scopes.target(scope, root).settings) in found.text
    assert found.remedy == "holdfast install"
    obey(found, root)
    healthy("registration", root)


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_a_fresh_install_is_as_it_should_be(root: Path, scope: Scope) -> None:
    """The file is named, with how much it registers."""
    target = put(root, scope, allow_cli=True)

    said = healthy("registration", root)

    events = len(json.loads(target.settings.read_text("utf-8"))["hooks"])
    assert f"{target.settings} registers {events} event(s)" in said
    assert "lets the model call holdfast unasked" in said
    assert f"{target.skill} is the skill of this version" in said


def test_user_and_project_with_the_same_commands_are_no_double(root: Path) -> None:
    """The client runs identical commands once."""
    put(root)
    put(root, "project")
    healthy("registration", root)


def forget(settings: dict[str, Any]) -> None:
    del settings["hooks"]["PreCompact"]


def repeat(settings: dict[str, Any]) -> None:
    settings["hooks"]["Stop"] *= 2


def repeat_otherwise(settings: dict[str, Any]) -> None:
    command = "$HOME/.local/share/holdfast/run Stop"
    settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": command}]})


def narrow(settings: dict[str, Any]) -> None:
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash"


def old_form(settings: dict[str, Any]) -> None:
    settings["hooks"]["Stop"][0]["hooks"][0]["command"] = "$HOME/.local/share/holdfast/run Stop"


@pytest.mark.parametrize("scope", ["user", "local"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (forget, "PreCompact: registered"),
        (repeat, "Stop: registered once instead of 2 times"),
        (repeat_otherwise, "Stop: registered once instead of 2 times"),
        (narrow, "PreToolUse: matcher changed for"),
        (old_form, "Stop: command brought up to date"),
    ],
)
def test_what_drifted_is_named_and_mended(
    root: Path, scope: Scope, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    """By the command and by --fix alike, in the files that are the user's own."""
    target = put(root, scope)
    edit(target, change)

    found = only("registration", root, "problem")

    assert found.text.startswith(f"{target.settings} does not register what the handlers want")
    assert words in found.text
    obey(found, root)
    healthy("registration", root)
    edit(target, change)
    (done,) = mend("registration", root)
    assert f"{target.settings}: {words}" in done
    healthy("registration", root)


def test_a_new_handler_is_not_registered_yet(root: Path) -> None:
    """What a session start would do by itself, told before it."""
    put(root)
    handler("notification")

    found = only("registration", root, "problem")

    assert "Notification: registered" in found.text
    obey(found, root)
    healthy("registration", root)


def test_a_teams_settings_are_named_and_never_changed(root: Path) -> None:
    """--fix leaves them; the command is for somebody who decides it."""
    target = put(root, "project")
    edit(target, forget)
    before = target.settings.read_bytes()

    found = only("registration", root, "problem")

    assert found.fix is None
    assert mend("registration", root) == []
    assert target.settings.read_bytes() == before
    assert found.remedy == f"holdfast install --scope project --project {root}"
    obey(found, root)
    healthy("registration", root)


def test_two_forms_in_two_files_are_run_twice(root: Path) -> None:
    """Only the same command is run once: the older of the two files is the one to bring up to date."""
    user, team = put(root), put(root, "project")
    edit(team, old_form)

    drifted, twice = (found for found in examine("registration", root) if found.level != "ok")

    assert drifted.text.startswith(str(team.settings))
    assert (twice.level, twice.fix) == ("problem", None)
    assert f"{user.settings} and {team.settings} register Stop in different forms" in twice.text
    assert twice.remedy == f"holdfast install --scope project --project {root}"
    obey(twice, root)
    healthy("registration", root)


@pytest.mark.parametrize("command", ["python3 /opt/holdfast/hooks/dispatch.py Stop", "holdfast dispatch Stop"])
def test_an_entry_by_hand_is_found(root: Path, command: str) -> None:
    """No uninstall would take it out, and beside ours it answers the event again."""
    target = put(root)
    stray = {"hooks": [{"type": "command", "command": command}]}
    edit(target, lambda settings: settings["hooks"]["Stop"].append(stray))

    found = only("registration", root, "problem")

    assert f'{target.settings}: "hooks.Stop" runs Holdfast in a way no install wrote' in found.text
    assert command in found.text
    edit(target, lambda settings: settings["hooks"]["Stop"].remove(stray))
    healthy("registration", root)


def test_somebody_elses_hooks_are_nobodys_business(root: Path) -> None:
    """A command that has nothing to do with Holdfast, and shapes that the client drops, are passed over."""
    target = put(root)
    others = [{"hooks": [{"type": "command", "command": "make test"}, {"type": "prompt"}, 7]}, 5, {"hooks": 3}]
    edit(target, lambda settings: settings["hooks"].update(Notification=others))
    healthy("registration", root)


@pytest.mark.parametrize(("key", "value"), [("async", True), ("if", "Bash(*)"), ("shell", "powershell")])
def test_what_makes_our_entry_another_is_found(root: Path, key: str, value: object) -> None:
    """An answer that comes late restores nothing; a time limit set by hand is fine."""
    target = put(root)
    hook = "SessionStart"
    edit(target, lambda settings: settings["hooks"][hook][0]["hooks"][0].update(timeout=9))
    healthy("registration", root)
    edit(target, lambda settings: settings["hooks"][hook][0]["hooks"][0].update({key: value}))

    found = only("registration", root, "problem")

    assert f'"hooks.SessionStart" has "{key}"' in found.text
    obey(found, root)
    healthy("registration", root)


def settle(root: Path, content: str) -> Target:
    """Have the user's settings say something, while the project's local ones register Holdfast."""
    put(root, "local")
    target = scopes.target("user", root)
    target.settings.parent.mkdir(exist_ok=True)
    target.settings.write_text(content)
    return target


@pytest.mark.parametrize("content", ['{"hooks": {', "[]", "{} {}"])
def test_settings_that_cannot_be_read_are_named(root: Path, content: str) -> None:
    """With what is wrong in them: no install could change them either."""
    target = settle(root, content)

    found = only("registration", root, "problem")

    assert found.text.startswith(f"{target.settings}: ")
    assert found.remedy == f"correct {target.settings}"


def test_settings_that_are_closed_to_us_are_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is sent to install again what may stand in them."""
    target = put(root)
    read = registered.read

    def refuse(path: Path) -> dict[str, Any]:
        if path == target.settings and target.settings.stat().st_mode & 0o400 == 0:
            raise StateError(path, "cannot be read: Permission denied")
        return read(path)

    monkeypatch.setattr(registered, "read", refuse)
    monkeypatch.setattr(os, "access", lambda path, wanted: bool(Path(path).stat().st_mode >> 6 & wanted))
    target.settings.chmod(0o000)

    found = only("registration", root, "problem")

    assert found.remedy == f"chmod u+rw {target.real}"
    obey(found, root)
    healthy("registration", root)


@pytest.mark.parametrize("content", ["", "\n", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"permissions": []}'])
def test_settings_that_register_nothing_are_fine(root: Path, content: str) -> None:
    """Whatever their shape."""
    settle(root, content)
    healthy("registration", root)


def test_a_shape_no_install_can_edit_is_named(root: Path) -> None:
    """Where ours stands in such a file already."""
    target = put(root)
    edit(target, lambda settings: settings["hooks"].update(Stop={}))

    assert '"hooks.Stop" must be an array' in only("registration", root, "problem").text


def test_rules_that_were_allowed_and_are_gone_are_only_told(root: Path) -> None:
    """Who took a permission away may have meant it: --fix gives none back, the command does."""
    target = put(root, allow_cli=True)
    edit(target, lambda settings: settings["permissions"]["allow"].remove("Bash(holdfast done:*)"))

    found = only("registration", root, "notice")

    assert '"permissions.allow" lacks Bash(holdfast done:*)' in found.text
    assert found.fix is None
    obey(found, root)
    healthy("registration", root)


def test_without_allow_cli_no_rule_is_missed(root: Path) -> None:
    """Nobody is told to allow what they did not."""
    put(root)
    assert "unasked" not in healthy("registration", root)


def test_the_copy_of_the_skill_is_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, of another version, or changed by somebody: each is told with what to do, and the second is mended."""
    target = put(root, allow_cli=True)
    target.skill.unlink()
    found = only("registration", root, "notice")
    assert "is gone" in found.text
    obey(found, root)
    healthy("registration", root)

    newer = skillcopy.shipped() + b"\nMore.\n"
    monkeypatch.setattr(skillcopy, "shipped", lambda: newer)
    found = only("registration", root, "notice")
    assert "of another version" in found.text
    assert mend("registration", root) == [f"skill: {target.skill}"]
    assert target.skill.read_bytes() == newer
    record = installs.get(target.real)
    assert record is not None
    assert record.skill_digest == installs_digest(newer)
    healthy("registration", root)

    target.skill.write_text("mine")
    found = only("registration", root, "notice")
    assert "was changed since" in found.text
    assert found.fix is None
    obey(found, root)
    healthy("registration", root)
    assert target.skill.with_name("SKILL.md.mine").read_text() == "mine"


def installs_digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def test_the_skill_in_a_teams_project_is_the_teams(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is committed, so --fix does not change it."""
    target = put(root, "project", allow_cli=True)
    before = target.skill.read_bytes()
    monkeypatch.setattr(skillcopy, "shipped", lambda: before + b"\nMore.\n")

    assert only("registration", root, "notice").fix is None
    assert target.skill.read_bytes() == before


def test_events_that_the_client_knows_or_does_not(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed client is asked only where the answer matters; an older one than at the install is a problem."""
    handler("pre_model_switch")
    monkeypatch.setattr(client, "version", lambda: (2, 1, 197))
    target = put(root)
    healthy("registration", root)

    monkeypatch.setattr(client, "version", lambda: (2, 1, 400))
    found = only("registration", root, "notice")
    assert "does not register PreModelSwitch, which the installed client 2.1.400 knows" in found.text
    assert len(mend("registration", root)) == 1
    assert "PreModelSwitch" in json.loads(target.settings.read_text("utf-8"))["hooks"]
    healthy("registration", root)

    monkeypatch.setattr(client, "version", lambda: (2, 1, 197))
    found = only("registration", root, "problem")
    assert "which the installed client 2.1.197 does not know" in found.text
    obey(found, root)
    healthy("registration", root)
    assert "PreModelSwitch" not in json.loads(target.settings.read_text("utf-8"))["hooks"]


def test_no_client_is_asked_for_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs a process of its own."""
    put(root)
    monkeypatch.setattr(client, "version", lambda: pytest.fail("asked"))
    healthy("registration", root)


def test_an_enabled_plugin_registers_by_itself(root: Path) -> None:
    """Then no settings need to."""
    folder = root.parent / "plugin"
    (folder / "hooks").mkdir(parents=True)
    wanted = {name: None for name in EVENTS if name in ("Stop", "PreCompact")}
    hooks = registration.settings(wanted, registration.plugin_command)
    (folder / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    claude = scopes.claude_dir()
    (claude / "plugins").mkdir(parents=True)
    listed = {"plugins": {"holdfast@here": [{"installPath": str(folder)}]}}
    (claude / "plugins" / "installed_plugins.json").write_text(json.dumps(listed))
    (claude / "settings.json").write_text('{"enabledPlugins": {"holdfast@here": true}}')

    assert "enables the plugin, which registers 2 event(s)" in healthy("registration", root)


def test_a_settings_file_of_another_name_counts_for_its_project(root: Path, tmp_path: Path) -> None:
    """What an install was given with --settings is looked at too, and its command names it."""
    target = scopes.target("local", root, tmp_path / "own.json")
    install.install(target)
    edit(target, forget)

    found = only("registration", root, "problem")

    assert found.text.startswith(f"{target.settings} ")
    assert f"--settings {target.settings}" in found.remedy
    obey(found, root)
    healthy("registration", root)
    other = tmp_path / "elsewhere"
    other.mkdir()
    only("registration", other, "problem")  # there nothing is registered


def test_nothing_is_loaded_to_compare(root: Path) -> None:
    """What handlers want is read from their text, so that one which hangs costs nothing here."""
    path = handler("stop")
    path.write_text("import time\ntime.sleep(600)\n" + path.read_text())
    assert loader.find(Project.open(root))
    put(root)
    healthy("registration", root)
