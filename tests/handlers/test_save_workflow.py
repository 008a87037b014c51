"""PreCompact saves what the session has, says little, and never blocks a compaction."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from holdfast import clock, paths
from holdfast.sessions.compaction import snapshots
from holdfast.sessions.history import generations
from holdfast.sessions.ownership import owners, sessions
from holdfast.sessions.workspace import Workspace
from holdfast.testing import HoldfastProject
from holdfast.workflow import registry
from tests.client_output import assert_acceptable, unfenced
from tests.commandline import holdfast
from tests.handmade import ME, OTHER, THIRD
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


def foreground_agent(project: HoldfastProject) -> Agent:
    """Write a memory file, and have an agent that is for no phase at work."""
    project.write({"CLAUDE.local.md": MEMORY})
    agent = Agent(project, "look around", "Explore")
    agent.about_to()
    agent.started()
    return agent


def opened(project: HoldfastProject) -> Workspace:
    return Workspace.open(project.root)


def found(project: HoldfastProject) -> list[Workflow]:
    return list(registry.all_found(opened(project)).workflows)


def newest_seal(project: HoldfastProject) -> snapshots.Snapshot:
    return snapshots.recent(opened(project), 1)[0]


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_what_the_memory_file_says_is_saved(project: HoldfastProject, trigger: str) -> None:
    """R001-13, R001-21: CLAUDE.local.md names a workflow, and it gets a state file, a snapshot and a generation."""
    project.write({"CLAUDE.local.md": MEMORY})

    said = compact(project, f"PreCompact-{trigger}").stdout

    (path,) = (project.root / "untracked" / "workflow-state").glob("*/state-*.json")
    state = json.loads(path.read_bytes())
    assert (state["workflow"], state["phase"]["current"], state["phase"]["total"]) == ("Page Orchestration", 2, 4)
    assert '"Page Orchestration" (compaction): phase 2/4 "Draft"' in said
    assert len(said) <= 400
    snapshot = newest_seal(project)
    assert (snapshot.session, snapshot.why, [each.title for each in snapshot.workflows]) == (
        ME,
        trigger,
        ["Page Orchestration"],
    )
    assert generations.latest(opened(project), path) == path.read_bytes()


def test_an_active_plan_is_saved(project: HoldfastProject) -> None:
    """R001-22: a plan in progress that speaks of phases is a workflow."""
    plan = (
        "# Plan 007: Migrate\n\n**Status**: 🔄 In Progress\n\n## Phase 1: Copy\n- [x] a\n## Phase 2: Switch\n- [ ] b\n"
    )
    project.write({"CLAUDE/Plan/007-migrate/PLAN.md": plan})

    assert '"Migrate" (compaction): phase 2/2 "Switch"' in compact(project).stdout


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
def test_a_fresh_clone_brings_back_nothing_of_the_past(tmp_path: Path) -> None:
    """I001-10: a state is as old as it says itself, whatever its file's time; an old one stays as it is.

    A time without a zone is UTC; one to come says nothing.
    """
    long_ago, now = "2025-12-09T14:30:52Z", clock.stamp()
    phase = {
        "id": "phase_0",
        "title": "A",
        "agent": "x",
        "status": "active",
        "deliverables": [],
        "context_for_next": "",
    }
    states: dict[str, tuple[str, dict[str, Any]]] = {
        "hybrid": (
            ".claude/state/workflow.json",
            {
                "id": "wf_20251209_143052",
                "task": "Past",
                "status": "active",
                "current_phase": "phase_0",
                "phases": [phase],
            },
        ),
        "compaction": (
            "untracked/workflow-state/past/state-past-20251209_143052.json",
            {"workflow": "Past", "phase": {"current": 1, "total": 2, "name": "A", "status": "in_progress"}},
        ),
        "wfs": (
            ".workflow/WFS-past/workflow-session.json",
            {"session_id": "WFS-past", "project": "Past", "status": "active", "progress": {}},
        ),
        "skills": (
            ".claude/workflow-state/active/dev-0123abcd.json",
            {
                "workflow": {"id": "dev-0123abcd", "skill": "dev", "created_at": long_ago},
                "state_machine": {"current_phase": "implementation", "status": "in_progress"},
                "phases": {"implementation": {"status": "in_progress"}},
                "context": {"feature_title": "Past"},
                "history": [],
            },
        ),
    }
    said = {
        "updated_at": (long_ago, False),
        "last_activity": (long_ago[:-1], False),
        "completed_at": ("2025-12-09", False),
        "created_at": (long_ago, True),
        "updated_at ": ("2099-01-01T00:00:00Z", True),
        " updated_at": (now, True),
        "": ("", True),
    }
    wrong = []
    for format_, (place, data) in states.items():
        for key, (at, fresh) in said.items():
            inner = data["workflow"] if format_ == "skills" else data
            given = {**data, **({"workflow": {**inner, key.strip(): at}} if format_ == "skills" else {key.strip(): at})}
            project = another(tmp_path / f"{format_}-{key}-")
            project.write({place: json.dumps(given)})
            if format_ == "wfs":
                project.write({".workflow/.active-WFS-past": ""})
            before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
            project.fire("SessionStart", "SessionStart-startup")
            context = restored(project).context
            if ("WORKFLOW RESTORED" in context) is not fresh:
                wrong.append(f"{format_} with {key} {at}: {context[:60]}")
            if not fresh and {path: path.read_bytes() for path in before} != before:
                wrong.append(f"{format_} with {key} {at} was written")
            if not fresh and any(owners.owner(opened(project), each) for each in found(project)):
                wrong.append(f"{format_} with {key} {at} has an owner")
    assert not wrong, "\n".join(wrong)


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
        said = holdfast("explain", root=project.root).out
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
        compact(project).assert_silent()
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


def test_a_copy_is_as_old_as_its_plan(project: HoldfastProject) -> None:
    """What a save once made of a plan is not fresh because the copy is; the next session gets a line of it."""
    aged(project, 0, 1)
    compact(project)
    (copy,) = found(project)
    assert copy.origin == "plan"
    assert owners.fresh(opened(project), copy)
    project.fire("SessionEnd", "SessionEnd-other")
    aged(project, 89, 1)

    (copy,) = found(project)
    assert not owners.fresh(opened(project), copy)
    compact(project, session_id=OTHER).assert_silent()
    given = project.fire("SessionStart", "SessionStart-compact", session_id=OTHER).context
    assert "Not restored: old, or nothing shows that you work on it." in given
    assert "Tide" not in unfenced(given)
    assert "WORKFLOW RESTORED" not in given
    assert owners.owner(opened(project), copy) == ME


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
    (path,) = (project.root / "untracked" / "workflow-state").glob("*/state-*.json")
    place = path.relative_to(project.root).as_posix()
    shutil.rmtree(project.root / "untracked")

    told = restored(project)
    assert "removed" not in told.context, "the model may have done it to complete the workflow"
    said = user(told)
    assert '"Page Orchestration" (phase 4/10) is not restored, because its state file was removed.' in said
    assert "What names it elsewhere is ignored until it changes." in said
    assert f"`holdfast log restore 1 --of {place}`" in said
    assert f"`holdfast log restore 1 --of {place}`" in holdfast("explain", root=project.root).out
    again = restored(project)
    assert "state file" not in f"{user(again)}{again.context}"
    project.fire("SessionEnd", "SessionEnd-other")
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER)
    assert f"`holdfast log restore 1 --of {place}`" in user(restored(project, OTHER)), "another session's user"

    holdfast("log", "restore", "1", "--of", place, root=project.root)
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
    assert f"`holdfast log restore 1 --of {workflow.place}`" in said


def test_a_completed_workflow_is_not_missed(project: HoldfastProject) -> None:
    """Its state file was removed because it is over, also where the memory file names it still."""
    project.write({"CLAUDE.local.md": MEMORY})
    compact(project)
    holdfast("done", "--all", root=project.root, session=ME)
    assert found(project) == []

    told = restored(project)
    assert "removed" not in f"{user(told)}{told.context}"


def test_a_memory_file_that_was_not_read_to_its_end_is_noted(project: HoldfastProject) -> None:
    """The guidance says that reading may be missing, as long as it may."""
    project.write({"CLAUDE.local.md": MEMORY + "@docs/of/some/file.md\n" * 15_000})
    for _ in range(2):
        assert "CLAUDE.local.md wasn't read to its end" in restored(project).context
    project.write({"CLAUDE.local.md": MEMORY})
    assert "CLAUDE.local.md wasn't read to its end" not in restored(project).context


def test_workflows_of_all_formats_are_sealed(project: HoldfastProject) -> None:
    """The snapshot names every workflow of the session, whatever format keeps it."""
    holdfast("start", "Book", "--phase", "One", "--phase", "Two", root=project.root, session=ME)
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build", root=project.root, session=ME)

    said = compact(project).stdout

    assert {each.title for each in newest_seal(project).workflows} == {"Book", "Tool"}
    assert '"Book"' in said
    assert '"Tool"' in said
    for workflow in found(project):
        assert generations.latest(opened(project), workflow.path) == workflow.raw
        assert owners.owner(opened(project), workflow) == ME


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

    assert {each.title for each in newest_seal(project).workflows} == {"New", "Old"}
    assert '"Old"' in said
    assert {each.title: owners.owner(opened(project), each) for each in found(project)} == {"New": ME, "Old": None}
    for workflow in found(project):
        assert generations.latest(opened(project), workflow.path) == workflow.raw
    project.fire("SessionStart", "SessionStart-startup-tui", session_id=OTHER)
    holdfast("next", "Old", root=project.root, session=OTHER)
    assert {each.title: owners.owner(opened(project), each) for each in found(project)} == {"New": ME, "Old": OTHER}
    for session, own in ((ME, "New"), (OTHER, "Old")):
        compact(project, session_id=session)
        given = project.fire("SessionStart", "SessionStart-compact", session_id=session).context
        assert f"Workflow: {own}" in given


def test_without_a_workflow_nothing_is_written_or_said(project: HoldfastProject) -> None:
    """R001-14: no workflow, no state file, exit 0, silence; the compaction itself leaves its trace in the ledger."""
    before = sorted(project.root.rglob("*"))

    compact(project).assert_silent()

    assert sorted(project.root.rglob("*")) == before
    assert newest_seal(project).workflows == ()


@pytest.mark.parametrize(
    "changes", [{"custom_instructions": None}, {"custom_instructions": "keep it"}, {"trigger": ""}]
)
def test_every_variant_of_the_event_saves(project: HoldfastProject, changes: dict[str, Any]) -> None:
    """Client facts §7: custom_instructions is text, empty, null or absent, and the trigger may be a new one."""
    holdfast("start", "Book", "--phase", "One", root=project.root)

    assert '"Book"' in compact(project, **changes).stdout
    assert newest_seal(project).session == ME


def test_a_save_changes_no_state_file_that_says_it_all(project: HoldfastProject) -> None:
    """Unchanged content is not rewritten: that would break the model's next Edit."""
    project.write({"CLAUDE.local.md": MEMORY})
    compact(project)
    (path,) = (project.root / "untracked" / "workflow-state").glob("*/state-*.json")
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)

    compact(project)

    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_a_finished_workflow_is_neither_sealed_nor_named(project: HoldfastProject) -> None:
    """Finished work is not to be done again."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build", root=project.root)
    holdfast("done", "--all", root=project.root)

    compact(project).assert_silent()

    assert newest_seal(project).workflows == ()


def test_a_subagents_own_compaction_saves_nothing(project: HoldfastProject) -> None:
    """Client-rig: it fires PreCompact with the parent's session, marked with `agent_id`."""
    project.write({"CLAUDE.local.md": MEMORY})

    compact(project, "PreCompact-auto-in-subagent").assert_silent()

    assert not (project.root / "untracked").exists()
    assert snapshots.recent(opened(project), 1) == []


def test_an_unmarked_compaction_of_a_foreground_agent_saves_nothing(project: HoldfastProject) -> None:
    """Client-rig: 2.1.197 does not mark it; while a foreground agent runs it can only be the agent's."""
    agent = foreground_agent(project)
    compact(project).assert_silent()
    assert snapshots.recent(opened(project), 1) == []

    agent.stopped()
    agent.returned()
    assert "Page Orchestration" in compact(project).stdout


def test_a_compaction_beside_a_background_agent_is_the_main_threads(project: HoldfastProject) -> None:
    """A background agent keeps nobody waiting."""
    agent = foreground_agent(project)
    agent.launched()

    assert "Page Orchestration" in compact(project).stdout


def test_a_manual_compaction_is_never_an_agents(project: HoldfastProject) -> None:
    """`/compact` is typed at the prompt, perhaps right after an agent was interrupted, which fires nothing."""
    foreground_agent(project)

    assert "Page Orchestration" in compact(project, "PreCompact-manual").stdout
    project.fire("SessionStart", "SessionStart-compact").assert_advised("Page Orchestration")


def test_an_agent_that_was_interrupted_stands_in_no_compactions_way(project: HoldfastProject) -> None:
    """An interrupt fires nothing; at the next prompt it is plain that no foreground agent runs any more."""
    foreground_agent(project)
    project.fire("UserPromptSubmit", "UserPromptSubmit", prompt="stop that")

    assert "Page Orchestration" in compact(project).stdout


def test_beside_another_session_only_the_own_is_saved(project: HoldfastProject) -> None:
    """What is another live session's, or nobody's, is not this one's to snapshot or to name."""
    sessions.note_event(opened(project), ME)
    sessions.note_event(opened(project), OTHER)
    holdfast("start", "Mine", "--phase", "One", root=project.root, session=ME)
    holdfast("start", "Theirs", "--phase", "One", root=project.root, session=OTHER)
    holdfast("start", "Nobody's", "--phase", "One", root=project.root)

    said = compact(project).stdout

    assert '"Mine"' in said
    assert "Theirs" not in said
    assert "Nobody" not in said
    assert [each.title for each in newest_seal(project).workflows] == ["Mine"]
    assert [owners.owner(opened(project), each) for each in found(project) if each.title == "Nobody's"] == [None]


def test_an_owner_that_is_away_keeps_what_it_owns(project: HoldfastProject) -> None:
    """Sealing all there is does not take it from a session that may come back; only a restore does."""
    holdfast("start", "Theirs", "--phase", "One", root=project.root, session=THIRD)

    compact(project)

    (workflow,) = found(project)
    assert owners.owner(opened(project), workflow) == THIRD
    assert [each.title for each in newest_seal(project).workflows] == ["Theirs"]


def test_a_stale_workflow_is_not_made_the_sessions_own(
    project: HoldfastProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else every PreCompact would bring back what lay there for 90 days."""
    monkeypatch.setenv("HOLDFAST_NOW", "2025-12-01T10:00:00Z")
    holdfast("start", "Ancient", "--phase", "One", root=project.root)
    monkeypatch.setenv("HOLDFAST_NOW", "2026-03-01T10:00:00Z")

    compact(project).assert_silent()

    assert owners.owner(opened(project), found(project)[0]) is None
    assert project.fire("SessionStart", "SessionStart-compact").context.count("REQUIRED") == 0


def test_what_cannot_be_merged_costs_no_seal(project: HoldfastProject, tmp_path: Path) -> None:
    """A folder that leads out of the project is not written to; the rest is saved and the compaction goes on."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build", root=project.root)
    (tmp_path / "elsewhere").mkdir()
    (project.root / "untracked").symlink_to(tmp_path / "elsewhere")
    project.write({"CLAUDE.local.md": MEMORY})

    assert '"Tool"' in compact(project).stdout

    assert [each.title for each in newest_seal(project).workflows] == ["Tool"]
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "was not saved" in paths.log_file().read_text()


def test_a_broken_state_file_is_named_in_the_log_and_left_as_it_is(project: HoldfastProject) -> None:
    """Reading never renames; the others are saved."""
    holdfast("start", "Book", "--phase", "One", root=project.root)
    project.write({".claude/state/workflow.json": "{"})

    assert '"Book"' in compact(project).stdout

    assert (project.root / ".claude" / "state" / "workflow.json").read_bytes() == b"{"
    assert "workflow.json" in paths.log_file().read_text()


def test_a_recovered_workflow_is_sealed_and_its_good_generation_kept(project: HoldfastProject) -> None:
    """The broken content never becomes the latest generation."""
    holdfast("start", "Tool", "--format", "hybrid", "--phase", "Build", root=project.root)
    path = project.root / ".claude" / "state" / "workflow.json"
    good = path.read_bytes()
    path.write_bytes(good[:40])

    assert '"Tool"' in compact(project).stdout

    assert generations.latest(opened(project), path) == good
    assert path.read_bytes() == good[:40]


def test_without_a_usable_ledger_the_file_is_still_saved(project: HoldfastProject) -> None:
    """Without a usable ledger everything still works from the files."""
    folder = paths.ensure_private(paths.state_dir())
    (folder / "projects").write_text("in the way")
    project.write({"CLAUDE.local.md": MEMORY})

    assert "Page Orchestration" in compact(project).stdout

    assert len(list((project.root / "untracked" / "workflow-state").glob("*/state-*.json"))) == 1


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
