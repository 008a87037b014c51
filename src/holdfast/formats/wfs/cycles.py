"""Find tasks of a `wfs` session that wait for themselves in a circle, so that none of them can ever begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.formats.wfs.board import Board
    from holdfast.formats.wfs.brief import Brief


class Waiting:
    """Which task waits for which: a task for its own and its container's dependencies, a container for its subtasks."""

    def __init__(self, board: Board) -> None:
        """Look through all tasks of a session once."""
        self._board = board
        self._next = {each.name: self._edges(each) for each in board.tasks}
        self._stuck = self._circling()

    def circle(self, task: Brief, first: str) -> list[str]:
        """Return the ids on the shortest way from a task over a dependency back to itself; empty if there is none."""
        begin = self._board.get(first)
        if begin is None or task.name not in self._stuck or begin.name not in self._stuck:
            return []
        ways, seen = [[task, begin]], {begin.name}
        for way in ways:  # breadth first, so the shortest way comes first; the list grows meanwhile
            if way[-1] is task:
                return [each.id for each in way]
            for each in self._next[way[-1].name]:
                if each is task or (each.name in self._stuck and each.name not in seen):
                    seen.add(each.name)
                    ways.append([*way, each])
        return []

    def _edges(self, task: Brief) -> list[Brief]:
        above = self._board.parent(task)
        wanted = [*task.depends_on, *(above.depends_on if above else ())]
        return [*filter(None, map(self._board.get, wanted)), *self._board.children(task)]

    def _circling(self) -> set[str]:
        """Return the names of the tasks that can never begin: those on a circle, and those that wait for one."""
        before: dict[str, list[str]] = {name: [] for name in self._next}
        open_ways = {name: len(found) for name, found in self._next.items()}
        for name, found in self._next.items():
            for each in found:
                before[each.name].append(name)
        free = [name for name, count in open_ways.items() if not count]
        for name in free:  # the list grows meanwhile
            for other in before[name]:
                open_ways[other] -= 1
                if not open_ways[other]:
                    free.append(other)
        return set(self._next) - set(free)
