"""A session started in a package of a repository, which is a project of its own (client fact: CLAUDE_PROJECT_DIR)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.testing import HoldfastProject
from tests.commandline import holdfast
from tests.handmade import ME

if TYPE_CHECKING:
    from collections.abc import Callable

OFFER = (
    ' has the unfinished workflow "Login" (compaction): phase 1/1 "Design", in_progress. '
    "To continue it, start claude there."
)


@pytest.fixture
def repository(holdfast_project: Callable[..., HoldfastProject]) -> HoldfastProject:
    """A repository with two packages, and a workflow at its root."""
    files = {".git/HEAD": "ref: refs/heads/main\n", "one/a.py": "", "two/a.py": ""}
    made = holdfast_project(files)
    holdfast("start", "Login", "--phase", "Design", root=made.root)
    return made


def test_session_in_a_package_is_told_of_the_workflow_at_the_root(repository: HoldfastProject) -> None:
    package = HoldfastProject(repository.root / "one")
    assert package.fire("SessionStart", "SessionStart-startup-tui").reply["systemMessage"].endswith(OFFER)
    assert OFFER in holdfast("status", root=package.root).out
    assert package.compact()[1].context == ""  # its project isn't this one, so nothing is injected


def test_package_with_a_workflow_of_its_own_is_told_of_that_one(repository: HoldfastProject) -> None:
    package = HoldfastProject(repository.root / "two")
    holdfast("start", "Pay", "--phase", "Build", root=package.root)
    assert OFFER not in package.fire("SessionStart", "SessionStart-startup-tui").stdout
    assert OFFER not in holdfast("status", root=package.root).out


def test_workflow_of_a_live_session_at_the_root_is_not_offered(repository: HoldfastProject) -> None:
    repository.fire("SessionStart", "SessionStart-startup-tui", session_id=ME)
    holdfast("next", root=repository.root, session=ME)
    package = HoldfastProject(repository.root / "one", session="22222222-2222-4222-8222-222222222222")
    assert OFFER not in package.fire("SessionStart", "SessionStart-startup-tui").stdout
