"""Where the plugin and an installation register an event, one process answers it: the installation's."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients.claude.matchers import matches
from tests import pluginhome, processes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pluginhome import Plugin

pytestmark = pytest.mark.slow

SPEAKS = "from holdfast import *\n@hookimpl(match='Bash|Agent')\ndef on_pre_tool_use():\n    return deny('spoken')\n"
HEADING = "WORKFLOW RESTORED AFTER COMPACTION"


@pytest.fixture
def both(tmp_path: Path) -> Plugin:
    """A user of the plugin, whose environment is ready, who has installed Holdfast in the settings as well."""
    plugin = pluginhome.make(tmp_path)
    plugin.add_python()
    plugin.add_uv()
    plugin.build()
    plugin.place.user_handler("speaks", SPEAKS)
    assert plugin.cli("install").exit_code == 0
    return plugin


def settings_of(plugin: Plugin) -> Path:
    return plugin.place.home / ".claude" / "settings.json"


def answers(plugin: Plugin, name: str, **changes: Any) -> dict[str, str]:
    """Fire an event as the client does, for the plugin and for the user's settings; return what each prints."""
    payload = plugin.place.payload(name, **changes)
    event = payload["hook_event_name"]
    environ = {key: value for key, value in plugin.environ.items() if not key.startswith("CLAUDE_PLUGIN")}
    said = {}
    if any(_selected(group, payload, event) for group in _groups(plugin.root / "hooks" / "hooks.json", event)):
        said["plugin"] = plugin.fire(event, payload).stdout
    chosen = [group for group in _groups(settings_of(plugin), event) if _selected(group, payload, event)]
    for hook in [hook for group in chosen for hook in group["hooks"]]:
        sent = json.dumps(payload).encode() + b"\n"
        said["settings"] = processes.run(["/bin/sh", "-c", hook["command"]], sent, environ, plugin.place.root).stdout
    return said


def _groups(file: Path, event: str) -> list[dict[str, Any]]:
    """Return an event's matcher groups in a settings file; none where the client can't read it."""
    try:
        groups: list[dict[str, Any]] = json.loads(file.read_text())["hooks"][event]
    except (OSError, ValueError, LookupError):
        return []
    return groups


def _selected(group: dict[str, Any], payload: dict[str, Any], event: str) -> bool:
    return matches(group.get("matcher"), payload.get("tool_name", payload.get("source", payload.get("trigger"))), event)


def test_guidance_and_summary_are_given_once(both: Plugin) -> None:
    """By the settings' process, compaction after compaction; each is counted once."""
    both.place.write("CLAUDE.local.md", "# Current Workflow State\n\nWorkflow: Case Studies\nPhase: 1/2 - Write\n")
    for _ in range(2):
        summary = answers(both, "PreCompact-manual")
        guidance = answers(both, "SessionStart-compact")
        assert (summary["plugin"], guidance["plugin"]) == ("", "")
        assert "Case Studies" in summary["settings"]
        assert guidance["settings"].count(HEADING) == 1
    assert len(json.loads(both.cli("status", "--json").stdout)["compactions"]) == 2
    edit(lambda group: group.update(matcher="startup"), "SessionStart")(both)
    assert HEADING in answers(both, "SessionStart-compact")["plugin"]


def edit(change: Callable[[dict[str, Any]], object], event: str = "PreToolUse") -> Callable[[Plugin], None]:
    """Return what changes an event's group in the user's settings by hand."""

    def act(plugin: Plugin) -> None:
        settings = json.loads(settings_of(plugin).read_text())
        change(settings["hooks"][event][0])
        settings_of(plugin).write_text(json.dumps(settings))

    return act


def move_to_another_project(plugin: Plugin) -> None:
    assert plugin.cli("uninstall").exit_code == 0
    (plugin.place.home / "other").mkdir()
    assert plugin.cli("install", "--scope", "local", "--project", str(plugin.place.home / "other")).exit_code == 0


# What happens to the installation -> who answers a call of Agent, which the plugin registers as well.
CASES: dict[str, tuple[Callable[[Plugin], object], list[str]]] = {
    "nothing": (lambda plugin: None, ["settings"]),
    "a regular expression": (edit(lambda group: group.update(matcher="^Ag|^Ba")), ["settings"]),
    "other tools only": (edit(lambda group: group.update(matcher="Bash|Task.")), ["plugin"]),
    "its entry is taken out": (edit(lambda group: group["hooks"].clear()), ["plugin"]),
    "its entry answers late": (edit(lambda group: group["hooks"][0].update({"async": True})), ["plugin", "settings"]),
    "uninstalled": (lambda plugin: plugin.cli("uninstall"), ["plugin"]),
    "of another project": (move_to_another_project, ["plugin"]),
    "the launcher is gone": (lambda plugin: _launcher(plugin).unlink(), ["plugin"]),
    "the settings are broken": (lambda plugin: settings_of(plugin).write_text("{"), ["plugin"]),
    "the record is lost": (lambda plugin: _record(plugin).unlink(), ["plugin", "settings"]),
}


def _launcher(plugin: Plugin) -> Path:
    return plugin.place.home / ".local/share/holdfast/run"


def _record(plugin: Plugin) -> Path:
    return plugin.place.home / ".local/state/holdfast/installs.json"


def test_the_plugin_leaves_to_an_installation_what_that_answers(both: Plugin) -> None:
    """And nothing else: nobody is left without an answer. Without a record, twice is better than never."""
    files = {path: path.read_bytes() for path in (settings_of(both), _launcher(both), _record(both))}
    wrong = []
    for case, (act, wanted) in CASES.items():
        act(both)
        said = answers(both, "PreToolUse-Agent")
        found = sorted(who for who, text in said.items() if "spoken" in text)
        if found != wanted:
            wrong.append(f"{case}: {found}, not {wanted}")
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _launcher(both).chmod(0o755)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--setting-sources", "user,project"], ["settings"]),
        (["--setting-sources=user"], ["settings"]),
        (["--setting-sources", "project,local"], ["plugin", "settings"]),
        (["--setting-sources=", "-p"], ["plugin", "settings"]),
        (["--setting-sources", ""], ["plugin", "settings"]),
    ],
)
def test_a_session_that_reads_no_settings_has_the_plugin_answer(
    both: Plugin, monkeypatch: pytest.MonkeyPatch, words: list[str], wanted: list[str]
) -> None:
    """As the Agent SDK starts one by default. The settings' command is fired here all the same."""
    with subprocess.Popen([sys.executable, "-c", "input()", *words], stdin=subprocess.PIPE) as client:
        monkeypatch.setitem(both.extra, "CLAUDE_PID", str(client.pid))
        said = answers(both, "PreToolUse-Agent")
        client.communicate(b"\n")
    assert sorted(who for who, text in said.items() if "spoken" in text) == wanted
