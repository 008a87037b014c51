"""Install and uninstall: exactly Holdfast's entries, a way back, and nothing written if something is wrong."""

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast import paths
from holdfast.clients.claude import claude, scopes, versions
from holdfast.clients.claude.scopes import Scope, Target
from holdfast.commands import install as install_command
from holdfast.commands import uninstall as uninstall_command
from holdfast.errors import StateError
from holdfast.files import trust
from holdfast.install import (
    install,
    installs,
    launcher,
    register,
    uninstall,
)
from holdfast.install.install import Options
from holdfast.install.register import Entry, group, settings
from holdfast.plugins import discovery
from holdfast.sessions.workspace import Workspace

SHIPPED = "from holdfast import hookimpl\n\n@hookimpl\ndef on_session_start(event): ...\n"
SHIPPED += '@hookimpl(match="Task")\ndef on_pre_tool_use(event): ...\n'
BASIC = {"SessionStart": Entry(), "PreToolUse": Entry("Agent|Task")}
RULES = list(install.ALLOW_RULES)
RULE = RULES[0]
FOREIGN = '{\n\t"model" : "x", "n": [1.0, 1e5, 99999999999999999999], "s": "\\u00e9\\/é",\n\t"hooks": {"Stop": []}}'


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Known shipped files, and no client on this machine."""
    folder = tmp_path / "shipped"
    (folder / "handlers").mkdir(parents=True)
    (folder / "handlers" / "basic.py").write_text(SHIPPED)
    (folder / "skills" / "holdfast").mkdir(parents=True)
    (folder / "skills" / "holdfast" / "SKILL.md").write_text("the skill")
    hooks = paths.shipped("hooks")
    monkeypatch.setattr(paths, "shipped", lambda kind: hooks if kind == "hooks" else folder / kind)
    monkeypatch.setattr(versions, "version", lambda: None)
    return folder


def stays(other: Target) -> str:
    """Return the line that names the command for the other settings, which name the launcher too."""
    return f"The launcher stays, because other settings still name it. To remove Holdfast there too:\n  {other.undo}"


@pytest.fixture
def target(root: Path) -> Target:
    """The user's settings, which do not exist yet."""
    return scopes.target("user", root)


def handler(folder: Path, name: str, event: str, match: str | None = None) -> Path:
    """Write a handler file that wants one event."""
    folder.mkdir(parents=True, exist_ok=True)
    marker = "@hookimpl" if match is None else f"@hookimpl(match={match!r})"
    path = folder / f"{name}.py"
    path.write_text(f"from holdfast import hookimpl\n\n{marker}\ndef on_{event}(event): ...\n")
    return path


def given(target: Target, content: str | bytes) -> Path:
    """Write the settings as somebody had them before."""
    target.settings.parent.mkdir(parents=True, exist_ok=True)
    target.settings.write_bytes(content.encode() if isinstance(content, str) else content)
    return target.settings


def events(target: Target) -> dict[str, Any]:
    hooks: dict[str, Any] = json.loads(target.settings.read_text("utf-8-sig"))["hooks"]
    return hooks


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its content."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (None, "there is no claude on PATH to ask for its version"),
        ((2, 1, 197), "it needs Claude Code 2.1.251, and this is 2.1.197."),
    ],
)
def test_an_event_that_not_every_client_knows_is_named_where_it_is_left_out(
    target: Target, root: Path, monkeypatch: pytest.MonkeyPatch, version: versions.Version | None, words: str
) -> None:
    """A handler for it would never run, and nobody would know; in a team's settings the oldest client decides."""
    monkeypatch.setattr(versions, "version", lambda: version)
    handler(paths.user_handlers(), "mine", "pre_model_switch")
    (line,) = [line for line in install.install(target) if "PreModelSwitch" in line]
    assert line.startswith("PreModelSwitch is not registered: ")
    assert words in line
    assert "PreModelSwitch" not in events(target)

    assert not [line for line in install.install(target, Options(all_events=True)) if "not registered" in line]
    assert "PreModelSwitch" in events(target)

    path = handler(root / ".claude" / "handlers", "ours", "directory_added")
    trust.grant(root, {".claude/handlers/ours.py": trust.digest(path.read_bytes())})
    team = scopes.target("project", root)
    (line,) = [line for line in install.install(team) if "not registered" in line]
    assert line.startswith("DirectoryAdded is not registered: older clients don't know it. If nobody in the team has ")
    assert not [line for line in install.install(team, Options(all_events=True)) if "not registered" in line]
    assert "DirectoryAdded" in events(team)
    paths.state_dir().joinpath("installs.json").unlink()  # as for a teammate
    install.install(team)
    assert "DirectoryAdded" in events(team)


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_a_handler_that_needs_more_time_has_the_client_wait(root: Path, scope: scopes.Scope) -> None:
    """Only the event that needs it gets a time limit; a shorter one is raised, a longer one stays."""
    path = handler(root / ".claude" / "handlers", "slow", "session_end")
    path.write_text(path.read_text().replace("@hookimpl", "@hookimpl(timeout=10)"))
    trust.grant(root, {".claude/handlers/slow.py": trust.digest(path.read_bytes())})
    target = scopes.target(scope, root)

    def limits() -> dict[str, float | None]:
        return {event: groups[0]["hooks"][0].get("timeout") for event, groups in events(target).items()}

    install.install(target)
    assert limits()["SessionEnd"] == 60
    assert {limit for event, limit in limits().items() if event != "SessionEnd"} == {None}
    if scope == "project":
        assert json.loads(register.printed(root))["hooks"]["SessionEnd"] == events(target)["SessionEnd"]
    written = target.settings.read_text()
    install.install(target)
    assert target.settings.read_text() == written

    target.settings.write_text(written.replace('"timeout": 60', '"timeout": 30'))
    said = "\n".join(install.install(target))
    assert "SessionEnd: timeout brought up to date" in said
    target.settings.write_text(written.replace('"timeout": 60', '"timeout": 90'))
    install.install(target)
    assert limits()["SessionEnd"] == 90


def test_new_settings_are_the_printed_ones(target: Target) -> None:
    """Without settings, the file holds exactly what --print prints."""
    lines = install.install(target)
    assert target.settings.read_text() == register.printed(target.root)
    assert json.loads(target.settings.read_text()) == settings(BASIC)
    assert "  PreToolUse    Agent|Task" in lines
    assert "Changed:" not in lines, "all of it is new"
    assert lines[-1] == "To undo: holdfast uninstall --scope user"


def test_a_second_install_changes_nothing(target: Target) -> None:
    """Running twice: the same bytes, no new record, not even a new modification time."""
    given(target, FOREIGN)
    install.install(target, Options(allow_cli=True))
    before = tree(Path.home())
    times = [path.stat().st_mtime_ns for path in (target.settings, *launcher.programs())]
    lines = install.install(target, Options(allow_cli=True))
    assert tree(Path.home()) == before
    assert times == [path.stat().st_mtime_ns for path in (target.settings, *launcher.programs())]
    assert lines[0] == f"Already registered in {target.settings}, nothing changed:"


def test_changed_demand_is_brought_in_and_the_first_file_still_comes_back(target: Target, shipped: Path) -> None:
    """An upgrade edits only our entries; uninstalling later still restores the file before the first install."""
    given(target, FOREIGN)
    install.install(target)
    (shipped / "handlers" / "basic.py").unlink()
    handler(shipped / "handlers", "later", "stop")
    lines = install.install(target)
    assert events(target) == {"Stop": [group("Stop", Entry())]}
    assert "  SessionStart: no longer registered" in lines
    uninstall.uninstall(target)
    assert target.settings.read_text() == FOREIGN


def test_others_changes_since_survive_the_uninstall(target: Target) -> None:
    """Where somebody edited the file after the install, only our own entries leave it."""
    given(target, FOREIGN)
    install.install(target, Options(allow_cli=True))
    target.settings.write_text(target.settings.read_text().replace('"x"', '"y"'))
    assert "Holdfast's entries removed" in uninstall.uninstall(target)[0]
    assert target.settings.read_text() == FOREIGN.replace('"x"', '"y"')


def test_others_changes_between_two_installs_are_never_undone(target: Target, shipped: Path) -> None:
    """A backup from before somebody's own change is not put back over that change."""
    install.install(target)
    given(target, target.settings.read_text().replace("{", '{"model": "mine",', 1))
    handler(shipped / "handlers", "later", "stop")
    install.install(target)
    uninstall.uninstall(target)
    assert json.loads(target.settings.read_text()) == {"model": "mine"}


def test_entries_taken_out_by_hand_make_the_next_install_a_first_one(target: Target) -> None:
    """A file somebody cleaned of us is the new file before."""
    install.install(target)
    given(target, '{"hooks": {}}')
    install.install(target)
    uninstall.uninstall(target)
    assert target.settings.read_text() == '{"hooks": {}}'


def test_a_broken_record_does_not_stop_an_install(target: Target) -> None:
    """A record that cannot be read is set aside, not overwritten."""
    paths.ensure_private(paths.state_dir())
    (paths.state_dir() / "installs.json").write_text("{broken")
    install.install(target)
    assert installs.get(target.real) is not None
    (aside,) = paths.state_dir().glob("installs.json.corrupt-*")
    assert aside.read_text() == "{broken"


def test_a_record_that_may_not_be_read_stops_an_install(target: Target) -> None:
    """It may be whole, so it is not set aside; the settings stay as they were."""
    given(target, FOREIGN)
    record = installs.file()
    paths.ensure_private(paths.state_dir())
    record.mkdir()
    with pytest.raises(StateError, match=r"installs\.json: is a folder"):
        install.install(target)
    assert target.settings.read_text() == FOREIGN
    assert record.is_dir()


def test_uninstall_says_what_stays(target: Target, holdfast: Callable[..., str]) -> None:
    """The memory of the workflows, and handlers of the user's own if there are any; nothing while it is installed."""
    install.install(target)
    assert uninstall.remainder() == []
    stays = f"Stays: {paths.shown(str(paths.state_dir()))} (what Holdfast knows of your workflows; "
    assert holdfast("uninstall").splitlines()[-1] == f"{stays}`holdfast uninstall --purge` deletes it)"
    paths.user_handlers().mkdir(parents=True)
    assert (
        holdfast("uninstall").splitlines()[-1]
        == f"Stays: {paths.shown(str(paths.config_dir()))} (your handlers and configuration)"
    )


def test_purging_deletes_the_memory_once_nothing_is_installed(target: Target, holdfast: Callable[..., str]) -> None:
    """The user's own handlers stay; without an answer nothing happens."""
    install.install(target)
    local = scopes.target("local", target.root)
    install.install(local)
    paths.user_handlers().mkdir(parents=True)
    said = holdfast("uninstall", "--purge", "--yes")
    assert f"{paths.shown(str(paths.state_dir()))} stays, because Holdfast is still installed" in said
    uninstall.uninstall(local)
    before = tree(Path.home())
    with pytest.raises(AssertionError):
        holdfast("uninstall", "--purge")
    assert tree(Path.home()) == before
    said = holdfast("uninstall", "--purge", "--yes")
    assert f"Removed: {paths.shown(str(paths.state_dir()))}" in said.splitlines()
    assert not paths.state_dir().exists()
    assert paths.user_handlers().exists()


@pytest.mark.parametrize("text", [None, FOREIGN])
def test_a_dry_uninstall_says_what_would_change_and_changes_nothing(
    target: Target, holdfast: Callable[..., str], text: str | None
) -> None:
    """Also where somebody changed the file since, and where there is nothing to change."""
    if text:
        given(target, text)
    install.install(target)
    before = tree(Path.home())
    said = holdfast("uninstall", "--dry-run")
    assert said.startswith(f"--- {target.settings}\n+++ {target.settings if text else '/dev/null'}\n")
    assert tree(Path.home()) == before
    target.settings.write_text(target.settings.read_text().replace("{", '{ "mine": 1,', 1))
    said = holdfast("uninstall", "--dry-run")
    assert [line for line in said.splitlines() if "mine" in line and line[0] != "-"], "what is somebody's own stays"
    assert [line for line in said.splitlines() if "holdfast" in line and line[0] == "-"]
    would = holdfast("uninstall", "--dry-run", "--purge").split("Would be removed: ")[1:]
    assert [line.strip() for line in would] == [
        paths.shown(str(path)) for path in (target.skill, *launcher.present(), paths.state_dir())
    ]
    uninstall.uninstall(target)
    assert holdfast("uninstall", "--dry-run") == ""


def test_uninstalling_twice_is_fine(target: Target) -> None:
    """The second time says that nothing is there and touches nothing."""
    given(target, FOREIGN)
    install.install(target)
    uninstall.uninstall(target)
    before = tree(Path.home())
    assert uninstall.uninstall(target) == [f"{target.settings}: Holdfast isn't registered there, so nothing changed"]
    assert tree(Path.home()) == before


def test_uninstalling_where_nothing_ever_was_writes_nothing(target: Target) -> None:
    """No file, no record, no folder appears."""
    assert uninstall.uninstall(target) == [f"{target.settings}: there is no such file, so nothing changed"]
    assert not any(path.is_file() for path in Path.home().rglob("*"))


REFUSED = [
    ('{\n  // why\n  "hooks": {}\n}', "a comment isn't allowed, line 2 column 3"),
    ('{"hooks": {},}', "a trailing comma isn't allowed, line 1 column"),
    ('{"hooks": {}, "hooks": {}}', "the key 'hooks' occurs twice"),
    ('{"hooks": [1]}', '"hooks" must be an object'),
    ('{"hooks": null}', '"hooks" must be an object but is true, false or null'),
    ('{"hooks": {"Stop": {}}}', '"hooks.Stop" must be an array but is an object'),
    ('{"hooks": {"Stop": [],\n"Stop": []}}', "the key 'Stop' occurs twice"),
    ('{"permissions": 1}', '"permissions" must be an object but is a number'),
    ('{"permissions": {"allow": "Bash"}}', '"permissions.allow" must be an array but is a string'),
    ("[]", "the whole file must be an object but is an array"),
    (b'{"a": "\xff"}', "is not UTF-8 at byte 7"),
    ("{}".encode("utf-16"), "is not UTF-8"),
]


@pytest.mark.parametrize(("content", "words"), REFUSED)
def test_what_is_no_strict_json_is_refused_and_not_touched(target: Target, content: str | bytes, words: str) -> None:
    """The error names file, place and reason; nothing at all is written, here or elsewhere."""
    given(target, content)
    before = tree(Path.home())
    for act in (lambda: install.install(target, Options(allow_cli=True)), lambda: install.preview(target)):
        with pytest.raises(StateError) as caught:
            act()
        assert str(target.settings) in str(caught.value)
        assert words in str(caught.value)
    files = {path: content for path, content in tree(Path.home()).items() if content is not None}
    files = {path: content for path, content in files.items() if not path.endswith(".index")}
    assert files == {path: content for path, content in before.items() if content is not None}
    if isinstance(content, str):
        with pytest.raises(StateError, match="correct it and run again"):
            uninstall.uninstall(target)


def test_a_write_protected_file_is_refused(target: Target) -> None:
    """Whoever protected the file is asked to unprotect it; launcher and record are not written either."""
    given(target, FOREIGN).chmod(0o444)
    with pytest.raises(StateError, match="write-protected"):
        install.install(target)
    assert target.settings.read_text() == FOREIGN
    assert not paths.launcher().exists()
    assert installs.load() == {}


@pytest.mark.parametrize("content", [None, FOREIGN])
def test_a_file_protected_since_is_neither_removed_nor_restored(target: Target, content: str | None) -> None:
    """Also where nobody else has changed it since the install, which made it or has a copy of what it was."""
    if content is not None:
        given(target, content)
    install.install(target)
    installed = target.settings.read_text()
    target.settings.chmod(0o444)
    with pytest.raises(StateError, match="write-protected"):
        uninstall.uninstall(target)
    assert target.settings.read_text() == installed
    assert all(path.exists() for path in launcher.programs())
    target.settings.chmod(0o644)
    uninstall.uninstall(target)
    assert (target.settings.read_text() if target.settings.exists() else None) == content


@pytest.mark.parametrize("kind", ["folder", "pipe", "folder is a file"])
def test_a_place_that_holds_no_file_is_refused(target: Target, kind: str) -> None:
    """A folder or pipe in the file's place, or a file in its folder's, is named."""
    if kind == "folder is a file":
        target.settings.parent.write_text("")
    else:
        target.settings.parent.mkdir()
        target.settings.mkdir() if kind == "folder" else os.mkfifo(target.settings)
    with pytest.raises(StateError, match=str(target.settings)):
        install.install(target)
    assert not paths.launcher().exists()


def test_a_change_by_somebody_else_meanwhile_is_not_lost(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changed between reading and writing is not overwritten."""
    given(target, FOREIGN)
    monkeypatch.setattr(launcher, "write", lambda: given(target, '{"new": 1}'))
    with pytest.raises(StateError, match="changed by somebody else"):
        install.install(target)
    assert target.settings.read_text() == '{"new": 1}'


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_written_through(target: Target, tmp_path: Path, exists: bool) -> None:
    """Settings kept elsewhere behind a link are edited there; the link stays."""
    kept = tmp_path / "dotfiles" / "claude.json"
    if exists:
        kept.parent.mkdir()
        kept.write_text(FOREIGN)
    target.settings.parent.mkdir()
    target.settings.symlink_to(kept)
    install.install(target)
    assert target.settings.is_symlink()
    assert "SessionStart" in json.loads(kept.read_text())["hooks"]
    uninstall.uninstall(target)
    assert target.settings.is_symlink()
    assert (kept.read_text() if kept.exists() else None) == (FOREIGN if exists else None)


def test_the_files_mode_stays(target: Target) -> None:
    """A private settings file stays private."""
    given(target, FOREIGN).chmod(0o600)
    install.install(target)
    uninstall.uninstall(target)
    assert stat.S_IMODE(target.settings.stat().st_mode) == 0o600


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_each_scope_has_its_own_file(root: Path, home: Path, scope: Scope) -> None:
    """User settings lie in the client's folder, the others in the project."""
    expected = {
        "user": home / ".claude" / "settings.json",
        "project": root / ".claude" / "settings.json",
        "local": root / ".claude" / "settings.local.json",
    }
    install.install(scopes.target(scope, root))
    assert [path for path in expected.values() if path.exists()] == [expected[scope]]


def test_the_clients_folder_may_lie_elsewhere(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLAUDE_CONFIG_DIR moves the user's settings and skills."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    install.install(scopes.target("user", root), Options(allow_cli=True))
    assert (tmp_path / "config" / "settings.json").exists()
    assert (tmp_path / "config" / "skills" / "holdfast" / "SKILL.md").exists()


def test_what_a_team_gets_does_not_depend_on_the_user(root: Path) -> None:
    """Workspace settings and --print leave out the user's handlers and configuration, and ask nobody's trust."""
    handler(paths.user_handlers(), "mine", "stop")
    handler(paths.user_handlers(), "basic", "notification")
    handler(root / ".claude" / "handlers", "unknown", "session_end")
    known = handler(root / ".claude" / "handlers", "known", "setup")
    trust.grant(root, {".claude/handlers/known.py": trust.digest(known.read_bytes())})
    paths.user_config().write_text('[handlers]\noff = ["basic", "known"]\n')
    install.install(scopes.target("project", root))
    assert set(events(scopes.target("project", root))) == {"SessionStart", "PreToolUse", "Setup", "SessionEnd"}
    assert register.printed(root) == scopes.target("project", root).settings.read_text()


@pytest.mark.parametrize(
    ("version", "scope", "there"),
    [
        (None, "user", False),
        ((2, 1, 250), "user", False),
        ((2, 1, 251), "user", True),
        ((2, 2, 0), "local", True),
        ((2, 1, 329), "project", False),
    ],
)
def test_newer_events_need_a_newer_client(
    root: Path,
    shipped: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int, int] | None,
    scope: Scope,
    there: bool,
) -> None:
    """An event the oldest client does not know is registered only for a client that does, never for a team."""
    monkeypatch.setattr(versions, "version", lambda: version)
    handler(shipped / "handlers", "models", "pre_model_switch")
    install.install(scopes.target(scope, root))
    assert ("PreModelSwitch" in events(scopes.target(scope, root))) is there


def test_a_project_is_not_forgotten_by_an_install_from_another(root: Path, tmp_path: Path, target: Target) -> None:
    """Events that one project's trusted handlers need stay in the user's settings when installing elsewhere."""
    path = handler(root / ".claude" / "handlers", "known", "setup")
    trust.grant(root, {".claude/handlers/known.py": trust.digest(path.read_bytes())})
    install.install(target)
    assert "Setup" in events(target)
    install.install(scopes.target("user", tmp_path))
    assert "Setup" in events(target)
    trust.revoke(root)
    install.install(target)
    assert "Setup" not in events(target)


def test_the_record_is_private(target: Target) -> None:
    """It names the user's projects and what their handlers are called for."""
    install.install(target)
    assert stat.S_IMODE(installs.file().stat().st_mode) == 0o600


def test_allowing_the_command_adds_the_rule_and_the_skill(target: Target) -> None:
    """--yes lets the model call the command and gives it the skill; uninstalling takes both back."""
    given(target, '{"permissions": {"allow": ["Bash(ls:*)"]}}')
    install.install(target, Options(allow_cli=True))
    assert json.loads(target.settings.read_text())["permissions"] == {"allow": ["Bash(ls:*)", *RULES]}
    assert target.skill.read_text() == "the skill"
    lines = uninstall.uninstall(target)
    assert f"Skill: {target.skill} removed" in lines
    assert not target.skill.parent.exists()
    assert target.settings.read_text() == '{"permissions": {"allow": ["Bash(ls:*)"]}}'


def test_the_first_install_asks_whether_claude_may_run_the_commands(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and only on a terminal; --no-allow takes a yes back, and the user's skill comes either way."""
    monkeypatch.chdir(root)
    target, runner = scopes.target("user", root), CliRunner()
    assert "without asking: holdfast install --scope user --yes" in runner.invoke(install_command.command, []).output
    assert not allowed(target) and target.skill.exists()
    uninstall.uninstall(target)
    monkeypatch.setattr("holdfast.commands.install.may_ask", lambda: True)
    assert "May it run them without asking you?" in runner.invoke(install_command.command, [], input="y\n").output
    assert allowed(target) == RULES
    assert "May it" not in runner.invoke(install_command.command, []).output
    assert allowed(target) == RULES
    assert "/holdfast start a workflow" in runner.invoke(install_command.command, ["--no-allow"]).output
    assert not allowed(target) and target.skill.exists()


def allowed(target: Target) -> list[str]:
    """Return the permission rules in a settings file."""
    rules: list[str] = json.loads(target.settings.read_text()).get("permissions", {}).get("allow", [])
    return rules


def test_a_later_install_without_it_keeps_the_allowance(target: Target) -> None:
    """What --yes added is taken back by uninstall alone, even after an install without it."""
    install.install(target, Options(allow_cli=True))
    install.install(target)
    assert json.loads(target.settings.read_text())["permissions"] == {"allow": RULES}
    assert target.skill.exists()
    uninstall.uninstall(target)
    assert not target.skill.exists()
    assert not target.settings.exists()


def test_a_rule_somebody_else_wrote_is_not_ours_to_remove(target: Target) -> None:
    """A rule that was there before stays."""
    given(target, json.dumps({"permissions": {"allow": [RULE]}}))
    install.install(target, Options(allow_cli=True))
    given(target, target.settings.read_text() + "\n")
    uninstall.uninstall(target)
    assert json.loads(target.settings.read_text()) == {"permissions": {"allow": [RULE]}}


def test_our_own_copy_of_the_skill_is_brought_up_to_date(target: Target, shipped: Path) -> None:
    """A newer skill replaces our unchanged older copy."""
    install.install(target, Options(allow_cli=True))
    (shipped / "skills" / "holdfast" / "SKILL.md").write_text("a newer skill")
    install.install(target, Options(allow_cli=True))
    assert target.skill.read_text() == "a newer skill"
    uninstall.uninstall(target)
    assert not target.skill.exists()


def test_a_skill_that_is_not_ours_is_left(target: Target) -> None:
    """Neither install nor uninstall touches a file of that name that is somebody else's or was changed."""
    target.skill.parent.mkdir(parents=True)
    target.skill.write_text("mine")
    lines = install.install(target, Options(allow_cli=True))
    assert f"Skill: {target.skill} stays, because it is not Holdfast's" in lines
    uninstall.uninstall(target)
    assert target.skill.read_text() == "mine"


def test_a_skill_that_was_there_just_so_stays(target: Target) -> None:
    """Whoever put the same text there before did it for themselves."""
    target.skill.parent.mkdir(parents=True)
    target.skill.write_text("the skill")
    for _ in range(2):
        assert f"Skill: {target.skill} is already there" in install.install(target, Options(allow_cli=True))
    uninstall.uninstall(target)
    assert target.skill.read_text() == "the skill"


@pytest.mark.parametrize("kind", ["our copy behind a link", "a link to nothing", "a pipe", "a folder"])
def test_what_is_no_plain_file_in_the_skills_place_is_left(
    target: Target, shipped: Path, tmp_path: Path, kind: str
) -> None:
    """Somebody arranged it so; a newer skill is not written through it or over it."""
    install.install(target, Options(allow_cli=True))
    if kind == "our copy behind a link":
        target.skill.rename(tmp_path / "kept.md")
    else:
        target.skill.unlink()
    if kind == "a pipe":
        os.mkfifo(target.skill)
    elif kind == "a folder":
        target.skill.mkdir()
    else:
        target.skill.symlink_to(tmp_path / "kept.md")
    before = _untouched(target.skill)
    (shipped / "skills" / "holdfast" / "SKILL.md").write_text("a newer skill")
    assert f"Skill: {target.skill} stays, because it is not Holdfast's" in install.install(
        target, Options(allow_cli=True)
    )
    assert _untouched(target.skill) == before
    uninstall.uninstall(target)
    if kind in ("a pipe", "a folder"):
        assert _untouched(target.skill) == before
    elif kind == "our copy behind a link":
        assert (tmp_path / "kept.md").read_text() == "the skill"


def _untouched(path: Path) -> tuple[int, int, int, int]:
    """Return what changes about a path when somebody replaces or writes it; reading a link changes its access time."""
    info = path.lstat()
    return info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_a_repository_cannot_have_the_skill_written_outside(root: Path, tmp_path: Path, scope: Scope) -> None:
    """A link in a project may have come with a clone; one in the user's own folder is the user's."""
    target = scopes.target(scope, root)
    (tmp_path / "outside").mkdir()
    target.skill.parents[2].mkdir(exist_ok=True)
    target.skill.parents[1].symlink_to(tmp_path / "outside")
    said = any("leads out of the project" in line for line in install.install(target, Options(allow_cli=True)))
    assert (said, bool(list((tmp_path / "outside").iterdir()))) == ((False, True) if scope == "user" else (True, False))
    uninstall.uninstall(target)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_skill_changed_since_is_left(target: Target) -> None:
    """Our copy becomes its editor's once it was edited."""
    install.install(target, Options(allow_cli=True))
    target.skill.write_text("edited")
    assert f"Skill: {target.skill} stays, because it was changed since" in uninstall.uninstall(target)
    assert target.skill.read_text() == "edited"


def test_settings_in_a_store_are_not_to_be_made_writable(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link into a folder that a package manager writes: what works is named instead, and it works."""
    monkeypatch.chdir(target.root)
    store = tmp_path / "store"
    store.mkdir()
    (store / "settings.json").write_text("{}")
    (store / "settings.json").chmod(0o444)
    target.settings.parent.mkdir(parents=True)
    target.settings.symlink_to(store / "settings.json")
    store.chmod(0o555)
    try:
        with pytest.raises(StateError, match="change it where it is generated") as refused:
            install.install(target)
    finally:
        store.chmod(0o755)
    assert "chmod" not in str(refused.value)
    for words in re.findall(r"`holdfast install ([^`]+)`", str(refused.value)):
        assert CliRunner().invoke(install_command.command, words.split()).exit_code == 0, words


def test_the_programs_go_with_the_last_settings_that_name_them(root: Path) -> None:
    """The launcher stays while another file is recorded that still exists."""
    first, second = scopes.target("user", root), scopes.target("local", root)
    install.install(first)
    install.install(second)
    assert uninstall.outlook(first, purging=True) == [f"Would be removed: {first.skill}", stays(second)]
    assert uninstall.uninstall(first)[-1] == stays(second)
    assert all(path.exists() for path in launcher.programs())
    uninstall.uninstall(second)
    assert not any(path.exists() for path in launcher.programs())


def test_settings_deleted_by_hand_do_not_keep_the_programs(root: Path, tmp_path: Path) -> None:
    """A recorded file that is gone, with its project, counts no longer."""
    other = scopes.target("project", tmp_path / "other")
    (tmp_path / "other").mkdir()
    install.install(other)
    install.install(scopes.target("user", root))
    other.settings.unlink()
    uninstall.uninstall(scopes.target("user", root))
    assert not paths.launcher().exists()


def test_settings_a_team_already_has_are_claimed_but_not_changed(root: Path) -> None:
    """Installing where a teammate already did writes the launcher only; uninstalling removes the entries."""
    target = scopes.target("project", root)
    given(target, register.printed(root))
    install.install(target)
    assert target.settings.read_text() == register.printed(root)
    assert paths.launcher().exists()
    uninstall.uninstall(target)
    assert json.loads(target.settings.read_text()) == {}


def test_a_setting_that_silences_all_hooks_is_mentioned(target: Target) -> None:
    """An install that can have no effect says so (client fact §4.3)."""
    given(target, '{"disableAllHooks": true}')
    assert any("disableAllHooks" in line for line in install.install(target))


@pytest.fixture
def holdfast(root: Path) -> Callable[..., str]:
    """Run a command's function as the command line does, in the project."""
    commands = {"install": install_command.command, "uninstall": uninstall_command.command}

    def run(name: str, *arguments: str) -> str:
        result = CliRunner().invoke(commands[name], [*arguments, "--project", str(root)], catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    return run


def test_printing_prints_the_settings_and_writes_nothing(holdfast: Callable[..., str]) -> None:
    """--print is the settings JSON alone."""
    assert json.loads(holdfast("install", "--print", "--scope", "local")) == settings(BASIC)
    assert not any(path.is_file() for path in Path.home().rglob("*"))


def test_a_dry_run_prints_the_difference_and_writes_nothing(holdfast: Callable[..., str], target: Target) -> None:
    """--dry-run is a unified diff: the old line out, the new ones in."""
    given(target, '{\n  "a": "\u2028"\n}')
    before = tree(Path.home())
    shown = holdfast("install", "--dry-run", "--yes")
    assert tree(Path.home()) == before
    assert shown.startswith(f"--- {target.settings}\n+++ {target.settings}\n@@ -1,3 +1,")
    assert '\n-  "a": "\u2028"\n' in shown
    assert '\n+  "a": "\u2028",\n' in shown
    assert f'"{RULE}"' in shown
    assert shown.endswith("\n }\n\\ No newline at end of file\n")


def test_a_dry_run_of_a_new_file_and_of_no_change(holdfast: Callable[..., str]) -> None:
    """A file that would be created is shown whole; where nothing would change nothing is shown."""
    assert holdfast("install", "--dry-run").startswith("--- /dev/null\n")
    holdfast("install")
    assert holdfast("install", "--dry-run") == ""


def test_the_commands_install_and_uninstall_a_named_file(holdfast: Callable[..., str], tmp_path: Path) -> None:
    """--settings names any file, and the undo line is the command that undoes it."""
    named = tmp_path / "some where.json"
    shown = holdfast("install", "--scope", "local", "--settings", str(named))
    assert any(
        line.startswith("To undo: ") and f"local --settings '{named}' --pro" in line for line in shown.splitlines()
    )
    assert json.loads(named.read_text()) == settings(BASIC)
    assert f"{named}: removed" in holdfast("uninstall", "--scope", "local", "--settings", str(named))
    assert not named.exists()


BROKEN = ["{broken", "[]", "", '{"installs": []}', '{"version": 1}', '{"installs": {"/x": {"scope": "user"}}}']


def lose_record(content: str) -> Path:
    file = installs.file()
    file.write_text(content)
    return file


@pytest.mark.parametrize("content", BROKEN)
def test_an_uninstall_without_its_record_removes_what_it_recognises(target: Target, content: str) -> None:
    """The skill too."""
    given(target, '{"model": "x"}')
    install.install(target, Options(allow_cli=True))
    lose_record(content)

    lines = uninstall.uninstall(target)

    assert target.settings.read_text() == '{"model": "x"}'
    assert not target.skill.parent.exists()
    assert f"Skill: {target.skill} removed" in lines
    assert not any(path.exists() for path in launcher.programs())


@pytest.mark.parametrize("act", [install.install, uninstall.uninstall])
def test_without_a_place_for_the_record_nothing_is_touched(target: Target, act: Callable[[Target], object]) -> None:
    """A file lies where the folder belongs: that is an error with its name."""
    given(target, FOREIGN)
    paths.state_dir().parent.mkdir(parents=True)
    paths.state_dir().write_text("in the way")
    with pytest.raises(StateError, match=str(paths.state_dir())):
        act(target)
    assert target.settings.read_text() == FOREIGN
    assert not paths.launcher().exists()


def test_a_new_install_over_a_lost_record_claims_nothing_of_others(target: Target) -> None:
    """Where none of our entries stands in the settings, a rule or a skill there is somebody else's."""
    given(target, json.dumps({"permissions": {"allow": [RULE]}}))
    target.skill.parent.mkdir(parents=True)
    target.skill.write_text("the skill")
    paths.ensure_private(paths.state_dir())
    lose_record("{broken")
    install.install(target)
    uninstall.uninstall(target)
    assert json.loads(target.settings.read_text()) == {"permissions": {"allow": [RULE]}}
    assert target.skill.exists()


def test_an_install_after_the_record_was_lost_knows_what_is_ours(target: Target, shipped: Path) -> None:
    """Rules and skill are in the new record, so that an uninstall takes them out; so too after a session's upkeep."""
    given(target, '{"model": "x"}')
    for renew in (lambda: install.install(target), lambda: upkept(target, shipped)):
        install.install(target, Options(allow_cli=True))
        lose_record("{broken")
        renew()
        record = installs.get(target.real)
        assert record is not None
        assert (list(record.allowed), record.skill) == (RULES, target.skill)
        uninstall.uninstall(target)
        assert target.settings.read_text() == '{"model": "x"}'
        assert not target.skill.exists()


def upkept(target: Target, shipped: Path) -> None:
    handler(shipped / "handlers", "later", "stop")
    project = Workspace.open(target.root)
    assert install.refresh(target, discovery.find(claude, project))
