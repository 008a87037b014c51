"""A table of the ledger whose rows are instances of a class of `rows`: one small set of verbs for all tables."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from holdfast.memory.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.memory.store import Ledger

R = TypeVar("R", bound=Row)
PRUNED = 50  # rows that go at once: more than an event adds, and so few that none waits long for it


class Table(Generic[R]):
    """One table (`Ledger.table`). Each verb raises LedgerError if the ledger can't be read or written."""

    def __init__(self, ledger: Ledger, row: type[R]) -> None:
        self._ledger, self._row = ledger, row
        self._names = [each.name for each in fields(row)]
        self._flags = [each.name for each in fields(row) if each.type in ("bool", "bool | None")]
        self._columns = ", ".join(self._names)
        changed = [name for name in self._names if name not in row.KEY]
        changes = ", ".join(f"{name} = excluded.{name}" for name in changed)
        marks = ", ".join("?" * len(self._names))
        self._insert = f"INSERT INTO {row.TABLE} ({self._columns}) VALUES ({marks}) ON CONFLICT ({', '.join(row.KEY)})"
        self._upsert = f"DO UPDATE SET {changes}" if changed else "DO NOTHING"

    def where(self, sql: str = "", *values: object, order: str = "", limit: int = -1, **equal: object) -> list[R]:
        """Return rows: `agents.where("changed_at > ?", since, conversation=id, order="launched_at")`.

        Args:
            sql: a condition with `?` for its values; empty for none.
            values: its values.
            order: the columns to order by.
            limit: the most rows; negative for all.
            equal: what columns must be equal to; None matches NULL.
        """
        condition, all_values = self._condition(sql, values, equal)
        ordered = f" ORDER BY {order}" if order else ""
        text = f"SELECT {self._columns} FROM {self._row.TABLE} WHERE {condition}{ordered} LIMIT {limit}"
        return [self._row(**self._typed(each)) for each in self._ledger.rows(text, *all_values)]

    def one(self, sql: str = "", *values: object, order: str = "", **equal: object) -> R | None:
        """Return the first row of `where`, or None."""
        return next(iter(self.where(sql, *values, order=order, limit=1, **equal)), None)

    def by(self, column: str, wanted: Iterable[str], **equal: object) -> dict[str, R]:
        """Return the rows that have one of many values in a column, by that value."""
        condition, values = self._condition("", (), equal)
        text = f"SELECT {self._columns} FROM {self._row.TABLE} WHERE {_numbered(condition)} AND {column} IN (*)"
        found = self._ledger.by_value(column, wanted, text, *values)
        return {name: self._row(**self._typed(each)) for name, each in found.items()}

    def count(self, sql: str = "", *values: object, **equal: object) -> int:
        """Return how many rows there are that `where` would return."""
        condition, all_values = self._condition(sql, values, equal)
        row = self._ledger.one(f"SELECT COUNT(*) AS number FROM {self._row.TABLE} WHERE {condition}", *all_values)
        return int(row["number"]) if row else 0

    def put(self, row: R) -> R:
        """Insert a row, or replace the one with its key."""
        self._ledger.run(f"{self._insert} {self._upsert}", *self._values(row))
        return row

    def add(self, row: R) -> bool:
        """Insert a row unless there is one with its key; return whether it was inserted."""
        return self._ledger.run(f"{self._insert} DO NOTHING", *self._values(row)) == 1

    def change(self, row: R, **values: object) -> bool:
        """Change columns of a row if they are still as in `row`; of several processes that try, one gets True."""
        same = {name: getattr(row, name) for name in (*row.KEY, *values)}
        return self.update(values, **same) == 1

    def update(self, values: dict[str, Any], sql: str = "", *given: object, **equal: object) -> int:
        """Set columns in all rows that a condition selects (`where`); return how many there were."""
        condition, all_values = self._condition(sql, given, equal)
        changes = ", ".join(f"{name} = ?" for name in values)
        return self._ledger.run(
            f"UPDATE {self._row.TABLE} SET {changes} WHERE {condition}", *values.values(), *all_values
        )

    def drop(self, sql: str = "", *values: object, **equal: object) -> int:
        """Delete the rows that a condition selects (`where`); return how many there were."""
        condition, all_values = self._condition(sql, values, equal)
        return self._ledger.run(f"DELETE FROM {self._row.TABLE} WHERE {condition}", *all_values)

    def prune(self, at: str, most: int) -> None:
        """Delete the oldest rows beyond `most`, a few at a time. `at` is the column of the time; it needs an index."""
        table, key = self._row.TABLE, ", ".join(self._row.KEY)
        # Nearly always there is nothing to delete, and the index alone tells that in a fifth of the time.
        if self._ledger.one(f"SELECT 1 FROM {table} ORDER BY {at} DESC LIMIT 1 OFFSET ?", most):
            oldest = f"SELECT {key} FROM {table} ORDER BY {at} DESC LIMIT ? OFFSET ?"
            self._ledger.run(f"DELETE FROM {table} WHERE ({key}) IN ({oldest})", PRUNED, most)

    def _values(self, row: R) -> list[object]:
        return [getattr(row, name) for name in self._names]

    def _typed(self, row: dict[str, Any]) -> dict[str, Any]:
        for name in self._flags:
            row[name] = None if row[name] is None else bool(row[name])
        return row

    def _condition(self, sql: str, values: tuple[object, ...], equal: dict[str, object]) -> tuple[str, list[object]]:
        terms = [f"({sql})"] if sql else []
        terms += [f"{name} IS ?" for name in equal]
        return " AND ".join(terms) or "1", [*values, *equal.values()]


def _numbered(condition: str) -> str:
    """Return a condition with `?1`, `?2` … in place of each `?`, as `Ledger.by_value` needs it."""
    first, *rest = condition.split("?")
    return first + "".join(f"?{number}{part}" for number, part in enumerate(rest, 1))
