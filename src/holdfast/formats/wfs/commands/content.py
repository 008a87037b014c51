"""The options for a task's content, and the content that they give."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from holdfast.commands import options
from holdfast.formats.wfs import choice, edit, flow, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for a task's content, which `add` and `set` share."""
    many: dict[str, Any] = {"multiple": True}
    for option in (
        click.option("--on-error", type=click.Choice(flow.ON_ERROR), help="What happens when the step fails."),
        click.option("--output-to", metavar="NAME", help="The variable that gets the step's output."),
        click.option("--command", "command_text", metavar="TEXT", help="The step's command. Holdfast never runs it."),
        click.option("--action", metavar="TEXT", help="What the step is for."),
        click.option("--step", metavar="NAME", help="A step before the work. The four options below belong to it."),
        click.option(
            "--target-file", **many, metavar="FILE[:FUNCTION[:LINES]]", help="A file that the task changes. Repeat it."
        ),
        click.option("--logic", **many, metavar="TEXT", help="A step of the logic, in order. Repeat it."),
        click.option("--point", **many, metavar="TEXT", help="A place to modify. Repeat it."),
        click.option("--approach", metavar="TEXT", help="How to do it."),
        click.option("--context", **many, metavar="K=V", help="A shared context value. V may be JSON. Repeat it."),
        click.option(
            "--artifact",
            **many,
            metavar="TYPE=PATH",
            help="What the task builds on. A JSON object will do too. Repeat it.",
        ),
        click.option("--after", **many, metavar="ID", help="A task that has to be completed before. Repeat it."),
        click.option("--accept", **many, metavar="TEXT", help="How to tell that the task is done. Repeat it."),
        click.option("--focus", **many, metavar="PATH", help="A path to work on. Repeat it."),
        click.option("--require", "require", **many, metavar="TEXT", help="A requirement. Repeat it."),
        click.option("--agent", metavar="@NAME", help="Who works on it. Default: see `holdfast wfs task add --help`."),
        click.option(
            "--type", type=click.Choice(choice.TYPES), help="The type of task. Default for a new task: by its title."
        ),
    ):
        command = option(command)
    return command


OF_NEW: dict[str, tuple[str, Any]] = {
    "type": ("kind", ""),
    "agent": ("agent", ""),
    "require": ("requirements", ()),
    "focus": ("focus_paths", ()),
    "accept": ("acceptance", ()),
    "after": ("depends_on", ()),
}


_STEP = {"action": "action", "command_text": "command", "output_to": "output_to", "on_error": "on_error"}


def given(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content that the options give, by the names of `edit.FIELDS`."""
    given = {name.replace("_", "-"): value for name, value in content.items() if value and name not in _STEP}
    step = {key: content[option] for option, key in _STEP.items() if content[option] is not None}
    if "step" in given:
        given["step"] = [{"step": given["step"], **step}]
    elif step:
        raise click.UsageError(f"--{next(iter(step)).replace('_', '-')} belongs to a step; add --step NAME")
    if "agent" in given:
        given["agent"] = f"@{given['agent'].removeprefix('@')}"
    if "artifact" in given:
        given["artifact"] = [_artifact(each) for each in given["artifact"]]
    if "context" in given:
        given["context"] = options.as_context(given["context"], "--context")
    return given


def _artifact(text: str) -> dict[str, Any]:
    kind, sign, path = text.partition("=")
    if text.lstrip().startswith("{"):
        with suppress(ValueError):
            found = json.loads(text)
            if isinstance(found, dict):
                return found
        sign = ""
    if not sign:
        raise click.BadParameter(f"{text!r} is not TYPE=PATH or a JSON object", param_hint="--artifact")
    source, priority = rules.ARTIFACTS.get(kind, ("", ""))
    return {"type": kind, "source": source, "path": path, "priority": priority}


def removal(text: str) -> tuple[str, str | None]:
    """Return what `--remove` names: a name of `edit.REMOVABLE`, and the value to remove; None for all values."""
    name, sign, entry = text.partition("=")
    if name not in edit.REMOVABLE:
        known = ", ".join(edit.REMOVABLE)
        raise click.BadParameter(f"{name!r} is not one of {known}", param_hint="--remove")
    return name, entry if sign else None
