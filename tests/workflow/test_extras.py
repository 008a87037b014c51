"""A file beside a hybrid workflow that is not ours, or is broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.errors import SchemaMismatch
from holdfast.formats.hybrid.format import FORMAT as hybrid
from holdfast.sessions import archive
from holdfast.workflow import extras, places, statefile, verbs
from holdfast.workflow.model import Changes, Start
from tests.commandline import holdfast

if TYPE_CHECKING:
    from holdfast.sessions.workspace import Workspace
    from tests.workflow.conftest import Put

STATE = ".claude/state/workflow.json"
EXTRA = ".claude/state/workflow.extra.json"
GIVEN = Start("Ship", "implementation", (("A", "x"), ("B", "y")), None, ("docs/a.md",), ("care",), {"k": 1})


@pytest.mark.parametrize("content", ['{"a": 1}', '{"id": "x"}', '{"id": [], "context": {}}'])
def test_somebody_elses_file_is_not_overwritten(project: Workspace, put: Put, content: str) -> None:
    """What holds no extras is left alone, said, and refuses what would have to go there; the state is not begun."""
    path = put(EXTRA, content)
    with pytest.raises(SchemaMismatch, match="left alone"):
        hybrid.start(project, GIVEN)
    assert not (project.root / STATE).exists()
    assert path.read_text() == content


def test_one_broken_from_the_first_is_set_aside_by_our_write(project: Workspace, put: Put) -> None:
    """Without a generation there is nothing to go back to; nothing of it is lost."""
    put(EXTRA, "not json")
    assert hybrid.start(project, GIVEN).reading == ("@docs/a.md",)
    assert [path.read_text() for path in (project.root / ".claude/state").glob("*.corrupt-*")] == ["not json"]


def test_restored_workflow_has_its_extras_again(project: Workspace) -> None:
    """Reading, reminders and context lie in a file of their own, which then belongs to the workflow that gave way."""
    first = hybrid.start(project, Start(title="First", phases=(("Build", "a"),), reminders=("No floats",)))
    hybrid.start(project, Start(title="Second", phases=(("Test", "b"),), reminders=("No ints",), replace=True))

    back = hybrid.restore(project, first.path, first.raw, why="restore", replace=True).workflow

    assert (back.title, back.reminders) == ("First", ("No floats",))


def test_what_is_added_belongs_to_the_workflow_that_is_there(project: Workspace) -> None:
    """Not to the one whose extras lie beside it since somebody put an earlier state back."""
    first = hybrid.start(project, Start(title="First", phases=(("Build", "a"),)))
    hybrid.start(project, Start(title="Second", phases=(("Test", "b"),), reminders=("No ints",), replace=True))
    first.path.write_bytes(first.raw)

    assert verbs.update(project, first, Changes(reminders=("No floats",))).reminders == ("No floats",)


def test_a_start_that_is_killed_costs_no_extras(project: Workspace) -> None:
    """The new workflow's extras are written first, so a start that is killed then leaves them beside the old state."""
    first = hybrid.start(project, Start(title="First", phases=(("Build", "a"),), reminders=("No floats",)))
    second = Start(title="Second", phases=(("Test", "b"),), reminders=("No ints",))
    with pytest.raises(KeyboardInterrupt), extras.begun(project, first.path, "wf_20990101_000000", second):
        beside = places.extras(project.root, first.path)
        spared = beside.read_bytes()
        raise KeyboardInterrupt
    beside.write_bytes(spared)  # nobody undid it
    (now,) = hybrid.find(project).workflows
    assert now.reminders == ("No floats",)
    assert verbs.update(project, now, Changes(reminders=("No tabs",))).reminders == ("No floats", "No tabs")


def test_workflow_that_is_replaced_is_in_the_archive_before_its_file_is_overwritten(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be killed in between."""
    hybrid.start(project, Start(title="First", phases=(("Build", "a"),)))
    write = statefile.write

    def killed(*values: Any, **options: Any) -> Any:
        write(*values, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(statefile, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        hybrid.start(project, Start(title="Second", phases=(("Test", "b"),), replace=True))

    assert [each.workflow.title for each in archive.entries(project)] == ["First"]


def test_what_is_no_extras_is_named_by_status_and_hides_no_workflow(project: Workspace, put: Put) -> None:
    """The workflow is shown without what was kept there."""
    hybrid.start(project, GIVEN)
    path = put(EXTRA, '{"a": 1}')

    shown = holdfast("status", "--json", root=project.root).json

    assert [each["path"] for each in shown["problems"]] == [str(path)]
    assert (shown["current"]["title"], shown["current"]["required_reading"]) == ("Ship", [])


def test_extras_belong_to_the_workflow_whose_id_they_name(project: Workspace) -> None:
    """A workflow that a model writes over a finished one inherits nothing."""
    started = hybrid.start(project, GIVEN)
    data = json.loads(started.path.read_bytes())
    started.path.write_text(json.dumps({**data, "id": "wf_another"}))

    shown = holdfast("status", "--json", root=project.root).json["current"]

    assert (shown["id"], shown["required_reading"], shown["key_reminders"]) == ("wf_another", [], [])
