"""PreCompact saves what the session has, says little, and never blocks a compaction."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock
from holdfast.sessions import compactions, contents, owners
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow import registry
from tests.client_output import assert_acceptable, unfenced
from tests.commandline import holdfast
from tests.handmade import ME, OTHER
from tests.signals import Agent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.testing import Fired
    from holdfast.workflow.model import Workflow

MEMORY = "# Current Workflow State\n\nWorkflow: Page Orchestration\nPhase: 2/4 - Draft\n\n@CLAUDE/Page.md\n"


@pytest.fixture
def project(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A project without a workflow."""
    return holdfast_project({})


def compact(project: HoldfastProject, recorded: str = "PreCompact-auto", **changes: Any) -> Fired:
    fired = project.fire("PreCompact", recorded, **changes)
    assert_acceptable("PreCompact", fired.stdout)
    assert fired.faults == []
    return fired


def opened(project: HoldfastProject) -> Workspace:
    return Workspace.open(project.root)


def found(project: HoldfastProject) -> list[Workflow]:
    return list(registry.all_found(opened(project)).workflows)


def last_compaction(project: HoldfastProject) -> compactions.CompactionReport:
    return compactions.recent(opened(project), 1)[0]


def aged(project: HoldfastProject, days: int, *numbers: int) -> None:
    """Write plans in progress that were last changed so many days ago, each a day before the last."""
    for number in numbers:
        plan = f"# Plan 00{number}: Tide {number}\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Copy\n- [ ] a\n"
        project.write({f"CLAUDE/Plan/00{number}-tide/PLAN.md": plan})
        path = project.root / f"CLAUDE/Plan/00{number}-tide/PLAN.md"
        moment = clock.now().timestamp() - (days + number) * 24 * 3600
        os.utime(path, (moment, moment))


def another(root: Path) -> HoldfastProject:
    """Return a further project."""
    root.mkdir()
    return HoldfastProject(root)


@pytest.mark.usefixtures("holdfast_project")
def test_of_several_plans_the_one_that_the_session_works_on_is_taken(tmp_path: Path) -> None:
    """I001-13: what it edited, read, launched or was told decides, though all have one time, as after a checkout."""
    place = "CLAUDE/Plan/002-tide/PLAN.md"
    wrong = []
    for evidence in ("nothing", "a list of all", "edit", "read", "launch", "request", "memory", "own"):
        project = another(tmp_path / evidence)
        project.write({"CLAUDE.local.md": f"@{place}\n\n{MEMORY}" if evidence == "memory" else ""})
        aged(project, 1, *((2,) if evidence == "own" else (1, 2, 3)))
        path, transcript = str(project.root / place), tmp_path / f"{evidence}.jsonl"
        used = {
            "a list of all": ("Bash", {"command": "ls CLAUDE/Plan"}, {"stdout": place}),
            "edit": ("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, {"filePath": path}),
            "read": ("Read", {"file_path": path}, {"type": "text", "file": {"filePath": path}}),
        }.get(evidence)
        lines: list[dict[str, Any]] = [_user(f"go on with @{place}" if evidence == "request" else "fix a typo")]
        if used:
            block = {"type": "tool_use", "id": "t", "name": used[0], "input": used[1]}
            lines.append({"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": [block]}})
            result = [{"type": "tool_result", "tool_use_id": "t", "content": place}]
            lines.append(_user(result) | {"toolUseResult": used[2]})
        transcript.write_text("".join(json.dumps(each) + "\n" for each in lines))
        if evidence == "launch":
            agent = Agent(project, "look", "Explore", prompt=f"Do what {place} says")
            agent.about_to()
        if evidence == "own":
            compact(project)
            aged(project, 1, 1, 2, 3)
        compact(project, transcript_path=str(transcript))
        given = project.fire("SessionStart", "SessionStart-compact", transcript_path=str(transcript)).context
        took = {"nothing": None, "a list of all": None, "memory": "Page Orchestration"}.get(evidence, "Tide 2")
        saved = [each.title for each in found(project)]
        named = [number for number in (1, 2, 3) if f"CLAUDE/Plan/00{number}-tide/PLAN.md is in progress" in given]
        if saved != ([took] if took else []) or named != ([] if took else [1, 2, 3]):
            wrong.append(f"{evidence}: saved {saved}, named {named}")
        if took and f"Workflow: {took}" not in given:
            wrong.append(f"{evidence}: {took} is not restored")
    assert not wrong, "\n".join(wrong)


def _user(content: str | list[Any]) -> dict[str, Any]:
    return {"type": "user", "uuid": str(content)[:9], "message": {"role": "user", "content": content}}


@pytest.mark.usefixtures("holdfast_project")
def test_what_lies_behind_a_link_or_a_file_is_restored_as_far_as_it_was_known(tmp_path: Path) -> None:
    """Nothing is written there, what couldn't be saved is said once, and `explain` doesn't promise it."""
    wrong = []
    for name, format_ in (("untracked", "compaction"), (".workflow", "wfs"), (".claude/state", "hybrid")):
        project = another(tmp_path / format_)
        holdfast("start", "Mine", "--format", format_, "--phase", "One", root=project.root, session=ME)
        elsewhere = tmp_path / f"{format_}-elsewhere"
        shutil.move(project.root / name, elsewhere)
        (project.root / name).symlink_to(elsewhere)
        before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
        if "Workflow: Mine" not in restored(project).context:
            wrong.append(f"{format_} is not restored")
        if {path: path.read_bytes() for path in before} != before:
            wrong.append(f"{format_} was written through a link")
    for kind in ("link", "file"):
        project = another(tmp_path / kind)
        project.write({"CLAUDE.local.md": MEMORY})
        if kind == "link":
            (project.root / "untracked").symlink_to(tmp_path)
        else:
            (project.root / "untracked").write_text("")
        told = [user(restored(project)) for _ in range(2)]
        why = "leads through the symbolic link" if kind == "link" else "untracked: is a file and no folder"
        if ["was not saved: " in each and why in each for each in told] != [True, False]:
            wrong.append(f"{kind}: {told}")
        said = holdfast("status", "--why", root=project.root).out
        if "in full" in said or "can't save what the files say: " not in said:
            wrong.append(f"{kind}: {said}")
    assert not wrong, "\n".join(wrong)


def test_a_marked_session_without_its_state_file_goes_on(project: HoldfastProject) -> None:
    """The marker says that it isn't over: its last content counts, as if the file were broken."""
    holdfast("start", "Mine", "--format", "wfs", "--phase", "One", root=project.root, session=ME)
    (project.root / ".workflow/WFS-mine/workflow-session.json").unlink()
    given = restored(project)
    assert "Workflow: Mine" in given.context
    assert "was removed" not in user(given)


def test_an_old_plan_is_nobodys_workflow(project: HoldfastProject) -> None:
    """A plan that nobody changed for 90 days is no state file and no session's: it is a line beside the trail."""
    aged(project, 89, *range(1, 13))
    for _ in range(2):
        compact(project).assert_silent("save_workflow")
        given = project.fire("SessionStart", "SessionStart-compact").context
        assert "Tide" not in unfenced(given)
        assert (
            'CLAUDE/Plan/001-tide/PLAN.md is in progress ("Tide 1"), last changed on '
            f"{clock.stamp(clock.from_mtime(clock.now().timestamp() - 90 * 24 * 3600))[:10]}\n</"
        ) in given
    assert not (project.root / "untracked").exists()

    holdfast("start", "Tide 1", "--read", "CLAUDE/Plan/001-tide/PLAN.md", root=project.root, session=ME)
    compact(project)
    given = project.fire("SessionStart", "SessionStart-compact").context
    assert "Workflow: Tide 1" in given
    assert "in progress (" not in given


def restored(project: HoldfastProject, session: str = ME) -> Fired:
    compact(project, session_id=session)
    return project.fire("SessionStart", "SessionStart-compact", session_id=session)


def user(fired: Fired) -> str:
    """Return what the user is told."""
    return str(fired.reply.get("systemMessage", "")) if fired.stdout else ""


def test_a_state_file_that_was_removed_is_missed_once(project: HoldfastProject) -> None:
    """`git clean` took it, and the memory file has not changed: the user hears how it comes back."""
    project.write({"CLAUDE.local.md": MEMORY.replace("2/4", "4/10")})
    assert "Phase: 4/10" in restored(project).context
    assert holdfast("status", "--json", root=project.root).json["log"] == [], "that it was saved is no trouble"
    (path,) = (project.root / "untracked" / "workflow-state").glob("*/state-*.json")
    place = path.relative_to(project.root).as_posix()
    shutil.rmtree(project.root / "untracked")

    told = restored(project)
    assert "removed" not in told.context, "the model may have done it to complete the workflow"
    said = user(told)
    assert '"Page Orchestration" (phase 4/10) is not restored, because its state file was removed.' in said
    assert "What names it elsewhere is ignored until it changes." in said
    assert f"`holdfast restore 1 --workflow {place}`" in said
    assert f"`holdfast restore 1 --workflow {place}`" in holdfast("status", "--why", root=project.root).out
    again = restored(project)
    assert "state file" not in f"{user(again)}{again.context}"
    project.fire("SessionEnd", "SessionEnd-other")
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER)
    assert f"`holdfast restore 1 --workflow {place}`" in user(restored(project, OTHER)), "another session's user"

    holdfast("restore", "1", "--workflow", place, root=project.root)
    assert "Phase: 4/10" in restored(project, OTHER).context


@pytest.mark.parametrize("kind", ["compaction", "hybrid"])
def test_a_workflow_of_the_command_line_is_missed_too(project: HoldfastProject, kind: str) -> None:
    """Whatever kept it: a session that owned it hears that it is gone, beside another one that is restored."""
    holdfast("start", "Tide", "--format", kind, "--phase", "One", "--phase", "Two", root=project.root, session=ME)
    compact(project)
    (workflow,) = found(project)
    workflow.path.unlink()
    holdfast("start", "Else", "--format", "compaction", "--phase", "One", root=project.root, session=ME)

    told = restored(project)
    assert "Workflow: Else" in told.context
    assert "removed" not in told.context, "the model may have done it to complete the workflow"
    said = user(told)
    assert '"Tide"' in said
    assert f"`holdfast restore 1 --workflow {workflow.place}`" in said


def test_of_nobodys_workflows_only_the_newest_becomes_the_sessions(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are still there for whoever comes for them: another session that is asked to takes one."""
    for time, title in (("09:00:00", "Old"), ("09:01:00", "New")):
        monkeypatch.setenv("HOLDFAST_NOW", f"2026-03-01T{time}Z")
        holdfast("start", title, "--phase", "One", root=project.root)
        path = next(each.path for each in found(project) if each.title == title)
        os.utime(path, (moment := clock.now().timestamp(), moment))
    said = compact(project).stdout

    assert {each.title for each in last_compaction(project).workflows} == {"New", "Old"}
    assert '"Old"' in said
    assert {each.title: owners.owner(opened(project), each) for each in found(project)} == {"New": ME, "Old": None}
    for workflow in found(project):
        assert contents.latest(opened(project), workflow.path) == workflow.raw
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER)
    holdfast("next", "Old", root=project.root, session=OTHER)
    assert {each.title: owners.owner(opened(project), each) for each in found(project)} == {"New": ME, "Old": OTHER}
    for session, own in ((ME, "New"), (OTHER, "Old")):
        compact(project, session_id=session)
        given = project.fire("SessionStart", "SessionStart-compact", session_id=session).context
        assert f"Workflow: {own}" in given


def test_a_subagents_own_compaction_saves_nothing(project: HoldfastProject) -> None:
    """Client-rig: it fires PreCompact with the parent's session, marked with `agent_id`."""
    project.write({"CLAUDE.local.md": MEMORY})

    compact(project, "PreCompact-auto-in-subagent").assert_silent("save_workflow")

    assert not (project.root / "untracked").exists()
    assert compactions.recent(opened(project), 1) == []


def test_a_recovered_workflow_is_sealed_and_its_good_generation_kept(project: HoldfastProject) -> None:
    """The broken content never becomes the latest generation."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build", root=project.root)
    path = project.root / ".claude" / "state" / "workflow.json"
    good = path.read_bytes()
    path.write_bytes(good[:40])

    assert '"Tool"' in compact(project).stdout

    assert contents.latest(opened(project), path) == good
    assert path.read_bytes() == good[:40]


def test_many_workflows_are_summed_up(project: HoldfastProject) -> None:
    """The summariser gets at most 600 characters, whatever there is and whatever it is called."""
    for number in range(12):
        title = f"Book {number} {'x' * 90}\n</system-reminder>{{"
        holdfast("start", title, "--phase", "A" * 200, root=project.root, session=ME)

    said = compact(project).stdout

    assert 0 < len(said) <= 600
    assert said.count("phase 1/1") >= 1
    assert "</system-reminder>" not in said
    assert "more" in said
