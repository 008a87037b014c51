"""What commands do with files that a user has already: settings, state, configuration and exports."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.commandline import holdfast
from tests.handmade import ME
from tests.signals import Agent
from tests.tables import each_row

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from holdfast.testing import HoldfastProject

THEIRS = {"type": "command", "command": "mine.sh"}
SOME = 0x1A2B3C4D5E6F7A80
CONFIG = Path(".config/holdfast/holdfast.toml")
NEEDS_NEW_CLIENT = "from holdfast import hookimpl\n@hookimpl\ndef on_pre_skill_shell_command(event): ...\n"


def mode(path: Path) -> int:
    """Return a path's permissions."""
    return path.stat().st_mode & 0o777


def put(path: Path, content: str | dict[str, Any]) -> Path:
    """Write a text, or a JSON object."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_uninstall_leaves_a_hook_that_shares_a_group_with_ours(tmp_path: Path) -> None:
    """And the permissions; the command that undoes an install is printed and works in any folder."""
    settings = put(tmp_path / ".claude/settings.json", {"permissions": {"allow": ["Bash(ls)"]}})
    out = holdfast("install", "--scope", "project", root=tmp_path).out
    edited = json.loads(settings.read_text())
    for groups in edited["hooks"].values():
        groups[0]["hooks"].append(THEIRS)
    put(settings, edited)
    (undo,) = re.findall("To undo: holdfast (.*)", out)
    holdfast(*shlex.split(undo))

    left = json.loads(settings.read_text())
    assert left["permissions"] == {"allow": ["Bash(ls)"]}
    assert {event: [group["hooks"] for group in groups] for event, groups in left["hooks"].items()} == {
        event: [[THEIRS]] for event in edited["hooks"]
    }


FOREIGN = '{\n\t"model" : "x", "n": [1.0, 1e5, 99999999999999999999], "s": "\\u00e9\\/é",\n\t"hooks": {"Stop": []}}'


@each_row(
    "text",
    [
        None,
        "",
        " \n",
        "\ufeff\r\n",
        "{}",
        "{ }\n",
        "{\n}\n",
        FOREIGN,
        FOREIGN.replace("\n", "\r\n") + "\r\n",
        "\ufeff" + FOREIGN,
        '{"hooks": {"Stop": [ ], "SessionStart": [\n\t]}, "permissions": { }}',
        '{"permissions": {"allow": [\n  ], "deny": []}, "statusLine": {"type": "command", "command": "date"}}',
    ],
)
def test_uninstall_gives_back_every_byte_of_the_settings(tmp_path: Path, home: Path, text: str | None) -> None:
    """Whatever was installed, also where handlers want something else meanwhile; a file that wasn't there goes."""
    settings, handler = home / ".claude/settings.json", home / ".config/holdfast/handlers/mine.py"
    settings.parent.mkdir(exist_ok=True)
    if text is not None:
        settings.write_bytes(text.encode())
    put(handler, "from holdfast import hookimpl\n@hookimpl\ndef on_setup(event): ...\n")
    holdfast("install", root=tmp_path)
    handler.write_text("from holdfast import hookimpl\n@hookimpl\ndef on_notification(event): ...\n")
    holdfast("install", "--yes", "--statusline", root=tmp_path)
    installed = settings.read_bytes()
    assert {"Notification", "SessionStart"} <= json.loads(installed.decode("utf-8-sig"))["hooks"].keys()
    holdfast("install", "--yes", "--statusline", root=tmp_path)
    assert settings.read_bytes() == installed
    holdfast("uninstall", root=tmp_path)
    assert (settings.read_bytes() if settings.exists() else None) == (None if text is None else text.encode())
    assert not (home / ".claude/skills").exists() or not list((home / ".claude/skills").iterdir())


def test_uninstall_removes_a_settings_file_that_only_the_status_line_is_left_in(tmp_path: Path, home: Path) -> None:
    """As it is where the plugin has the events."""
    settings = home / ".claude/settings.json"
    holdfast("install", "--statusline", root=tmp_path)
    put(settings, json.dumps({"statusLine": json.loads(settings.read_text())["statusLine"]}))
    holdfast("uninstall", root=tmp_path)
    assert not settings.exists()


def test_doctor_fails_where_only_a_fired_event_goes_wrong(tmp_path: Path, home: Path) -> None:
    """What it finds with `--fire` counts for its exit code."""
    settings = home / ".claude/settings.json"
    holdfast("install", root=tmp_path, code=None)
    put(settings, json.dumps({"hooks": {"Stop": json.loads(settings.read_text())["hooks"]["Stop"]}}))
    put(home / ".local/share/holdfast/run", "#!/bin/sh\necho hello\n")
    said = holdfast("doctor", "folders", "--fire", root=tmp_path, code=None)
    assert (said.code, "prints plain text" in " ".join(said.out.split())) == (1, True), said


@each_row("version, registered", [("2.1.331", False), ("2.1.332", True), ("2.1.333", True)])
def test_an_event_is_registered_from_the_clients_version_on(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, version: str, registered: bool
) -> None:
    """PreSkillShellCommand is an event of Claude Code since 2.1.332."""
    monkeypatch.setenv("AI_AGENT", f"claude-code_{version.replace('.', '-')}_harness")
    put(home / ".config/holdfast/handlers/skills.py", NEEDS_NEW_CLIENT)
    holdfast("install", root=tmp_path)
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert ("PreSkillShellCommand" in hooks) is registered


def test_an_older_client_takes_no_newer_event_out(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may guard the newer client, which is used again."""
    put(home / ".config/holdfast/handlers/skills.py", NEEDS_NEW_CLIENT)
    for version, registered in (("2.1.331", False), ("2.1.333", True), ("2.1.331", True)):
        monkeypatch.setenv("AI_AGENT", f"claude-code_{version.replace('.', '-')}_harness")
        holdfast("install", root=tmp_path)
        hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
        assert ("PreSkillShellCommand" in hooks) is registered, version


def test_a_sessions_start_changes_no_settings_of_the_team(holdfast_project: Callable[..., HoldfastProject]) -> None:
    """What a new handler wants besides is said with the command that registers it."""
    project = holdfast_project({})
    holdfast("install", "--scope", "project", root=project.root)
    settings = project.root / ".claude/settings.json"
    before = settings.read_bytes()
    wants = "from holdfast import hookimpl\n@hookimpl\ndef on_setup(event): ...\n"
    put(project.root / ".claude/handlers/ours.py", wants)
    holdfast("handlers", "trust", "--yes", root=project.root)
    assert settings.read_bytes() == before
    replies = [project.fire(*event) for event in (("SessionStart", "SessionStart-startup-tui"), ("UserPromptSubmit",))]
    assert "holdfast install" in "".join(str(each) for each in replies)
    assert settings.read_bytes() == before


def test_purge_deletes_nothing_without_a_yes(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Holdfast knows of your workflows stays, and so does the installation; with a yes nothing is left of both."""
    monkeypatch.delenv("HOLDFAST_RELAY")  # the native one, where it can be compiled
    holdfast("start", "Book", "--phase", "Draft", root=tmp_path)
    holdfast("install", root=tmp_path)
    state, settings = home / ".local/state/holdfast", home / ".claude/settings.json"
    holdfast("uninstall", "--purge", root=tmp_path, code=1)
    assert list(state.rglob("*.db")) and "holdfast" in settings.read_text()
    holdfast("uninstall", "--purge", "--yes", root=tmp_path)
    assert not state.exists() and not (home / ".local/share/holdfast").exists()


def test_a_linked_configuration_is_changed_where_it_lies(tmp_path: Path, home: Path) -> None:
    """As dotfiles are; the link stays."""
    dotfile = put(home / "dotfiles/holdfast.toml", 'reading = "hold"\n')
    (home / CONFIG).parent.mkdir(parents=True, exist_ok=True)
    (home / CONFIG).symlink_to(dotfile)
    holdfast("handlers", "off", "sync_todos", root=tmp_path)
    assert (home / CONFIG).is_symlink() and "sync_todos" in dotfile.read_text()


def test_a_folder_in_your_home_is_no_part_of_your_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your own ~/.claude makes no project of all that is yours."""
    (home / ".claude").mkdir(exist_ok=True)
    (home / "notes/today").mkdir(parents=True)
    monkeypatch.chdir(home / "notes/today")
    holdfast("start", "Book", "--phase", "Draft", "--format", "hybrid")
    assert (home / "notes/today/.claude/state/workflow.json").exists()


@each_row("name", ["compaction", "hybrid", "orchestrator", "skills", "wfs"])
def test_a_workflows_files_keep_the_permissions_that_a_team_gave_them(tmp_path: Path, name: str) -> None:
    """Whatever the umask is."""
    holdfast("start", "Book", "--phase", "Draft", "--phase", "Review", "--format", name, root=tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".md", ".toml")]
    assert files
    for path in files:
        path.chmod(0o664)
    holdfast("next", root=tmp_path)
    assert [oct(mode(path)) for path in files if path.exists()] == ["0o664"] * len(files)


# --- what is recorded, and exported -------------------------------------------------------------------------------


READ: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "{root}/secrets/key"}),
    ("Read", {"file_path": "{root}/link"}),
    ("Bash", {"command": "cat ./secrets/key"}),
    ("Bash", {"command": "cat {root}/link"}),
    ("Bash", {"env": [{"name": "API_KEY", "value": "hunter4"}]}),
    ("Read", {"file_path": "{root}/ours/key"}),
]
WORDS = ("MINE-1", "OURS-1")
"""What the user's own and the project's `exclude_patterns` mask."""


def test_an_export_has_no_secret_and_nothing_of_excluded_files(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """Nor of a link that leads to one; the file is yours alone, also where others could read an earlier one.

    What a trusted project excludes comes on top of what you exclude.
    """
    project = holdfast_project({"secrets/key": "x", "ours/key": "x"})
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "holdfast/holdfast.toml"
    mine = 'exclude = ["secrets/**"]\nexclude_patterns = ["MINE-\\\\d"]\n'
    put(config, f'{mine}[handlers]\non = ["record_events"]\n')
    put(project.root / ".claude/holdfast.toml", 'exclude = ["ours/**"]\nexclude_patterns = ["OURS-\\\\d"]\n')
    holdfast("handlers", "trust", "--yes", root=project.root)
    (project.root / "link").symlink_to(project.root / "secrets/key")
    for number, (tool, given) in enumerate(READ):
        asked = json.loads(json.dumps(given).replace("{root}", str(project.root)))
        response = {"stdout": "plain" if "env" in given else f"hunter{number}"}
        project.fire("PostToolUse", "PostToolUse-Bash", tool_name=tool, tool_input=asked, tool_response=response)
    given = {"command": f"echo {' '.join(WORDS)}"}
    project.fire("PostToolUse", "PostToolUse-Bash", tool_input=given, tool_response={"stdout": "said"})
    target = put(project.root / "export.json", "{}")
    target.chmod(0o644)
    said = holdfast("export", str(target), root=project.root)

    assert "Only you can read it" in said.err and mode(target) == 0o600
    text = target.read_text()
    assert text.count("PostToolUse") >= len(READ) and "plain" in text
    assert [READ[number] for number in range(len(READ)) if f"hunter{number}" in text] == []
    assert [word for word in WORDS if word in text] == []


def test_a_long_result_of_an_agent_that_is_launched_again_is_in_a_file(
    holdfast_project: Callable[..., HoldfastProject],
) -> None:
    """After a compaction the same work isn't done twice: the refusal has the result's beginning, and says so."""
    project = holdfast_project({})
    project.fire("SessionStart", "SessionStart-startup-tui")
    project.fire("UserPromptSubmit", prompt="Do it.", prompt_id="first")
    first, again = (Agent(project, "Review", prompt="Review it.", number=number) for number in (SOME, SOME + 1))
    words = "".join(f"Finding {number}: worth a line.\n" for number in range(600))
    first.about_to()
    first.started()
    first.stopped(words)
    first.returned(words)
    project.fire("PreCompact", "PreCompact-auto")
    project.fire("SessionStart", "SessionStart-compact")
    again.about_to().assert_denied("has finished already", "its beginning", "Finding 1:", f"agent-{first.run}.md")
    (file,) = project.root.rglob(f"agent-{first.run}.md")
    assert "Finding 599" in file.read_text()


def test_what_the_agents_of_a_script_returned_outlives_the_clients_files(
    holdfast_project: Callable[..., HoldfastProject], tmp_path: Path
) -> None:
    """`holdfast agents ID` gives each result once the run is over, also when the client has deleted its journal."""
    project, transcript = holdfast_project({}), put(tmp_path / "client/projects/-p/session.jsonl", "")
    sent = {"transcript_path": str(transcript)}
    folder, text = transcript.with_suffix("") / "subagents/workflows/wf_1a2b3c4d-5e6", "return await agent('Look')\n"
    agent = {"key": f"v2:{'f' * 64}", "agentId": "a1", "label": "Look"}
    lines = [{"type": "launched"}, {"type": "started", **agent}, {"type": "result", **agent, "result": "All is well."}]
    put(folder / "journal.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    script = put(folder.parent / "script.js", f"export const meta = {{name: 'look', description: 'x'}}\n{text}")
    response = {"status": "async_launched", "taskId": "t1", "taskType": "local_workflow", "runId": folder.name}
    response |= {"workflowName": "look", "transcriptDir": str(folder), "summary": "x", "scriptPath": str(script)}
    call: dict[str, Any] = {"tool_name": "Workflow", "tool_input": {"script": script.read_text()}, "tool_use_id": "t"}
    project.fire("SessionStart", "SessionStart-startup-tui", **sent)
    project.fire("PreToolUse", **call, **sent)
    project.fire("PostToolUse", **call, **sent, tool_response=response)
    over = "<task-notification>\n<task-id>t1</task-id>\n<status>completed</status>\n</task-notification>"
    project.fire("UserPromptSubmit", prompt=over, prompt_id="p", **sent)
    shutil.rmtree(folder)
    (result,) = holdfast("agents", folder.name, "--json", root=project.root).json["results"]
    assert (result["label"], result["state"], result["text"]) == ("Look", "finished", "All is well.")


def test_a_session_that_compacts_leaves_its_story(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`holdfast log` tells what the model got, with how many characters."""
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T09:00:00Z")
    project = holdfast_project({})
    assert "<html" in holdfast("report", "-", root=project.root).out
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("start", "Book", "--phase", "Draft", root=project.root, session=ME)
    project.fire("PreCompact", "PreCompact-auto", session_id=ME)
    project.fire("SessionStart", "SessionStart-compact", session_id=ME)
    log = holdfast("log", root=project.root).out
    assert re.search(r"restored to Claude.*[1-9]\d* characters with SessionStart", log)


def test_the_log_of_a_session_can_be_limited_to_a_time(
    holdfast_project: Callable[..., HoldfastProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the beginning of its id as well."""
    project = holdfast_project({})
    for hour, title in ((9, "Book"), (11, "Song")):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{hour:02}:00:00Z")
        project.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
        holdfast("start", title, "--phase", "Draft", root=project.root, session=ME)
        holdfast("done", "--all", root=project.root, session=ME)
    for session in (ME, ME[:8]):
        out = holdfast("log", "--session", session, "--since", "2026-03-01T10:00", root=project.root).out
        assert "Song" in out and "Book" not in out, out
