"""The check compares what settings files register with what the handlers want, for each file and all together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import paths
from holdfast.clients import claude
from holdfast.clients.claude import scopes, versions
from holdfast.errors import StateError
from holdfast.events import EVENTS
from holdfast.install import installer, installs, plugin_copies, registration, registrations, seen_clients, skillcopy
from holdfast.plugins import loader
from holdfast.sessions.workspace import Workspace
from tests import pluginhome
from tests.doctoring import examine, healthy, mend, obey, only
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checks import Finding
    from holdfast.clients.claude.scopes import Scope, Target

STOP = "from holdfast import hookimpl\n\n\n@hookimpl\ndef on_{event}(event): ...\n"


def put(root: Path, scope: Scope = "user", *, allow_cli: bool = False) -> Target:
    target = scopes.target(scope, root)
    installer.install(target, allow_cli=allow_cli)
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
    assert f"{target.settings} registers {events} events" in said
    assert "lets the model call holdfast without asking" in said
    assert f"{target.skill} is up to date" in said


def test_user_and_project_with_the_same_commands_are_no_double(root: Path) -> None:
    """The client runs identical commands once."""
    put(root)
    put(root, "project")
    healthy("registration", root)


def test_locks_that_were_switched_on_or_off_call_for_an_install(root: Path) -> None:
    """Edits are registered only while locks are on."""
    target = put(root)
    for option, registered in (("on", True), ("off", False)):
        paths.user_config().parent.mkdir(parents=True, exist_ok=True)
        paths.user_config().write_text(f'locks = "{option}"\n')

        found = only("registration", root, "problem")

        assert "`holdfast install` would change: PreToolUse: matcher changed to" in found.text
        obey(found, root)
        healthy("registration", root)
        matcher = json.loads(target.settings.read_text())["hooks"]["PreToolUse"][0]["matcher"]
        assert ("|Write" in matcher) == registered


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
        (narrow, "PreToolUse: matcher changed to"),
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

    assert found.text.startswith(f"{target.settings} doesn't match what the handlers want")
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
    assert f"{user.settings} and {team.settings} register Stop with different commands" in twice.text
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

    assert f'{target.settings}: "hooks.Stop" runs Holdfast with a command that ' in found.text
    assert command in found.text
    edit(target, lambda settings: settings["hooks"]["Stop"].remove(stray))
    healthy("registration", root)


def test_somebody_elses_hooks_are_nobodys_business(root: Path) -> None:
    """A command that has nothing to do with Holdfast is passed over."""
    target = put(root)
    others = [{"hooks": [{"type": "command", "command": "make test"}, {"type": "prompt"}]}]
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

    assert f'"hooks.SessionStart" adds "{key}"' in found.text
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
    read = registrations.read

    def refuse(path: Path) -> dict[str, Any]:
        if path == target.settings and target.settings.stat().st_mode & 0o400 == 0:
            raise StateError(path, "cannot be read: Permission denied")
        return read(path)

    monkeypatch.setattr(registrations, "read", refuse)
    monkeypatch.setattr(os, "access", lambda path, wanted: bool(Path(path).stat().st_mode >> 6 & wanted))
    target.settings.chmod(0o000)

    found = only("registration", root, "problem")

    assert found.remedy == f"chmod u+rw {target.real}"
    obey(found, root)
    healthy("registration", root)


@pytest.mark.parametrize("content", ["", "\n", "{}"])
def test_settings_that_register_nothing_are_fine(root: Path, content: str) -> None:
    """An empty file too."""
    settle(root, content)
    healthy("registration", root)


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
    assert "without asking" not in healthy("registration", root)


def test_the_copy_of_the_skill_is_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, from another version, or changed by somebody: each is told with what to do, and the second is mended."""
    target = put(root, allow_cli=True)
    target.skill.unlink()
    found = only("registration", root, "notice")
    assert "is gone" in found.text
    obey(found, root)
    healthy("registration", root)

    newer = skillcopy.shipped() + b"\nMore.\n"
    monkeypatch.setattr(skillcopy, "shipped", lambda: newer)
    found = only("registration", root, "notice")
    assert "from another version" in found.text
    assert mend("registration", root) == [f"Skill: {target.skill}"]
    assert target.skill.read_bytes() == newer
    record = installs.get(target.real)
    assert record is not None
    assert record.skill_digest == installs_digest(newer)
    healthy("registration", root)

    target.skill.write_text("mine")
    found = only("registration", root, "notice")
    assert "was edited after" in found.text
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


def test_events_that_a_client_used_here_does_not_know(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the clients of the last 30 days know decides; as long as one is known, no program is asked."""
    handler("pre_model_switch")
    monkeypatch.setattr(versions, "version", lambda: (2, 1, 332))
    target = put(root)
    monkeypatch.setattr(versions, "version", lambda: pytest.fail("asked"))
    assert "PreModelSwitch" in json.loads(target.settings.read_text("utf-8"))["hooks"]
    healthy("registration", root)

    seen_clients.note((2, 1, 197))
    assert "PreModelSwitch: no longer registered" in only("registration", root, "problem").text
    mend("registration", root)
    healthy("registration", root)
    assert "PreModelSwitch" not in json.loads(target.settings.read_text("utf-8"))["hooks"]


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

    assert "enables the plugin, which registers 2 events" in healthy("registration", root)


def test_a_settings_file_of_another_name_counts_for_its_project(root: Path, tmp_path: Path) -> None:
    """What an install was given with --settings is looked at too, and its command names it."""
    target = scopes.target("local", root, tmp_path / "own.json")
    installer.install(target)
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
    assert loader.find(claude, Workspace.open(root))
    put(root)
    healthy("registration", root)


@pytest.mark.parametrize("name", ["hooks", "permissions"])
def test_where_nothing_can_be_registered_an_install_is_no_remedy(root: Path, name: str) -> None:
    """It would be refused: the field is named, to be corrected first."""
    target = scopes.target("user", root)
    target.settings.parent.mkdir(exist_ok=True)
    target.settings.write_text(json.dumps({name: []}))

    found = only("registration", root, "problem")

    assert f"{name} is an array, but should be an object" in found.text
    assert found.remedy == f"correct {target.settings}"
    with pytest.raises(StateError, match="must be an"):
        installer.install(target)
    target.settings.write_text("{}")
    assert only("registration", root, "problem").remedy == "holdfast install"


@pytest.mark.parametrize(("event", "limit"), [("Stop", 1), ("Stop", 4.5), ("SessionEnd", 1)])
def test_a_time_limit_that_cuts_answers_off(root: Path, event: str, limit: object) -> None:
    """The client throws away what comes later; an install and --fix take the limit out, and leave a longer one."""
    target = put(root)

    def set_limit(settings: dict[str, Any]) -> None:
        settings["hooks"][event][0]["hooks"][0]["timeout"] = limit
        settings["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = 5

    edit(target, set_limit)
    found = only("registration", root, "problem")
    words = f"{event}: time limit of {json.dumps(limit)} s taken out, it would cut answers off"
    assert words in found.text
    obey(found, root)
    healthy("registration", root)
    edit(target, set_limit)
    assert mend("registration", root) == [f"{target.settings}: {words}"]
    healthy("registration", root)
    hooks = json.loads(target.settings.read_text("utf-8"))["hooks"]
    assert "timeout" not in hooks[event][0]["hooks"][0]
    assert hooks["PreToolUse"][0]["hooks"][0]["timeout"] == 5


@pytest.mark.parametrize(
    "command",
    [
        "python3 {entry} Stop",
        "python '{entry}'",
        'cd /tmp; exec /usr/bin/python3 "{entry}" Stop',
        "python3 $CLAUDE_PROJECT_DIR/tools/hooks/dispatch.py Stop",
        'python3 "${{CLAUDE_PROJECT_DIR}}/tools/hooks/dispatch.py"',
        "python3 tools/hooks/dispatch.py Stop",
        "python3 tools/hooks/dispatch.py; exit 0",
        "(cat | python3 tools/hooks/dispatch.py)||true",
        "python3 'with;semi(colon)/dispatch.py'",
        "python3 $HOME/hooks/dispatch.py Stop",
        "python3 ~/hooks/dispatch.py Stop",
    ],
)
def test_the_entrypoint_by_hand_is_found_wherever_it_lies(root: Path, tmp_path: Path, command: str) -> None:
    """Its path need not say whose it is: the file does."""
    source = (paths.shipped("hooks") / "dispatch.py").read_text("utf-8")
    entry = tmp_path / "some where" / "hooks" / "dispatch.py"
    odd = root / "with;semi(colon)" / "dispatch.py"
    for place in (entry, odd, root / "tools" / "hooks" / "dispatch.py", Path.home() / "hooks" / "dispatch.py"):
        place.parent.mkdir(parents=True)
        place.write_text(source)
    target = put(root)
    if " " in str(entry) and command == "python3 {entry} Stop":
        command = command.replace("{entry}", str(entry).replace(" ", "\\ "))
    command = command.format(entry=entry)
    stray = {"hooks": [{"type": "command", "command": command}]}
    edit(target, lambda settings: settings["hooks"]["Stop"].append(stray))

    found = only("registration", root, "problem")

    assert f"so Holdfast answers the event twice: {command}" in found.text
    assert found.remedy == f'remove that entry from "hooks.Stop" in {target.settings}'


def test_somebody_elses_dispatch_is_not_ours(root: Path) -> None:
    """Of the same name, or gone."""
    file = root / "hooks" / "dispatch.py"
    file.parent.mkdir()
    file.write_text("print('mine')\n")
    target = put(root)
    commands = [f"python3 {file} Stop", "python3 /gone/hooks/dispatch.py", "python3 'unclosed hooks/dispatch.py"]
    others = [{"hooks": [{"type": "command", "command": each}]} for each in commands]
    edit(target, lambda settings: settings["hooks"]["Stop"].extend(others))
    healthy("registration", root)


@pytest.mark.usefixtures("anybody")
def test_a_folder_of_settings_that_is_closed_is_opened(root: Path) -> None:
    """The user's is looked at by no other check."""
    target = put(root)
    target.settings.parent.chmod(0o000)
    found = only("registration", root, "problem")
    assert found.remedy == f"chmod u+rwx {target.settings.parent}"
    obey(found, root)
    healthy("registration", root)


# --- beside the plugin --------------------------------------------------------------------------------------------


def both(found: list[Finding]) -> list[Finding]:
    return [each for each in found if " both register " in each.text]


@pytest.mark.parametrize("rules", [False, True])
def test_plugin_and_settings_that_register_the_same_are_told(root: Path, rules: bool) -> None:
    """Both are named, that nothing is delivered twice, and what removes the one and the other."""
    target = put(root, allow_cli=rules)
    copy = pluginhome.enable(ROOT)

    (found,) = both(examine("registration", root))

    assert (found.level, found.fix) == ("notice", None)
    assert found.text.startswith(f"{target.settings} and the plugin holdfast@holdfast both register SessionStart, ")
    assert not [event for event in copy.registered() if event not in found.text]
    assert "nothing is delivered twice" in found.text
    assert found.text.endswith("To remove the plugin: claude plugin uninstall holdfast@holdfast")
    assert found.remedy.startswith("holdfast uninstall --scope user")
    assert ("--allow-cli" in found.remedy) == rules
    obey(found, root)
    healthy("registration", root)
    settings = json.loads(target.settings.read_text("utf-8"))
    assert not set(settings.get("hooks", {})) & set(copy.registered())
    assert ("permissions" in settings) == rules
    assert settings["enabledPlugins"]


def test_what_only_settings_register_is_put_back(root: Path) -> None:
    """The command that removes one of the two leaves a person's own handlers their events."""
    handler("notification")
    target = put(root)
    pluginhome.enable(ROOT)
    (found,) = both(examine("registration", root))
    assert "Notification" not in found.text
    assert found.remedy == "holdfast uninstall --scope user && holdfast install --scope user"
    obey(found, root)
    assert "Notification" in json.loads(target.settings.read_text("utf-8"))["hooks"]
    healthy("registration", root)


def test_an_install_beside_the_plugin_is_no_double(root: Path) -> None:
    """It adds what the plugin lacks, even of an event that the plugin registers, too."""
    pluginhome.enable(ROOT)
    path = paths.user_handlers() / "mine.py"
    path.parent.mkdir(parents=True)
    path.write_text("from holdfast import hookimpl\n\n\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event): ...\n")
    target = put(root)
    assert json.loads(target.settings.read_text("utf-8"))["hooks"]["PreToolUse"][0]["matcher"] == "Bash"
    healthy("registration", root)


def test_a_teams_settings_beside_the_plugin_are_not_to_be_taken_out(root: Path) -> None:
    """Whoever asks can do without the plugin; the settings are the project's."""
    target = put(root, "project")
    pluginhome.enable(ROOT, scope="project")
    (found,) = both(examine("registration", root))
    assert found.remedy == "claude plugin uninstall holdfast@holdfast --scope project"
    assert target.undo in found.text


def test_a_copy_that_no_settings_enable_is_told_of_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --plugin-dir the client keeps no name to uninstall."""
    put(root)
    monkeypatch.setattr(plugin_copies, "running", lambda: True)
    (found,) = both(examine("registration", root))
    assert f"and the plugin in {ROOT} both register" in found.text
    assert found.text.endswith("To remove the plugin: start the client without --plugin-dir")
