"""A finding about a file of a `wfs` session, with file, field, value and remedy (R002-33)."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

RULES = {
    1: "ids are unique",
    2: "ids are IMPL-N or IMPL-N.M",
    3: "parents exist",
    4: "statuses are known and fit the hierarchy",
    5: "the six core fields are there",
    6: "focus paths are concrete",
    7: "steps have what a step needs",
    8: "dependencies exist",
    9: "artifacts are valid",
}

_SHOWN_CHARS = 80  # characters of a value that are shown


class Finding(NamedTuple):
    """Something that is wrong with a session or one of its files.

    Attributes:
        rule: the rule of `RULES` that it breaks; 0 if it breaks none.
        file: the file, relative to the session's folder.
        field: the field, as in `context.focus_paths[0]`; empty for the whole file.
        value: the field's value; None if it is missing.
        problem: what is wrong with it.
        remedy: what to do about it.
        unread: whether the file can't be used at all.
        wrong: whether it is more than a remark although it breaks no rule, because the format can't work with it.
    """

    rule: int
    file: str
    field: str
    value: Any
    problem: str
    remedy: str
    unread: bool = False
    wrong: bool = False

    @property
    def fails(self) -> bool:
        """Whether a check that finds this has failed."""
        return bool(self.rule) or self.unread or self.wrong

    @property
    def text(self) -> str:
        """The whole finding in a sentence."""
        value = json.dumps(self.value, ensure_ascii=False) if self.value is not None else "missing"
        shown = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…"
        where = f"{self.file}: {self.field} is {shown}" if self.field else self.file
        rule = f"rule {self.rule}: {RULES[self.rule]}" if self.rule else "problem" if self.fails else "remark"
        return f"{where}: {self.problem}; {self.remedy} ({rule})"
