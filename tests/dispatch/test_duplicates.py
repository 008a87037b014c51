"""A firing that both the plugin and the settings have registered is answered once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.clients import claude
from holdfast.dispatch import duplicates
from tests import pluginhome, processes
from tests.processes import INTERPRETER, Ended
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.pluginhome import Plugin

pytestmark = pytest.mark.slow

HEADING = "WORKFLOW RESTORED AFTER COMPACTION"
SPEAKS = "from holdfast import *\n@hookimpl\ndef on_stop(event):\n    {before}\n    return tell_user('said')\n"


@pytest.fixture
def both(tmp_path: Path) -> Plugin:
    """A user of the plugin, whose environment is ready, with Holdfast in the settings as well."""
    plugin = pluginhome.make(tmp_path)
    plugin.add_python()
    plugin.add_uv()
    plugin.build()
    launcher = plugin.place.home / ".local/share/holdfast/run"
    launcher.parent.mkdir(parents=True)
    processes.copy_of_entrypoint(launcher, str(processes.SOURCE))
    return plugin


def started(plugin: Plugin, payload: Mapping[str, Any], who: str) -> subprocess.Popen[bytes]:
    """Start one of the two copies on a payload."""
    event = payload["hook_event_name"]
    settings = [*INTERPRETER, str(plugin.place.home / ".local/share/holdfast/run"), event]
    environ = dict(plugin.environ)
    if who == "settings":
        del environ["CLAUDE_PLUGIN_ROOT"], environ["CLAUDE_PLUGIN_DATA"]
    process = subprocess.Popen(
        settings if who == "settings" else ["/bin/sh", "-c", plugin.command(event)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd=plugin.place.root,
    )
    assert process.stdin
    process.stdin.write(json.dumps(payload).encode() + b"\n")
    process.stdin.close()
    process.stdin = None
    return process


def fired(plugin: Plugin, payload: Mapping[str, Any], *who: str) -> list[str]:
    """Start copies side by side and return what each said."""
    said = []
    for process in [started(plugin, payload, each) for each in who]:
        out, err = process.communicate(timeout=500)
        assert (process.returncode, err) == (0, b"")
        said.append(out.decode())
    return said


BOTH = ("plugin", "settings")


# --- as the client fires ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [BOTH, BOTH[::-1]])
def test_guidance_is_delivered_once(both: Plugin, who: tuple[str, str]) -> None:
    """Summary and guidance of a compaction, time after time, whichever copy begins."""
    both.place.write("CLAUDE.local.md", "# Current Workflow State\n\nWorkflow: Case Studies\nPhase: 1/2 - Write\n")
    for _ in range(2):
        summaries = fired(both, both.place.payload("PreCompact-manual"), *who)
        assert sorted(map(bool, summaries)) == [False, True]
        guidance = fired(both, both.place.payload("SessionStart-compact"), *who)
        assert "".join(guidance).count(HEADING) == 1
    assert len(json.loads(both.cli("status", "--json").stdout)["compactions"]) == 2


def test_moves_and_todos_are_told_once(both: Plugin) -> None:
    """An agent's launch and return: each move, each hand-over and each list in one of the two replies."""
    runs = both.place.home / "runs"
    count = f"from holdfast import *\n@hookimpl\ndef on_pre_tool_use():\n    open({str(runs)!r}, 'a').write('x')\n"
    both.place.user_handler("count", count)
    made = both.cli("start", "Work", "--format", "hybrid", "--phase", "Build it @builder", "--phase", "Test it @tester")
    assert made.exit_code == 0
    launch = {"description": "Build it", "prompt": "Do phase_1", "subagent_type": "builder"}
    call = both.place.payload("PreToolUse-Agent", tool_input=launch, tool_use_id="toolu_1")
    told = "".join(fired(both, call, *BOTH))
    assert told.count("is active") == 1
    assert told.count("hookSpecificOutput") == 1
    assert runs.read_text() == "x", "one of the two has run no handler"
    back = both.place.payload("PostToolUse-Agent", tool_input=launch, tool_use_id="toolu_1")
    told = "".join(fired(both, back, *BOTH))
    assert told.count("is completed") == 1
    assert told.count("hookSpecificOutput") == 1


def test_each_alone_answers_every_time(both: Plugin) -> None:
    """The same payload from the same registration is a new firing."""
    both.place.user_handler("speaks", SPEAKS.format(before="pass"))
    stop = both.place.payload("Stop")
    for who in BOTH:
        assert [bool(said) for said in fired(both, stop, who) + fired(both, stop, who)] == [True, True]
        for file in (both.place.home / ".local/state/holdfast/firings").iterdir():
            file.unlink()


def test_the_second_waits_for_the_first_and_answers_if_it_dies(both: Plugin) -> None:
    """A copy that is killed in the middle has not answered."""
    mark = both.place.home / "began"
    before = f"import os, time; os.path.exists({str(mark)!r}) or (open({str(mark)!r}, 'w'), time.sleep(60))"
    both.place.user_handler("speaks", SPEAKS.format(before=before).replace("@hookimpl", "@hookimpl(timeout=60)"))
    stop = both.place.payload("Stop")
    first = started(both, stop, "settings")
    until(mark.exists)
    second = started(both, stop, "plugin")
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.5)
    first.kill()
    first.communicate(timeout=500)
    assert b"said" in second.communicate(timeout=500)[0]


def test_settings_alone_leave_no_trace(tmp_path: Path) -> None:
    """Where no plugin's copy ever was, nothing is kept and nobody waited for."""
    place = processes.make(tmp_path)
    place.user_handler("speaks", SPEAKS.format(before="pass"))
    ended: Ended = place.fire(place.payload("Stop"))
    assert ended.reply["systemMessage"] == "said"
    assert not (place.home / ".local/state/holdfast/firings").exists()


# --- in process ---------------------------------------------------------------------------------------------------


class Copies:
    """The two copies, as far as pairing knows them."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._patch = monkeypatch

    def answers(self, who: str, **payload: str) -> bool:
        """Return whether this copy is the one to answer."""
        program = self.root / "hooks" / "dispatch.py" if who != "settings" else self.root / "run"
        self._patch.setattr(sys, "argv", [str(program)])
        environ = {"CLAUDE_PLUGIN_ROOT": f"{self.root}/"} if who == "plugin" else {}
        with duplicates.once(claude, {"hook_event_name": "Stop", "session_id": "s", **payload}, environ) as mine:
            return mine


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """Two copies that expect each other."""
    duplicates.expect()
    return Copies(tmp_path, monkeypatch)


def test_two_pair_off_and_the_next_two_again(copies: Copies) -> None:
    """In any order: one answer for each of the other's."""
    assert [copies.answers(who) for who in (*BOTH, *BOTH[::-1])] == [True, False, True, False]
    assert [copies.answers(who) for who in ("plugin", "plugin", "settings", "settings", "settings")] == [
        *(True, True, False, False, True)
    ]


def test_after_a_minute_nothing_pairs_off(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not before it: the clock decides."""
    assert copies.answers("plugin")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert copies.answers("settings")
    monkeypatch.setattr(time, "time", lambda: now + 61 + 59)
    assert not copies.answers("plugin")


def test_where_it_cannot_be_told_the_answer_is_given(copies: Copies) -> None:
    """Better twice than never: the folder is a file, or the state folder cannot be written."""
    folder = duplicates.folder()
    folder.rmdir()
    folder.touch()
    assert [copies.answers(who) for who in BOTH] == [True, True]


def test_a_copy_that_is_still_at_it_is_a_failure(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows whether the other copy will answer, so a guard refuses (`engine.dispatch`)."""
    monkeypatch.setattr(duplicates, "WAIT_LIMIT_S", 0.05)
    monkeypatch.setattr(sys, "argv", ["run"])
    with (
        duplicates.once(claude, {"hook_event_name": "Stop", "session_id": "s"}, {}),
        pytest.raises(TimeoutError, match="still answering"),
    ):
        copies.answers("plugin")


def test_a_variable_that_was_only_handed_on_is_not_the_plugins(tmp_path: Path) -> None:
    """A client that a plugin's hook started hands CLAUDE_PLUGIN_ROOT to hooks of the settings: the program tells."""
    root = tmp_path / "plugin"
    (tmp_path / "link").symlink_to(root)
    environ = {"CLAUDE_PLUGIN_ROOT": str(tmp_path / "link")}
    assert duplicates.source(claude, environ, f"{root}/hooks/dispatch.py") == str(root)
    assert duplicates.source(claude, environ, f"{tmp_path}/.local/share/holdfast/run") == duplicates.SETTINGS
    assert duplicates.source(claude, {}, f"{root}/hooks/dispatch.py") == duplicates.SETTINGS


def test_old_files_go_at_a_session_start(copies: Copies) -> None:
    """What nobody will pair off any more is removed, the rest stays."""
    for age in (30, 3600):
        file = duplicates.folder() / str(age)
        file.touch()
        os.utime(file, (time.time() - age, time.time() - age))
    copies.answers("plugin", hook_event_name="SessionStart")
    assert (duplicates.folder() / "30").exists()
    assert not (duplicates.folder() / "3600").exists()
