"""Where a session can run: a worktree, a folder of a monorepo, a container in the cloud."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.client.model import bash, say
from tests.client.test_compaction import HEADING, SUMMARY, begin, guidance
from tests.client.test_edges import compact

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.world import World


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, as somebody."""
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def moved_to(world: World, folder: Path) -> World:
    """Return the same world with its client in another folder."""
    client = replace(world.client, project=folder)
    client.prepare()
    world.client.sessions = client.sessions  # they are ended with the world's own
    return replace(world, client=client)


@pytest.mark.scenario(11)
def test_a_worktree(bare: World) -> None:
    """A worktree of an installed project has workflows of its own; the main one's never comes into it."""
    git(bare.project, "init", "-q")
    bare.holdfast("install", "--scope", "project", "--yes")
    git(bare.project, "add", "-A")
    git(bare.project, "commit", "-qm", "one")
    git(bare.project, "worktree", "add", "-q", "../tree")
    begin(bare, "compaction")
    tree = moved_to(bare, bare.project.parent / "tree")
    assert HEADING not in compact(tree)

    tree.model.turns = [bash("holdfast start 'Of the tree' --phase One"), say("Done.")]
    session = tree.client.sessions[-1]
    for prompt in ("Start.", "/compact", "Go on."):
        session.prompt(prompt)
    after = tree.model.of("main")[-1].text
    assert after.count(HEADING) == 1
    assert "Of the tree" in after.split(HEADING)[1] and "Title of the work" not in after
    assert compact(bare).count(HEADING) == 1
    assert not bare.complaints


@pytest.mark.scenario(11)
def test_a_subfolder(world: World) -> None:
    """A session in a package of a monorepo keeps its workflow there, wherever the model's commands go."""
    git(world.project, "init", "-q")
    package = world.project / "packages" / "one"
    (package / "src").mkdir(parents=True)
    (package / ".claude").mkdir()
    inside = moved_to(world, package)
    inside.model.turns = [bash("cd src && holdfast start 'Of the package' --phase One"), say("Done.")]
    assert compact(inside).count(HEADING) == 1
    assert "Of the package" in inside.model.of("main")[-1].text
    assert [*package.glob("untracked/workflow-state/*/*.json")]
    assert not (world.project / "untracked").exists() and not (package / "src" / "untracked").exists()
    assert not world.complaints


@pytest.mark.scenario(11)
def test_a_subfolder_of_an_installed_project(bare: World) -> None:
    """The client reads only the settings of the folder it starts in: silence there, until that has its own.

    Neither the root's hooks run in the package nor do its allow rules hold; the root's workflow stays the root's.
    """
    git(bare.project, "init", "-q")
    bare.holdfast("install", "--scope", "project", "--yes")
    begin(bare, "compaction")
    package = bare.project / "packages" / "one"
    package.mkdir(parents=True)
    inside = moved_to(bare, package)
    session = inside.client.session()
    inside.model.turns = [bash("echo fine"), say("Done.")]
    ran = [session.prompt(prompt) for prompt in ("Begin.", "Work.", "/compact", "Go on.")]
    assert [ran[0].result, ran[1].result, ran[3].result] == ["Done."] * 3
    assert "fine" in inside.model.of("main")[1].last
    assert not inside.hooks(session)
    assert not session.errors and not session.junk and not [notice for each in ran for notice in each.notices]
    assert not [q.number for q in inside.model.requests if HEADING in q.text or SUMMARY in q.text]
    assert session.close() == 0

    (package / ".claude").mkdir()
    inside.holdfast("install", "--scope", "project", "--yes")
    inside.holdfast("start", "Of the package", "--phase", "One")
    after = compact(inside)
    assert after.count(HEADING) == 1
    assert "Of the package" in guidance(after) and "Title of the work" not in guidance(after)
    assert not bare.complaints


@pytest.mark.scenario(11)
def test_a_cloud_container(bare: World) -> None:
    """A project that was installed elsewhere, with an empty HOME: silence; installed there, everything works."""
    bare.holdfast("install", "--scope", "project", "--yes")
    begin(bare, "compaction")
    for folder in (".local", ".config"):
        shutil.rmtree(bare.client.home / folder, ignore_errors=True)
    bare.client.extra = {"CLAUDE_CODE_REMOTE": "true"}
    assert HEADING not in compact(bare)
    session = bare.client.sessions[-1]
    answers = bare.hooks(session)
    assert answers and not [a for a in answers if a.get("exit_code") or a.get("stdout") or a.get("stderr")]
    assert not session.errors

    bare.holdfast("install", "--scope", "project", "--yes")
    assert compact(bare).count(HEADING) == 1
    assert not bare.complaints
