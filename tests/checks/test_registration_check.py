"""The check compares what settings files register with what the handlers want, for each file and all together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude import scopes
from holdfast.errors import StateError
from holdfast.install import install, installs, registrations, skill
from holdfast.install.install import Options
from tests import pluginhome
from tests.doctoring import examine, healthy, mend, obey, only
from tests.processes import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checks import Finding
    from holdfast.clients.claude.scopes import Scope, Target


def put(root: Path, scope: Scope = "user", *, allow_cli: bool = False) -> Target:
    target = scopes.target(scope, root)
    install.install(target, Options(allow_cli=allow_cli))
    return target


def edit(target: Target, change: Callable[[dict[str, Any]], None]) -> None:
    settings = json.loads(target.settings.read_text("utf-8"))
    change(settings)
    target.settings.write_text(json.dumps(settings), "utf-8")


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
    assert "lets Claude run holdfast without asking" in said
    assert f"{target.skill} is up to date" in said


def test_settings_that_no_install_would_edit_are_named(root: Path) -> None:
    """The client takes the last of two keys, so it is for a person to say which one is meant."""
    target = put(root)
    target.settings.write_text(target.settings.read_text("utf-8").replace("{", '{"a": 1, "a": 2,', 1))
    found = only("registration", root, "problem")
    assert "the key 'a' occurs twice" in found.text
    assert found.remedy == f"correct {target.settings}"


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


def test_rules_that_were_allowed_and_are_gone_are_only_told(root: Path) -> None:
    """Who took a permission away may have meant it: --fix gives none back, the command does."""
    target = put(root, allow_cli=True)
    edit(target, lambda settings: settings["permissions"]["allow"].remove("Bash(holdfast done:*)"))

    found = only("registration", root, "notice")

    assert '"permissions.allow" lacks Bash(holdfast done:*)' in found.text
    assert found.fix is None
    obey(found, root)
    healthy("registration", root)


def test_the_copy_of_the_skill_is_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone, from another version, or changed by somebody: each is told with what to do."""
    target = put(root, allow_cli=True)
    target.skill.unlink()
    found = only("registration", root, "notice")
    assert "is gone" in found.text
    obey(found, root)
    healthy("registration", root)

    newer = skill.shipped() + b"\nMore.\n"
    monkeypatch.setattr(skill, "shipped", lambda: newer)
    found = only("registration", root, "notice")
    assert "from another version" in found.text
    obey(found, root)
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
        install.install(target)
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
    words = f"{event}: timeout brought up to date"
    assert words in found.text
    obey(found, root)
    healthy("registration", root)
    edit(target, set_limit)
    assert mend("registration", root) == [f"{target.settings}: {words}"]
    healthy("registration", root)
    hooks = json.loads(target.settings.read_text("utf-8"))["hooks"]
    assert "timeout" not in hooks[event][0]["hooks"][0]
    assert hooks["PreToolUse"][0]["hooks"][0]["timeout"] == 5


# --- beside the plugin --------------------------------------------------------------------------------------------


def both(found: list[Finding]) -> list[Finding]:
    return [each for each in found if " both register " in each.text]


def test_a_teams_settings_beside_the_plugin_are_not_yours_to_change(root: Path) -> None:
    """The command removes your plugin, and the other one is only named."""
    target = put(root, "project")
    pluginhome.enable(ROOT)
    (found,) = both(examine("registration", root))
    assert found.text.endswith(f"To remove it from the project's settings: {target.undo}")
    assert found.remedy == "claude plugin uninstall holdfast@holdfast"


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
    assert ("--yes" in found.remedy) == rules
    obey(found, root)
    healthy("registration", root)
    settings = json.loads(target.settings.read_text("utf-8"))
    assert not set(settings.get("hooks", {})) & set(copy.registered())
    assert ("permissions" in settings) == rules
    assert settings["enabledPlugins"]
