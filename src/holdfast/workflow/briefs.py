"""The texts that a subagent gets: its workflow's reminders, and after a compaction its own task again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.workflow import facts, wording

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.workflow.model import Brief, Phase, Workflow

START_LIMIT_UNITS = 1_500  # UTF-16 units of a new agent's brief, without its task and hand-over
TASK_LIMIT_UNITS = 6_000  # UTF-16 units of its task
LIMIT_UNITS = 9_500  # UTF-16 units of the text after its own compaction; the client cuts at 10,000
PROMPT_LIMIT_UNITS = 2_000  # UTF-16 units of its prompt
_HANDOVER_LIMIT_CHARS = 1_000  # characters of the previous phase's hand-over
_MORE_UNITS = 40  # units reserved for the line that counts what was left out


def reminders(workflow: Workflow, phase: Phase | None, *, root: Path, brief: Brief | None = None) -> str:
    """Return a new agent's brief: hand-over, key reminders, required reading and task; empty if there are none.

    Args:
        workflow: the workflow that it works for.
        phase: the phase that it was launched for, None for none.
        root: the project's root.
        brief: the format's text about that phase, None for none.
    """
    handed = _handed_over(workflow, phase)
    if not workflow.reminders and not workflow.reading and not brief and not handed:
        return ""
    reads = " and read its required files first" if facts.reading(workflow, facts.presence(root))[0].facts else ""
    lead = [
        f"You work on a workflow. Keep what it says in mind{reads}. {wording.DATA}",
        wording.OPEN,
        f"Workflow: {wording.quoted(workflow.title)}",
        *([f"Your part: {_phase(workflow, phase)}"] if phase else []),
    ]
    reminded = _kept(workflow, root, START_LIMIT_UNITS - wording.size([*lead, wording.CLOSE]))
    return wording.with_mark([*lead, *handed, *reminded, *(_task(brief) if brief else []), wording.CLOSE])[0]


def given_back(
    agent_type: str,
    description: str,
    prompt: str,
    workflow: Workflow | None = None,
    phase: Phase | None = None,
    *,
    root: Path,
    brief: Brief | None = None,
) -> str:
    """Return an agent's task, for the time after its own compaction.

    Args:
        agent_type: the kind of agent.
        description: the launch's short description.
        prompt: the launch's prompt.
        workflow: the workflow that it works for, None for none.
        phase: the phase that it works for, None for none.
        root: the project's root.
        brief: the format's text about that phase, None for none.
    """
    purpose = f": {wording.quoted(description)}" if description.strip() else ""
    text = wording.clean(prompt).strip()
    shown = _first(text, PROMPT_LIMIT_UNITS)
    cut = ["… (the rest is at the start of your transcript)"] if shown != text else []
    lead = [
        f"Your context was compacted. Go on with what you were launched for, and nothing else. {wording.DATA}",
        wording.OPEN,
        f"Agent: {wording.quoted(agent_type)}",
        f"Launched for{purpose or ' this'}",
        *(["Your prompt:", shown, *cut] if shown else []),
        *(_part(workflow, phase) if workflow and phase else []),
        *(_task(brief) if brief else []),
    ]
    reminded = _kept(workflow, root, LIMIT_UNITS - wording.size([*lead, wording.CLOSE])) if workflow and phase else []
    return wording.with_mark([*lead, *reminded, wording.CLOSE])[0]


def _part(workflow: Workflow, phase: Phase) -> list[str]:
    return [
        f"Workflow: {wording.quoted(workflow.title, wording.VALUE_LIMIT_CHARS)} ({workflow.format})",
        f"Your part: {_phase(workflow, phase)} ({facts.status_word(phase.status)})",
        *_handed_over(workflow, phase),
    ]


def _handed_over(workflow: Workflow, phase: Phase | None) -> list[str]:
    """Return a phase's hand-over from the one before it, and its notes (I000-4)."""
    if phase is None:
        return []
    earlier = workflow.phases if workflow.in_order else ()  # else the format's own brief has what the phase builds on
    before = next((each for each in earlier if each.number == phase.number - 1), None)
    pointer = f"… (see {wording.one_line(workflow.place)})"
    handed = [
        (f"Handed over by the {workflow.unit} before", before.handover if before else ""),
        ("Noted so far", phase.handover),
    ]
    return [
        f"{label}: {wording.one_line(text, _HANDOVER_LIMIT_CHARS, pointer)}" for label, text in handed if text.strip()
    ]


def _task(brief: Brief) -> list[str]:
    """Return as many whole lines of a task as fit, the number left out, and the command that prints all."""
    lines, left = list[str](), TASK_LIMIT_UNITS
    for each in map(wording.clean, brief.lines):
        cost = wording.size([each])
        if cost <= left:
            lines.append(each)
            left -= cost
    more = len(brief.lines) - len(lines)
    behind = f"+{more} more lines: `{brief.command}`" if more else f"Print it again: `{brief.command}`"
    return ["Your task, with all it inherits:", *lines, wording.clean(behind)]


def _phase(workflow: Workflow, phase: Phase) -> str:
    return f"{workflow.named(phase)} {wording.quoted(phase.title)}"


def _kept(workflow: Workflow, root: Path, budget: int) -> list[str]:
    """Return as many whole lines of reminders and reading as fit, and the number left out."""
    sections = [facts.reminders(workflow), *facts.reading(workflow, facts.presence(root))]
    parts = [facts.Part(section, "…") for section in sections]
    shown = facts.fill(parts, parts, budget - _MORE_UNITS, fair=True)
    more = sum(len(part.lines) for part in parts)
    return [*shown, *([f"+{more} more: `holdfast status`"] if more else [])]


def _first(text: str, most: int) -> str:
    """Return the beginning of a text, at most `most` UTF-16 units, without cutting a character in two."""
    return text.encode("utf-16-le", "replace")[: 2 * most].decode("utf-16-le", "ignore")
