"""What a board's list shows, and how a board is kept for later events."""

from __future__ import annotations

import marshal
import random
import re
from typing import TYPE_CHECKING, Any

from holdfast.files import cache
from holdfast.formats.wfs import brief, index, todo
from holdfast.formats.wfs.board import Board, in_order

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from holdfast.formats.wfs.brief import Brief

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


def test_a_list_leaves_no_task_out() -> None:
    """Nor has it one twice, whatever their ids are: a subtask without a container stands alone."""
    number = random.Random(22)
    for odd in (False, True) * 40:
        board = Board(in_order(tasks(number, odd=odd).values()))
        listed = todo.generate("All", board, frozenset())
        assert sorted(each.name for each in board.tasks) == sorted(re.findall(r"\.task/(.+?)\.json", listed))


def test_a_containers_group_stands_apart() -> None:
    """From the tasks before and after it, and from another group."""
    names = ("IMPL-1", "IMPL-2", "IMPL-2.1", "IMPL-2.2", "IMPL-3", "IMPL-3.1", "IMPL-4", "IMPL-5")
    board = Board(in_order(brief.of(name, {"id": name, "status": "pending"}) for name in names))
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
        board = Board(in_order(tasks(number, odd=odd).values()), changed=12.5)
        seen = {f"{each.name}.json": (1, 2, 3, 1 << 62) for each in board.tasks}
        index._keep(tmp_path, seen, board)
        found = index._kept(tmp_path)
        assert found is not None
        assert (found.seen, found.board) == (seen, board)
        assert found.tasks == {each.name: each for each in board.tasks}
        assert index._kept(tmp_path / "another") is None
    for body in (b"", b"\xff", marshal.dumps((index._FORMAT, str(tmp_path), {}, [["IMPL-1"]], 0.0))):
        kept.append(body)
        assert index._kept(tmp_path) is None
