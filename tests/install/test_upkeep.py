"""Between installs, Holdfast's entries follow the handlers if Holdfast is registered at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import log, paths
from holdfast.clients.claude import claude, scopes, versions
from holdfast.clients.claude.matchers import matches
from holdfast.clients.claude.scopes import Scope, Target
from holdfast.errors import StateError
from holdfast.files import trust
from holdfast.install import install, registrations, uninstall, upkeep
from holdfast.plugins import discovery, strict_memory
from holdfast.sessions.workspace import Workspace
from tests.commandline import holdfast

TRUSTED = ".claude/handlers/known.py"


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One shipped handler, for SessionStart, and a client nobody asks."""
    folder = tmp_path / "shipped"
    real = paths.shipped
    monkeypatch.setattr(paths, "shipped", lambda kind: folder / kind if kind == "handlers" else real(kind))
    monkeypatch.setattr(versions, "version", lambda: None)
    handler(folder / "handlers", "basic", "session_start")
    return folder / "handlers"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    """A project with one untrusted handler, for Setup."""
    root = tmp_path / "project"
    handler(root / ".claude" / "handlers", "known", "setup")
    return Workspace.open(root)


def handler(folder: Path, name: str, event: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(f"from holdfast import hookimpl\n\n@hookimpl\ndef on_{event}(event): ...\n")
    return path


def installed(scope: Scope, project: Workspace) -> Path:
    target = scopes.target(scope, project.root)
    install.install(target)
    return target.settings


def trusting(project: Workspace) -> None:
    trust.grant(project.root, {TRUSTED: trust.digest((project.root / TRUSTED).read_bytes())})


def kept(project: Workspace) -> list[str]:
    """Keep registered what the handlers that are there now want, and return what the user is told."""
    return upkeep.keep_registered(project, discovery.find(claude, project))


def events(settings: Path) -> set[str]:
    hooks: dict[str, Any] = json.loads(settings.read_text()).get("hooks", {})
    return set(hooks)


@pytest.mark.parametrize("scope", ["user", "local"])
def test_a_new_handler_is_registered_and_a_removed_one_is_not(project: Workspace, scope: Scope) -> None:
    """User and local settings follow the user's handlers; each change is told once."""
    settings = installed(scope, project)
    path = handler(paths.user_handlers(), "mine", "stop")
    assert kept(project) == [f"{settings}: Stop: registered"]
    assert events(settings) == {"SessionStart", "Stop"}
    path.unlink()
    assert kept(project) == [f"{settings}: Stop: no longer registered"]
    assert kept(project) == []


def test_nothing_is_unregistered_while_nobody_knows_the_guards(project: Workspace) -> None:
    """The memory of strict handlers can't be read, and a guard's file is empty: you are told, and its event stays."""
    target = scopes.target("user", project.root)
    paths.user_handlers().mkdir(parents=True, exist_ok=True)
    (paths.user_handlers() / "guard.py").write_text(GUARD)
    install.install(target)
    before = target.settings.read_text()
    strict_memory.memory_file().write_text("garbage")
    (paths.user_handlers() / "guard.py").write_text("")
    (line,) = (each for each in upkeep.upkeep(project, "s") if "strict handlers" in each)
    assert line.endswith("can't be read, so what is registered stays as it is. To see why: holdfast doctor")
    assert target.settings.read_text() == before
    doctor = holdfast("doctor", root=project.root, code=1).out
    assert "can't be read, so what a lost guard guarded isn't refused" in doctor
    assert f"rm -r {paths.shown(str(strict_memory.memory_file()))}" in doctor


def refresh(settings: Path, project: Workspace) -> list[str]:
    """Refresh with the handler files that are there now."""
    return install.refresh(target_of(settings, project), discovery.find(claude, project))


def target_of(settings: Path, project: Workspace) -> Target:
    return next(each for each in registrations.usual(project.root) if each.settings == settings)


def test_nothing_to_do_writes_nothing(project: Workspace) -> None:
    """Where all is as it should be, no file is touched and no lock is taken."""
    settings = installed("user", project)
    before = {path: path.stat().st_mtime_ns for path in Path.home().rglob("*")}
    assert refresh(settings, project) == []
    assert {path: path.stat().st_mtime_ns for path in Path.home().rglob("*")} == before


def test_an_uninstall_after_a_refresh_still_restores_the_file(project: Workspace) -> None:
    """A refresh is our own change, so the file before the install comes back."""
    target = scopes.target("user", project.root)
    target.settings.parent.mkdir()
    target.settings.write_text('{"model": "x"}')
    installed("user", project)
    handler(paths.user_handlers(), "mine", "stop")
    kept(project)
    uninstall.uninstall(target)
    assert target.settings.read_text() == '{"model": "x"}'


def test_a_project_trusted_later_is_registered_for_all_sessions(project: Workspace, tmp_path: Path) -> None:
    """Trusting adds the project's events to the user's settings; a session elsewhere does not take them away."""
    settings = installed("user", project)
    trusting(project)
    assert refresh(settings, project) == [f"{settings}: Setup: registered"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert kept(Workspace.open(elsewhere)) == []
    trust.revoke(project.root)
    assert refresh(settings, project) == [f"{settings}: Setup: no longer registered"]


def test_what_another_project_still_needs_stays(project: Workspace, tmp_path: Path) -> None:
    """An event two projects want goes when the second one no longer wants it."""
    other = tmp_path / "other"
    handler(other / ".claude" / "handlers", "known", "setup")
    settings = installed("user", project)
    for each in (project, Workspace.open(other)):
        trusting(each)
        refresh(settings, each)
    trust.revoke(project.root)
    assert refresh(settings, project) == []
    assert "Setup" in events(settings)
    trust.revoke(other)
    refresh(settings, Workspace.open(other))
    assert "Setup" not in events(settings)


def team_notice(project: Workspace) -> str:
    """Return the line at a session's start that is about the team's settings; empty if there is none."""
    return "".join(line for line in kept(project) if "--scope project" in line)


GUARD = "from holdfast import hookimpl\n\n@hookimpl(match='Bash', strict=True)\ndef on_pre_tool_use(event): ...\n"


@pytest.mark.parametrize(
    "here",
    [
        "never trusted",
        "off in the user's configuration",
        "waits for a configuration",
        "off by default",
        "does not parse",
        "one function broken",
        "closed",
        "a namesake of the user's",
        "trusted and gone",
        "trusted and cut short",
    ],
)
def test_a_guard_of_the_team_stays_registered_whatever_it_is_here(project: Workspace, here: str) -> None:
    """Nobody is told to take it out, and no install does; its matcher is what the team wrote."""
    guard = project.root / ".claude" / "handlers" / "guard.py"
    guard.write_text(GUARD)
    settings = installed("project", project)
    assert json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["matcher"] == "Bash"
    before = settings.read_text()

    if here == "off in the user's configuration":
        paths.ensure_private(paths.config_dir())
        paths.user_config().write_text('[handlers]\noff = ["guard"]\n')
    elif here == "waits for a configuration":
        guard.write_text("RUNS_WHEN = {'reading': ['hold']}\n" + GUARD)
    elif here == "off by default":
        guard.write_text("OFF_BY_DEFAULT = True\n" + GUARD)
    elif here == "does not parse":
        guard.write_text("def on_pre_tool_use(:\n")
    elif here == "one function broken":
        guard.write_text(GUARD.replace("event", "unknown"))
    elif here == "closed":
        guard.unlink()
        guard.mkdir()
    elif here == "a namesake of the user's":
        handler(paths.user_handlers(), "guard", "stop")
    elif here.startswith("trusted"):
        trust.grant(project.root, {".claude/handlers/guard.py": trust.digest(guard.read_bytes())})
        discovery.find(claude, project)
        guard.write_text("# to do\n")
        if here == "trusted and gone":
            guard.unlink()
    project = Workspace.open(project.root)

    assert team_notice(project) == ""
    assert not install.edit_of(target_of(settings, project), discovery.find(claude, project)).changes
    install.install(scopes.target("project", project.root))
    assert settings.read_text() == before


def test_a_broken_handler_keeps_what_is_registered_and_lets_more_be(project: Workspace) -> None:
    """What another handler wants comes beside it, once: the same settings come out of each install."""
    folder = project.root / ".claude" / "handlers"
    (folder / "guard.py").write_text(GUARD.replace("'Bash'", "'^Ba'"))
    settings = installed("project", project)
    (folder / "guard.py").write_text("def broken(:\n")
    assert refresh(settings, project) == []
    (folder / "other.py").write_text(GUARD.replace("'Bash'", "'^Edit$'"))
    assert len(refresh(settings, project)) == 1
    matcher = json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["matcher"]
    assert [matches(matcher, tool, "PreToolUse") for tool in ("Bash", "Edit", "Read")] == [True, True, False]
    assert refresh(settings, project) == []


def test_a_guard_that_changed_keeps_its_tool_registered(project: Workspace) -> None:
    """What it guarded is refused until you trust it again, and then its new matcher counts alone."""
    guard = project.root / ".claude" / "handlers" / "guard.py"
    guard.write_text(GUARD)
    holdfast("handlers", "trust", "--yes", root=project.root)
    settings = installed("project", project)
    guard.write_text(GUARD.replace("'Bash'", "'Read'"))
    for matcher in ("Bash|Read", "Read"):
        installed("project", project)
        assert json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["matcher"] == matcher
        holdfast("handlers", "trust", "--yes", root=project.root)


@pytest.mark.parametrize("where", ["user", "project"])
@pytest.mark.parametrize(
    "edit", ["", "# to do\n", GUARD.replace("strict=True", "strict=False"), "def broken(:\n", None]
)
def test_only_switching_a_guard_off_unregisters_its_event(project: Workspace, where: str, edit: str | None) -> None:
    """Neither a refresh nor an install does, here or in another project."""
    folder = paths.user_handlers() if where == "user" else paths.project_handlers(project.root)
    guard = handler(folder, "guard", "stop")
    guard.write_text(GUARD)
    holdfast("handlers", "trust", "--yes", root=project.root)
    settings = installed("user", project)
    other = Workspace.open(project.root / "other")
    other.root.mkdir()
    if edit is None:
        guard.rename(guard.with_name("guard.txt"))
    else:
        guard.write_text(edit)

    for here in (project, other):
        kept(here)
        installed("user", here)
        holdfast("handlers", "on", "basic", root=here.root)
    assert json.loads(settings.read_text())["hooks"]["PreToolUse"][0]["matcher"] == "Bash"

    holdfast("handlers", *(["off", "guard"] if where == "user" else ["untrust", "guard.py"]), root=project.root)
    assert "PreToolUse" not in events(settings)


def test_a_guard_that_the_team_removed_is_no_longer_registered(project: Workspace) -> None:
    """Its file is gone and nobody here relied on it; uninstall takes out all of them."""
    guard = project.root / ".claude" / "handlers" / "guard.py"
    guard.write_text(GUARD)
    settings = installed("project", project)
    guard.unlink()
    assert refresh(settings, project) == [f"{settings}: PreToolUse: no longer registered"]


def test_broken_settings_never_stop_a_session(project: Workspace) -> None:
    """At SessionStart an error goes to the log; asked for by name it is raised."""
    settings = installed("user", project)
    settings.write_text(settings.read_text() + "// holdfast")
    assert kept(project) == []
    assert any("a comment" in line for line in log.tail(5))
    with pytest.raises(StateError, match="a comment"):
        refresh(settings, project)
