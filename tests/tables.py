"""Run one test over all rows of a table, as one case."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import make_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Test = Callable[..., None]

LABEL_LIMIT_CHARS = 200


def each_row(
    names: str | Sequence[str], table: Iterable[Any], *, ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call a test once per row of a table; each row that fails is reported as a subtest with the row's values.

    Write it as you write `pytest.mark.parametrize`; several tables on one test are combined. Use it where rows are
    cells of a table: cheap, and with the same assertions. Keep `parametrize` where a row is a scenario that takes time.

    All rows run, even if an earlier one fails. Each row gets a home, a `tmp_path` and a `monkeypatch` of its own; all
    other fixtures are shared by the rows. A table without rows is an error.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(fields, row if len(fields) > 1 else (row,), strict=True)) for row in table]
    assert rows, f"the table of {', '.join(fields)} has no rows"
    labelled = [([ids(value) for value in row.values()], row) for row in rows]

    def decorate(test: Test) -> Test:
        inner, more = getattr(test, "table", (test, [([], {})]))
        combined = [(one + two, row | other) for one, row in labelled for two, other in more]
        own = [name for name in inspect.signature(inner).parameters if name not in combined[0][1]]

        @functools.wraps(test)
        def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
            __tracebackhide__ = True
            for number, (label, row) in enumerate(combined):
                try:
                    _call(inner, row, fixtures, number)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception):
                    # Only for rows that fail: each subtest costs more time than most rows.
                    with subtests.test(" | ".join(label)[:LABEL_LIMIT_CHARS]):
                        raise

        asked = dict.fromkeys(["subtests", "monkeypatch", "home", *own])
        keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in asked]
        vars(run).update(__signature__=inspect.Signature(keywords), table=(inner, combined))
        return run

    return decorate


def _call(test: Test, row: dict[str, Any], fixtures: dict[str, Any], number: int) -> None:
    """Call a test for one row, with a home, a folder and patches of its own."""
    __tracebackhide__ = True
    home, tmp_path = fixtures["home"], fixtures.get("tmp_path")
    with fixtures["monkeypatch"].context() as patches:
        own = {"monkeypatch": patches, "home": make_home(home.with_name(f"{home.name}-{number}"), patches)}
        if tmp_path:
            own["tmp_path"] = tmp_path / str(number)
            own["tmp_path"].mkdir(mode=0o700)
        if "capsys" in fixtures:
            fixtures["capsys"].readouterr()
        wanted = inspect.signature(test).parameters
        test(**{name: value for name, value in (fixtures | own | row).items() if name in wanted})
