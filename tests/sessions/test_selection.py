"""Which workflow a command is about: the named one, the session's own, or the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.errors import HoldfastError
from holdfast.sessions import archive
from holdfast.sessions.selection import anywhere, select
from holdfast.workflow import registry
from holdfast.workflow.model import Found
from holdfast.workflow.names import short
from tests.handmade import ME, workflow

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from holdfast.workflow.model import Workflow


@pytest.fixture
def there(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[Workflow]:
    """The workflows that are found, the newest first; tests put theirs in."""
    listed: list[Workflow] = []
    monkeypatch.setattr(registry, "all_found", lambda project: Found(tuple(listed)))
    return listed


def test_a_workflow_is_found_by_any_of_its_names(project: Workspace, there: list[Workflow]) -> None:
    """Id, title, path in the project, whole path, reference, or how id or title begin."""
    release, other = workflow(project.root, "Release one"), workflow(project.root, "Other work")
    there += [other, release]

    names = [release.id, release.title, release.place, str(release.path), release.ref, "release-", "Release o"]
    assert [select(project, name, None) for name in names] == [release] * len(names)


@pytest.mark.parametrize("name", ["user auth", "USER AUTH", "user-auth", "userauth", "User Auth!"])
def test_a_name_counts_in_any_spelling(project: Workspace, there: list[Workflow], name: str) -> None:
    """To change it, too; a workflow that is called exactly so comes first."""
    there += [workflow(project.root, "User auth"), workflow(project.root, "User authorship")]
    assert select(project, name, None, whole=True).title == "User auth"
    assert select(project, there[1].id.upper(), None, whole=True).title == "User authorship"
    assert select(project, "USER AUTHOR", None).title == "User authorship"

    there.append(workflow(project.root, "USER AUTH"))
    assert select(project, "USER AUTH", None, whole=True).title == "USER AUTH"


def test_what_is_short_names_one_workflow(project: Workspace, there: list[Workflow]) -> None:
    """The title in small letters; the id where that could be another one, or is no word."""
    there += [workflow(project.root, name) for name in ("Payments, part 2", "Auth", "auth!", "支付")]

    assert [short(each, there) for each in there] == ["payments-part-2", there[1].id, there[2].id, there[3].id]
    assert [select(project, short(each, there), None, whole=True) for each in there] == there


def test_to_change_a_workflow_one_names_it_whole(project: Workspace, there: list[Workflow]) -> None:
    """A beginning that happens to fit would move another workflow than the one that was meant."""
    there += [workflow(project.root, "Release notes"), workflow(project.root, "Other")]

    for name in ("Release notes", there[0].id, there[0].place, str(there[0].path), there[0].ref):
        assert select(project, name, None, whole=True) is there[0]
    with pytest.raises(HoldfastError, match=r'no workflow is named "Release"; did you mean: release-notes'):
        select(project, "Release", None, whole=True)


@pytest.mark.parametrize("whole", [True, False])
def test_the_whole_name_of_a_completed_one_goes_before_a_beginning(
    project: Workspace, there: list[Workflow], whole: bool
) -> None:
    """Who names what is over is told so, and gets no other."""
    archive.keep(project, workflow(project.root, "Release", status="completed"), "2026-01-02T03:04:05Z")
    there += [workflow(project.root, "Release notes")]

    with pytest.raises(HoldfastError, match='"Release" was completed at 2026-01-02'):
        select(project, "Release", None, whole=whole)


@pytest.mark.parametrize("session", [None, ME])
def test_without_a_name_what_is_paused_gives_way_to_what_goes_on(
    project: Workspace, there: list[Workflow], session: str | None
) -> None:
    """It is the current one only where there is no other."""
    there += [workflow(project.root, "Paused", paused=True), workflow(project.root, "Open")]
    assert select(project, None, session).title == "Open"

    del there[1]
    assert select(project, None, session).title == "Paused"


def test_error_names_a_bounded_number_of_workflows(project: Workspace, there: list[Workflow]) -> None:
    """Ten thousand characters of a title, or a hundred workflows, do not bury the message."""
    there += [workflow(project.root, f"{number} {'x' * 200}") for number in range(10)]
    with pytest.raises(HoldfastError, match=r'name one: .* 9-x+ \("9 x+'):
        select(project, None, None)

    there += [workflow(project.root, f"{number} {'x' * 200}") for number in range(10, 100)]
    with pytest.raises(HoldfastError, match=r"and 90 more$") as caught:
        select(project, None, None)
    assert len(str(caught.value)) < 4_000


def test_of_the_archive_too_a_beginning_names_only_what_is_looked_at(project: Workspace, there: list[Workflow]) -> None:
    """To change a completed workflow, as by forgetting it, one names it whole."""
    over = workflow(project.root, "Release", status="completed")
    archive.keep(project, over, "2026-01-02T03:04:05Z")

    for wanted, whole in (("Rel", False), ("Release", False), ("Release", True)):
        found, worktree = anywhere(project, wanted, whole=whole)
        assert (found.title, worktree) == ("Release", project.worktree)
    with pytest.raises(HoldfastError, match='"Release" was completed'):
        anywhere(project, "Rel", whole=True)
    with pytest.raises(HoldfastError, match='"Tow"'):
        anywhere(project, "Tow")
