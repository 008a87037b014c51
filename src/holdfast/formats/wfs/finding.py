"""What is wrong with a file of a session in the `wfs` format, told with file, field, value and remedy (R002-33)."""

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

_SHOWN_CHARS = 80  # characters of a value


class Finding(NamedTuple):
    """What is wrong with a session, or with a file of it.

    Attributes:
        rule: which of `RULES` it breaks; 0 for a remark, which breaks none.
        file: the file, relative to the session's folder.
        field: the field, as in `context.focus_paths[0]`; empty where it is all of the file.
        value: what stands there; None where nothing does.
        problem: what is wrong with that.
        remedy: what to do about it.
        unread: whether the file cannot be used at all.
        wrong: whether it is more than a remark though it breaks no rule: it keeps the format from working.
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
        """All of it in a sentence."""
        value = json.dumps(self.value, ensure_ascii=False) if self.value is not None else "missing"
        shown = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…"
        where = f"{self.file}: {self.field} is {shown}" if self.field else self.file
        rule = f"rule {self.rule}: {RULES[self.rule]}" if self.rule else "problem" if self.fails else "remark"
        return f"{where}: {self.problem}; {self.remedy} ({rule})"
