"""A board works out all at once what could be asked of each task: it must come to the same."""

from __future__ import annotations

import marshal
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.files import cache
from holdfast.formats.wfs import brief, ids, index, todo
from holdfast.formats.wfs.board import Board, in_order

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.formats.wfs.brief import Brief
    from holdfast.workflow.model import Status

STATUSES = ("pending", "active", "completed", "blocked", "container", "odd")


def tasks(number: random.Random, *, odd: bool) -> dict[str, Brief]:
    """Return tasks with subtasks, dependencies and, if `odd`, with twins, invalid ids and other spellings."""
    found: dict[str, Brief] = {}
    known = [f"IMPL-{main}{sub}" for main in range(1, 8) for sub in ("", ".1", ".2", ".10")]
    for name in number.sample(known, number.randint(0, len(known))):
        other = number.choice(("IMPL-1", "IMPL-01", "IMPL-2.01", "IMPL-x", "T-1")) if odd else name
        id_ = other if number.random() < 0.15 else name
        context: dict[str, Any] = {"depends_on": number.sample([*known, "IMPL-99", "IMPL-03"], number.randint(0, 2))}
        if number.random() < 0.2:
            context["parent"] = number.choice((*known, "IMPL-99", "IMPL-01"))
        found[name] = brief.of(name, {"id": id_, "status": number.choice(STATUSES), "context": context})
    return found


def get(board: Board, id_: str) -> Brief | None:
    key = ids.key(id_)
    same = [each for each in board.tasks if key and each.key == key]
    return next(iter(same), None) or next((each for each in board.tasks if id_ in (each.id, each.name)), None)


def children(board: Board, task: Brief) -> list[Brief]:
    return [each for each in board.tasks if task.key and each.key and each.key.parent == task.key]


def is_done(board: Board, id_: str) -> bool:
    task = get(board, id_)
    below = children(board, task) if task else []
    return all(each.status == "completed" for each in below or (task,) if each) and task is not None


def executable(board: Board) -> list[Brief]:
    found = []
    for each in board.tasks:
        above = get(board, each.parent) if each.parent else None
        wanted = (*each.depends_on, *(above.depends_on if above and above is not each else ()))
        leaf = not each.is_container and not children(board, each)
        if leaf and each.status == "pending" and all(is_done(board, id_) for id_ in wanted):
            found.append(each)
    return found


@pytest.mark.parametrize("odd", [False, True])
def test_what_is_worked_out_at_once_is_what_each_task_says(odd: bool) -> None:
    """Also after changes, where the order of the board before is kept."""
    number, board = random.Random(20), Board()
    for _ in range(40):
        for _ in range(3):
            now = tasks(number, odd=odd) if number.random() < 0.4 else {each.name: each for each in board.tasks}
            if now:
                name = number.choice(sorted(now))
                status: Status = number.choice(("pending", "completed"))
                now[name] = now[name]._replace(status=status, raw_status=status)
            board = board.followed_by(now)
            assert list(board.tasks) == in_order(now.values())
            assert board.order == Board(board.tasks).order
            assert list(board.executable) == executable(board)
            for each in board.tasks:
                assert board.is_container(each) == (each.is_container or bool(children(board, each)))
                assert list(board.children(each)) == children(board, each)
                assert [board.get(each.id), board.get(each.name)] == [get(board, each.id), get(board, each.name)]


def test_a_list_leaves_no_task_out() -> None:
    """Nor has it one twice, whatever their ids are: a subtask without a container stands alone."""
    number = random.Random(22)
    for odd in (False, True) * 40:
        board = Board().followed_by(tasks(number, odd=odd))
        listed = todo.generate("All", board, frozenset())
        assert sorted(each.name for each in board.tasks) == sorted(re.findall(r"\.task/(.+?)\.json", listed))


def test_a_containers_group_stands_apart() -> None:
    """From the tasks before and after it, and from another group."""
    names = ("IMPL-1", "IMPL-2", "IMPL-2.1", "IMPL-2.2", "IMPL-3", "IMPL-3.1", "IMPL-4", "IMPL-5")
    board = Board().followed_by({name: brief.of(name, {"id": name, "status": "pending"}) for name in names})
    listed = todo.generate("All", board, frozenset())
    assert [re.findall(r"(?m)^(▸|-|  -) .*\*\*IMPL-(.+?)\*\*", group) for group in listed.split("\n\n")[1:-1]] == [
        [("-", "1")],
        [("▸", "2"), ("  -", "2.1"), ("  -", "2.2")],
        [("▸", "3"), ("  -", "3.1")],
        [("-", "4"), ("-", "5")],
    ]


def test_a_kept_board_is_the_one_that_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that follows from its tasks."""
    kept: list[bytes] = []
    monkeypatch.setattr(cache, "write", lambda path, body: kept.append(body))
    monkeypatch.setattr(cache, "read", lambda path: kept[-1])
    number = random.Random(21)
    for odd in (False, True) * 20:
        board = Board().followed_by(tasks(number, odd=odd), changed=12.5)
        seen = {f"{each.name}.json": (1, 2, 3, 1 << 62) for each in board.tasks}
        index._keep(tmp_path, seen, board)
        found = index._kept(tmp_path)
        assert found is not None
        assert (found.seen, found.board) == (seen, board)
        assert found.tasks == {each.name: each for each in board.tasks}
        assert (found.board.order, found.board.executable) == (board.order, board.executable)
        assert index._kept(tmp_path / "another") is None
    for body in (b"", b"\xff", marshal.dumps((index._FORMAT, str(tmp_path), {}, [["IMPL-1"]], (), (), 0.0))):
        kept.append(body)
        assert index._kept(tmp_path) is None
