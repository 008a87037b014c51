"""How a `wfs` task's file is changed: what is added, renamed and removed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.formats.wfs import brief
from holdfast.formats.wfs import edit as wfs_edit
from holdfast.formats.wfs import task as wfs_task
from holdfast.formats.wfs.board import Board
from holdfast.formats.wfs.edit import Edit

STEP = {"step": "look", "action": "Look", "command": "ls"}


def task(**context: Any) -> dict[str, Any]:
    """Return a task, with what its context holds beside."""
    data = wfs_task.fresh("IMPL-1", wfs_task.New("Implement login", requirements=("JWT", "OAuth")))
    data["context"].update(context)
    return data


def refused(before: dict[str, Any], edit: Edit) -> list[str]:
    """Change a task, and return what is remarked of it."""
    after = copy.deepcopy(before)
    wfs_edit.apply(after, edit)
    board = Board((brief.of("IMPL-1", before),))
    return wfs_edit.refuse("IMPL-1", before, after, board, lambda path: False)


def test_what_is_taken_away_goes_before_what_is_given() -> None:
    """So a list can be replaced in one go."""
    data = task()

    said = wfs_edit.apply(data, Edit({"require": ["SAML", "JWT"]}, [("require", None)]))

    assert data["context"]["requirements"] == ["SAML", "JWT"]
    assert said == ["require: all removed", "require: 'SAML' added", "require: 'JWT' added"]


def test_one_entry_is_taken_away_by_its_name() -> None:
    """The others stay; a name that nothing has is an error that says which there are."""
    data = task(shared_context={"ttl": "9", "realm": "x"})
    data["flow_control"]["pre_analysis"] = [STEP, STEP | {"step": "read"}]

    wfs_edit.apply(data, Edit({}, [("require", "JWT"), ("context", "ttl"), ("step", "look")]))

    assert data["context"]["requirements"] == ["OAuth"]
    assert data["context"]["shared_context"] == {"realm": "x"}
    assert [each["step"] for each in data["flow_control"]["pre_analysis"]] == ["read"]
    with pytest.raises(HoldfastError, match=r"context.requirements has no 'JWT'; there is only 'OAuth'"):
        wfs_edit.apply(data, Edit({}, [("require", "JWT")]))
    wfs_edit.apply(data, Edit({}, [("require", "OAuth")]))
    assert data["context"]["requirements"] == []


def test_what_is_there_is_changed_and_not_doubled() -> None:
    """Texts by themselves, steps by their names, members of an object by theirs; the rest of each stays."""
    data = task(shared_context={"ttl": "9"})
    data["flow_control"]["pre_analysis"] = [STEP]
    given = {"require": ["JWT"], "step": [{"step": "look", "command": "ls -l"}], "context": {"ttl": "10", "realm": "x"}}

    said = wfs_edit.apply(data, Edit(given))

    assert data["context"]["requirements"] == ["JWT", "OAuth"]
    assert data["flow_control"]["pre_analysis"] == [STEP | {"command": "ls -l"}]
    assert data["context"]["shared_context"] == {"ttl": "10", "realm": "x"}
    assert len(said) == 3
    assert wfs_edit.apply(data, Edit(given)) == []


def test_a_text_is_taken_away_whatever_it_is() -> None:
    """And nothing is said of one that is empty."""
    data = task()
    wfs_edit.apply(data, Edit({"approach": "Carefully"}))

    assert wfs_edit.apply(data, Edit({}, [("approach", "x")])) == ["approach: all removed"]
    assert wfs_edit.apply(data, Edit({}, [("approach", None)])) == []


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [("require", "JWT", "requirements is not a list"), ("context", ["x"], "shared_context is not an object")],
)
def test_what_is_of_another_kind_is_changed_only_by_hand(field: str, value: object, why: str) -> None:
    """Nothing that somebody wrote is overwritten for its form."""
    data = task(**{{"require": "requirements", "context": "shared_context"}[field]: value})

    with pytest.raises(HoldfastError, match=f"context.{why}; change it in the file itself"):
        wfs_edit.apply(data, Edit({field: ["x"] if field == "require" else {"a": "b"}}))


def test_a_broken_entry_that_moves_in_its_list_is_no_new_mistake() -> None:
    """Whoever takes away the one before it need not mend it."""
    before = task(focus_paths=["src", "/etc"])

    assert refused(before, Edit({}, [("focus", "src")])) == []
    with pytest.raises(HoldfastError, match="/usr"):
        refused(before, Edit({"focus": ["/usr"]}, [("focus", "src")]))
