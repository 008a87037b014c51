"""The profile replay says where the time goes, and touches none of the user's files."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import formats, paths
from holdfast.sessions.history import recordings
from holdfast.sessions.workspace import Workspace
from holdfast.testkit import recorded
from holdfast.workflow import registry
from tests import commandline
from tests.commandline import holdfast
from tools.profile import __main__, replay
from tools.profile.firing import Called, Firing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from holdfast.testing import HoldfastProject
    from holdfast.workflow.model import Workflow
    from tools.profile.double import Double

GUARD = "import time\nfrom holdfast import *\n@hookimpl(match='Bash')\ndef on_pre_tool_use(event): time.sleep(0.08)\n"

profile = partial(commandline.run, __main__.main)


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project whose user has a slow handler and no shipped ones."""
    made = holdfast_project({"CLAUDE.local.md": "x"})
    handlers = paths.user_handlers()
    handlers.mkdir(parents=True)
    (handlers / "guard.py").write_text(GUARD)
    off = sorted(path.stem for path in paths.shipped("handlers").glob("*.py"))
    paths.user_config().write_text(f"[handlers]\noff = {json.dumps(off)}\n")
    return made


def record(project: HoldfastProject, *names: str) -> None:
    for name in names:
        payload = recorded.load(name, cwd=str(project.root), transcript_path="", session_id=project.session)
        recordings.append(Workspace.open(project.root), project.session, payload)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int, bool]]:
    """Replay nothing; return what was to be: the tools or events, how often, whether without a server."""
    asked: list[tuple[list[str], int, bool]] = []

    def stand_in(
        double: Any, payloads: Sequence[Mapping[str, Any]], rounds: int, *, cold: bool, told: Callable[[], object]
    ) -> list[Firing]:
        asked.append(([str(each.get("tool_name") or each["hook_event_name"]) for each in payloads], rounds, cold))
        told()
        call = Called("user/guard.py: on_pre_tool_use", 1.0, 80.0)
        return [Firing("PreToolUse", 101.0, 10.0, (("finding", 10.0),), (call,), not cold, True)] * 3

    monkeypatch.setattr(replay, "replay", stand_in)
    return asked


def everything(*folders: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_slow_handler_of_recorded_events_is_named(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Really replayed by a warm server: the table, the share, the p95; and nothing of the user's has changed."""
    monkeypatch.setenv("HOLDFAST_SERVER", "")
    monkeypatch.delenv("HOLDFAST_RELAY")
    record(project, "PreToolUse-Bash", "PreToolUse-Bash", "Stop")
    folders = [project.root, paths.config_dir(), paths.state_dir()]
    before = everything(*folders)
    said = profile("--rounds", "2", root=project.root).out

    assert said.startswith("2 recorded events, each replayed 2 times; all times in milliseconds.\n")
    assert "1 recorded event stayed out, because no handler wants them any more." in said.replace("\n", " ")
    (row,) = [line.split() for line in said.splitlines() if line.startswith("PreToolUse user/guard.py")]
    assert row[2] == "4"
    assert 80 <= float(row[3]) <= float(row[4]) == float(row[5])
    assert "user/guard.py takes " in said
    assert "Slow, above 50 ms: user/guard.py on PreToolUse (p50 " in said
    assert "cold start" not in said
    after = everything(*folders)
    assert {path: after.get(path) for path in before} == before
    assert {path.suffix for path in after if path not in before} <= {".index"}  # what looking at a handler leaves


def test_json_has_the_figures(project: HoldfastProject) -> None:
    """Here without a server, which the environment switches off; that is said."""
    record(project, "PreToolUse-Bash")
    said = profile("--rounds", "1", "--json", root=project.root).json

    assert (said["recorded"], said["rounds"], said["replayed"], said["server"]) == (True, 1, 1, False)
    assert "The warm server is off (HOLDFAST_SERVER=off), so each event was a cold start." in said["notes"]
    (event,), (handler,) = said["events"], said["handlers"]
    parts = [event[name]["mean"] for name in ("client", "server", "handlers")]
    assert sum(parts) == pytest.approx(event["whole"]["mean"], abs=0.01)
    assert (handler["handler"], handler["function"], handler["calls"]) == ("user/guard.py", "on_pre_tool_use", 1)
    assert handler["whole"]["p95"] >= 80
    assert handler["share"] == pytest.approx(handler["whole"]["mean"] / event["whole"]["mean"], abs=0.001)
    assert said["slowest"] == handler == said["slow"][0]


def test_where_none_are_recorded_samples_stand_in(project: HoldfastProject, replayed: list[Any]) -> None:
    """Those that a process is started for; it says so, and how to record."""
    said = " ".join(profile(root=project.root).out.split())
    assert replayed == [(["Bash", "Bash", "Bash", "Bash"], 3, True)]
    assert said.startswith("4 sample events, each replayed 3 times")
    assert "No event of this project is recorded, so samples stood in." in said
    assert 'on = ["record_events"]' in said


def test_options_reach_the_replay(
    project: HoldfastProject, replayed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often, how many, which event, without a server."""
    monkeypatch.setenv("HOLDFAST_SERVER", "")
    record(project, "PreToolUse-Bash", "PreToolUse-Bash-background")
    begun = [
        profile(*words, root=project.root).err
        for words in (("--rounds", "7", "--limit", "1"), ("--cold", "--event", "PreToolUse"))
    ]
    assert begun == ["Replaying 7 events …\n", "Replaying 6 events …\n"]  # what is waited for, as it begins
    assert replayed == [(["Bash"], 7, False), (["Bash", "Bash"], 3, True)]
    assert "1 older event stayed out" in profile("--limit", "1", root=project.root).out


def test_an_event_nobody_asks_for_takes_no_time(project: HoldfastProject, replayed: list[Any]) -> None:
    """That is the answer, not a table of nothing."""
    record(project, "Stop")
    for words in (["--event", "Stop"], ["--event", "Notification"]):
        assert "no handler wants" in profile(*words, root=project.root, code=1).err
    assert replayed == []


def test_the_page_is_as_wide_as_a_terminal(project: HoldfastProject, replayed: list[Any]) -> None:
    """Read by people: 80 columns."""
    said = profile(root=project.root).out
    assert max(map(len, said.splitlines())) <= 80
    assert "user/guard.py takes 80 % of the time of PreToolUse; its p95 is 81.0 ms." in said


@pytest.mark.parametrize("format_", formats.NAMES)
def test_the_workflows_of_every_format_are_taken_along(
    project: HoldfastProject, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or what is measured is a project without its workflow."""
    seen: list[Workflow] = []

    def stand_in(place: Double, payloads: object, rounds: int, **_: object) -> list[Firing]:
        seen.extend(registry.all_found(Workspace.open(place.root)).workflows)
        return [Firing("Stop", 101.0, 10.0, (), (), False, True)]

    monkeypatch.setattr(replay, "replay", stand_in)
    holdfast("start", "Measured", "--format", format_, "--phase", "Design", root=project.root)
    record(project, "PreToolUse-Bash")
    profile("--rounds", "1", root=project.root)
    assert [each.title for each in seen] == ["Measured"]
