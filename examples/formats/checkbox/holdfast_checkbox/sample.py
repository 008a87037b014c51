"""A checklist as people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_checkbox import markdown, record

if TYPE_CHECKING:
    from holdfast.formats.sample import Planned

KIND = "custom"
BEGINS = True
DELIVERS = False


def state(planned: Planned, *, finished: bool = False) -> tuple[str, str]:
    """Return the file's path and text."""
    text = markdown.fresh(planned.title, [phase.title for phase in planned.phases])
    for number, phase in enumerate(planned.phases, 1):
        if finished or number < planned.current:
            text = markdown.ticked(text, number, phase.handover)
    sections = {"Reading": [f"@{each}" for each in planned.reading], "Reminders": planned.reminders}
    sections["Context"] = [markdown.entry(key, value) for key, value in planned.variables.items()]
    for heading, entries in sections.items():
        text = markdown.added(text, heading, entries)
    return f"{record.TOP}/{markdown.file_name(planned.title)}", text
