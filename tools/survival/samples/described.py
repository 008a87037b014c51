"""A sample workflow of a described format, as people would write its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.formats.described import fields, view
from holdfast.formats.described.draft import DescribedDraft, fresh
from holdfast.workflow.model import Start

if TYPE_CHECKING:
    from holdfast.formats.described.description import Description
    from tools.survival.samples import Planned


class Sample:
    """The sample of one described format (`samples.WritesState`)."""

    KIND = ""
    BEGINS = False
    DELIVERS = False

    def __init__(self, rules: Description) -> None:
        """Write files as `rules` describes them."""
        self._rules = rules

    @property
    def described_in(self) -> str:
        """The file that describes the format, which a throw-away home needs too."""
        return self._rules.source

    def state(self, planned: Planned, *, finished: bool = False) -> tuple[str, str]:
        """Return the file's path and text; with `finished`, all units are completed."""
        rules, where = self._rules, self._rules.workflow
        agents = "agent" in rules.unit
        start = Start(
            planned.title,
            phases=tuple((each.title, each.agent if agents else "") for each in planned.phases),
            reading=tuple(planned.reading) if "reading" in where else (),
            reminders=tuple(planned.reminders) if "reminders" in where else (),
            context=dict(planned.variables) if "context" in where else {},
        )
        data = fresh(rules, start, rules.name)
        draft = DescribedDraft(rules, data)
        current = len(planned.phases) + 1 if finished else planned.current
        for number, (phase, unit) in enumerate(zip(planned.phases, view.units(rules, data, []), strict=True), 1):
            if number < current:
                draft.move(unit.phase.id, "completed")
                if "note" in rules.unit and phase.handover:
                    fields.put(fields.at(data, unit.member.keys), rules.unit["note"], phase.handover)
            elif number == current:
                draft.move(unit.phase.id, "active")
        draft.settle()
        slug = "".join(each if each.isalnum() else "-" for each in planned.title.lower())[:60]
        return rules.files[0].replace("*", slug), json.dumps(data, indent=2, ensure_ascii=False) + "\n"
